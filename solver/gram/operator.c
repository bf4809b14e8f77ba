/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Gram matrix as solvers see it: made ready, shared and freed, and its
 * products with vectors, by tiles or, of the linear kernel, by features.
 */
#include "solver/gram/operator_parts.h"

/* ---- making ready ---- */

/* Allocate what an operator does not share, its threads' workspaces aside. */
static int operator_allocate(struct klr_operator *op, struct klr_error *err)
{
    size_t blocks = op->tiles.blocks;
    if (!(op->row = klr_alloc(blocks, sizeof *op->row, err)) ||
        !(op->col = klr_alloc(blocks, sizeof *op->col, err)) ||
        !(op->active_blocks =
              klr_alloc(blocks, sizeof *op->active_blocks, err)) ||
        !(op->turn = klr_alloc(blocks, sizeof *op->turn, err)) ||
        (op->groups &&
         !(op->partial = klr_alloc(op->groups * klr_points_width(op->points),
                                   KLR_SLICE * sizeof *op->partial, err))))
        return KLR_E_MEMORY;
    return 0;
}

/* klr_points_create, or one of its variants. */
typedef int create_points(struct klr_points **out, const struct klr_kernel *,
                          const struct klr_features *x, const size_t *order,
                          struct klr_pool *pool, struct klr_error *err);

static int operator_create_on(create_points *create, struct klr_operator *op,
                              const struct klr_kernel *kernel,
                              const struct klr_features *x, const size_t *order,
                              struct klr_pool *pool, size_t budget,
                              struct klr_error *err)
{
    *op = (struct klr_operator){
        .kernel = *kernel, .n = x->n, .pool = pool, .dent = (double)NAN};
    int code = create(&op->points, kernel, x, order, pool, err);
    if (!code) {
        op->groups = choose_groups(op);
        code = tiles_create(&op->tiles, op->points, klr_pool_size(pool),
                            op->groups ? 0 : budget, err);
        op->tiles.symmetric = kernel->type != KLR_PRECOMPUTED;
    }
    if (!code)
        code = operator_allocate(op, err);
    if (code)
        operator_free(op);
    return code;
}

static int operator_create(struct klr_operator *op,
                           const struct klr_kernel *kernel,
                           const struct klr_features *x, const size_t *order,
                           struct klr_pool *pool, size_t budget,
                           struct klr_error *err)
{
    return operator_create_on(klr_points_create, op, kernel, x, order, pool,
                              budget, err);
}

static int operator_create_lean(struct klr_operator *op,
                                const struct klr_kernel *kernel,
                                const struct klr_features *x,
                                const size_t *order, struct klr_pool *pool,
                                size_t budget, struct klr_error *err)
{
    return operator_create_on(klr_points_create_lean, op, kernel, x, order,
                              pool, budget, err);
}

static int operator_create_for_rows(struct klr_operator *op,
                                    const struct klr_kernel *kernel,
                                    const struct klr_features *x,
                                    const size_t *order, struct klr_pool *pool,
                                    size_t budget, struct klr_error *err)
{
    return operator_create_on(klr_points_create_for_rows, op, kernel, x, order,
                              pool, budget, err);
}

static int operator_share(struct klr_operator *share, struct klr_operator *op,
                          struct klr_error *err)
{
    *share = (struct klr_operator){.origin = op->origin ? op->origin : op,
                                   .kernel = op->kernel,
                                   .points = op->points,
                                   .n = op->n,
                                   .groups = op->groups,
                                   .fixed16 = op->fixed16,
                                   .fill_whole_tiles = op->fill_whole_tiles};
    int code = klr_pool_create(&share->pool, 1, err);
    if (!code)
        code = tiles_share(&share->tiles, &op->tiles, err);
    return code ? code : operator_allocate(share, err);
}

static int operator_prefer_fixed16(struct klr_operator *op, size_t budget,
                                   struct klr_error *err)
{
    op->fixed16 = true;
    /* floats are for a look or two then, as doubles are */
    op->tiles.patience[KLR_FLOAT] = op->tiles.patience[KLR_DOUBLE];
    return tiles_keep(&op->tiles, KLR_FIXED16, budget, err);
}

static void operator_keep(struct klr_operator *op, enum klr_precision precision,
                          size_t budget)
{
    tiles_keep_only(&op->tiles, precision, op->groups ? 0 : budget);
}

static void operator_yield(struct klr_operator *op, double bytes, double budget)
{
    if (tiles_bytes(&op->tiles) > fmax(budget - bytes, 0))
        tiles_keep_only(&op->tiles, KLR_DOUBLE, 0);
}

