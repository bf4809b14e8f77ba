/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products of K with vectors of few elements: see columns.c.
 */
#ifndef KLR_SOLVER_COLUMNS_H
#define KLR_SOLVER_COLUMNS_H

#include "solver/internal.h"

struct columns {
    const struct binary *problem;
    const struct klr_dense *dense;
    float *value;       /* (room, pitch) the caller's */
    size_t pitch, room; /* elements from column to column; columns at most */
    size_t kept;        /* columns there are */
    size_t *place;      /* (n) where that of an example is; n: it is not kept */
    size_t *position;   /* (n) of those to come */
    double *weight;     /* (room) elements of the vector */
};

/* For as many columns as `bytes` hold. The caller keeps value, so many bytes,
 * which it may use for other things, too, if columns_forget() comes before the
 * next product. */
static int columns_alloc(struct columns *c, const struct binary *problem,
                         size_t bytes, struct klr_error *err);
static void columns_free(struct columns *c);
static double columns_bytes(size_t n, size_t bytes);
static void columns_forget(struct columns *c);
/* out (n) = K v for the examples of the problem, of float entries; false, out
 * as it was and no column kept, if v has more elements that are not 0 than
 * there is room for. */
static bool columns_multiply(struct columns *c, const double *v, double *out);

#endif
