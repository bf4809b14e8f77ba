/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the parts of the operator only: see operator.c.
 */
#ifndef KLR_SOLVER_OPERATOR_PARTS_H
#define KLR_SOLVER_OPERATOR_PARTS_H

#include "solver/gram/gram.h"

/* out (|rows|, m) += K[rows, cols] V, where op->row and op->col are the sets
 * divided into blocks. */
struct product {
    struct klr_operator *op;
    const struct klr_points *left; /* NULL: the operator's own */
    struct klr_set rows, cols;
    size_t met, strips, height; /* blocks met; strips of a block, their rows */
    const double *v;
    size_t m;
    enum klr_precision precision;
    bool at_once; /* tiles are kept before they have been computed often */
    double *out;
};

/* The functions below are false where the pool's watch ended the product. */

/* ---- by tiles: see operator_tiles.c ---- */

/* Rows and columns are the same set. */
static bool product_symmetric(struct product *p);
/* They need not be; so many blocks have rows. */
static bool product_general(struct product *p, size_t blocks);
/* Compute the tiles that the sets meet and that are to be kept. */
static bool product_fill_all(struct product *p);

/* ---- the linear kernel, by its features: see operator_linear.c ---- */

/* The groups of partial sums; 0: it is to be done by tiles. */
static size_t choose_groups(const struct klr_operator *op);
/* As product_general, where there are groups. */
static bool product_linear(const struct product *p, size_t blocks);

#endif
