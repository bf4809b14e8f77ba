/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products of the linear kernel: K V = X (X'V), unless to read X twice takes
 * more than to read half of K. Sums over examples are divided into a fixed
 * number of groups, so that they do not depend on threads.
 */
#include "solver/gram/operator_parts.h"

enum { GROUPS_MOST = 16, GROUPS_BYTES = 8 << 20 };

/* X (X'V) reads X twice, a product reads n^2 / 2 floats or computes them. */
static size_t choose_groups(const struct klr_operator *op)
{
    if (op->kernel.type != KLR_LINEAR ||
        4.0 * (double)klr_points_stored(op->points) >
            (double)op->n * (double)op->n)
        return 0;
    size_t bytes =
        klr_points_width(op->points) * KLR_SLICE * sizeof(double) + 1;
    size_t groups = GROUPS_BYTES / bytes + 1;
    return groups < GROUPS_MOST ? groups : GROUPS_MOST;
}

struct linear {
    struct klr_operator *op;
    const struct klr_points *left;
    const struct block_slice *piece; /* of the tasks */
    struct klr_set set;
    const double *v;
    double *out;
    size_t m, pitch;
};

/* partial (group) = X' V over blocks of columns. */
static void multiply_task(void *context, size_t group, size_t thread)
{
    const struct linear *l = context;
    const struct klr_operator *op = l->op;
    size_t size = klr_points_width(op->points) * l->m;
    size_t blocks = op->tiles.blocks;
    double *z = op->partial + group * size;
    memset(z, 0, size * sizeof *z);
    for (size_t b = blocks * group / op->groups;
         b < blocks * (group + 1) / op->groups; b++) {
        struct block_iterator all = {l->set, b, &l->piece[b], 0,
                                     l->piece[b].size};
        struct klr_set set = block_ranges(all, op->tiles.work[thread].cols);
        const double *v = l->v + l->piece[b].offset * l->pitch;
        for (size_t q = 0; q < set.count; q++) {
            klr_points_multiply(op->points, set.range[q], v, l->pitch, l->m, z);
            v += (set.range[q].end - set.range[q].begin) * l->pitch;
        }
    }
}

/* out = X z over a block of rows. */
static void expand_task(void *context, size_t b, size_t thread)
{
    const struct linear *l = context;
    const struct klr_operator *op = l->op;
    struct block_iterator all = {l->set, b, &l->piece[b], 0, l->piece[b].size};
    struct klr_set set = block_ranges(all, op->tiles.work[thread].rows);
    double *out = l->out + l->piece[b].offset * l->pitch;
    for (size_t q = 0; q < set.count; q++) {
        klr_points_expand(l->left, set.range[q], op->partial, l->m, out,
                          l->pitch);
        out += (set.range[q].end - set.range[q].begin) * l->pitch;
    }
}

/* z = X'V for columns c .. c + m - 1 of V, in the first of the partial sums. */
static bool linear_columns(struct linear *l, const struct product *p, size_t c)
{
    struct klr_operator *op = l->op;
    size_t size = klr_points_width(op->points) * l->m;
    l->set = p->cols;
    l->piece = op->col;
    l->v = p->v + c;
    if (!klr_pool_run(op->pool, op->groups, multiply_task, l))
        return false;
    for (size_t g = 1; g < op->groups; g++)
        for (size_t t = 0; t < size; t++)
            op->partial[t] += op->partial[g * size + t];
    return true;
}

static bool product_linear(const struct product *p, size_t blocks)
{
    struct linear l = {
        .op = p->op, .left = p->left ? p->left : p->op->points, .pitch = p->m};
    for (size_t c = 0; c < p->m; c += l.m) {
        l.m = p->m - c < KLR_SLICE ? p->m - c : KLR_SLICE;
        if (!linear_columns(&l, p, c))
            return false;
        l.set = p->rows;
        l.piece = p->op->row;
        l.out = p->out + c;
        if (!klr_pool_run(p->op->pool, blocks, expand_task, &l))
            return false;
    }
    return true;
}
