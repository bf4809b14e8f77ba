/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress of one's own, and an end before the end: "own_progress DATA [CALLS]"
 * trains an svm on a file, shows how far it is, and asks it to stop once it has
 * told so often. What there is then is a usable model. Compiles as C and C++.
 */
#include <stdio.h>
#include <stdlib.h>

#include <klr/solver.h>

struct watch {
    int calls, most; /* 0: no limit */
};

/* Called by one thread at a time, which need not be that of main. */
static int on_progress(const struct klr_progress *progress, void *context)
{
    struct watch *watch = (struct watch *)context;
    watch->calls++;
    fprintf(stderr, "%3.0f %%, %lld steps\n", 100 * progress->done,
            progress->iterations);
    return watch->most > 0 && watch->calls >= watch->most;
}

static int train(const struct klr_problem *problem, struct watch *watch,
                 struct klr_error *err)
{
    struct klr_params params;
    struct klr_report report;
    struct klr_model *model = NULL;
    klr_params_init(&params);
    params.model = KLR_MODEL_SVM;
    params.gamma = klr_reals_of(0.05);
    params.progress = on_progress;
    params.context = watch;
    int code = klr_train(problem, &params, &model, &report, err);
    if (!code)
        printf("%s, %zu support vectors\n", klr_status_names[report.status],
               klr_model_n_sv(model));
    klr_model_free(model);
    return code;
}

int main(int argc, char **argv)
{
    struct klr_problem problem;
    struct klr_error err;
    struct watch watch = {0, argc > 2 ? atoi(argv[2]) : 0};
    if (argc < 2) {
        fputs("usage: own_progress DATA [CALLS]\n", stderr);
        return 2;
    }
    int code = klr_problem_read(&problem, argv[1], 0, 0, &err);
    if (!code)
        code = train(&problem, &watch, &err);
    if (code)
        fprintf(stderr, "own_progress: %s:%ld:%ld: %s\n", argv[1], err.line,
                err.column, err.message);
    klr_problem_free(&problem);
    return code ? EXIT_FAILURE : EXIT_SUCCESS;
}
