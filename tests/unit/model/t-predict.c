/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prediction against the definition of decision values, summed in long double
 * by binary problem; the choice between floats and doubles; and that the answer
 * to a row depends neither on its neighbours nor on the threads.
 */
#define SOLVER_FLOOR 6
#include "solver.c"
#include "tests/larger.h"
#include "tests/tap.h"

enum { VECTORS = 600, ROWS = 2500, FEATURES = 6, MOST_CLASSES = 4 };
enum { MOST_PAIRS = MOST_CLASSES * (MOST_CLASSES - 1) / 2 };

static uint64_t state = 42;
static struct klr_error err;

static double uniform(void)
{
    return (double)(random_next(&state) >> 11) / 9007199254740992.0;
}

/* ---- what there is to predict ---- */

/* Rows of CSR with all features but one in three. */
struct table {
    size_t start[ROWS + 1];
    int index[ROWS * FEATURES];
    double value[ROWS * FEATURES];
    double dense[ROWS][FEATURES];
};

static struct table vectors, tests;

static void make_rows(struct table *rows, size_t n)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        for (int d = 0; d < FEATURES; d++) {
            bool present = uniform() < 2.0 / 3;
            double value = rows->dense[i][d] = present ? 2 * uniform() - 1 : 0;
            if (present) {
                rows->index[at] = d + 1;
                rows->value[at++] = value;
            }
        }
        rows->start[i + 1] = at;
    }
}

static struct klr_features features(size_t first, size_t n)
{
    return (struct klr_features){n,           FEATURES,    tests.start + first,
                                 tests.index, tests.value, NULL};
}

/* k classes of unequal sizes; coefficients about `size` large. */
static double coef[(MOST_CLASSES - 1) * VECTORS], rho[MOST_PAIRS];
static struct link links[MOST_PAIRS];
static double labels[MOST_CLASSES] = {7, -2, 3, 0.5};
static size_t class_sv[MOST_CLASSES];

static struct klr_model make_model(enum klr_kernel_type type, size_t k,
                                   size_t n_sv, double size)
{
    for (size_t t = 0; t < (k - 1) * n_sv; t++)
        coef[t] = size * (2 * uniform() - 1);
    for (size_t pair = 0; pair < MOST_PAIRS; pair++) {
        rho[pair] = size * (uniform() - 0.5);
        double slope = -1 - uniform();
        links[pair] = (struct link){LINK_LOGISTIC, slope, uniform() - 0.5, 0};
    }
    for (size_t c = 0, left = n_sv; c < k; left -= class_sv[c++])
        class_sv[c] = c + 1 < k ? left / 3 : left;
    return (struct klr_model){
        .kernel = {type, 3, 0.4, 1},
        .k = k,
        .machines = k * (k - 1) / 2,
        .columns = k - 1,
        .label = labels,
        .rho = rho,
        .link = links,
        .n_sv = n_sv,
        .class_sv = class_sv,
        .coef = coef,
        .start = vectors.start,
        .index = vectors.index,
        .value = vectors.value,
        .dimension = FEATURES,
    };
}

/* ---- what the definition says ---- */

static long double kernel_of(const struct klr_kernel *kernel, const double *x,
                             const double *z)
{
    long double dot = 0, square = 0, gamma = kernel->gamma;
    for (int d = 0; d < FEATURES; d++) {
        long double difference = (long double)x[d] - z[d];
        dot += (long double)x[d] * z[d];
        square += difference * difference;
    }
    return kernel->type == KLR_LINEAR ? dot
           : kernel->type == KLR_RBF
               ? expl(-gamma * square)
               : powl(gamma * dot + kernel->coef0, kernel->degree);
}

/* f of classes a < b for row i: the vectors of a have their coefficients in row
 * b - 1, those of b in row a. */
static double decide(const struct klr_model *model, size_t a, size_t b,
                     size_t pair, size_t i)
{
    long double f = -(long double)model->rho[pair];
    for (size_t c = 0, sv = 0; c < model->k; c++)
        for (size_t end = sv + model->class_sv[c]; sv < end; sv++)
            if (c == a || c == b)
                f += model->coef[(c == a ? b - 1 : a) * model->n_sv + sv] *
                     kernel_of(&model->kernel, vectors.dense[sv],
                               tests.dense[i]);
    return (double)f;
}

