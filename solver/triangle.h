/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Dense triangles, factored: see triangle.c.
 */
#ifndef KLR_SOLVER_TRIANGLE_H
#define KLR_SOLVER_TRIANGLE_H

#include "solver/internal.h"

/* In place, upper triangle of a (n, n; pitch): a = R'R, with pivots raised to
 * the least one where they are smaller; false if one was. */
static bool triangle_factor(const struct klr_dense *dense, size_t n,
                            size_t pitch, double *a, double least);
/* inverse (n, n; pitch), zeros at first, = R^-T, a lower triangle. */
static void triangle_invert(const struct klr_dense *dense, size_t n,
                            size_t pitch, const double *r, double *inverse);
/* Of n rows, those of the band from `first` on. */
static size_t band_rows(size_t n, size_t first);
/* to (rows, cols; pitch), at most KLR_BAND each, -= A'B for A (inner, rows) and
 * B (inner, cols); where they are one matrix, its upper triangle. */
static void band_reduce(const struct klr_dense *dense, size_t inner,
                        const double *a, const double *b, size_t pitch,
                        size_t rows, size_t cols, double *to);

#endif
