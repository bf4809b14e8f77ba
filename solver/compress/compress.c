/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A trained model on few of its support vectors. The decision function of each
 * machine is an expansion in their kernels; few of these are chosen, and the
 * function is projected onto their span: subspace_project.c. For klr and sklr
 * that is but the choice: machines are trained again on the points.
 */
#include "solver/compress/compress.h"

/* ---- what can be compressed ---- */

static int compress_refuse(const struct klr_model *model, struct klr_error *err)
{
    if (model->kernel.type == KLR_LINEAR)
        return klr_fail(err, KLR_E_USAGE,
                        "option --from: a linear model is one vector already");
    if (model->kernel.type == KLR_PRECOMPUTED)
        return klr_fail(err, KLR_E_USAGE,
                        "option --from: a precomputed kernel is known of "
                        "examples alone, not of support vectors");
    if (!klr_kernel_is_psd(&model->kernel))
        return klr_fail(err, KLR_E_USAGE,
                        "option --from: the kernel of the model must be "
                        "positive semidefinite");
    return 0;
}

/* A model that is trained again, on a basis. */
static bool compress_trains(const struct klr_model *model)
{
    return model->type == KLR_MODEL_KLR || model->type == KLR_MODEL_SKLR;
}

/* Params with the kernel of the model. */
static struct klr_params compress_params(const struct klr_model *model,
                                         const struct klr_params *given)
{
    struct klr_params params = *given;
    params.kernel = (int)model->kernel.type;
    params.degree = model->kernel.degree;
    params.gamma = klr_reals_of(model->kernel.gamma);
    params.coef0 = model->kernel.coef0;
    klr_params_fill(&params);
    return params;
}

int klr_compress_check(const struct klr_model *model,
                       const struct klr_params *given, struct klr_error *err)
{
    const struct klr_params taken = compress_params(model, given),
                            *params = &taken;
    if (params->model != (int)model->type)
        return klr_fail(err, KLR_E_USAGE, "option -s: the model is of %s",
                        klr_model_names[model->type]);
    if (params->basis <= 0)
        return klr_fail(err, KLR_E_USAGE,
                        "option --from: --basis must say how many points there "
                        "are to be");
    if (params->n_points || params->basis_choice || klr_params_validate(params))
        return klr_fail(err, KLR_E_USAGE,
                        "option --from: points are chosen by the coefficients "
                        "of the model alone, not by %s",
                        params->n_points       ? "--points"
                        : params->basis_choice ? "--basis-choice"
                                               : "validation");
    int code = compress_refuse(model, err);
    if (code || !compress_trains(model))
        return code;
    if (model->record.says[SAYS_WEIGHTS] && !params->example_weight)
        return klr_fail(err, KLR_E_USAGE,
                        "option --from: the model was trained with weights of "
                        "examples, and is to be again: --weights");
    if (params->regularizer == KLR_REGULARIZER_COEF)
        return klr_fail(err, KLR_E_USAGE,
                        "option --from: klr with the regularizer coef is not "
                        "trained on a basis");
    return klr_params_check(params, err);
}

int klr_problem_scale_as(struct klr_problem *problem,
                         const struct klr_model *model, struct klr_error *err)
{
    struct klr_scaling *scaling = NULL;
    int code = model->scaling ? scaling_copy(&scaling, model->scaling, err) : 0;
    if (!code && scaling)
        code = problem_apply_scaling(problem, scaling, err);
    if (code)
        scaling_free(scaling);
    return code;
}

/* ---- machines ---- */

/* The row of the coefficients that vectors of class c have in a machine; false:
 * they have none. */
static bool compress_row(const struct klr_model *model, size_t machine,
                         size_t c, size_t *row)
{
    size_t a, b;
    *row = machine;
    if (machines_are_classes(model->multiclass))
        return true;
    pair_classes(model->k, machine, &a, &b);
    *row = c == a ? b - 1 : a;
    return c == a || c == b;
}

/* The vectors of a machine, those that have a coefficient, which goes to beta.
 */
static struct klr_set compress_take(struct compression *c, size_t machine)
{
    const struct klr_model *model = c->model;
    size_t count = 0, n = 0, row;
    for (size_t class = 0, sv = 0, end = 0; class < model->k; class ++) {
        bool has = compress_row(model, machine, class, &row);
        for (end += model->class_sv[class]; sv < end; sv++) {
            size_t at = row * model->n_sv + sv;
            if (!has || model->coef[at] == 0)
                continue;
            c->place[n] = at;
            c->beta[n++] = model->coef[at];
            count = set_append(c->range, count, (struct klr_range){sv, sv + 1});
        }
    }
    return set_of(c->range, count);
}

/* The worst of all machines is reported. */
static void compress_report(struct klr_projection_report *report,
                            const struct projection *projection)
{
    if (projection->points > report->points)
        report->points = projection->points;
    if (isnan(projection->square) ||
        (report->square > 0 && projection->distance * report->square <=
                                   report->distance * projection->square))
        return;
    report->square = projection->square;
    report->distance = projection->distance;
}

static int compress_machine(struct compression *c, size_t machine,
                            struct klr_error *err)
{
    struct projection projection;
    struct klr_set set = compress_take(c, machine);
    struct binary_problem binary = {.op = &c->op,
                                    .set = set,
                                    .n = set.size,
                                    .y = c->one,
                                    .weight = c->one,
                                    .params = &c->params,
                                    .clock = &c->clock};
    clock_next(&c->clock, 1, set.size);
    int code = subspace_project(&binary, c->beta, &projection, err);
    if (code)
        return code;
    for (size_t i = 0; i < set.size; i++)
        c->coef[c->place[i]] = c->beta[i];
    compress_report(&c->report, &projection);
    return 0;
}

