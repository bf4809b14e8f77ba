/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many points a basis needs. Some examples are held out: with C_i = 0 they
 * have no part in the choice of points, nor in the solution. The points are
 * doubled, and each time the problem is solved on all other examples, which
 * tells
 *
 *   gain    by how much the mean log loss of those held out has fallen, and its
 *           standard error, from example to example;
 *   fall    by how much the objective has;
 *   rest    how much of it more points could take at most: subspace_bound.c.
 *
 * Loss and objective fall together, so that all examples would gain about
 *
 *   excess = gain rest / fall.
 *
 * Where this and two standard errors are below the tolerance, there are points
 * enough; and half of them are, where their excess, gain + excess, is as well.
 * A bound near 0 is an end, too. No small model exists where the most that
 * there may be are not enough. Then so many points are grown from all examples.
 * Losses, objectives and bounds of machines that share their points are summed.
 */
#include "solver/subspace/subspace_parts.h"

enum {
    SIZE_HELD = 2500,       /* examples held out, at least, */
    SIZE_HELD_MOST = 10000, /* and at most; */
    SIZE_HELD_SHARE = 20,   /* in between the 20th part of them, */
    SIZE_HELD_QUARTER = 4,  /* but no more than a quarter */
    SIZE_FEW = 256,         /* points, or half the examples, are few; so is */
    SIZE_SHARE = 6,         /* the part of the examples that is small, */
    SIZE_POINTS = 2048,     /* but no more than so many, or 2 n^(2/3): from */
    SIZE_TIMES = 2,         /* there on all examples take less time */
    SIZE_RATIO = 16         /* of rest and fall, at most */
};
static const double size_gap = 1e-4, size_bound = 1e-3;

struct sizing {
    struct subspace *s;
    size_t rows;         /* held out */
    size_t *row;         /* (rows) */
    size_t before;       /* points of half the size; 0: there is none */
    double *loss;        /* (rows) */
    double *loss_before; /* (rows) */
    double objective, objective_before;
    double gain, error; /* gain and its standard error */
    double rest, ratio; /* rest; rest / fall */
};

static void sizing_free(struct sizing *z)
{
    klr_free(z->row);
    klr_free(z->loss);
    klr_free(z->loss_before);
}

/* Hold out the same share of each class. */
static void sizing_hold_out(struct sizing *z, size_t wanted)
{
    struct subspace *s = z->s;
    sample_count(s, s->part);
    for (size_t c = 0; c < s->classes; c++)
        s->part[c] =
            (size_t)((double)wanted * (double)s->part[c] / (double)s->n);
    z->rows = sample_rows(s, ~(uint64_t)s->problem->params->seed, s->part,
                          z->row, NULL);
    for (size_t k = 0; k < z->rows; k++)
        s->all.cost[z->row[k]] = 0;
}

static int sizing_create(struct sizing *z, struct subspace *s,
                         struct klr_error *err)
{
    size_t wanted = s->n / SIZE_HELD_SHARE;
    if (wanted < SIZE_HELD)
        wanted = SIZE_HELD;
    if (wanted > SIZE_HELD_MOST)
        wanted = SIZE_HELD_MOST;
    if (wanted > s->n / SIZE_HELD_QUARTER)
        wanted = s->n / SIZE_HELD_QUARTER;
    *z = (struct sizing){.s = s};
    if (!(z->row = klr_alloc(wanted, sizeof *z->row, err)) ||
        !(z->loss = klr_alloc(wanted, sizeof *z->loss, err)) ||
        !(z->loss_before = klr_alloc(wanted, sizeof *z->loss_before, err)))
        return KLR_E_MEMORY;
    sizing_hold_out(z, wanted);
    return 0;
}

/* ---- one size ---- */

/* Solve for the machine that is worked on. False: the clock ended it. */
static bool size_solve_one(struct sizing *z, struct klr_error *err, int *code)
{
    struct subspace *s = z->s;
    struct klr_basis_report bound = {.full_gap = NAN};
    if ((*code = subspace_draw(s, sample_wanted(s->m) / 2, err)) ||
        !subspace_fit_sample(s, sample_gap))
        return false;
    memcpy(s->all.rho, s->sample.rho, s->columns * sizeof *s->rho);
    subspace_newton(s, size_gap);
    memcpy(s->sample.rho, s->all.rho, s->columns * sizeof *s->rho);
    if (clock_stopped(s->problem->clock) ||
        (*code = subspace_bound(s, false, &bound, err)))
        return false;
    z->objective += s->objective;
    z->rest += bound.full_gap * fabs(s->objective);
    for (size_t k = 0; k < z->rows; k++)
        z->loss[k] += s->functions->loss_of(s, z->row[k]);
    return !clock_stopped(s->problem->clock);
}

