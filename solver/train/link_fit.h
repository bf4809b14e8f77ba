/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between calibrate.c and link_fit.c only: the link of one machine.
 */
#ifndef KLR_SOLVER_LINK_FIT_H
#define KLR_SOLVER_LINK_FIT_H

#include "solver/train/train.h"

/* Examples of two sides with their decision values. Models of several parts
 * differ in the level of their values from the one that is to have the link: by
 * `shift`, the root of the mean square; `aligned` are values less that. */
struct sides {
    size_t n;
    double *f, *y, *weight, *aligned; /* (n) */
    double shift;
};

enum { SIDES_ARRAYS = 4 };

/* A link that follows from the loss at that C; z loses `excess`. */
static struct link link_of_loss(const struct klr_params *params, double cost,
                                double excess);
/* Fit a link; it becomes the shares of both sides where the values leave it
 * open or speak against it. Where a side has no values, the shares are `size`,
 * those of the examples that the machine is trained on. Where a side has no
 * examples at all, the link is neutral. */
static struct link link_fit(const struct klr_params *params,
                            const struct sides *s, const double size[2],
                            double excess);

#endif
