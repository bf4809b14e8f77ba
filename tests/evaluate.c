/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An independent judge of trained models: it reads only the training data and
 * the model file, shares no code with the product, and computes in long double.
 *
 *   evaluate klr|svm DATA MODEL C [--no-bias] [LABEL=WEIGHT]...
 *   evaluate sklr DATA MODEL C LAMBDA BOX [--no-bias] [LABEL=WEIGHT]...
 *     one line of JSON per pair of classes, with beta read back from the model:
 *       sum_beta     sum of the dual point's beta_i, 0 if that is feasible
 *       excess       largest violation of box <= alpha_i <= C_i - box, over C
 *       least_sv     least alpha_i of a support vector
 *       primal       1/2 beta'K beta + sum loss_i(y_i f_i), the model's rho
 *       primal_best  the same for the best rho
 *       dual         the maximised dual at the dual point
 *       gap          (primal_best - dual) / |primal_best|
 *       model_gap    (primal - dual) / |primal|
 *       violation    of the optimality conditions: klr and sklr (max H - min H)
 *                    / 2, svm as LIBSVM's stopping rule measures it; without
 *                    bias the largest distance of H from 0
 *   evaluate decisions DATA MODEL
 *     f of every pair of classes, a line per example
 *
 * An example's loss is the largest alpha (lambda - z) - C_i G(alpha / C_i) for
 * box <= alpha <= C_i - box at its margin z, G(d) = d log d + (1 - d) log(1 -
 * d): with box 0 that is C_i log(1 + e^(lambda - z)), and klr has lambda 0 too.
 * The hinge is the largest alpha (1 - z). The dual point is the model's beta;
 * of sklr, whose models leave out examples at the lower end of the box, these
 * stand there again. Of a logistic loss it is that of the largest alphas at the
 * best rho, whose sum is 0, where that gives a larger dual or beta is outside
 * of the box. Without bias sum_beta is free and the best rho is 0.
 *
 * Formulas: Keerthi (2005), (1.5), (2.8), (3.2), (3.11), section 7; Consolo,
 * (22), (27); Lin & Lin (2003), (1), (2). Every support vector must be a
 * training row of its class; rows that are equal share their class and their
 * kernel values, so it does not matter which of them gets which coefficient.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef long double real;

enum kernel { LINEAR, POLYNOMIAL, RBF, SIGMOID, PRECOMPUTED, LAPLACIAN };

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
    double *label;    /* (k) */
    real *rho;        /* (k (k - 1) / 2) */
    size_t *class_sv; /* (k) */
    real *coef;       /* (n_sv, k - 1), a line of the file is a row */
    size_t *sv_class; /* (n_sv) */
    struct data sv;
};

struct loss {
    bool logistic;
    real shift, box;
    bool bias;
};

/* One pair of classes, on the rows of these classes. The model's coefficients
 * are beta, the dual point is beta_dual. */
struct pair {
    size_t n;
    const struct vector **x; /* (n) */
    real *y, *cost, *beta, *u, *beta_dual, *u_dual;
    real rho;
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

/* ---- reading ---- */

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

static struct data data_read(const char *path)
{
    struct data data = {0, 0, NULL, NULL};
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;

    if (!file)
        fail(path, strerror(errno));
    while (getline(&line, &room, file) >= 0) {
        char *end;
        double label = strtod(line, &end);

        if (end != line)
            data_add(&data, label, vector_parse(end));
    }
    free(line);
    fclose(file);
    return data;
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

static enum kernel kernel_named(const char *name)
{
    static const char *const names[] = {"linear",  "polynomial",  "rbf",
                                        "sigmoid", "precomputed", "laplacian"};