/* Likewise for all of them. */
static bool size_solve(struct sizing *z, struct klr_error *err, int *code)
{
    z->objective = z->rest = 0;
    memset(z->loss, 0, z->rows * sizeof *z->loss);
    bool whole = true;
    for (size_t q = 0; q < z->s->machines && whole; q++) {
        subspace_turn(z->s, q);
        whole = size_solve_one(z, err, code);
        subspace_keep(z->s, q);
    }
    return whole;
}

/* Against half the size. */
static void size_compare(struct sizing *z)
{
    const struct subspace *s = z->s;
    double total = 0, sum = 0, square = 0;
    double fall = z->objective_before - z->objective;
    z->gain = z->error = z->ratio = NAN;
    if (z->before == 0)
        return;
    for (size_t k = 0; k < z->rows; k++) {
        double weight = s->problem->weight[z->row[k]];
        total += weight;
        sum += weight * (z->loss_before[k] - z->loss[k]);
    }
    z->gain = sum / total;
    for (size_t k = 0; k < z->rows; k++) {
        double d = z->loss_before[k] - z->loss[k] - z->gain;
        square += pow(s->problem->weight[z->row[k]] * d, 2);
    }
    z->error = sqrt(square) / total;
    z->ratio = fmin(z->rest / fmax(fall, 0), SIZE_RATIO);
}

/* True if all examples would gain little over this size, or over half of it. */
static bool size_suffices(struct sizing *z, bool half)
{
    struct subspace *s = z->s;
    double times = half ? 1 + z->ratio : z->ratio;
    double excess = fmax(z->gain, 0) * times, error = z->error * times;
    double tolerance = s->problem->params->basis_tol;
    bool ends =
        excess + 2 * error < tolerance ||
        (!half && z->rest < fmin(size_bound, tolerance) * fabs(z->objective));
    if (!half || ends) {
        s->excess = excess;
        s->excess_error = error;
    }
    return ends;
}

/* Go on from this size. */
static void size_keep(struct sizing *z)
{
    double *loss = z->loss;
    z->before = z->s->m;
    z->objective_before = z->objective;
    z->loss = z->loss_before;
    z->loss_before = loss;
}

/* ---- all of them ---- */

/* Points of a small model, at most. */
static size_t size_most(size_t n)
{
    double most = fmax(SIZE_POINTS, SIZE_TIMES * pow((double)n, 2.0 / 3));
    double few = fmin(SIZE_FEW, 0.5 * (double)n);
    return (size_t)fmax(fmin(most, (double)n / SIZE_SHARE), few);
}

/* Twice the points; false: there are no more. */
static bool size_double(struct sizing *z, uint64_t *random,
                        struct klr_error *err, int *code)
{
    struct subspace *s = z->s;
    size_t most = size_most(s->n), next = 2 * s->m < most ? 2 * s->m : most;
    s->end = KLR_BASIS_LARGE;
    if (next <= s->m)
        return false;
    s->end = KLR_BASIS_MEMORY;
    if (!subspace_fits(s, next))
        return false;
    s->end = KLR_BASIS_ENOUGH;
    size_keep(z);
    if ((*code = subspace_make_room(s, next, err)))
        return false;
    return subspace_double(s, random, err, code);
}

static int subspace_find_size(struct subspace *s, size_t *size,
                              struct klr_error *err)
{
    uint64_t random = (uint64_t)s->problem->params->seed;
    struct sizing z;
    int code = sizing_create(&z, s, err);
    while (!code && size_solve(&z, err, &code)) {
        size_compare(&z);
        s->end = KLR_BASIS_ENOUGH;
        *size = s->m;
        if (size_suffices(&z, false)) {
            if (size_suffices(&z, true))
                *size = z.before;
            break;
        }
        if (!size_double(&z, &random, err, &code))
            break;
    }
    if (clock_stopped(s->problem->clock))
        s->end = KLR_BASIS_CUT;
    sizing_free(&z);
    return code;
}
