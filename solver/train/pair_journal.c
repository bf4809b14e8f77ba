/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The journal of a training by pairs of classes. Of a pair it keeps, for each
 * C, numbers of the solution and of its link, and behind them the coefficients
 * other than 0, each after its place. What comes of a pair that is recalled,
 * its report included, comes of these.
 */
#include "solver/train/train.h"

/* The numbers of a pair at a C. Entries and products are those of all C, at the
 * first one. */
enum pair_number {
    PAIR_EXAMPLES,
    PAIR_ITERATIONS,
    PAIR_ENTRIES,
    PAIR_STATUS,
    PAIR_LINK_STATUS,
    PAIR_DOUBT,
    PAIR_NOTE,
    PAIR_LINK_NOTE,
    PAIR_LINK,
    PAIR_PASSES,
    PAIR_RHO,
    PAIR_PRIMAL,
    PAIR_DUAL,
    PAIR_FALL,
    PAIR_SIZE,
    PAIR_FLOPS,
    PAIR_A,
    PAIR_B,
    PAIR_C,
    PAIR_NUMBERS
};

static bool training_keeps_pairs(const struct training *training)
{
    const struct klr_params *params = training->params;
    return training->journal && training->journal->recall_pair &&
           !machines_are_classes(training->multiclass) && !params->basis &&
           !params->lambda_bound;
}

static size_t training_only_pair(const struct training *training)
{
    return training->journal ? training->journal->only_pair : 0;
}

static int pair_check(const struct training *training, struct klr_error *err)
{
    size_t pairs = group_count(training), only = training_only_pair(training);
    if (only > 0 && !training_keeps_pairs(training))
        return klr_fail(err, KLR_E_USAGE,
                        "no pair of classes has a machine by itself");
    if (only > pairs)
        return klr_fail(err, KLR_E_USAGE,
                        "there is no pair %zu: of %zu classes there are %zu",
                        only, training->partition->k, pairs);
    return 0;
}

/* ---- numbers ---- */

static void pair_numbers(const struct machine_group *group,
                         const struct klr_operator *op, size_t t,
                         double number[PAIR_NUMBERS])
{
    const struct solution *s = &group->solution[t];
    const struct link *link = &group->link[t];
    const double all[PAIR_NUMBERS] = {
        [PAIR_EXAMPLES] = (double)group->set.size,
        [PAIR_ITERATIONS] = (double)s->iterations,
        [PAIR_ENTRIES] = t ? 0 : (double)op->evaluations,
        [PAIR_STATUS] = s->status,
        [PAIR_LINK_STATUS] = s->link_status,
        [PAIR_DOUBT] = s->doubt,
        [PAIR_NOTE] = s->note,
        [PAIR_LINK_NOTE] = s->link_note,
        [PAIR_LINK] = link->kind,
        [PAIR_PASSES] = t ? 0 : op->passes,
        [PAIR_RHO] = s->rho,
        [PAIR_PRIMAL] = s->primal,
        [PAIR_DUAL] = s->dual,
        [PAIR_FALL] = s->fall,
        [PAIR_SIZE] = s->size,
        [PAIR_FLOPS] = s->flops,
        [PAIR_A] = link->a,
        [PAIR_B] = link->b,
        [PAIR_C] = link->c,
    };
    memcpy(number, all, sizeof all);
}

/* True if a pair of n examples can have these numbers. */
static bool pair_numbers_fit(const double number[PAIR_NUMBERS], size_t n)
{
    const double most[] = {
        [PAIR_EXAMPLES] = (double)n,
        [PAIR_ITERATIONS] = 0x1p53,
        [PAIR_ENTRIES] = 0x1p53,
        [PAIR_STATUS] = KLR_TIME_LIMIT - 1,
        [PAIR_LINK_STATUS] = KLR_TIME_LIMIT - 1,
        [PAIR_DOUBT] = KLR_DOUBT_INDEFINITE,
        [PAIR_NOTE] = KLR_NOTE_POINTS,
        [PAIR_LINK_NOTE] = KLR_NOTE_POINTS,
        [PAIR_LINK] = LINK_GAUSSIAN,
    };
    const double real[] = {number[PAIR_PASSES], number[PAIR_RHO],
                           number[PAIR_A], number[PAIR_B], number[PAIR_C]};
    bool fit = number[PAIR_EXAMPLES] == (double)n;
    for (size_t i = 0; i < sizeof most / sizeof *most; i++)
        fit = fit && number[i] >= 0 && number[i] <= most[i];
    for (size_t i = 0; i < sizeof real / sizeof *real; i++)
        fit = fit && isfinite(real[i]);
    return fit;
}

