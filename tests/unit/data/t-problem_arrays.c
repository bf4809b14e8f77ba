/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Problems of arrays in memory: what they hold, dense and sparse alike, and
 * what is refused; parameters set by name; places of fields.
 */
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "solver.h"
#include "tests/tap.h"

enum { ROWS = 3, COLUMNS = 4 };

static const double dense[ROWS * COLUMNS] = {0, 2, 0, -1, 0, 0,
                                             0, 0, 5, 0,  3, 0};
static const double labels[ROWS] = {1, -0.0, 7};
static const size_t starts[ROWS + 1] = {0, 2, 2, 4};
static const int indices[] = {2, 4, 1, 3};
static const double values[] = {2, -1, 5, 3};

/* The rows above, `shift` being what indices lack. */
static bool holds(const struct klr_problem *p, int shift)
{
    bool same = p->n == ROWS && p->dimension == COLUMNS - shift &&
                !signbit(p->label[1]) &&
                memcmp(p->start, starts, sizeof starts) == 0 &&
                memcmp(p->value, values, sizeof values) == 0;
    for (size_t i = 0; i < ROWS && same; i++)
        same = p->label[i] == labels[i];
    for (size_t k = 0; k < 4 && same; k++)
        same = p->index[k] == indices[k] - shift;
    return same;
}

static bool empty(const struct klr_problem *p)
{
    return p->n == 0 && !p->label && !p->start && !p->index && !p->value;
}

static void test_contents(void)
{
    struct klr_problem p;
    struct klr_features x = {ROWS, 0, starts, indices, values, NULL};
    ok(!klr_problem_dense(&p, ROWS, COLUMNS, dense, 1, labels, NULL) &&
           holds(&p, 0) && !p.has_zero,
       "dense");
    klr_problem_free(&p);
    ok(!klr_problem_dense(&p, ROWS, COLUMNS, dense, 0, labels, NULL) &&
           holds(&p, 1) && p.has_zero,
       "dense, from feature 0 on");
    klr_problem_free(&p);
    ok(!klr_problem_sparse(&p, &x, labels, NULL) && holds(&p, 0), "sparse");
    klr_problem_free(&p);
    x.dimension = 9;
    ok(!klr_problem_sparse(&p, &x, NULL, NULL) && p.dimension == 9 &&
           p.label[0] == 0 && p.label[2] == 0,
       "a dimension that is given, and no labels");
    klr_problem_free(&p);
}

static void test_dense_refusals(void)
{
    struct klr_problem p;
    struct klr_error err;
    double x[ROWS * COLUMNS], label[ROWS] = {1, 2, 3};
    memcpy(x, dense, sizeof x);
    x[6] = NAN;
    ok(klr_problem_dense(&p, ROWS, COLUMNS, x, 1, label, &err) == KLR_E_DATA &&
           err.line == 2 && err.column == 3 && empty(&p),
       "not a number: %s", err.message);
    x[6] = -INFINITY;
    ok(klr_problem_dense(&p, ROWS, COLUMNS, x, 1, label, &err) == KLR_E_DATA,
       "infinite: %s", err.message);
    label[2] = NAN;
    ok(klr_problem_dense(&p, ROWS, COLUMNS, dense, 1, label, &err) ==
               KLR_E_DATA &&
           err.line == 3 && empty(&p),
       "a label: %s", err.message);
    ok(klr_problem_dense(&p, 0, COLUMNS, x, 1, NULL, &err) == KLR_E_DATA,
       "no rows: %s", err.message);
    ok(klr_problem_dense(&p, 1, (size_t)INT_MAX + 1, x, 0, NULL, &err) ==
               KLR_E_USAGE &&
           klr_problem_dense(&p, SIZE_MAX / 8, COLUMNS, x, 1, NULL, &err) ==
               KLR_E_USAGE &&
           klr_problem_dense(&p, 1, 1, x, -1, NULL, &err) == KLR_E_USAGE,
       "too many columns: %s", err.message);
}

static void test_sparse_refusals(void)
{
    static const int wrong[][4] = {{4, 2, 1, 3}, {2, 2, 1, 3}, {-1, 2, 1, 3}};
    struct klr_problem p;
    struct klr_error err;
    for (size_t i = 0; i < 3; i++) {
        struct klr_features x = {ROWS, 0, starts, wrong[i], values, NULL};
        ok(klr_problem_sparse(&p, &x, NULL, &err) == KLR_E_DATA &&
               err.line == 1 && err.column == (i < 2 ? 2 : 1) && empty(&p),
           "indices: %s", err.message);
    }
}

static void test_parameters(void)
{
    struct klr_params params;
    struct klr_error err;
    klr_params_init(&params);
    ok(!klr_params_set(&params, "cost", "0.1:10:x10", &err) &&
           params.cost.count == 3 &&
           !klr_params_set(&params, "kernel", "laplacian", &err) &&
           params.kernel == KLR_LAPLACIAN &&
           !klr_params_set(&params, "no-bias", "", &err) && params.no_bias,
       "parameters by name");
    ok(klr_params_set(&params, "no cost", "1", &err) == KLR_E_USAGE,
       "unknown: %s", err.message);
    ok(klr_params_set(&params, "cost", "-1", &err) == KLR_E_USAGE &&
           params.cost.count == 3,
       "refused: %s", err.message);
}

static void test_places(void)
{
    ok(klr_struct_place("klr_params") == sizeof(struct klr_params) &&
           klr_struct_place("klr_params.fold") ==
               offsetof(struct klr_params, fold) &&
           klr_struct_place("klr_params.none") == SIZE_MAX,
       "places");
    ok(strcmp(klr_version(), KLR_VERSION) == 0, "the version");
}

int main(void)
{
    test_contents();
    test_dense_refusals();
    test_sparse_refusals();
    test_parameters();
    test_places();
    return done_testing();
}
