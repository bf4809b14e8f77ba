/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shrinking (hinge only): variables at a bound that cannot take part in a step
 * are set aside. Examples in work stand first, in their original order, and
 * rows of K are computed and cached for them alone. Bringing the others back
 * costs about a pass over K, so they are set aside at most every n steps, when
 * the loops over a row have cost about as much.
 */
#include "solver/internal.h"

#include "solver/smo.h"

/* Put example `from` of a into place `to` of b. */
static void smo_copy(const struct smo *a, size_t from, struct smo *b, size_t to)
{
    b->example[to] = a->example[from];
    b->s[to] = a->s[from];
    b->hessian[to] = a->hessian[from];
    b->side[to] = a->side[from];
}

/* The first `count` examples of the spare arrays become the current ones. */
static void smo_take_spare(struct smo *smo, size_t count)
{
    for (size_t k = 0; k < count; k++)
        smo_copy(smo->spare, k, smo, k);
}

static void smo_set_columns(struct smo *smo, size_t active)
{
    size_t count = 0;
    for (size_t k = 0; k < active; k++) {
        size_t p = smo->example[k].position;
        count = set_append(smo->range, count, (struct klr_range){p, p + 1});
    }
    smo->active = active;
    smo->columns = set_of(smo->range, count);
}

/* New columns of cached rows: smo->missing are their positions. */
static void smo_fill(void *context, const size_t *key, void *const *row,
                     size_t count)
{
    struct smo *smo = context;
    size_t element = smo_element(smo), position[KLR_CACHE_FILL];
    size_t width = smo->missing.size;
    for (size_t first = 0, now; first < count; first += now) {
        now = count - first < smo->fill ? count - first : smo->fill;
        for (size_t q = 0; q < now; q++)
            position[q] = smo->position[key[first + q]];
        operator_rows(smo->problem->op, position, now, smo->missing,
                      smo->precision, smo->missing_row, width);
        for (size_t k = 0, next = 0; k < smo->active; k++)
            if (smo->column[k] == KLR_NO_COLUMN) {
                for (size_t q = 0; q < now; q++)
                    memcpy((char *)row[first + q] + k * element,
                           (char *)smo->missing_row +
                               (q * width + next) * element,
                           element);
                next++;
            }
    }
}

/* Of the first `count` examples, which have the columns column[k] in cached
 * rows, set aside those that are at a bound and beyond the others: they can
 * only fall and have s above `most`, or only rise and have s below `least`. */
static void smo_restrict(struct smo *smo, size_t count, double most,
                         double least)
{
    size_t kept = 0, aside = 0, missing = 0;
    for (size_t k = 0; k < count; k++) {
        bool out = (smo->side[k] == SMO_CAN_FALL && smo->s[k] > most) ||
                   (smo->side[k] == SMO_CAN_RISE && smo->s[k] < least);
        if (out) {
            smo_copy(smo, k, smo->spare, count - ++aside);
            continue;
        }
        smo_copy(smo, k, smo->spare, kept);
        smo->column[kept++] = smo->column[k];
        if (smo->column[k] == KLR_NO_COLUMN) {
            size_t p = smo->example[k].position;
            smo->missing_range[missing++] = (struct klr_range){p, p + 1};
        }
    }
    smo_take_spare(smo, count);
    smo_set_columns(smo, kept);
    smo->missing = set_of(smo->missing_range, missing);
    klr_cache_remap(smo->cache, smo->column, kept, smo_fill, smo);
}

static void smo_shrink(struct smo *smo, double most, double least)
{
    for (size_t k = 0; k < smo->active; k++)
        smo->column[k] = k;
    smo_restrict(smo, smo->active, most, least);
}

/* All examples in their original order; column[k] is that of example k in the
 * cached rows, if they have it. */
static void smo_reorder(struct smo *smo)
{
    for (size_t k = 0; k < smo->n; k++) {
        size_t local = smo->example[k].local;
        smo->column[local] = k < smo->active ? k : KLR_NO_COLUMN;
        smo_copy(smo, k, smo->spare, local);
    }
    smo_take_spare(smo, smo->n);
    smo->active = smo->n;
}

static int smo_restore(struct smo *smo, struct klr_error *err)
{
    size_t n = smo->n, missing = 0, support = 0;
    struct klr_range *from = klr_alloc(n, sizeof *from, err);
    double *beta = klr_alloc(n, sizeof *beta, err);
    double *product = klr_alloc(n, sizeof *product, err);
    int code = from && beta && product ? 0 : KLR_E_MEMORY;
    if (code)
        goto done;
    smo_reorder(smo);
    for (size_t k = 0; k < n; k++) {
        const struct smo_example *e = &smo->example[k];
        struct klr_range here = {e->position, e->position + 1};
        if (smo->column[k] == KLR_NO_COLUMN)
            smo->missing_range[missing++] = here;
        if (e->alpha > 0) {
            beta[support] = e->y * e->alpha;
            from[support++] = here;
        }
    }
    operator_apply(smo->problem->op, set_of(smo->missing_range, missing),
                   set_of(from, support), beta, 1, smo->precision, product);
    for (size_t k = 0, next = 0; k < n; k++)
        if (smo->column[k] == KLR_NO_COLUMN) {
            const struct smo_example *e = &smo->example[k];
            double slope = conjugate_slope(&smo->loss, e->alpha, e->cost);
            smo->s[k] = -product[next++] - e->y * slope;
        }
done:
    klr_free(from);
    klr_free(beta);
    klr_free(product);
    return code;
}

static void smo_restore_rows(struct smo *smo)
{
    if (smo->columns.size < smo->n)
        smo_restrict(smo, smo->n, INFINITY, -INFINITY);
}

static int smo_resume(struct smo *smo, bool *optimal, struct klr_error *err)
{
    double most, least;
    int code = smo_restore(smo, err);
    if (code)
        return code;
    smo_extremes(smo, &most, &least);
    *optimal = !(most - least > smo->eps); /* nor a number: no step is left */
    if (!*optimal)
        smo_restrict(smo, smo->n, most, least);
    return 0;
}
