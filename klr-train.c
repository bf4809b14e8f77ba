/* SPDX-License-Identifier: BSD-3-Clause
 *
 * klr-train: fit a model to a training set, or validate the parameters on it.
 * Several costs give several models, or with validation that of the best.
 *
 * Whatever can be refused is refused before the data are read, the model's
 * file included. A signal during training ends it early with a usable model;
 * before, it ends the program.
 */
#include <stddef.h>

#include "base/memory.h"
#include "cli/log/log.h"
#include "cli/search/search.h"
#include "cli/train/training_run.h"
#include "solver.h"

/* In the order of enum klr_scale, and CLI_SCALE_AUTO. */
static const char *const train_scales[] = {"none", "minmax", "standard", "auto",
                                           NULL};

static const struct klr_option train_table[] = {
    {.type = KLR_FLAG,
     .name = "auto",
     .offset = offsetof(struct cli_train_options, automatic),
     .also = "tune search automatic",
     .help = "choose scaling, gamma and C, as far as they are not given, by "
             "validation (3 folds, of few examples --loo as well; or -v), and "
             "train with them"},
    {.type = KLR_STRING,
     .name = "folds-file",
     .argument = "FILE",
     .offset = offsetof(struct cli_train_options, folds_file),
     .help = "instead of -v: a number for each example, a line each; equal "
             "numbers are a fold"},
    {.type = KLR_STRING,
     .name = "cv-out",
     .argument = "FILE",
     .offset = offsetof(struct cli_train_options, cv_out),
     .help = "write what was predicted of each example, with its fold and "
             "label"},
    {.type = KLR_STRING,
     .name = "log",
     .argument = "FILE",
     .offset = offsetof(struct cli_train_options, log),
     .also = "checkpoint",
     .help = "of a grid, keep the results of each gamma in FILE once they are "
             "all known, a line of JSON each; of a training, each pair of "
             "classes"},
    {.type = KLR_FLAG,
     .name = "resume",
     .offset = offsetof(struct cli_train_options, resume),
     .also = "continue restart",
     .help = "go on from the --log of a run that was stopped, if there is one"},
    {.type = KLR_STRING,
     .name = "part",
     .argument = "FILE",
     .offset = offsetof(struct cli_train_options, part),
     .help = "these points are a part of a grid: --log FILE --resume, and "
             "nothing is chosen, trained or printed (klr-grid --plan)"},
    {.type = KLR_INTEGER,
     .name = "only-fold",
     .argument = "K",
     .offset = offsetof(struct cli_train_options, only_fold),
     .max = 1e9,
     .help = "with --part: fold K of -v alone, counted from 1 (klr-grid --plan "
             "--by-fold)"},
    {.type = KLR_INTEGER,
     .name = "only-pair",
     .argument = "P",
     .offset = offsetof(struct cli_train_options, only_pair),
     .max = 1e9,
     .help = "with --part, of a training: pair P of the classes alone, counted "
             "from 1 (klr-grid --plan --by-pair)"},
    {.type = KLR_FLAG,
     .name = "check-kernel",
     .offset = offsetof(struct cli_train_options, check_kernel),
     .group = "Kernel matrix",
     .help = "train nothing: tell whether the kernel matrix is positive "
             "semidefinite, is so conditionally, or neither"},
    {.type = KLR_REPEATED,
     .letter = 'w',
     .name = "",
     .argument = "LABEL WEIGHT",
     .group = "Classes",
     .help = "the cost of errors on LABEL is C * WEIGHT"},
    {.type = KLR_STRING,
     .name = "weights",
     .argument = "FILE",
     .offset = offsetof(struct cli_train_options, weights),
     .also = "sample-weight sample-weights",
     .help = "C of an example is multiplied by its number in FILE, a line "
             "each"},
    {.type = KLR_STRING,
     .name = "points",
     .argument = "FILE",
     .offset = offsetof(struct cli_train_options, points),
     .group = "Solver",
     .help =
         "ivm, kfd by greedy, klr, sklr: a model has the kernels of these rows "
         "of the training set, a number a line, from 1"},
    {.type = KLR_STRING,
     .name = "from",
     .argument = "MODEL",
     .offset = offsetof(struct cli_train_options, from),
     .also = "compress reduce",
     .help = "with --basis M: a smaller model than MODEL, on M of its support "
             "vectors; klr and sklr are trained again on them, other models "
             "are projected"},
    {.type = KLR_CHOICE,
     .name = "scale",
     .argument = "HOW",
     .offset = offsetof(struct cli_train_options, scale),
     .preset = CLI_SCALE_AUTO,
     .choices = train_scales,
     .also = "standardize normalize",
     .group = "Features",
     .help = "minmax: each to -1 .. 1, standard: to zero mean and unit "
             "deviation, before training and by the model again; none; auto: "
             "what --auto chooses, else none (default %s)"},
    {.type = KLR_STRING,
     .name = "feature-names",
     .argument = "FILE",
     .offset = offsetof(struct cli_train_options, feature_names),
     .help = "the model keeps these names, a line for each feature from 1 on"},
    {.type = KLR_FLAG,
     .letter = 'q',
     .name = "quiet",
     .offset = offsetof(struct cli_train_options, quiet),
     .group = "Output",
     .help = "no progress, no summary"},
    {.type = KLR_FLAG,
     .name = "metrics",
     .offset = offsetof(struct cli_train_options, metrics),
     .help = "with -v, all metrics there are, the confusion matrix, and the "
             "thresholds that are best by some of them"},
    {.type = KLR_STRING,
     .name = "error-cost",
     .argument = "FP,FN",
     .offset = offsetof(struct cli_train_options, error_cost),
     .help = "with -v, the threshold of the least cost, too, where taking the "
             "second of two classes for the first costs FP, and the first for "
             "the second FN"},
    {.type = KLR_FLAG,
     .name = "json",
     .offset = offsetof(struct cli_train_options, json),
     .help = "what training did, on stdout, as a line of JSON"},
    {.type = KLR_FLAG,
     .name = "stamp",
     .offset = offsetof(struct cli_train_options, stamp),
     .help = "the model says its date and command line, too (klr-info)"},
    {.type = KLR_FLAG,
     .name = "sv-indices",
     .offset = offsetof(struct cli_train_options, sv_indices),
     .help = "list the rows of the support vectors in the model"},
    {.type = KLR_FLAG,
     .name = "keep-sv",
     .offset = offsetof(struct cli_train_options, keep_sv),
     .help = "keep the support vectors of a linear model, which is else one "
             "vector of weights"},
    {.name = NULL},
};

