/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rows of K that SMO works with: cached, or fetched several at a time; of
 * examples set aside the columns are left out.
 */
#include "solver/smo/smo_parts.h"

enum {
    SMO_LANES = SMO_FETCH / 2,
    SMO_RUN = 32,
    SMO_WAIT_LEAST = 8,
    SMO_WAIT_MOST = 512
};

static size_t smo_element(const struct smo *smo)
{
    return klr_precision_bytes(smo->precision);
}

/* True if steps with an example need not fetch its row. */
static bool smo_holds(const struct smo *smo, size_t key)
{
    return klr_cache_holds(smo->cache, key) ||
           (smo->active < smo->n && klr_cache_holds(smo->gathered, key));
}

static bool smo_put_rows(struct smo *smo, const size_t *index, size_t count)
{
    size_t position[SMO_FETCH];
    void *row[SMO_FETCH];
    for (size_t q = 0; q < count; q++) {
        const struct smo_example *e = &smo->example[index[q]];
        position[q] = e->position;
        row[q] = klr_cache_row(smo->cache, e->local);
    }
    return operator_rows_to(smo->problem->op, position, count,
                            smo->problem->set, smo->precision, row);
}

static bool smo_have_rows(struct smo *smo, const size_t *index, size_t count)
{
    size_t missing[SMO_FETCH], lacking = 0;
    for (size_t q = 0; q < count; q++) {
        size_t key = smo->example[index[q]].local;
        if (klr_cache_holds(smo->cache, key))
            klr_cache_row(smo->cache, key);
        else
            missing[lacking++] = index[q];
    }
    return lacking == 0 || smo_put_rows(smo, missing, lacking);
}

static const void *smo_whole_row(struct smo *smo, size_t i)
{
    return klr_cache_row(smo->cache, smo->example[i].local);
}

/* Two violators without a cached row for each lane of examples: the worst one
 * that can rise, and the worst that can fall. A lane has every SMO_LANES-th run
 * of SMO_RUN examples. */
struct smo_wanted {
    struct smo_bounds bounds[SMO_LANES];     /* s of the two */
    size_t rise[SMO_LANES], fall[SMO_LANES]; /* their indices; n: none */
};

/* Look at examples of one lane. */
static void smo_look_at(const struct smo *smo, struct smo_wanted *wanted,
                        size_t lane, size_t begin, size_t end)
{
    struct smo_bounds *bounds = &wanted->bounds[lane];
    int sides;
    for (size_t k = begin;
         (k = smo_violator(smo, k, end, bounds, &sides)) < end; k++) {
        if (smo_holds(smo, smo->example[k].local))
            continue;
        if (sides & SMO_CAN_RISE) {
            bounds->rise = smo->s[k];
            wanted->rise[lane] = k;
        }
        if (sides & SMO_CAN_FALL) {
            bounds->fall = smo->s[k];
            wanted->fall[lane] = k;
        }
    }
}

static void smo_look(const struct smo *smo, struct smo_wanted *wanted)
{
    for (size_t t = 0; t < SMO_LANES; t++) {
        wanted->bounds[t].rise = smo->least + smo->eps;
        wanted->bounds[t].fall = smo->most - smo->eps;
        wanted->rise[t] = wanted->fall[t] = smo->n;
    }
    for (size_t k = 0; k < smo->active; k += SMO_RUN)
        smo_look_at(smo, wanted, k / SMO_RUN % SMO_LANES, k,
                    k + SMO_RUN < smo->active ? k + SMO_RUN : smo->active);
}

/* Fetching SMO_FETCH rows together halves the cost of a row, so rows ahead pay
 * if three of five are used. If fewer of the last ones were, the next try comes
 * after twice as many single rows as the one before. */
static bool smo_looks_ahead(struct smo *smo)
{
    struct smo_ahead *ahead = &smo->ahead;
    if (klr_cache_room(smo->cache) < 4 * SMO_FETCH)
        return false;
    if (5 * ahead->used >= 3 * ahead->fetched) {
        ahead->wait = SMO_WAIT_LEAST;
    } else {
        if (++ahead->single < ahead->wait)
            return false;
        ahead->wait *= ahead->wait < SMO_WAIT_MOST ? 2 : 1;
        ahead->fetched = ahead->used = 0;
    }
    if (ahead->fetched >= 8 * SMO_FETCH) {
        ahead->fetched /= 2;
        ahead->used /= 2;
    }
    ahead->single = 0;
    return true;
}

/* Fetch the row of i, and with it some that steps will ask for soon: together
 * they cost less. Which they are has no influence on any result. */
static void smo_fetch(struct smo *smo, size_t i)
{
    size_t index[SMO_FETCH], count = 0;
    if (smo_looks_ahead(smo)) {
        struct smo_wanted wanted;
        smo_look(smo, &wanted);
        for (size_t t = 0; t < 2 * SMO_LANES && count + 1 < SMO_FETCH; t++) {
            size_t k = t % 2 ? wanted.fall[t / 2] : wanted.rise[t / 2];
            if (k == smo->n || k == i || (t % 2 && k == wanted.rise[t / 2]))
                continue;
            smo->unused[smo->example[k].local] = 1;
            index[count++] = k;
        }
        smo->ahead.fetched += count;
    }
    smo->unused[smo->example[i].local] = 0;
    index[count++] = i;
    smo_put_rows(smo, index, count);
}

static void smo_set_active(struct smo *smo, size_t active)
{
    smo->active = active;
    if (active < smo->n)
        klr_cache_reshape(smo->gathered, active > 0 ? active : 1);
}

/* The columns in work of a row with all of them. */
static void smo_gather(const struct smo *smo, const void *row, void *out)
{
    for (size_t k = 0; k < smo->active; k++) {
        size_t column = smo->example[k].local;
        if (smo->precision == KLR_FLOAT)
            ((float *)out)[k] = ((const float *)row)[column];
        else
            ((double *)out)[k] = ((const double *)row)[column];
    }
}

static const void *smo_row(struct smo *smo, size_t i)
{
    if (i == smo->n)
        return smo->zero;
    size_t key = smo->example[i].local;
    bool part = smo->active < smo->n;
    if (part && klr_cache_holds(smo->gathered, key))
        return klr_cache_row(smo->gathered, key);
    if (!klr_cache_holds(smo->cache, key))
        smo_fetch(smo, i);
    smo->ahead.used += smo->unused[key];
    smo->unused[key] = 0;
    const void *row = klr_cache_row(smo->cache, key);
    if (!part)
        return row;
    void *out = klr_cache_row(smo->gathered, key);
    smo_gather(smo, row, out);
    return out;
}
