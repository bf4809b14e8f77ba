/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The L of lowrank.c for the linear kernel of sparse examples. Since
 * S K S = (S X)(S X)', the features themselves are its columns: L = S X_T with
 * the features T that weigh most, sum_i W_i x_ij^2. What they leave is the
 * kernel of all others. Of words, and of categories, a few hundred features
 * leave so little that conjugate gradients take a few steps, and no entry of K
 * is computed.
 *
 * L is sparse: so are products with it, and I + L'L takes the squares of the
 * rows. Bands of its columns are tasks of the pool.
 */
#include "solver/matrix/matrix.h"

static bool leading_serves(const struct klr_operator *op)
{
    const size_t *start;
    const int *column;
    const double *value;
    return op->groups && klr_points_rows(op->points, &start, &column, &value);
}

/* The next row of a set, in order: range *r, position *p. */
static size_t leading_row(struct klr_set set, size_t *r, size_t *p)
{
    size_t row = (*p)++;
    if (*p == set.range[*r].end && ++*r < set.count)
        *p = set.range[*r].begin;
    return row;
}

/* Entries of the features that occur in most rows: L has no more. */
static size_t leading_room(struct leading *lead, struct klr_set set)
{
    double room = 0;
    memset(lead->sorted, 0, lead->width * sizeof *lead->sorted);
    for (size_t i = 0, r = 0, p = set.range[0].begin; i < set.size; i++) {
        size_t row = leading_row(set, &r, &p);
        for (size_t t = lead->start[row]; t < lead->start[row + 1]; t++)
            lead->sorted[lead->feature[t]]++;
    }
    qsort(lead->sorted, lead->width, sizeof *lead->sorted, compare_labels);
    for (size_t j = lead->width - lead->most; j < lead->width; j++)
        room += lead->sorted[j];
    return (size_t)room;
}

static int leading_create(struct leading **out, struct submatrix matrix,
                          struct klr_arena *arena, struct klr_error *err)
{
    const struct klr_points *points = matrix.op->points;
    struct leading *lead = KLR_TAKE_ZERO(arena, *out, 1, 1, err);
    if (!lead)
        return KLR_E_MEMORY;
    lead->width = klr_points_width(points);
    lead->most = lead->width < LEADING_MOST ? lead->width : LEADING_MOST;
    klr_points_rows(points, &lead->start, &lead->feature, &lead->x);
    KLR_TAKE(arena, lead->weight, lead->width, 1, err);
    KLR_TAKE(arena, lead->sorted, lead->width, 1, err);
    KLR_TAKE(arena, lead->number, lead->width, 1, err);
    KLR_TAKE(arena, lead->begin, matrix.set.size + 1, 1, err);
    if (!lead->weight || !lead->sorted || !lead->number || !lead->begin)
        return KLR_E_MEMORY;
    size_t room = leading_room(lead, matrix.set);
    KLR_TAKE(arena, lead->column, room, 1, err);
    KLR_TAKE(arena, lead->value, room, 1, err);
    return lead->column && lead->value ? 0 : KLR_E_MEMORY;
}

/* ---- the features ---- */

static void leading_weigh(struct leading *lead, struct klr_set set,
                          const double *s)
{
    memset(lead->weight, 0, lead->width * sizeof *lead->weight);
    for (size_t i = 0, r = 0, p = set.range[0].begin; i < set.size; i++) {
        size_t row = leading_row(set, &r, &p);
        for (size_t t = lead->start[row]; t < lead->start[row + 1]; t++)
            lead->weight[lead->feature[t]] +=
                s[i] * s[i] * lead->x[t] * lead->x[t];
    }
}

/* The least weight of those that are taken: more than precond_least. */
static double leading_bound(const struct leading *lead)
{
    size_t width = lead->width;
    memcpy(lead->sorted, lead->weight, width * sizeof *lead->sorted);
    qsort(lead->sorted, width, sizeof *lead->sorted, compare_labels);
    return lead->most < width ? lead->sorted[width - lead->most - 1] : 0;
}

static void leading_choose(struct leading *lead)
{
    double bound = fmax(leading_bound(lead), precond_least);
    lead->count = 0;
    for (size_t j = 0; j < lead->width; j++)
        lead->number[j] =
            (uint16_t)(lead->weight[j] > bound ? lead->count++ : lead->most);
}

/* ---- L ---- */

static void leading_build(struct leading *lead, struct klr_set set,
                          const double *s)
{
    size_t at = 0;
    leading_weigh(lead, set, s);
    leading_choose(lead);
    for (size_t i = 0, r = 0, p = set.range[0].begin; i < set.size; i++) {
        size_t row = leading_row(set, &r, &p);
        lead->begin[i] = at;
        for (size_t t = lead->start[row]; t < lead->start[row + 1]; t++) {
            uint16_t number = lead->number[lead->feature[t]];
            if (number == lead->most)
                continue;
            lead->column[at] = number;
            lead->value[at++] = (float)lead->x[t];
        }
    }
    lead->begin[set.size] = at;
}

/* w (count) += L'x, and out = L w, for the rows begin .. end - 1. */
static void leading_project(const struct leading *lead, const double *s,
                            size_t begin, size_t end, const double *x,
                            double *w)
{
    for (size_t i = begin; i < end; i++) {
        double share = s[i] * x[i];
        for (size_t t = lead->begin[i]; t < lead->begin[i + 1]; t++)
            w[lead->column[t]] += share * (double)lead->value[t];
    }
}

static void leading_expand(const struct leading *lead, const double *s,
                           size_t begin, size_t end, const double *w,
                           double *out)
{
    for (size_t i = begin; i < end; i++) {
        double sum = 0;
        for (size_t t = lead->begin[i]; t < lead->begin[i + 1]; t++)
            sum += w[lead->column[t]] * (double)lead->value[t];
        out[i] = s[i] * sum;
    }
}

/* Rows first .. end - 1 of the upper triangle of I + L'L. */
static void leading_gram(const struct leading *lead, size_t n, const double *s,
                         size_t first, size_t end, double *gram, size_t stride)
{
    for (size_t a = first; a < end; a++) {
        memset(gram + a * stride, 0, lead->count * sizeof *gram);
        gram[a * stride + a] = 1;
    }
    for (size_t i = 0; i < n; i++) {
        size_t t = lead->begin[i], last = lead->begin[i + 1];
        double weight = s[i] * s[i];
        while (t < last && lead->column[t] < first)
            t++;
        for (; t < last && lead->column[t] < end; t++) {
            double *row = gram + lead->column[t] * stride;
            double left = weight * (double)lead->value[t];
            for (size_t q = t; q < last; q++)
                row[lead->column[q]] += left * (double)lead->value[q];
        }
    }
}
