/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a model answers to a row, from the decision values of its machines: a
 * label; class probabilities, by coupling, by elimination or, where machines
 * are classes, from all of them; or votes, where there are no links.
 */
#include "solver/model/model.h"

static void add_products(enum klr_multiclass multiclass, size_t k, size_t c,
                         size_t n, const double *product, double *decision)
{
    size_t machines = machine_count(multiclass, k);
    if (machine_columns(multiclass, k) == machines) {
        for (size_t i = 0; i < n * machines; i++)
            decision[i] += product[i];
        return;
    }
    for (size_t i = 0; i < n; i++, product += k - 1, decision += machines) {
        double *after = decision + pair_index(k, c, c + 1);
        for (size_t row = 0, pair = c - 1; row < c; pair += k - 2 - row++)
            decision[pair] += product[row];
        for (size_t row = c; row + 1 < k; row++)
            *after++ += product[row];
    }
}

/* Probabilities or votes (k), probabilities of pairs (2, k(k-1)/2), and what
 * answer_eliminate needs. */
static size_t model_answer_work(size_t k)
{
    return k + 2 * k * (k - 1) + k + couple_work(k);
}

/* The probabilities of both classes of each pair (k(k-1)/2). */
static void answer_pairs(const struct klr_model *model, const double *decision,
                         double *first, double *second)
{
    for (size_t m = 0; m < model->machines; m++)
        sigmoids(link_log_odds(&model->link[m], decision[m]), &first[m],
                 &second[m]);
}

/* At a decision value of 0 the second class wins. */
static void answer_votes(size_t k, const double *decision, double *votes)
{
    memset(votes, 0, k * sizeof *votes);
    for (size_t a = 0; a < k; a++)
        for (size_t b = a + 1; b < k; b++)
            votes[*decision++ > 0 ? a : b]++;
}

/* The graph of Platt, Cristianini & Shawe-Taylor (2000): the first and the last
 * of the classes left are compared, and one of them is eliminated. The class
 * that is left gets 1, the others 0. */
static void answer_graph(size_t k, const double *decision, double *left)
{
    size_t a = 0, b = k - 1;
    memset(left, 0, k * sizeof *left);
    while (a < b)
        if (decision[pair_index(k, a, b)] > 0)
            b--;
        else
            a++;
    left[a] = 1;
}

/* Probabilities of pairs (2, pairs) between the m classes with p < 0, which are
 * left, into pair (2, m(m-1)/2); returns m. */
static size_t pairs_left(size_t k, const double *r, const double *p,
                         double *pair)
{
    size_t m = 0, pairs = k * (k - 1) / 2;
    for (size_t c = 0; c < k; c++)
        m += p[c] < 0;
    double *second = pair + m * (m - 1) / 2;
    for (size_t a = 0; a < k; a++)
        for (size_t b = a + 1; b < k; b++, r++)
            if (p[a] < 0 && p[b] < 0) {
                *pair++ = r[0];
                *second++ = r[pairs];
            }
    return m;
}

/* Elimination whose answer does not depend on the order of the classes: the
 * least probable class of those left goes first, with the share that coupling
 * gives it of their probability. So no class that goes is more probable than
 * the last one, and that is decided by the pairs of the last classes. Classes
 * that rounding alone tells apart go together. (Probabilities along the paths
 * of the graph would reach class c by binomial(k - 1, c) of them, and machines
 * that know nothing answer by the order.) `work` has k(k-1) + k elements, and
 * what couple_pairwise needs. */
static void answer_eliminate(size_t k, const double *r, double *p, double *work)
{
    const double tie = 1 + 1e-9;
    double *pair = work, *q = pair + k * (k - 1), mass = 1;
    for (size_t c = 0; c < k; c++)
        p[c] = -1;
    for (size_t m; (m = pairs_left(k, r, p, pair)) > 0;) {
        double least = 1, kept = 0;
        couple_pairwise(m, pair, pair + m * (m - 1) / 2, q, q + k);
        for (size_t i = 0; i < m; i++)
            least = fmin(least, q[i]);
        for (size_t c = 0, i = 0; c < k; c++) {
            if (p[c] >= 0)
                continue;
            if (q[i] <= least * tie)
                p[c] = mass * q[i];
            else
                kept += q[i];
            i++;
        }
        mass *= kept;
    }
    normalise(k, p);
}

/* Probabilities of each class against the rest, normalised to the sum 1. */
static void answer_rest(const struct klr_model *model, const double *decision,
                        double *p)
{
    double most = -HUGE_VAL;
    for (size_t c = 0; c < model->k; c++) { /* log p, where p underflows */
        p[c] = -softplus(-link_log_odds(&model->link[c], decision[c]));
        most = fmax(most, p[c]);
    }
    for (size_t c = 0; c < model->k; c++)
        p[c] = exp(p[c] - most);
    normalise(model->k, p);
}

/* Probabilities of all classes at once. */
static void answer_softmax(const struct klr_model *model,
                           const double *decision, double *p)
{
    for (size_t c = 0; c < model->k; c++)
        p[c] = link_log_odds(&model->link[c], decision[c]);
    softmax(model->k, p, p);
}

/* score (k): probabilities; or what else is largest for the answer. */
static void answer_score(const struct klr_model *model, const double *decision,
                         double *score, double *work)
{
    size_t k = model->k, pairs = model->machines;
    if (machines_are_classes(model->multiclass)) {
        if (!model->link)
            memcpy(score, decision, k * sizeof *score);
        else if (model->multiclass == KLR_OVA)
            answer_rest(model, decision, score);
        else
            answer_softmax(model, decision, score);
        return;
    }
    if (!model->link && model->multiclass == KLR_DDAG) {
        answer_graph(k, decision, score);
    } else if (!model->link) {
        answer_votes(k, decision, score);
    } else {
        double *rest = work + 2 * pairs;
        answer_pairs(model, decision, work, work + pairs);
        if (model->multiclass == KLR_DDAG)
            answer_eliminate(k, work, score, rest);
        else
            couple_pairwise(k, work, work + pairs, score, rest);
    }
}

static double model_answer(const struct klr_model *model,
                           const double *decision, double *probability,
                           double *work)
{
    double *score = model->link && probability ? probability : work;
    size_t best = 0;
    answer_score(model, decision, score, work + model->k);
    for (size_t c = 1; c < model->k; c++)
        if (score[c] > score[best])
            best = c;
    return model->label[best];
}

/* Log-odds do not saturate, as probabilities do; a link may fall with the
 * decision value somewhere, and those of several folds differ. */
double klr_model_score(const struct klr_model *model, const double *decision)
{
    return model->link ? link_log_odds(model->link, *decision) : *decision;
}

double klr_decide(const struct klr_model *model, const double *cost,
                  const double *probability)
{
    size_t best = 0;
    double least = INFINITY;
    for (size_t answer = 0; answer < model->k; answer++) {
        double sum = 0;
        for (size_t c = 0; c < model->k; c++)
            sum += cost[c * model->k + answer] * probability[c];
        if (sum < least) {
            least = sum;
            best = answer;
        }
    }
    return model->label[best];
}