static int compress_create(struct compression *c, struct klr_error *err)
{
    struct klr_arena *arena = &c->arena;
    const struct klr_model *model = c->model;
    struct klr_features x = model_features(model);
    size_t n = model->n_sv;
    if (!KLR_TAKE(arena, c->one, n, 1, err) ||
        !KLR_TAKE(arena, c->beta, n, 1, err) ||
        !KLR_TAKE(arena, c->place, n, 1, err) ||
        !KLR_TAKE(arena, c->range, n, 1, err) ||
        !KLR_TAKE_ZERO(arena, c->coef, n, model->columns, err))
        return KLR_E_MEMORY;
    for (size_t i = 0; i < n; i++)
        c->one[i] = 1;
    c->report.vectors = n;
    c->report.square = NAN;
    int code = klr_pool_create(&c->pool, c->params.threads, err);
    if (!code)
        code =
            operator_create(&c->op, &model->kernel, &x, NULL, c->pool, 0, err);
    clock_start(&c->clock, model->machines);
    clock_watch(&c->clock, &c->params, c->pool);
    return code;
}

static void compress_free(struct compression *c)
{
    clock_leave(c->pool);
    operator_free(&c->op);
    klr_pool_free(c->pool);
    klr_arena_free(&c->arena);
}

/* ---- answers, compared ---- */

enum { COMPARED_ROWS = 5000 };

/* The answers to rows that are scaled already. */
static int compress_answers(const struct compression *c,
                            const struct klr_model *model,
                            const struct klr_features *x, double *label,
                            struct klr_error *err)
{
    struct klr_model bare = *model;
    struct klr_predictor *predictor;
    bare.scaling = NULL;
    int code = klr_predictor_create(&predictor, &bare, c->params.threads, err);
    if (!code)
        code = klr_predict(predictor, x, label, NULL, NULL, err);
    klr_predictor_free(predictor);
    return code;
}

/* How many answers to examples, or to a sample of them, have changed. */
static int compress_compare(struct compression *c,
                            const struct klr_model *model,
                            struct klr_error *err)
{
    struct klr_problem sample;
    int code = klr_problem_sample(&sample, c->problem, COMPARED_ROWS,
                                  c->params.seed, err);
    if (code)
        return code;
    struct klr_features x = problem_features(&sample);
    double *label = klr_alloc(2 * x.n, sizeof *label, err);
    code = label ? compress_answers(c, c->model, &x, label, err) : KLR_E_MEMORY;
    if (!code)
        code = compress_answers(c, model, &x, label + x.n, err);
    c->report.compared = x.n;
    for (size_t i = 0; i < x.n && !code; i++)
        c->report.changed += label[i] != label[x.n + i];
    klr_free(label);
    klr_problem_free(&sample);
    if (code == KLR_E_DATA && err)
        err->line = 0; /* a row of the sample */
    return code;
}

/* ---- the model ---- */

/* Have it say so: its options, with this basis. */
static int compress_say(const struct compression *c, struct klr_model *model,
                        struct klr_error *err)
{
    const char *said = model->record.says[SAYS_OPTIONS], *name = "basis=";
    struct klr_text text = {0};
    for (size_t length; said && *said; said += length + (said[length] == ' ')) {
        length = strcspn(said, " ");
        if (strncmp(said, name, strlen(name)) == 0)
            continue;
        klr_text_put_some(&text, said, length);
        klr_text_put(&text, " ");
    }
    klr_text_putf(&text, "%s%lld", name, c->params.basis);
    int code = text.failed ? klr_fail(err, KLR_E_MEMORY, "out of memory")
                           : model_say(model, SAYS_OPTIONS, text.text, err);
    klr_free(text.text);
    return code;
}

static int compress_finish(struct compression *c, struct klr_model **model,
                           struct klr_report *report, struct klr_error *err)
{
    int code = model_subset(model, c->model, c->coef, err);
    if (!code && !clock_stopped(&c->clock))
        code = compress_compare(c, *model, err);
    if (code)
        return code;
    (*model)->record.status = gravest((*model)->record.status, c->clock.status);
    report_start(report);
    report->solver = (*model)->record.solver;
    report->status = report->machines = c->clock.status;
    report->primal = report->dual = report->gap = NAN;
    report->n_sv = (*model)->n_sv;
    report->different = c->problem->n;
    report->seconds = klr_seconds() - c->clock.begin;
    return 0;
}

int klr_compress(const struct klr_model *from,
                 const struct klr_problem *problem,
                 const struct klr_params *params, struct klr_model **model,
                 struct klr_report *report, struct klr_error *err)
{
    bool trains = compress_trains(from);
    size_t models = trains ? params->cost.count : 1;
    struct compression c = {.model = from,
                            .problem = problem,
                            .params = compress_params(from, params)};
    for (size_t t = 0; t < models; t++)
        model[t] = NULL;
    int code = klr_compress_check(from, params, err);
    if (code)
        return code;
    code = compress_create(&c, err);
    for (size_t m = 0; m < from->machines && !code; m++)
        code = compress_machine(&c, m, err);
    if (!code && trains && !clock_stopped(&c.clock))
        code = compress_refit(&c, model, report, err);
    else /* a choice that was cut leaves the model as it is */
        for (size_t t = 0; t < models && !code; t++)
            code = compress_finish(&c, &model[t], &report[t], err);
    for (size_t t = 0; t < models && !code; t++) {
        report[t].projection = c.report;
        report[t].kernel_evals += c.op.evaluations;
        code = compress_say(&c, model[t], err);
    }
    compress_free(&c);
    for (size_t t = 0; t < models && code; t++)
        model[t] = klr_model_free(model[t]);
    return code;
}
