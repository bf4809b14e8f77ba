/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernel functions, blocks of the Gram matrix and the row cache: the parts in
 * reading order.
 */
#include "kernel/parts.h"

#include "kernel/features.c"    /* rows of features */
#include "kernel/map.c"         /* features that occur, numbered */
#include "kernel/points.c"      /* examples: dense or sparse, sizes, accuracy */
#include "kernel/precomputed.c" /* examples of a given kernel matrix */
#include "kernel/binary.c"      /* features of one value, four at a time */
#include "kernel/lines.c"       /* where features of sparse rows stand */
#include "kernel/simd/tiles.c"  /* arithmetic for each instruction set */
#include "kernel/sums.c"        /* sums that tiles cannot give */
#include "kernel/float_form.c"  /* examples as floats, where these serve */
#include "kernel/lean.c"        /* examples whose doubles are not kept */
#include "kernel/apart.c"       /* columns that lie apart, side by side */
#include "kernel/gram.c"        /* blocks of the Gram matrix */
#include "kernel/linear.c"      /* products with the features */
#include "kernel/simd/product.c" /* products with tiles of the matrix */
#include "kernel/simd/dense.c"   /* products with other matrices */
#include "kernel/cache.c"        /* its most recently used rows */