    for (int t = LINEAR; t <= LAPLACIAN; t++) {
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
    if (!strcmp(key, "svm_type") && strcmp(rest, "c_svc"))
        fail("model: svm_type", rest);
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
        m->rho = take(m->k * (m->k - 1) / 2, sizeof *m->rho);
        read_numbers(rest, m->rho, m->k * (m->k - 1) / 2);
    }
    if (!strcmp(key, "label")) {
        read_numbers(rest, numbers, m->k);
        m->label = take(m->k, sizeof *m->label);
        for (size_t c = 0; c < m->k; c++)
            m->label[c] = (double)numbers[c];
    }
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

    m->coef = take(m->n_sv * (m->k - 1), sizeof *m->coef);
    m->sv_class = take(m->n_sv, sizeof *m->sv_class);
    for (size_t s = 0; s < m->n_sv; s++) {
        if (getline(&line, &room, file) < 0)
            fail("model", "fewer support vectors than total_sv");
        char *text = line;
        for (size_t j = 0; j + 1 < m->k; j++)
            m->coef[s * (m->k - 1) + j] = strtod(text, &text);
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
        fail(path, "not a whole C-SVC model");
    model_vectors(&m, file);
    free(line);
    fclose(file);
    return m;
}

/* ---- kernels ---- */

/* Sum of u_i v_i (how 0), (u_i - v_i)^2 (how 2) or |u_i - v_i| (how 1). */
static real combine(const struct vector *u, const struct vector *v, int how)
{
    size_t i = 0, j = 0;
    real sum = 0;

    while (i < u->count || j < v->count) {
        int a = i < u->count ? u->index[i] : 0;
        int b = j < v->count ? v->index[j] : 0;
        bool left = j == v->count || (i < u->count && a <= b);
        bool right = i == u->count || (j < v->count && b <= a);
        real s = left ? u->value[i++] : 0;
        real t = right ? v->value[j++] : 0;

        sum += how == 0 ? s * t : how == 1 ? fabsl(s - t) : (s - t) * (s - t);
    }
    return sum;
}

/* The matrix entry that row u holds for the example whose serial v starts. */
static real precomputed(const struct vector *u, const struct vector *v)
{
    if (!v->count || v->index[0] != 0)
        fail("precomputed kernel", "a row without 0:serial");
    for (size_t i = 1; i < u->count; i++) {
        if (u->index[i] == (int)v->value[0])
            return u->value[i];
    }
    return 0; /* zeros were dropped in reading */
}

static real power(real base, long exponent)
{
    real product = 1;

    for (long i = 0; i < exponent; i++)
        product *= base;
    return product;
}

static real kernel(const struct model *m, const struct vector *u,
                   const struct vector *v)
{
    switch (m->kernel) {
    case LINEAR:
        return combine(u, v, 0);
    case POLYNOMIAL:
        return power(m->gamma * combine(u, v, 0) + m->coef0, m->degree);
    case RBF:
        return expl(-m->gamma * combine(u, v, 2));
    case SIGMOID:
        return tanhl(m->gamma * combine(u, v, 0) + m->coef0);
    case PRECOMPUTED:
        return precomputed(u, v);
    case LAPLACIAN:
        return expl(-m->gamma * combine(u, v, 1));
    }
    return 0;
}

/* ---- support vectors back to training rows ---- */

static bool by_serial; /* for the comparison: precomputed kernels */

static int vector_compare(const struct vector *u, const struct vector *v)
{
    if (by_serial)
        return (u->value[0] > v->value[0]) - (u->value[0] < v->value[0]);
    if (u->count != v->count)
        return u->count < v->count ? -1 : 1;
    for (size_t i = 0; i < u->count; i++) {
        if (u->index[i] != v->index[i])
            return u->index[i] < v->index[i] ? -1 : 1;
        if (u->value[i] != v->value[i])
            return u->value[i] < v->value[i] ? -1 : 1;
    }
    return 0;
}

struct item {
    double label;
    const struct vector *x;
    size_t number;
};

static int item_compare(const void *a, const void *b)
{
    const struct item *s = a, *t = b;

    if (s->label != t->label)
        return s->label < t->label ? -1 : 1;
    return vector_compare(s->x, t->x);
}

static struct item *sorted(const struct data *data)
{
    struct item *items = take(data->n, sizeof *items);

