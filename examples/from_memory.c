/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Train on arrays in memory, ask about other arrays, and save the model: the
 * exclusive or of two features, with noise. Compiles as C and as C++.
 */
#include <stdio.h>
#include <stdlib.h>

#include <klr/solver.h>

enum { ROWS = 200, COLUMNS = 2, ASKED = 4 };

/* A number between -1 and 1. */
static double uniform(unsigned *state)
{
    *state = *state * 1103515245u + 12345u;
    return (double)(*state >> 16 & 0x7fff) / 16383.5 - 1;
}

static void make_examples(double *x, double *label)
{
    unsigned state = 1;
    for (int i = 0; i < ROWS; i++) {
        double a = uniform(&state), b = uniform(&state);
        x[i * COLUMNS] = a;
        x[i * COLUMNS + 1] = b;
        label[i] = (a > 0) != (b > 0) ? 1 : -1;
    }
}

static int train(struct klr_problem *problem, struct klr_model **model,
                 struct klr_error *err)
{
    struct klr_params params;
    struct klr_report report;
    klr_params_init(&params);
    params.cost = klr_reals_of(10);
    int code = klr_params_set(&params, "gamma", "2", err);
    if (!code)
        code = klr_train(problem, &params, model, &report, err);
    if (!code)
        printf("%s, gap %.0e, %zu support vectors\n",
               klr_status_names[report.status],
               report.gap < 1e-6 ? 1e-6 : report.gap, klr_model_n_sv(*model));
    return code;
}

/* The probability of class 1, the first one of the model. */
static int ask(struct klr_model *model, struct klr_error *err)
{
    const double x[ASKED * COLUMNS] = {0.5,  0.5, 0.5,  -0.5,
                                       -0.5, 0.5, -0.5, -0.5};
    double label[ASKED], probability[ASKED * 2];
    struct klr_problem rows;
    struct klr_predictor *predictor = NULL;
    int code = klr_problem_dense(&rows, ASKED, COLUMNS, x, 1, NULL, err);
    if (!code)
        code = klr_predictor_create(&predictor, model, 1, err);
    if (!code) {
        struct klr_features features = {rows.n,     rows.dimension, rows.start,
                                        rows.index, rows.value,     NULL};
        code = klr_predict(predictor, &features, label, NULL, probability, err);
    }
    for (int i = 0; i < ASKED && !code; i++)
        printf("%4.1f %4.1f: class %2.0f, probability of 1 %s\n",
               x[i * COLUMNS], x[i * COLUMNS + 1], label[i],
               probability[i * 2] > 0.5 ? "above 1/2" : "below 1/2");
    klr_predictor_free(predictor);
    klr_problem_free(&rows);
    return code;
}

static int save(struct klr_model *model, const char *path,
                struct klr_error *err)
{
    struct klr_output *out = NULL;
    int code = klr_output_open(&out, path, err);
    if (!code)
        code = klr_model_save(model, out, 0, err);
    if (!code)
        return klr_output_commit(out, err);
    klr_output_abandon(out);
    return code;
}

int main(int argc, char **argv)
{
    static double x[ROWS * COLUMNS], label[ROWS];
    struct klr_problem problem;
    struct klr_model *model = NULL;
    struct klr_error err;
    make_examples(x, label);
    int code = klr_problem_dense(&problem, ROWS, COLUMNS, x, 1, label, &err);
    if (!code)
        code = train(&problem, &model, &err);
    if (!code)
        code = ask(model, &err);
    if (!code && argc > 1)
        code = save(model, argv[1], &err);
    if (code)
        fprintf(stderr, "from_memory: %s\n", err.message);
    klr_model_free(model); /* it refers to the problem */
    klr_problem_free(&problem);
    return code ? EXIT_FAILURE : EXIT_SUCCESS;
}