static void pair_take(struct machine_group *group, struct klr_operator *op,
                      size_t t, const double number[PAIR_NUMBERS])
{
    double *beta = group->solution[t].beta;
    op->evaluations += (unsigned long long)number[PAIR_ENTRIES];
    op->passes += number[PAIR_PASSES];
    group->solution[t] = (struct solution){
        .beta = beta,
        .iterations = (long long)number[PAIR_ITERATIONS],
        .status = (enum klr_status)number[PAIR_STATUS],
        .link_status = (enum klr_status)number[PAIR_LINK_STATUS],
        .doubt = (enum klr_doubt)number[PAIR_DOUBT],
        .note = (enum klr_note_kind)number[PAIR_NOTE],
        .link_note = (enum klr_note_kind)number[PAIR_LINK_NOTE],
        .rho = number[PAIR_RHO],
        .primal = number[PAIR_PRIMAL],
        .dual = number[PAIR_DUAL],
        .fall = number[PAIR_FALL],
        .size = number[PAIR_SIZE],
        .flops = number[PAIR_FLOPS],
        .lambda_bound = -INFINITY,
    };
    group->link[t] =
        (struct link){(enum link_kind)number[PAIR_LINK], number[PAIR_A],
                      number[PAIR_B], number[PAIR_C]};
}

/* ---- coefficients ---- */

/* beta (n) from places and values, number (count); false: they are none. */
static bool pair_take_coefficients(double *beta, size_t n, const double *number,
                                   size_t count)
{
    double place = -1;
    memset(beta, 0, n * sizeof *beta);
    for (size_t i = 0; i + 1 < count; i += 2) {
        bool fits = number[i] > place && number[i] < (double)n &&
                    number[i] == floor(number[i]) && isfinite(number[i + 1]);
        if (!fits)
            return false;
        place = number[i];
        beta[(size_t)place] = number[i + 1];
    }
    return count % 2 == 0;
}

static int pair_result(const struct machine_group *group,
                       const struct klr_operator *op, size_t t,
                       struct klr_part_result *result, struct klr_error *err)
{
    const double *beta = group->solution[t].beta;
    size_t n = group->set.size;
    double *next = result->number =
        klr_alloc(PAIR_NUMBERS + 2 * n, sizeof *next, err);
    if (!next)
        return KLR_E_MEMORY;
    pair_numbers(group, op, t, next);
    next += PAIR_NUMBERS;
    for (size_t i = 0; i < n; i++)
        if (beta[i] != 0) {
            *next++ = (double)i;
            *next++ = beta[i];
        }
    result->count = (size_t)(next - result->number);
    return 0;
}

void *klr_part_results_free(struct klr_part_result *results, size_t count)
{
    for (size_t t = 0; results && t < count; t++)
        klr_free(results[t].number);
    return klr_free(results);
}

/* ---- the journal ---- */

static int pair_recall(struct machine_group *group, struct training *training,
                       bool *recalled, struct klr_error *err)
{
    const struct klr_journal *journal = training->journal;
    const struct partition *partition = training->partition;
    const struct klr_part_result *kept;
    *recalled = training_keeps_pairs(training) &&
                journal->recall_pair(training->params->gamma.value[0],
                                     group->first, &kept, journal->context);
    if (!*recalled)
        return 0;
    group_fill(group, training,
               (struct held_out){partition->folds, partition->parts});
    clock_next(&training->clock, 1, group->set.size);
    for (size_t t = 0; t < group->count; t++) {
        size_t count = kept[t].count, n = group->set.size;
        if (count < PAIR_NUMBERS || !pair_numbers_fit(kept[t].number, n))
            return klr_fail(err, KLR_E_DATA, "not the numbers of a pair");
        pair_take(group, training->op, t, kept[t].number);
        if (!pair_take_coefficients(group->solution[t].beta, n,
                                    kept[t].number + PAIR_NUMBERS,
                                    count - PAIR_NUMBERS))
            return klr_fail(err, KLR_E_DATA, "not the coefficients of a pair");
    }
    return 0;
}

static int pair_keep(const struct machine_group *group,
                     const struct training *training,
                     const struct klr_report *report, struct klr_error *err)
{
    const struct klr_journal *journal = training->journal;
    size_t count = group->count, solved = 0;
    while (solved < count && report[solved].status < KLR_TIME_LIMIT)
        solved++;
    if (!training_keeps_pairs(training) || solved < count)
        return 0;
    struct klr_part_result *results = klr_zalloc(count, sizeof *results, err);
    int code = results ? 0 : KLR_E_MEMORY;
    for (size_t t = 0; t < count && !code; t++) {
        code = pair_result(group, training->op, t, &results[t], err);
        results[t].report.status = report[t].status;
    }
    if (!code)
        code = journal->keep_pair(training->params->gamma.value[0],
                                  group->first, group_count(training), results,
                                  journal->context, err);
    klr_part_results_free(results, count);
    return code;
}
