/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Models go to files and come back bit for bit; LIBSVM's part of a file is
 * LIBSVM's; features come verbatim from the training file.
 */
#define SOLVER_FLOOR 6
#include "solver.c"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

static struct klr_error err;
static char folder[] = "/tmp/klr-model-XXXXXX";

static const char *in_folder(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static bool save(const struct klr_model *model, const char *name, int flags)
{
    struct klr_output *out;
    if (klr_output_open(&out, in_folder(name), &err))
        return false;
    if (klr_model_save(model, out, flags, &err)) {
        klr_output_abandon(out);
        return false;
    }
    return !klr_output_commit(out, &err);
}

/* The contents of a file, in a buffer that the next call uses again. */
static const char *contents(const char *name)
{
    static char text[1 << 20];
    FILE *file = fopen(in_folder(name), "r");
    text[file ? fread(text, 1, sizeof text - 1, file) : 0] = '\0';
    if (file)
        fclose(file);
    return text;
}

static void spit(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "w");
    fputs(text, file);
    fclose(file);
}

/* Three classes, one of them without support vectors, awkward numbers. */
static double label[] = {-1.5, 2, 1e10};
static double rho[] = {0.1, -1.0 / 3, 5e-324};
static struct link links[] = {{LINK_LOGISTIC, -1, 0, 0},
                              {LINK_LOGISTIC, -1.0 / 7, 1e-17, 0},
                              {LINK_LOGISTIC, -1, -0.0, 0}};
static size_t class_sv[] = {2, 0, 1};
static double coef[] = {0.1 + 0.2, 1, -1, 1.7976931348623157e308, 4e-320, -2};
static size_t start[] = {0, 2, 2, 3};
static int index_of[] = {1, 7, 2147483647};
static double value[] = {-0.1, 1e-300, 3};
static size_t sv_row[] = {4, 0, 11};

static struct klr_model sample(void)
{
    return (struct klr_model){
        .type = KLR_MODEL_KLR,
        .kernel = {KLR_POLYNOMIAL, 4, 1.0 / 3, -0.7},
        .k = 3,
        .machines = 3,
        .columns = 2,
        .label = label,
        .rho = rho,
        .link = links,
        .n_sv = 3,
        .class_sv = class_sv,
        .coef = coef,
        .start = start,
        .index = index_of,
        .value = value,
        .dimension = 2147483647,
        .sv_row = sv_row,
        .has_record = true,
        .record = {.solver = KLR_SOLVER_SMO,
                   .status = KLR_TIME_LIMIT,
                   .eps = 1e-3,
                   .cost = 1.0 / 9,
                   .bias = true,
                   .gap = 2.5e-7,
                   .iterations = 1234567890123},
    };
}

static bool same(const void *a, const void *b, size_t count, size_t size)
{
    return a && b && memcmp(a, b, count * size) == 0;
}

/* Bytes between members do not count. */
static bool same_links(const struct link *a, const struct link *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a[i].kind != b[i].kind || memcmp(&a[i].a, &b[i].a, sizeof a->a) ||
            memcmp(&a[i].b, &b[i].b, sizeof a->b) ||
            memcmp(&a[i].c, &b[i].c, sizeof a->c))
            return false;
    return true;
}