static void operator_free(struct klr_operator *op)
{
    op->points = op->origin ? NULL : klr_points_free(op->points);
    tiles_free(&op->tiles, op->pool);
    op->pool = op->origin ? klr_pool_free(op->pool) : op->pool;
    op->row = klr_free(op->row);
    op->col = klr_free(op->col);
    op->active_blocks = klr_free(op->active_blocks);
    op->turn = klr_free(op->turn);
    op->partial = klr_free(op->partial);
}

static int operator_refuse(const struct klr_operator *op, const char *instead,
                           struct klr_error *err)
{
    if (op->kernel.type == KLR_PRECOMPUTED)
        return klr_fail(err, KLR_E_DATA,
                        "the kernel matrix is not positive semidefinite to "
                        "rounding: use %s",
                        instead);
    return klr_fail(err, KLR_E_DATA,
                    "rounding errors of the kernel matrix are too large: scale "
                    "the features%s",
                    op->kernel.type == KLR_POLYNOMIAL
                        ? ", or choose a smaller -g or -r"
                        : "");
}

/* Add up the evaluations that threads have counted, and the entries multiplied
 * or produced. */
static void operator_count(struct klr_operator *op, size_t rows, size_t cols)
{
    double n = (double)op->n;
    for (size_t t = 0; t < op->tiles.threads; t++) {
        op->evaluations += op->tiles.work[t].evaluations;
        op->tiles.work[t].evaluations = 0;
    }
    if (n > 0)
        op->passes += (double)rows / n * ((double)cols / n);
}

/* ---- products ---- */

static bool sets_equal(struct klr_set a, struct klr_set b)
{
    if (a.count != b.count || a.size != b.size)
        return false;
    for (size_t q = 0; q < a.count; q++)
        if (a.range[q].begin != b.range[q].begin ||
            a.range[q].end != b.range[q].end)
            return false;
    return true;
}

static bool product_form(struct product *p)
{
    struct klr_operator *op = p->op;
    bool whole;
    memset(p->out, 0, p->rows.size * p->m * sizeof *p->out);
    tiles_divide(&op->tiles, p->rows, op->row);
    tiles_divide(&op->tiles, p->cols, op->col);
    if (op->groups)
        whole = product_linear(p, op->tiles.blocks);
    else if (sets_equal(p->rows, p->cols))
        whole = product_symmetric(p);
    else
        whole = product_general(p, op->tiles.blocks);
    operator_count(op, p->rows.size, p->cols.size);
    return whole;
}

static enum klr_precision operator_precision(const struct klr_operator *op,
                                             enum klr_precision asked)
{
    return op->groups ? KLR_DOUBLE : asked;
}

static bool operator_apply(struct klr_operator *op, struct klr_set rows,
                           struct klr_set cols, const double *v, size_t m,
                           enum klr_precision precision, double *out)
{
    struct product p = {
        .op = op,
        .rows = rows,
        .cols = cols,
        .v = v,
        .m = m,
        .precision = precision,
        .out = out,
    };
    return product_form(&p);
}

static bool operator_fill(struct klr_operator *op, struct klr_set set,
                          enum klr_precision precision)
{
    struct product p = {.op = op,
                        .rows = set,
                        .cols = set,
                        .precision = precision,
                        .at_once = true};
    tiles_divide(&op->tiles, set, op->row);
    tiles_divide(&op->tiles, set, op->col);
    bool whole = op->groups > 0 || product_fill_all(&p);
    operator_count(op, 0, 0);
    return whole;
}

/* Other examples come in batches of as many blocks as there are pieces for. */
static void operator_cross(struct klr_operator *op, const struct klr_points *x,
                           struct klr_set cols, const double *v, size_t m,
                           enum klr_precision precision, double *out)
{
    size_t n = klr_points_count(x), blocks = op->tiles.blocks;
    memset(out, 0, n * m * sizeof *out);
    tiles_divide(&op->tiles, cols, op->col);
    for (size_t first = 0, count; blocks && first < n; first += count) {
        count = n - first < blocks * KLR_TILE ? n - first : blocks * KLR_TILE;
        struct klr_range batch = {first, first + count};
        struct product p = {
            .op = op,
            .left = x,
            .rows = set_of(&batch, 1),
            .cols = cols,
            .v = v,
            .m = m,
            .precision = precision,
            .out = out + first * m,
        };
        size_t used = (count + KLR_TILE - 1) / KLR_TILE;
        for (size_t b = 0; b < used; b++) {
            size_t at = b * KLR_TILE, left = count - at;
            op->row[b] = (struct block_slice){left < KLR_TILE ? left : KLR_TILE,
                                              0, first + at, at};
        }
        if (op->groups)
            product_linear(&p, used);
        else
            product_general(&p, used);
    }
    operator_count(op, n, cols.size);
}