static const char train_examples[] =
    "Examples\n"
    "  klr-train heart_scale              the model becomes heart_scale.model\n"
    "  klr-train -v 5 -c 10 heart_scale   accuracy by cross validation\n"
    "  klr-train -v 5 -c 0.01:1000:x10 heart_scale\n"
    "                                     the model of the best C\n"
    "  klr-train -v 5 -g 2^-7:2:x4 -c 0.1:100:x10 heart_scale\n"
    "                                     and of the best gamma\n"
    "  klr-train --auto heart_scale       gamma and C are chosen\n"
    "  klr-train -s svm -t linear data -  a linear svm on stdout\n";

/* ---- The program ---- */

/* LIBSVM passes the name over as well. */
static void warn_idle_name(const struct cli_train *train,
                           const struct cli_program *program, const char *given)
{
    if (given && !train->models && !cli_train_unwanted(given))
        cli_warn(program, "one point alone is validated: %s is not written",
                 given);
}

static int check_kernel(struct cli_train *train,
                        const struct cli_program *program)
{
    struct klr_error err;
    struct klr_spectrum spectrum;
    train->progress.quiet = true; /* it has no violation */
    if (klr_kernel_spectrum(&train->problem, &train->params, &spectrum, &err))
        return cli_train_fail(train, program, &err);
    if (spectrum.status != KLR_CONVERGED)
        cli_warn(program, "the check of the kernel was stopped: no answer");
    else
        cli_print_spectrum(program, &spectrum, train->options.json);
    return CLI_OK;
}

/* Train with the parameters that a search finds. */
static int search(struct cli_train *train, const struct cli_program *program)
{
    struct klr_error err;
    if (cli_train_search(train, program, &err))
        return cli_train_fail(train, program, &err);
    klr_give_back();
    return cli_signal() ? CLI_OK : cli_train_fit_and_report(train, program);
}

static int run(struct cli_train *train, const struct cli_program *program,
               const char *const *operand)
{
    int status = cli_train_prepare(train, program, operand);
    train->progress.name = program->name;
    train->progress.quiet = train->options.quiet;
    if (status < 0)
        status = cli_train_read_data(train, program);
    if (status >= 0)
        return status;
    warn_idle_name(train, program, operand[1]);
    klr_keep_freed();
    train->params.progress = cli_progress;
    train->params.context = &train->progress;
    cli_defer_signals();
    status = train->options.check_kernel ? check_kernel(train, program)
             : train->options.automatic
                 ? search(train, program)
                 : cli_log_run(train, program,
                               klr_params_validate(&train->params)
                                   ? cli_train_validate
                                   : cli_train_fit_and_report);
    if (status == CLI_OK && cli_signal())
        status = CLI_INTERRUPTED + cli_signal();
    return status;
}

/* For --stamp; -1, or the exit status. */
static int take_command(struct cli_train *train,
                        const struct cli_program *program, char **argv)
{
    struct klr_error err;
    klr_text_put(&train->command, program->name);
    while (*++argv)
        klr_text_put_shell(&train->command, *argv);
    if (!train->command.failed)
        return -1;
    klr_fail(&err, KLR_E_MEMORY, "out of memory");
    return cli_fail(program, NULL, &err);
}

int main(int argc, char **argv)
{
    static struct cli_train train; /* too large for a small stack */
    struct klr_text warnings = {0};
    const char *operand[3];
    const struct cli_program program = {
        .name = "klr-train",
        .purpose = "Train a kernel classifier that answers with probabilities.",
        .operands = "training_set [model]",
        .min_operands = 1,
        .max_operands = 2,
        .tables = (const struct klr_option *const[]){klr_train_options,
                                                     train_table, NULL},
        .bases = (void *const[]){&train.params, &train.options},
        .repeated = cli_train_take_weight,
        .context = &train,
        .examples = train_examples,
        .given = &train.given,
        .warnings = &warnings,
    };
    cli_catch_signals();
    klr_params_init(&train.params);
    int status = cli_parse(&program, argc, argv, operand);
    if (status < 0 && train.options.stamp)
        status = take_command(&train, &program, argv);
    if (status < 0)
        status = cli_finish(&program, run(&train, &program, operand));
    klr_model_free(train.from);
    klr_free(train.from_text.text);
    klr_free(train.given.text);
    for (size_t t = 0; t < KLR_REALS_MOST; t++) {
        klr_model_free(train.model[t]);
        klr_free(train.path[t]);
    }
    cli_folds_free(&train.folds);
    klr_free(train.weights.value);
    klr_names_free(train.features);
    klr_free(train.points.value);
    klr_problem_free(&train.problem);
    klr_free(train.params.weight);
    klr_free(train.problem_text.text);
    klr_free(train.files_text.text);
    klr_free(train.command.text);
    klr_free(warnings.text);
    klr_free(train.search_text.text);
    return status;
}
