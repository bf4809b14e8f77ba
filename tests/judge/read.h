/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Training data and models as evaluate.c reads them. Where the model has names
 * for its classes, the labels of both are their numbers, from 0.
 */
#ifndef KLR_TESTS_READ_H
#define KLR_TESTS_READ_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef long double real;

enum kernel {
    LINEAR,
    POLYNOMIAL,
    RBF,
    SIGMOID,
    PRECOMPUTED,
    LAPLACIAN,
    EXPONENTIAL
};

struct vector {
    size_t count;
    int *index;
    real *value;
};

struct data {
    size_t n, room;
    double *label;
    struct vector *x;
};

struct model {
    enum kernel kernel;
    long degree;
    real gamma, coef0;
    size_t k, n_sv;
    bool softmax;     /* a column for each class, else pairs */
    size_t columns;   /* of coef: k, else k - 1 */
    double *label;    /* (k) */
    char **name;      /* (k), or NULL */
    real *rho;        /* (k), else (k (k - 1) / 2) */
    size_t *class_sv; /* (k) */
    real *coef;       /* (n_sv, columns), a line of the file is a row */
    size_t *sv_class; /* (n_sv) */
    struct data sv;
};

static void fail(const char *what, const char *detail)
{
    fprintf(stderr, "evaluate: %s: %s\n", what, detail);
    exit(1);
}

static void *take(size_t count, size_t size)
{
    void *p = calloc(count ? count : 1, size);

    if (!p)
        fail("memory", strerror(errno));
    return p;
}

static struct vector vector_parse(const char *text)
{
    struct vector v = {0, NULL, NULL};
    size_t room = 0;

    for (const char *s = text; *s; s++)
        room += *s == ':';
    v.index = take(room, sizeof *v.index);
    v.value = take(room, sizeof *v.value);
    for (;;) {
        char *end;
        long index = strtol(text, &end, 10);

        if (end == text || *end != ':')
            break;
        text = end + 1;
        real value = strtod(text, &end); /* features are doubles */
        if (end == text)
            fail("feature without a value", text);
        text = end;
        if (value != 0 || index == 0) {
            v.index[v.count] = (int)index;
            v.value[v.count++] = value;
        }
    }
    return v;
}

static void data_add(struct data *data, double label, struct vector x)
{
    if (data->n == data->room) {
        data->room = 2 * data->room + 64;
        data->label = realloc(data->label, data->room * sizeof(double));
        data->x = realloc(data->x, data->room * sizeof *data->x);
        if (!data->label || !data->x)
            fail("memory", "rows");
    }
    data->label[data->n] = label;
    data->x[data->n++] = x;
}

static void read_numbers(const char *text, real *out, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *end;

        out[i] = strtold(text, &end);
        if (end == text)
            fail("model: too few numbers", text);
        text = end;
    }
}

/* The names of the classes, in place of their labels. */
static void read_names(struct model *m, char *text)
{
    m->name = take(m->k, sizeof *m->name);
    m->label = take(m->k, sizeof *m->label);
    for (size_t c = 0; c < m->k; c++) {
        char *name = strtok(c ? NULL : text, " \r\n");

        if (!name || !(m->name[c] = strdup(name)))
            fail("model: too few names", text);
        m->label[c] = (double)c;
    }
}

static enum kernel kernel_named(const char *name)
{
    static const char *const names[] = {
        "linear",      "polynomial", "rbf",        "sigmoid",
        "precomputed", "laplacian",  "exponential"};

    for (int t = LINEAR; t <= EXPONENTIAL; t++) {
        if (!strcmp(name, names[t]))
            return (enum kernel)t;
    }
    fail("model: unknown kernel", name);
    return LINEAR;
}