static void test_round_trip(void)
{
    struct klr_model model = sample(), *back = NULL;
    ok(save(&model, "model", KLR_SAVE_SV_INDICES), "saved");
    ok(!klr_model_load(&back, in_folder("model"), &err), "loaded: %s",
       err.message);
    if (!back)
        return;
    ok(back->type == KLR_MODEL_KLR && back->kernel.type == KLR_POLYNOMIAL &&
           back->kernel.degree == 4 && back->kernel.gamma == 1.0 / 3 &&
           back->kernel.coef0 == -0.7,
       "type and kernel");
    ok(back->k == 3 && back->machines == 3 && back->n_sv == 3 &&
           same(back->label, label, 3, sizeof *label) &&
           same(back->rho, rho, 3, sizeof *rho) &&
           same_links(back->link, links, 3) &&
           same(back->class_sv, class_sv, 3, sizeof *class_sv),
       "classes, bit for bit");
    ok(same(back->coef, coef, 6, sizeof *coef) &&
           same(back->start, start, 4, sizeof *start) &&
           same(back->index, index_of, 3, sizeof *index_of) &&
           same(back->value, value, 3, sizeof *value) &&
           back->dimension == 2147483647,
       "support vectors, bit for bit");
    ok(back->has_record && back->record.solver == KLR_SOLVER_SMO &&
           back->record.status == KLR_TIME_LIMIT && back->record.eps == 1e-3 &&
           back->record.cost == 1.0 / 9 && back->record.gap == 2.5e-7 &&
           back->record.iterations == 1234567890123 &&
           same(back->sv_row, sv_row, 3, sizeof *sv_row),
       "our own section");
    char *first = strdup(contents("model"));
    ok(save(back, "again", KLR_SAVE_SV_INDICES) &&
           !strcmp(first, contents("again")),
       "saved again it is the same text");
    free(first);
    klr_model_free(back);
}

static void test_sparse(void)
{
    struct klr_model model = sample(), *back = NULL;
    struct link slope[] = {{LINK_LOGISTIC, -0.75, 0, 0},
                           {LINK_LOGISTIC, -0.5, 0, 0},
                           {LINK_LOGISTIC, -1.0 / 3, 0, 0}};
    model.type = KLR_MODEL_SKLR;
    model.link = slope;
    model.record.lambda = 2.0 / 3;
    model.record.box = 1e-5;
    model.record.bias = false;
    save(&model, "model", 0);
    ok(strstr(contents("model"), "\nmodel sklr\n") &&
           strstr(contents("model"), "\nbias 0\n"),
       "a sparse model without bias");
    ok(!klr_model_load(&back, in_folder("model"), &err) &&
           back->type == KLR_MODEL_SKLR && back->record.lambda == 2.0 / 3 &&
           back->record.box == 1e-5 && !back->record.bias &&
           same_links(back->link, slope, 3),
       "comes back: %s", err.message);
    klr_model_free(back);
    model.type = KLR_MODEL_KLR;
    model.record.bias = true;
    save(&model, "model", 0);
    ok(!strstr(contents("model"), "\nlambda") &&
           !strstr(contents("model"), "\nbox") &&
           !strstr(contents("model"), "\nbias"),
       "its keys are not those of another");
    back = NULL;
    ok(!klr_model_load(&back, in_folder("model"), &err) && back->record.bias,
       "without the key there is a bias");
    klr_model_free(back);
}