    for (size_t i = 0; i < data->n; i++)
        items[i] = (struct item){data->label[i], &data->x[i], i};
    qsort(items, data->n, sizeof *items, item_compare);
    return items;
}

enum { NO_SV = -1 };

/* sv_of (n): the support vector that is row i, or NO_SV. */
static long *match(const struct data *data, const struct model *m)
{
    long *sv_of = take(data->n, sizeof *sv_of);

    by_serial = m->kernel == PRECOMPUTED;
    struct item *rows = sorted(data), *svs = sorted(&m->sv);
    size_t i = 0;

    for (size_t r = 0; r < data->n; r++)
        sv_of[r] = NO_SV;
    for (size_t s = 0; s < m->n_sv; s++) {
        while (i < data->n && item_compare(&rows[i], &svs[s]) < 0)
            i++;
        if (i == data->n || item_compare(&rows[i], &svs[s]) != 0)
            fail("model", "a support vector is no training row of its class");
        sv_of[rows[i++].number] = (long)svs[s].number;
    }
    free(rows);
    free(svs);
    return sv_of;
}

/* ---- one pair of classes ---- */

static real weighted_cost(real cost, double label, char **weights)
{
    for (; *weights; weights++) {
        char *end;

        if (strtod(*weights, &end) == label && *end == '=')
            return cost * strtold(end + 1, NULL);
    }
    return cost;
}

static struct pair pair_new(const struct data *data, const struct model *m,
                            const long *sv_of, size_t a, size_t b, real cost,
                            real box, char **weights)
{
    struct pair p = {0};

    p.x = take(data->n, sizeof *p.x);
    p.y = take(data->n, sizeof *p.y);
    p.cost = take(data->n, sizeof *p.cost);
    p.beta = take(data->n, sizeof *p.beta);
    p.u = take(data->n, sizeof *p.u);
    p.beta_dual = take(data->n, sizeof *p.beta_dual);
    p.u_dual = take(data->n, sizeof *p.u_dual);
    for (size_t i = 0; i < data->n; i++) {
        bool first = data->label[i] == m->label[a];

        if (!first && data->label[i] != m->label[b])
            continue;
        p.x[p.n] = &data->x[i];
        p.y[p.n] = first ? 1 : -1;
        p.cost[p.n] = weighted_cost(cost, data->label[i], weights);
        if (sv_of[i] != NO_SV)
            p.beta[p.n] =
                m->coef[(size_t)sv_of[i] * (m->k - 1) + (first ? b - 1 : a)];
        p.beta_dual[p.n] = p.beta[p.n] != 0 ? p.beta[p.n] : p.y[p.n] * box;
        p.n++;
    }
    p.rho = m->rho[a * (2 * m->k - a - 1) / 2 + b - a - 1];
    return p;
}

static void pair_free(struct pair *p)
{
    free(p->x);
    free(p->y);
    free(p->cost);
    free(p->beta);
    free(p->u);
    free(p->beta_dual);
    free(p->u_dual);
}

/* u = K beta, by the lower triangle. */
static void pair_products(const struct model *m, struct pair *p)
{
    for (size_t i = 0; i < p->n; i++) {
        for (size_t j = 0; j <= i; j++) {
            if (p->beta_dual[i] == 0 && p->beta_dual[j] == 0)
                continue;
            real entry = kernel(m, p->x[i], p->x[j]);
            p->u[i] += entry * p->beta[j];
            p->u_dual[i] += entry * p->beta_dual[j];
            if (j == i)
                continue;
            p->u[j] += entry * p->beta[i];
            p->u_dual[j] += entry * p->beta_dual[i];
        }
    }
}

static real sigma(real z)
{
    return z > 0 ? 1 / (1 + expl(-z)) : expl(z) / (1 + expl(z));
}

/* C G(alpha / C); NaN outside of [0, C]. */
static real entropy(real alpha, real cost)
{
    real d = alpha / cost;

    if (d == 0 || d == 1)
        return 0;
    return d > 0 && d < 1 ? cost * (d * logl(d) + (1 - d) * log1pl(-d)) : NAN;
}

/* Where the loss at a margin is reached: logistic losses. */
static real best_alpha(const struct loss *loss, real margin, real cost)
{
    real alpha = cost * sigma(loss->shift - margin);

    return fminl(fmaxl(alpha, loss->box), cost - loss->box);
}

static real loss_at(const struct loss *loss, real margin, real cost)
{
    real z = loss->shift - margin;

    if (!loss->logistic)
        return margin < 1 ? cost * (1 - margin) : 0;
    real alpha = best_alpha(loss, margin, cost);
    if (alpha == cost * sigma(z)) /* inside the box: no cancellation */
        return cost * (z < 0 ? log1pl(expl(z)) : log1pl(expl(-z)) + z);
    return alpha * z - entropy(alpha, cost);
}

static real quadratic(size_t n, const real *beta, const real *u)
{
    real sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += beta[i] * u[i];
    return sum / 2;
}

static real primal(const struct pair *p, const struct loss *loss, real rho)
{
    real sum = quadratic(p->n, p->beta, p->u);

    for (size_t i = 0; i < p->n; i++)
        sum += loss_at(loss, p->y[i] * (p->u[i] - rho), p->cost[i]);
    return sum;
}

static real dual(const struct pair *p, const struct loss *loss)
{
    real sum = -quadratic(p->n, p->beta_dual, p->u_dual);

    for (size_t i = 0; i < p->n; i++) {
        real alpha = p->beta_dual[i] * p->y[i];

        if (loss->logistic)
            sum += loss->shift * alpha - entropy(alpha, p->cost[i]);
        else
            sum += alpha;
    }
    return sum;
}

/* Slope of the logistic primal in rho; increasing. */
static real slope(const struct pair *p, const struct loss *loss, real rho)
{
    real sum = 0;

    for (size_t i = 0; i < p->n; i++)
        sum +=
            p->y[i] * best_alpha(loss, p->y[i] * (p->u[i] - rho), p->cost[i]);
    return sum;
}

static real best_rho_logistic(const struct pair *p, const struct loss *loss)
{
    real low = p->u[0], high = p->u[0];

    for (size_t i = 0; i < p->n; i++) {
        low = fminl(low, p->u[i]);
        high = fmaxl(high, p->u[i]);
    }
    low -= 100 + loss->shift;
    high += 100 + loss->shift;
    for (int step = 0; step < 100; step++) {
        real middle = (low + high) / 2;

        if (slope(p, loss, middle) < 0)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

struct kink {
    real at, rise;
};

static int kink_compare(const void *a, const void *b)
{
    const struct kink *s = a, *t = b;

    return (s->at > t->at) - (s->at < t->at);
}

/* The hinge primal is piecewise linear in rho, with kinks at u_i - y_i. */
static real best_rho_hinge(const struct pair *p)
{
    struct kink *kinks = take(p->n, sizeof *kinks);
    real rise = 0, rho = 0;

    for (size_t i = 0; i < p->n; i++) {
        kinks[i] = (struct kink){p->u[i] - p->y[i], p->cost[i]};
        rise -= p->y[i] < 0 ? p->cost[i] : 0;
    }
    qsort(kinks, p->n, sizeof *kinks, kink_compare);
    for (size_t i = 0; i < p->n && rise < 0; i++) {
        rho = kinks[i].at;
        rise += kinks[i].rise;
    }
    free(kinks);
    return rho;
}

static real best_rho(const struct pair *p, const struct loss *loss)
{
    if (!loss->bias)
        return 0;
    return loss->logistic ? best_rho_logistic(p, loss) : best_rho_hinge(p);
}

/* Keerthi (3.2), (3.11): half the spread of H; for the hinge LIBSVM's
 * m(alpha) - M(alpha), that is b_up - b_low over the points that may move.
 * Those at an end of the box, but for rounding, move one way only, Consolo
 * (27); klr has none. */
static real violation(const struct pair *p, const struct loss *loss)
{
    real up = -INFINITY, low = INFINITY;

    for (size_t i = 0; i < p->n; i++) {
        real alpha = p->beta_dual[i] * p->y[i], cost = p->cost[i];
        real h = p->u_dual[i] - p->y[i], edge = loss->box * (1 + 1e-9L);
        bool more = alpha<cost - edge, less = alpha> edge;

        if (loss->logistic)
            h = p->u_dual[i] +
                p->y[i] * (logl(alpha / (cost - alpha)) - loss->shift);
        if (loss->logistic && loss->box == 0)
            more = less = true;
        if (p->y[i] > 0 ? less : more) /* beta_i may become less */
            up = fmaxl(up, h);
        if (p->y[i] > 0 ? more : less)
            low = fminl(low, h);
    }
    if (!loss->bias)
        return fmaxl(up, -low);
    return loss->logistic ? (up - low) / 2 : up - low;
}

static real excess(const struct pair *p, const struct loss *loss)
{
    real largest = -INFINITY;

    for (size_t i = 0; i < p->n; i++) {
        real alpha = p->beta_dual[i] * p->y[i], cost = p->cost[i];
        real over = fmaxl(loss->box - alpha, alpha - (cost - loss->box));

        largest = fmaxl(largest, over / cost);
    }
    return largest;
}

/* ---- output ---- */

static void print_field(const char *name, real value)
{
    if (isfinite(value))
        printf(",\"%s\":%.17Lg", name, value);
    else
        printf(",\"%s\":null", name);
}

static void pair_report(const struct pair *p, const struct loss *loss,
                        real beyond, double first, double second)
{
    real best = best_rho(p, loss), with_rho = primal(p, loss, p->rho);
    real with_best = primal(p, loss, best), lower = dual(p, loss), sum = 0;
    real least = INFINITY;
    size_t n_sv = 0;

    for (size_t i = 0; i < p->n; i++) {
        sum += p->beta_dual[i];
        n_sv += p->beta[i] != 0;
        if (p->beta[i] != 0)
            least = fminl(least, p->beta[i] * p->y[i]);
    }
    printf("{\"positive\":%g,\"negative\":%g,\"n\":%zu,\"n_sv\":%zu", first,
           second, p->n, n_sv);
    print_field("sum_beta", sum);
    print_field("excess", beyond);
    print_field("least_sv", least);
    print_field("rho", p->rho);
    print_field("best_rho", best);
    print_field("primal", with_rho);
    print_field("primal_best", with_best);
    print_field("dual", lower);
    print_field("gap", (with_best - lower) / fabsl(with_best));
    print_field("model_gap", (with_rho - lower) / fabsl(with_rho));
    print_field("violation", violation(p, loss));
    puts("}");
}

/* Of beta and the dual point that follows from u the better one. */
static void pair_dual_point(const struct model *m, struct pair *p,
                            const struct loss *loss)
{
    real *beta = take(p->n, sizeof *beta), *u = take(p->n, sizeof *u);
    struct pair other = *p;
    real rho = best_rho(p, loss), mine = dual(p, loss);
    bool feasible = excess(p, loss) <= 1e-15L && isfinite(mine);

    other.beta_dual = beta;
    other.u_dual = u;
    for (size_t i = 0; i < p->n; i++) {
        real margin = p->y[i] * (p->u[i] - rho);
        beta[i] = p->y[i] * best_alpha(loss, margin, p->cost[i]);
    }
    for (size_t i = 0; i < p->n; i++) {
        for (size_t j = 0; j <= i; j++) {
            real entry = kernel(m, p->x[i], p->x[j]);
            u[i] += entry * beta[j];
            if (j < i)
                u[j] += entry * beta[i];
        }
    }
    if (!feasible || dual(&other, loss) > mine) {
        memcpy(p->beta_dual, beta, p->n * sizeof *beta);
        memcpy(p->u_dual, u, p->n * sizeof *u);
    }
    free(beta);
    free(u);
}

static void judge(const struct data *data, const struct model *m,
                  const struct loss *loss, real cost, char **weights)
{
    long *sv_of = match(data, m);

    for (size_t a = 0; a < m->k; a++) {
        for (size_t b = a + 1; b < m->k; b++) {
            struct pair p =
                pair_new(data, m, sv_of, a, b, cost, loss->box, weights);

            pair_products(m, &p);
            real beyond = excess(&p, loss);
            if (loss->logistic)
                pair_dual_point(m, &p, loss);
            pair_report(&p, loss, beyond, m->label[a], m->label[b]);
            pair_free(&p);
        }
    }
    free(sv_of);
}

/* f of one example for all pairs of classes, as LIBSVM lays a model out. */
static void decide(const struct model *m, const struct vector *x)
{
    real *entry = take(m->n_sv, sizeof *entry);
    size_t pair = 0;

    for (size_t s = 0; s < m->n_sv; s++)
        entry[s] = kernel(m, x, &m->sv.x[s]);
    for (size_t a = 0; a < m->k; a++) {
        for (size_t b = a + 1; b < m->k; b++, pair++) {
            real f = -m->rho[pair];

            for (size_t s = 0; s < m->n_sv; s++) {
                const real *coef = &m->coef[s * (m->k - 1)];

                if (m->sv_class[s] == a)
                    f += coef[b - 1] * entry[s];
                if (m->sv_class[s] == b)
                    f += coef[a] * entry[s];
            }
            printf("%s%.17Lg", pair ? " " : "", f);
        }
    }
    puts("");
    free(entry);
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

/* The words behind C: the loss; returns those behind it, the weights, or NULL
 * where one is missing. */
static char **loss_read(struct loss *loss, const char *name, char **word)
{
    bool sparse = !strcmp(name, "sklr");

    if (sparse && (!word[0] || !word[1]))
        return NULL;
    loss->logistic = sparse || !strcmp(name, "klr");
    if (sparse) { /* as the doubles that they are in the program */
        loss->shift = strtod(*word++, NULL);
        loss->box = strtod(*word++, NULL);
    }
    loss->bias = !*word || strcmp(*word, "--no-bias") != 0;
    return word + !loss->bias;
}

static int usage(void)
{
    fputs("usage: evaluate klr|svm DATA MODEL C [--no-bias] [LABEL=WEIGHT]...\n"
          "       evaluate sklr DATA MODEL C LAMBDA BOX [--no-bias]"
          " [LABEL=WEIGHT]...\n"
          "       evaluate decisions DATA MODEL\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    bool decisions = argc == 4 && !strcmp(argv[1], "decisions");
    struct loss loss = {0};
    char **weights = NULL;

    if (argc > 4 && (!strcmp(argv[1], "klr") || !strcmp(argv[1], "sklr") ||
                     !strcmp(argv[1], "svm")))
        weights = loss_read(&loss, argv[1], argv + 5);
    if (!decisions && !weights)
        return usage();
    struct data data = data_read(argv[2]);
    struct model model = model_read(argv[3]);

    if (decisions) {
        for (size_t i = 0; i < data.n; i++)
            decide(&model, &data.x[i]);
    } else {
        judge(&data, &model, &loss, strtold(argv[4], NULL), weights);
    }
    data_free(&data);
    data_free(&model.sv);
    free(model.label);
    free(model.rho);
    free(model.class_sv);
    free(model.coef);
    free(model.sv_class);
    return 0;
}