/* One line of the header; true at "SV", where the vectors begin. */
static bool model_header(struct model *m, char *line)
{
    char *key = strtok(line, " \r\n"), *rest = strtok(NULL, "\r\n");
    real *numbers = take(m->k * m->k + 1, sizeof *numbers);

    if (!key || !strcmp(key, "SV")) {
        free(numbers);
        return key != NULL;
    }
    if (!rest)
        rest = key + strlen(key);
    if (!strcmp(key, "svm_type") && strcmp(rest, "c_svc") &&
        strcmp(rest, "klr"))
        fail("model: svm_type", rest);
    if (!strcmp(key, "multiclass")) {
        m->softmax = !strcmp(rest, "softmax");
        if (!m->softmax && strcmp(rest, "ovo"))
            fail("model: multiclass", rest);
    }
    if (!strcmp(key, "kernel_type"))
        m->kernel = kernel_named(rest);
    if (!strcmp(key, "degree"))
        m->degree = strtol(rest, NULL, 10);
    if (!strcmp(key, "gamma"))
        m->gamma = strtod(rest, NULL);
    if (!strcmp(key, "coef0"))
        m->coef0 = strtod(rest, NULL);
    if (!strcmp(key, "nr_class"))
        m->k = strtoul(rest, NULL, 10);
    if (!strcmp(key, "total_sv"))
        m->n_sv = strtoul(rest, NULL, 10);
    if (!strcmp(key, "rho")) {
        size_t count = m->softmax ? m->k : m->k * (m->k - 1) / 2;
        m->rho = take(count, sizeof *m->rho);
        read_numbers(rest, m->rho, count);
    }
    if (!strcmp(key, "label")) {
        read_numbers(rest, numbers, m->k);
        m->label = take(m->k, sizeof *m->label);
        for (size_t c = 0; c < m->k; c++)
            m->label[c] = (double)numbers[c];
    }
    if (!strcmp(key, "names"))
        read_names(m, rest);
    if (!strcmp(key, "nr_sv")) {
        read_numbers(rest, numbers, m->k);
        m->class_sv = take(m->k, sizeof *m->class_sv);
        for (size_t c = 0; c < m->k; c++)
            m->class_sv[c] = (size_t)numbers[c];
    }
    free(numbers);
    return false;
}

static void model_vectors(struct model *m, FILE *file)
{
    char *line = NULL;
    size_t room = 0, c = 0, in_class = 0;

    m->columns = m->softmax ? m->k : m->k - 1;
    m->coef = take(m->n_sv * m->columns, sizeof *m->coef);
    m->sv_class = take(m->n_sv, sizeof *m->sv_class);
    for (size_t s = 0; s < m->n_sv; s++) {
        if (getline(&line, &room, file) < 0)
            fail("model", "fewer support vectors than total_sv");
        char *text = line;
        for (size_t j = 0; j < m->columns; j++)
            m->coef[s * m->columns + j] = strtod(text, &text);
        while (c < m->k && in_class == m->class_sv[c]) {
            c++;
            in_class = 0;
        }
        if (c == m->k)
            fail("model", "nr_sv does not add up to total_sv");
        m->sv_class[s] = c;
        in_class++;
        data_add(&m->sv, m->label[c], vector_parse(text));
    }
    free(line);
}

static struct model model_read(const char *path)
{
    struct model m = {.kernel = RBF};
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    bool vectors = false;

    if (!file)
        fail(path, strerror(errno));
    while (!vectors && getline(&line, &room, file) >= 0)
        vectors = model_header(&m, line);
    if (!vectors || !m.rho || !m.label || !m.class_sv)
        fail(path, "not a whole model of pairs of classes");
    model_vectors(&m, file);
    free(line);
    fclose(file);
    return m;
}

/* The label that a line begins with; false where there is none. */
static bool label_read(const struct model *m, char *line, double *label,
                       char **end)
{
    size_t length = strcspn(line, " \t\r\n");

    *end = line + length;
    if (!m->name) {
        *label = strtod(line, end);
        return *end != line;
    }
    for (size_t c = 0; c < m->k; c++) {
        *label = (double)c;
        if (strlen(m->name[c]) == length && !memcmp(m->name[c], line, length))
            return true;
    }
    if (length && *line != '#')
        fail("a label that the model does not know", line);
    return false;
}

/* The training data of a model. */
static struct data data_read(const char *path, const struct model *m)
{
    struct data data = {0, 0, NULL, NULL};
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;

    if (!file)
        fail(path, strerror(errno));
    while (getline(&line, &room, file) >= 0) {
        double label;
        char *end;

        if (label_read(m, line, &label, &end))
            data_add(&data, label, vector_parse(end));
    }
    free(line);
    fclose(file);
    return data;
}

static void data_free(struct data *data)
{
    for (size_t i = 0; i < data->n; i++) {
        free(data->x[i].index);
        free(data->x[i].value);
    }
    free(data->x);
    free(data->label);
}

static void model_free(struct model *m)
{
    data_free(&m->sv);
    for (size_t c = 0; m->name && c < m->k; c++)
        free(m->name[c]);
    free(m->name);
    free(m->label);
    free(m->rho);
    free(m->class_sv);
    free(m->coef);
    free(m->sv_class);
}

#endif