/* The first line tells of models that LIBSVM cannot express. */
static void test_own_type(void)
{
    struct klr_model model = sample(), *back = NULL;
    struct link gauss[] = {{LINK_GAUSSIAN, -1, 0.5, 1.0 / 3},
                           {LINK_GAUSSIAN, -1, 0, 0},
                           {LINK_GAUSSIAN, 1e-300, -3, -7}};
    double wide[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    model.multiclass = KLR_OVA;
    model.columns = 3;
    model.coef = wide;
    save(&model, "model", 0);
    ok(strstr(contents("model"), "svm_type klr\n") == contents("model") &&
           strstr(contents("model"), "\nmulticlass ova\nrho") &&
           !strstr(contents("model"), "link"),
       "one against the rest");
    ok(!klr_model_load(&back, in_folder("model"), &err) &&
           back->multiclass == KLR_OVA && back->columns == 3 &&
           same(back->coef, wide, 9, sizeof *wide),
       "comes back: %s", err.message);
    klr_model_free(back);
    model = sample();
    back = NULL;
    model.link = gauss;
    save(&model, "model", 0);
    ok(!klr_model_load(&back, in_folder("model"), &err) &&
           back->multiclass == KLR_OVO && same_links(back->link, gauss, 3),
       "a gaussian link comes back: %s", err.message);
    klr_model_free(back);
}

/* Names stand in the order of the classes, which is not that of indices. */
static void test_names(void)
{
    static double indices[] = {3, 0, 1};
    static const char *const name[] = {"\xC3\xA4", "b\"\\", "lost", "-1"};
    struct klr_model model = sample(), *back = NULL;
    size_t index;
    for (size_t i = 0; i < 4; i++)
        names_add(&model.names, name[i], strlen(name[i]), &index, &err);
    model.label = indices;
    save(&model, "model", 0);
    char *first = strdup(contents("model"));
    ok(strstr(first, "svm_type klr\n") == first &&
           strstr(first, "\nnames -1 \xC3\xA4 b\"\\\nprobA ") &&
           !strstr(first, "\nlabel "),
       "names in place of labels, which LIBSVM does not read");
    ok(!klr_model_load(&back, in_folder("model"), &err), "comes back: %s",
       err.message);
    bool good = back && back->k == 3;
    for (size_t c = 0; good && c < 3; c++)
        good = back->label[c] == (double)c &&
               !strcmp(klr_label_text(back->names, (double)c, NULL),
                       name[(size_t)indices[c]]);
    ok(good && klr_model_reader_flags(back) == KLR_READ_NAMES,
       "classes are in the order of the file, and data have names");
    struct klr_row row = {.has_label = true, .label_text = "b\"\\ 1:1"};
    row.label_length = 3;
    bool found = klr_model_label_of(back, &row) == 2;
    row.label_length = 2;
    ok(found && klr_model_label_of(back, &row) == -1,
       "the label of a row, one that is not known");
    row.has_label = false;
    ok(isnan(klr_model_label_of(back, &row)), "none");
    ok(save(back, "again", 0) && !strcmp(first, contents("again")),
       "saved again it is the same text");
    free(first);
    klr_model_free(back);
    klr_names_free(model.names);
}

static void test_text(void)
{
    struct klr_model model = sample();
    model.kernel = (struct klr_kernel){.type = KLR_RBF, .gamma = 0.25};
    model.record.gap = NAN;
    double whole[] = {-2147483648.0, 2, 2147483647};
    model.label = whole;
    save(&model, "model", 0);
    const char *text = contents("model");
    ok(strstr(text, "svm_type c_svc\nkernel_type rbf\ngamma 0.25\nnr_class 3\n"
                    "total_sv 3\nrho 0.1 ") == text,
       "the header begins as LIBSVM's");
    ok(strstr(text, "\nlabel -2147483648 2 2147483647\nprobA -1 ") &&
           strstr(text, "\nnr_sv 2 0 1\nSV\n"),
       "and goes on so");
    ok(strstr(text, "\nstatus time_limit\neps 0.001\n") &&
           !strstr(text, "\ngap ") && !strstr(text, "\nsv_indices") &&
           !strcmp(text + strlen(text) - 5, "\nend\n"),
       "an unknown gap and unwanted rows are left out");
    model.link = NULL;
    model.type = KLR_MODEL_SVM;
    model.has_record = false;
    save(&model, "model", 0);
    text = contents("model");
    ok(!strstr(text, "prob") && !strstr(text, "klr_format"),
       "a model without probabilities or record is LIBSVM's alone");
    struct klr_model *back = NULL;
    ok(!klr_model_load(&back, in_folder("model"), &err) && !back->has_record &&
           !klr_model_has_probabilities(back),
       "and loads");
    klr_model_free(back);
}

/* LIBSVM reads 3000000000 as another number. */
static void test_labels_beyond_int(void)
{
    double beyond[][3] = {
        {-2147483649.0, 0, 1}, {0, 1, 2147483648.0}, {0, 0.5, 1}};
    for (int i = 0; i < 3; i++) {
        struct klr_model model = sample(), *back = NULL;
        model.label = beyond[i];
        save(&model, "model", 0);
        ok(strstr(contents("model"), "svm_type klr\n") == contents("model") &&
               !klr_model_load(&back, in_folder("model"), &err) &&
               !memcmp(back->label, beyond[i], sizeof beyond[i]),
           "labels %.10g %.10g %.10g are not for LIBSVM", beyond[i][0],
           beyond[i][1], beyond[i][2]);
        klr_model_free(back);
    }
}

static void test_kernels(void)
{
    static const char *const lines[KLR_KERNEL_TYPES] = {
        "linear\nnr_class",
        "polynomial\ndegree 3\ngamma 0.5\ncoef0 -1\nnr_class",
        "rbf\ngamma 0.5\nnr_class",
        "sigmoid\ngamma 0.5\ncoef0 -1\nnr_class",
        "precomputed\nnr_class",
        "laplacian\ngamma 0.5\nnr_class",
        "exponential\ngamma 0.5\nnr_class",
    };
    size_t two_start[] = {0, 2, 4}, serial_start[] = {0, 3, 6};
    int two_index[] = {1, 9, 1, 2}, serial_index[] = {0, 1, 2, 0, 1, 2};
    double two_value[] = {2, 0.5, 1, 1, 1, 0.5};
    struct klr_model model = sample(), *back;
    size_t counts[] = {1, 1};
    model.k = 2;
    model.machines = 1;
    model.columns = 1;
    model.n_sv = 2;
    model.class_sv = counts;
    model.value = two_value;
    for (int type = 0; type < KLR_KERNEL_TYPES; type++) {
        model.kernel = (struct klr_kernel){.type = (enum klr_kernel_type)type,
                                           .degree = 3,
                                           .gamma = 0.5,
                                           .coef0 = -1};
        bool precomputed = type == KLR_PRECOMPUTED;
        model.start = precomputed ? serial_start : two_start;
        model.index = precomputed ? serial_index : two_index;
        save(&model, "model", 0);
        back = NULL;
        ok(strstr(contents("model"), lines[type]) &&
               !klr_model_load(&back, in_folder("model"), &err) &&
               back->kernel.type == model.kernel.type &&
               klr_model_reader_flags(back) == 0,
           "kernel %s", klr_kernel_names[type]);
        if (precomputed)
            ok(strstr(contents("model"), "0:2 \n") &&
                   strstr(contents("model"), "0:1 \n"),
               "of a precomputed kernel the serial number alone");
        klr_model_free(back);
    }
}

/* Set the time of a file to long ago. */
static void set_time(const char *path)
{
    const struct timespec times[2] = {{1000, 0}, {1000, 0}};
    if (utimensat(AT_FDCWD, path, times, 0))
        ok(false, "the time of a file");
}

/* Set the same time again, at a moment that file systems tell from `then`. */
static void restore_time(const char *path, const struct stat *then)
{
    struct stat now = *then;
    while (now.st_ctim.tv_sec == then->st_ctim.tv_sec &&
           now.st_ctim.tv_nsec == then->st_ctim.tv_nsec) {
        set_time(path);
        if (stat(path, &now))
            ok(false, "the state of a file");
    }
}

/* A model is saved with the features that were read. */
static void test_numbers(const struct klr_model *model, const char *what)
{
    struct klr_model *back = NULL;
    const struct klr_problem *problem = model->problem;
    bool good = save(model, "model", 0) &&
                !klr_model_load(&back, in_folder("model"), &err) &&
                back->n_sv == model->n_sv;
    for (size_t i = 0; i < model->n_sv && good; i++)
        good = !memcmp(back->value + back->start[i],
                       problem->value + problem->start[model->sv_row[i]],
                       2 * sizeof *back->value);
    ok(good, "%s: features are those that were read", what);
    klr_model_free(back);
}

/* Rows of a training file, with more text than one window holds. */
static void test_verbatim(void)
{
    enum { ROWS = 12000 };
    struct klr_problem problem;
    struct klr_model model = sample(), *back = NULL;
    struct stat opened;
    FILE *file = fopen(in_folder("data"), "w");
    for (int i = 0; i < ROWS; i++)
        fprintf(file, "%d qid:3\t1:%d.50e0  7:+.%d # %d\n", i % 2, i, i, i);
    fclose(file);
    set_time(in_folder("data"));
    ok(!stat(in_folder("data"), &opened), "the state of a file");
    ok(!klr_problem_read(&problem, in_folder("data"), KLR_READ_KEEP, 1, &err),
       "a training file");
    size_t counts[] = {ROWS / 2, 3}, n = ROWS / 2 + 3;
    model.k = 2;
    model.machines = 1;
    model.columns = 1;
    model.n_sv = n;
    model.class_sv = counts;
    model.problem = &problem;
    model.sv_row = malloc(n * sizeof *model.sv_row);
    model.coef = malloc(n * sizeof *model.coef);
    for (size_t i = 0; i < n; i++) {
        model.sv_row[i] = i < ROWS / 2 ? 2 * i : ROWS / 2 - i + 11;
        model.coef[i] = 0.5;
    }
    problem.offset[8] = UINT32_MAX; /* as if too far away to be copied */
    ok(save(&model, "model", 0), "saved: %s", err.message);
    const char *at = strstr(contents("model"), "\nSV\n");
    bool good = at != NULL;
    at = at ? at + 4 : "";
    for (size_t i = 0; i < n && good; i++) {
        char line[80];
        size_t row = model.sv_row[i];
        snprintf(line, sizeof line, "0.5 1:%zu.50e0  7:+.%zu\n", row, row);
        good = row == 8 ? strncmp(at, "0.5 1:8.5 7:0.8 \n", 17) == 0
                        : strncmp(at, line, strlen(line)) == 0;
        at = strchr(at, '\n') + 1;
    }
    ok(good, "features are copied as they were written");
    ok(!klr_model_load(&back, in_folder("model"), &err) &&
           back->value[0] == 0.5 && back->value[back->start[1]] == 2.5 &&
           back->value[back->start[1] + 1] == 0.2,
       "and read back as numbers");
    klr_model_free(back);

    file = fopen(in_folder("data"), "r+");
    fputs("0 qid:3\t1:9", file);
    fclose(file);
    test_numbers(&model, "a training file that was written to");
    restore_time(in_folder("data"), &opened);
    test_numbers(&model, "and looks as old as before");
    ok(!truncate(in_folder("data"), 1000), "that loses its end");
    set_time(in_folder("data"));
    test_numbers(&model, "a training file that is shorter");
    free(model.coef);
    free(model.sv_row);
    klr_problem_free(&problem);
}

static void test_libsvm(void)
{
    struct klr_model *model = NULL;
    spit("model",
         "svm_type c_svc\r\nkernel_type linear\r\nnr_class 2\r\n"
         "total_sv 0\r\nrho -0.5\r\nlabel 3 -1\r\nnr_sv 0 0\r\nSV\r\n");
    ok(!klr_model_load(&model, in_folder("model"), &err) &&
           klr_model_n_sv(model) == 0 && klr_model_classes(model) == 2 &&
           klr_model_labels(model)[0] == 3,
       "CRLF, and no support vectors: %s", err.message);
    struct klr_predictor *predictor = NULL;
    double answer = 0, decision = 0;
    size_t row[] = {0, 1};
    int feature[] = {5};
    double one[] = {1};
    struct klr_features x = {1, 5, row, feature, one, NULL};
    ok(model && !klr_predictor_create(&predictor, model, 2, &err) &&
           !klr_predict(predictor, &x, &answer, &decision, NULL, &err) &&
           answer == 3 && decision == 0.5,
       "it predicts by rho alone");
    ok(predictor &&
           klr_predict(predictor, &x, &answer, NULL, one, &err) == KLR_E_USAGE,
       "and has no probabilities");
    klr_predictor_free(predictor);
    klr_model_free(model);
}

static void test_pairs(void)
{
    size_t next = 0;
    size_t first, second;
    bool good = true;
    for (size_t a = 0; a < 7; a++)
        for (size_t b = a + 1; b < 7; b++) {
            good &= pair_index(7, a, b) == next;
            pair_classes(7, next++, &first, &second);
            good &= first == a && second == b;
        }
    ok(good && next == 21, "pairs are counted (0,1), (0,2) .. (5,6)");
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    test_pairs();
    test_round_trip();
    test_sparse();
    test_own_type();
    test_names();
    test_text();
    test_labels_beyond_int();
    test_kernels();
    test_verbatim();
    test_libsvm();
    for (const char *const *name =
             (const char *const[]){"model", "again", "data", NULL};
         *name; name++)
        unlink(in_folder(*name));
    ok(rmdir(folder) == 0, "nothing else is left behind");
    return done_testing();
}
