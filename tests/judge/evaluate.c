/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An independent judge of trained models: it reads only the training data and
 * the model file, shares no code with the product, and computes in long double.
 *
 *   evaluate klr|svm|coef|lhalf DATA MODEL C [--no-bias] [LABEL=WEIGHT]...
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
 *       zero         the objective of f = 0
 *       violation    of the optimality conditions: klr and sklr (max H - min H)
 *                    / 2, svm as LIBSVM's stopping rule measures it; without
 *                    bias the largest distance of H from 0
 *   evaluate kfd|kfd-coef|softmax DATA MODEL C [LABEL=WEIGHT]...
 *     primal, dual and gap alone, of softmax for all classes together: see
 *     other_objectives.h
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
 * Fewer support vectors than such rows are all of them together, unless the
 * regularizer is of the coefficients: then they are as many of them.
 */
#include "tests/judge/objectives.h"
#include "tests/judge/other_objectives.h"
#include "tests/judge/read.h"

/* ---- kernels ---- */

/* Sum of u_i v_i (how 0), (u_i - v_i)^2 (how 2) or |u_i - v_i| (how 1). */
static real combine(const struct vector *u, const struct vector *v, int how)
{
    size_t i = 0, j = 0;
    real sum = 0;

    while (i < u->count || j < v->count) {
        bool left =
            j == v->count || (i < u->count && u->index[i] <= v->index[j]);
        bool right =
            i == u->count || (j < v->count && v->index[j] <= u->index[i]);
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
    case EXPONENTIAL:
        return expl(2 * m->gamma * combine(u, v, 0));
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

/* The support vectors of rows. */
struct match {
    long *sv_of; /* (n) the one that is row i, or NO_SV */
    real *share; /* (n) the row's part of its coefficients */
    long *next;  /* (n_sv) another one of the same rows, or NO_SV */
};

static void match_free(struct match *match)
{
    free(match->sv_of);
    free(match->share);
    free(match->next);
}

/* The end of the items from `begin` on that are equal to `item`. */
static size_t equal_end(const struct item *items, size_t n, size_t begin,
                        const struct item *item)
{
    while (begin < n && item_compare(&items[begin], item) == 0)
        begin++;
    return begin;
}

/* Equal rows of a class share the sum of their support vectors, if they may and
 * there are fewer of these. */
static struct match match_rows(const struct data *data, const struct model *m,
                               bool may_share)
{
    struct match match = {take(data->n, sizeof *match.sv_of),
                          take(data->n, sizeof *match.share),
                          take(m->n_sv, sizeof *match.next)};

    by_serial = m->kernel == PRECOMPUTED;
    struct item *rows = sorted(data), *svs = sorted(&m->sv);
    size_t i = 0;

    for (size_t r = 0; r < data->n; r++)
        match.sv_of[r] = NO_SV;
    for (size_t s = 0, last; s < m->n_sv; s = last) {
        while (i < data->n && item_compare(&rows[i], &svs[s]) < 0)
            i++;
        last = equal_end(svs, m->n_sv, s, &svs[s]);
        size_t end = equal_end(rows, data->n, i, &svs[s]);
        if (end - i < last - s)
            fail("model", "a support vector is no training row of its class");
        bool shared = may_share && end - i > last - s;
        for (size_t t = s; t < last; t++)
            match.next[svs[t].number] =
                shared && t + 1 < last ? (long)svs[t + 1].number : NO_SV;
        real share = shared ? 1 / (real)(end - i) : 1;
        for (size_t t = s; i < end && (shared || t < last); i++, t++) {
            match.sv_of[rows[i].number] = (long)svs[shared ? s : t].number;
            match.share[rows[i].number] = share;
        }
    }
    free(rows);
    free(svs);
    return match;
}

/* The coefficient of row i in a column of the model. */
static real row_coef(const struct match *match, const struct model *m, size_t i,
                     size_t column)
{
    real sum = 0;

    for (long s = match->sv_of[i]; s != NO_SV; s = match->next[s])
        sum += m->coef[(size_t)s * m->columns + column];
    return match->sv_of[i] == NO_SV ? 0 : match->share[i] * sum;
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
                            const struct match *match, size_t a, size_t b,
                            real cost, real box, char **weights)
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
        p.beta[p.n] = row_coef(match, m, i, first ? b - 1 : a);
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

/* ---- output ---- */

static void pair_report(const struct pair *p, const struct loss *loss,
                        real beyond, double first, double second)
{
    real best = best_rho(p, loss), with_rho = primal(p, loss, p->rho);
    real with_best = primal(p, loss, best), lower = dual(p, loss), sum = 0;
    real least = INFINITY, zero = 0;
    size_t n_sv = 0;

    for (size_t i = 0; i < p->n; i++) {
        zero += loss_at(loss, 0, p->cost[i]);
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
    print_field("zero", zero);
    print_field("violation", violation(p, loss));
    puts("}");
}

/* Take the better of beta and the dual point that follows from u. */
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
    if (!feasible || loss->penalty != KERNEL_NORM ||
        dual(&other, loss) > mine) {
        memcpy(p->beta_dual, beta, p->n * sizeof *beta);
        memcpy(p->u_dual, u, p->n * sizeof *u);
    }
    free(beta);
    free(u);
}

static void judge(const struct data *data, const struct model *m,
                  const struct loss *loss, real cost, char **weights)
{
    struct match match = match_rows(data, m, loss->penalty == KERNEL_NORM);

    for (size_t a = 0; a < m->k; a++) {
        for (size_t b = a + 1; b < m->k; b++) {
            struct pair p =
                pair_new(data, m, &match, a, b, cost, loss->box, weights);

            pair_products(m, &p);
            if (loss->fisher) {
                fisher_report(&p, loss, cost);
                pair_free(&p);
                continue;
            }
            real beyond = excess(&p, loss);
            if (loss->logistic)
                pair_dual_point(m, &p, loss);
            pair_report(&p, loss, beyond, m->label[a], m->label[b]);
            pair_free(&p);
        }
    }
    match_free(&match);
}

/* The problem of a softmax. */
static void judge_together(const struct data *data, const struct model *m,
                           real cost, char **weights)
{
    struct together t = together_new(data->n, m);
    struct match match = match_rows(data, m, true);

    for (size_t i = 0; i < t.n; i++) {
        t.cost[i] = weighted_cost(cost, data->label[i], weights);
        while (m->label[t.class[i]] != data->label[i])
            t.class[i]++;
        for (size_t c = 0; c < t.k; c++)
            t.beta[i * t.k + c] = row_coef(&match, m, i, c);
    }
    for (size_t i = 0; i < t.n; i++)
        for (size_t j = 0; j <= i; j++)
            t.entry[i * t.n + j] = t.entry[j * t.n + i] =
                kernel(m, &data->x[i], &data->x[j]);
    together_report(&t);
    together_free(&t);
    match_free(&match);
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
                const real *coef = &m->coef[s * m->columns];

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

/* The words behind C: the loss; returns those behind it, the weights, or NULL
 * where one is missing. */
static char **loss_read(struct loss *loss, const char *name, char **word)
{
    bool sparse = !strcmp(name, "sklr");

    loss->fisher = !strncmp(name, "kfd", 3);
    if (!strcmp(name, "coef") || !strcmp(name, "kfd-coef"))
        loss->penalty = COEF_NORM;
    if (!strcmp(name, "lhalf"))
        loss->penalty = HALF_NORM;
    if (sparse && (!word[0] || !word[1]))
        return NULL;
    loss->logistic = strcmp(name, "svm") != 0;
    if (sparse) { /* as the doubles that they are in the program */
        loss->shift = strtod(*word++, NULL);
        loss->box = strtod(*word++, NULL);
    }
    loss->bias = !*word || strcmp(*word, "--no-bias") != 0;
    return word + !loss->bias;
}

static int usage(void)
{
    fputs("usage: evaluate klr|svm|coef|lhalf DATA MODEL C [--no-bias]"
          " [LABEL=WEIGHT]...\n"
          "       evaluate sklr DATA MODEL C LAMBDA BOX [--no-bias]"
          " [LABEL=WEIGHT]...\n"
          "       evaluate kfd|kfd-coef|softmax DATA MODEL C"
          " [LABEL=WEIGHT]...\n"
          "       evaluate decisions DATA MODEL\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"klr", "svm",      "sklr",    "coef",
                                        "kfd", "kfd-coef", "softmax", "lhalf"};
    bool decisions = argc == 4 && !strcmp(argv[1], "decisions");
    struct loss loss = {0};
    char **weights = NULL;

    for (size_t k = 0; argc > 4 && k < sizeof kinds / sizeof *kinds; k++)
        if (!strcmp(argv[1], kinds[k]))
            weights = loss_read(&loss, argv[1], argv + 5);
    if (!decisions && !weights)
        return usage();
    struct model model = model_read(argv[3]);
    struct data data = data_read(argv[2], &model);

    if (decisions) {
        for (size_t i = 0; i < data.n; i++)
            decide(&model, &data.x[i]);
    } else if (model.softmax) {
        judge_together(&data, &model, strtold(argv[4], NULL), weights);
    } else {
        judge(&data, &model, &loss, strtold(argv[4], NULL), weights);
    }
    data_free(&data);
    model_free(&model);
    return 0;
}