/* The largest error of `decision` at some of the rows. */
static double largest_error(const struct klr_model *model,
                            const double *decision)
{
    double largest = 0;
    for (size_t i = 0; i < ROWS; i += 61)
        for (size_t a = 0, pair = 0; a < model->k; a++)
            for (size_t b = a + 1; b < model->k; b++, pair++)
                largest = larger_of(largest,
                                    fabs(decision[i * model->machines + pair] -
                                         decide(model, a, b, pair, i)));
    return largest;
}

/* ---- tests ---- */

struct answer {
    double label[ROWS], decision[ROWS * MOST_PAIRS];
    double probability[ROWS * MOST_CLASSES];
};

static struct answer whole, other;

/* Predict all rows, `step` at a time. */
static bool predict(const struct klr_model *model, long long threads,
                    size_t step, enum klr_precision *precision,
                    struct answer *answer)
{
    struct klr_predictor *p = NULL;
    bool good = !klr_predictor_create(&p, model, threads, &err);
    for (size_t i = 0; good && i < ROWS; i += step) {
        struct klr_features x = features(i, ROWS - i < step ? ROWS - i : step);
        good = !klr_predict(p, &x, answer->label + i,
                            answer->decision + i * model->machines,
                            answer->probability + i * model->k, &err);
    }
    if (good)
        *precision = p->precision;
    klr_predictor_free(p);
    return good;
}

static void test_same(const struct klr_model *model, const char *name)
{
    const size_t step[] = {1, 100, 1500, ROWS, ROWS};
    enum klr_precision precision;
    bool same = true;
    for (int t = 0; t < 5; t++) {
        memset(&other, 0, sizeof other);
        same = predict(model, t % 3 + 1, step[t], &precision, &other) && same;
        same = same && !memcmp(&other, &whole, sizeof whole);
    }
    ok(same, "%s: the same bits for any threads and parts", name);
}

/* Floats err by some 2^-25 each, times the root of the sum of beta^2; doubles
 * by their last digits of the sum. */
static void test_model(enum klr_kernel_type type, size_t k, size_t n_sv,
                       double size, enum klr_precision expected)
{
    char name[80];
    enum klr_precision precision = KLR_DOUBLE;
    struct klr_model model = make_model(type, k, n_sv, size);
    memset(&whole, 0, sizeof whole);
    snprintf(name, sizeof name, "%s, %zu classes, %zu vectors, beta %g",
             klr_kernel_names[type], k, n_sv, size);
    bool good = predict(&model, 1, ROWS, &precision, &whole);
    double error = largest_error(&model, whole.decision);
    ok(good && precision == expected, "%s: %s", name,
       expected == KLR_FLOAT ? "floats" : "doubles");
    ok(error <= (expected == KLR_FLOAT ? 2e-5 : 1e-10 * size * (double)n_sv),
       "%s: decision values within %.2g", name, error);
    test_same(&model, name);
}

/* Labels and probabilities follow from decision values: rows of two classes. */
static void test_answers(void)
{
    struct klr_model model = make_model(KLR_RBF, 2, VECTORS, 0.01);
    enum klr_precision precision;
    bool good = predict(&model, 2, ROWS, &precision, &whole);
    double apart = 0;
    size_t wrong = 0;
    for (size_t i = 0; i < ROWS; i++) {
        double z = links[0].a * whole.decision[i] + links[0].b;
        double p = 1 / (1 + exp(z));
        apart = larger_of(apart, fabs(whole.probability[2 * i] - p));
        apart = larger_of(apart, fabs(whole.probability[2 * i + 1] - (1 - p)));
        wrong += whole.label[i] != labels[z > 0];
    }
    ok(good && apart < 1e-14 && wrong == 0,
       "two classes: p = 1 / (1 + exp(a f + b)), and its label");
}

enum { CLASSES = 5 };

/* p by the pairs of r. */
static void eliminate(double (*r)[CLASSES], double *p)
{
    enum { PAIRS = CLASSES * (CLASSES - 1) / 2 };
    double pairs[2 * PAIRS], work[3 * CLASSES * (CLASSES + 1)];
    size_t pair = 0;
    for (size_t a = 0; a < CLASSES; a++)
        for (size_t b = a + 1; b < CLASSES; b++, pair++) {
            pairs[pair] = r[a][b];
            pairs[PAIRS + pair] = r[b][a];
        }
    answer_eliminate(CLASSES, pairs, p, work);
}

/* How far the answers are apart: that to r, and that to r of the classes in
 * another order. */
