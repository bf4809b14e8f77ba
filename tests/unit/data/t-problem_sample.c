/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Samples of problems: sizes of classes, rows that are whole and in order, and
 * the same ones for a seed.
 */
#define SOLVER_FLOOR 4
#include "solver.c"

#include "tests/tap.h"

/* Row i is "label 1:(i + 1) 2:-(i + 1)"; each hundredth is of a third class. */
enum { N = 1000, SIZE = 200 };

static void fill(struct klr_problem *problem)
{
    static double x[N][2], label[N];
    for (size_t i = 0; i < N; i++) {
        x[i][0] = (double)(i + 1);
        x[i][1] = -x[i][0];
        label[i] = i % 100 == 0 ? 7 : i % 4 == 1 ? 1 : -1;
    }
    struct klr_error err;
    ok(klr_problem_dense(problem, N, 2, x[0], 1, label, &err) == 0,
       "a problem of arrays");
}

static size_t count_label(const struct klr_problem *problem, double label)
{
    size_t count = 0;
    for (size_t i = 0; i < problem->n; i++)
        count += problem->label[i] == label;
    return count;
}

/* True if each row is one of the problem, with its label, in their order. */
static bool rows_are_whole(const struct klr_problem *sample,
                           const struct klr_problem *problem)
{
    double last = 0;
    bool whole = sample->start[0] == 0;
    for (size_t i = 0; i < sample->n && whole; i++) {
        size_t at = sample->start[i];
        double first = sample->value[at];
        whole = sample->start[i + 1] == at + 2 && first > last &&
                sample->value[at + 1] == -first && sample->index[at] == 1 &&
                sample->label[i] == problem->label[(size_t)first - 1];
        last = first;
    }
    return whole;
}

static void test_unit_gamma(void)
{
    const double x[2] = {0, 2}, label[2] = {1, -1};
    struct klr_problem problem;
    struct klr_error err;
    klr_problem_dense(&problem, 2, 1, x, 1, label, &err);
    ok(klr_problem_unit_gamma(&problem, KLR_RBF) == 0.25,
       "unit gamma: 1 over the squared distance");
    ok(klr_problem_unit_gamma(&problem, KLR_LAPLACIAN) == 0.5,
       "of a Laplacian kernel, over the distance");
    problem.value[problem.start[2] - 1] = 0;
    ok(klr_problem_unit_gamma(&problem, KLR_RBF) == 1, "equal examples: 1");
    klr_problem_free(&problem);
}

int main(void)
{
    struct klr_problem problem, sample, again, other;
    struct klr_error err;
    fill(&problem);
    ok(klr_problem_sample(&sample, &problem, SIZE, 1, &err) == 0, "a sample");
    ok(count_label(&sample, 1) == 50, "a class has its share");
    ok(count_label(&sample, 7) == 10, "a rare class has ten rows");
    ok(sample.n == 208, "about as many rows as asked for");
    ok(rows_are_whole(&sample, &problem), "rows are whole and in order");
    klr_problem_sample(&again, &problem, SIZE, 1, &err);
    klr_problem_sample(&other, &problem, SIZE, 2, &err);
    size_t bytes = 2 * sample.n * sizeof *sample.value;
    ok(memcmp(sample.value, again.value, bytes) == 0, "the same for a seed");
    ok(memcmp(sample.value, other.value, bytes) != 0, "others for another");
    klr_problem_free(&again);
    for (size_t i = 0; i < N; i++)
        problem.label[i] = problem.label[i] == 7 ? -9 : 2 * problem.label[i];
    klr_problem_sample(&again, &problem, SIZE, 1, &err);
    ok(memcmp(sample.value, again.value, bytes) == 0,
       "the same rows for classes of other names");
    klr_problem_free(&problem);
    klr_problem_free(&sample);
    klr_problem_free(&again);
    klr_problem_free(&other);
    test_unit_gamma();
    return done_testing();
}