static double renamed_apart(double (*r)[CLASSES], const double *p)
{
    double moved[CLASSES][CLASSES], q[CLASSES], apart = 0;
    size_t name[CLASSES];
    for (size_t a = 0; a < CLASSES; a++)
        name[a] = (2 * a + 3) % CLASSES;
    for (size_t a = 0; a < CLASSES; a++)
        for (size_t b = 0; b < CLASSES; b++)
            moved[name[a]][name[b]] = r[a][b];
    eliminate(moved, q);
    for (size_t a = 0; a < CLASSES; a++)
        apart = larger_of(apart, fabs(q[name[a]] - p[a]));
    return apart;
}

/* Probabilities by elimination: a distribution, whatever the order of the
 * classes and however sure the pairs are. */
static void test_eliminate(void)
{
    double r[CLASSES][CLASSES] = {{0}}, p[CLASSES];
    double most = 0, off = 0, apart = 0;
    for (int turn = 0; turn < 1000; turn++) {
        for (size_t a = 0; a < CLASSES; a++)
            for (size_t b = a + 1; b < CLASSES; b++) {
                double z = (turn % 2 ? 80 : 2) * (uniform() - 0.5);
                r[a][b] = sigmoid(z);
                r[b][a] = sigmoid(-z);
            }
        eliminate(r, p);
        double sum = 0;
        for (size_t a = 0; a < CLASSES; a++) {
            most = larger_of(most, p[a]);
            sum += p[a];
        }
        off = larger_of(off, fabs(sum - 1));
        apart = larger_of(apart, renamed_apart(r, p));
    }
    ok(most <= 1 && most > 0.999 && off < 1e-15,
       "classes that eliminate each other: 1 - %g at most, sums off by %g",
       1 - most, off);
    ok(apart < 1e-9, "renamed: the same, to %.1e", apart);
}

/* Pairs that know nothing leave 1/k to each class, pairs that agree with a
 * distribution that distribution. */
static void test_eliminate_agreed(void)
{
    static const double want[][CLASSES] = {{0.2, 0.2, 0.2, 0.2, 0.2},
                                           {0.3, 0.05, 0.4, 0.05, 0.2},
                                           {1e-9, 0.1, 1e-12, 0.5, 0.4}};
    for (size_t w = 0; w < sizeof want / sizeof *want; w++) {
        double r[CLASSES][CLASSES], p[CLASSES], worst = 0;
        for (size_t a = 0; a < CLASSES; a++)
            for (size_t b = 0; b < CLASSES; b++)
                r[a][b] = want[w][a] / (want[w][a] + want[w][b]);
        eliminate(r, p);
        for (size_t a = 0; a < CLASSES; a++)
            worst = larger_of(worst, fabs(p[a] / want[w][a] - 1));
        ok(worst < 1e-8, "pairs that agree with distribution %zu: %.1e", w,
           worst);
    }
}

/* A row behind the first block that cannot be decided is named. */
static void test_overflow(void)
{
    struct klr_model model = make_model(KLR_LINEAR, 2, VECTORS, 1e300);
    struct klr_predictor *p = NULL;
    struct klr_features x = features(0, ROWS);
    size_t first = tests.start[ROWS - 3], end = tests.start[ROWS - 2];
    for (size_t t = first; t < end; t++)
        tests.value[t] *= 1e20;
    bool named =
        first < end && !klr_predictor_create(&p, &model, 2, &err) &&
        klr_predict(p, &x, whole.label, NULL, NULL, &err) == KLR_E_DATA &&
        err.line == ROWS - 2;
    ok(named, "row %ld: %s", err.line, err.message);
    klr_predictor_free(p);
}

int main(void)
{
    make_rows(&vectors, VECTORS);
    make_rows(&tests, ROWS);
    test_model(KLR_RBF, 2, VECTORS, 1, KLR_FLOAT);
    test_model(KLR_RBF, 4, VECTORS, 1, KLR_FLOAT);
    test_model(KLR_RBF, 2, VECTORS, 1e3, KLR_DOUBLE);
    test_model(KLR_RBF, 4, PREDICT_FLOATS - 1, 1, KLR_DOUBLE);
    test_model(KLR_POLYNOMIAL, 3, VECTORS, 1e-2, KLR_FLOAT);
    test_model(KLR_POLYNOMIAL, 3, VECTORS, 100, KLR_DOUBLE);
    test_model(KLR_LINEAR, 3, VECTORS, 1, KLR_DOUBLE);
    test_answers();
    test_eliminate();
    test_eliminate_agreed();
    test_overflow();
    return done_testing();
}
