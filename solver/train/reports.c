/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reports of trainings: what the solutions of all problems add up to.
 */
#include "solver/train/train.h"

static void report_note(struct klr_report *report, const struct klr_note *note)
{
    if (report->notes < KLR_NOTES)
        report->note[report->notes] = *note;
    report->notes++;
}

static void report_note_classes(struct klr_report *report,
                                const struct klr_params *params,
                                const struct partition *partition)
{
    struct klr_note note = {.kind = KLR_NOTE_SINGLE};
    bool constant = calibration_solves(params) > 0 && !params->no_bias &&
                    link_form(params) != KLR_LINK_CHECKED;
    for (size_t c = 0; c < partition->k && constant; c++) {
        note.first = partition->label[c];
        struct klr_range class = {partition_begin(partition, c),
                                  partition_begin(partition, c + 1)};
        if (partition_examples(partition, class) == 1)
            report_note(report, &note);
    }
}

static void report_start(struct klr_report *report)
{
    memset(report, 0, sizeof *report);
    report->lambda_bound = -INFINITY;
    report->fall = NAN;
}

static void basis_report_join(struct klr_basis_report *report,
                              const struct klr_basis_report *more)
{
    if (more->points == 0)
        return;
    if (report->points == 0 || !(more->full_gap <= report->full_gap)) {
        report->full_gap = more->full_gap;
        report->full_gap_error = more->full_gap_error;
    }
    if (report->points == 0 || !(more->excess <= report->excess)) {
        report->excess = more->excess;
        report->excess_error = more->excess_error;
    }
    if (more->end > report->end)
        report->end = more->end;
    if (more->points > report->points)
        report->points = more->points;
    report->passes += more->passes;
    report->choice_passes += more->choice_passes;
    report->sample += more->sample;
    report->hessians += more->hessians;
}

static void report_lose(struct klr_report *report)
{
    report->status = gravest(report->status, KLR_PRECISION_LIMIT);
    if (report->doubt < KLR_DOUBT_ROUNDING)
        report->doubt = KLR_DOUBT_ROUNDING;
}

static void report_join(struct klr_report *report,
                        const struct klr_report *more)
{
    report->solver = more->solver;
    report->machines = gravest(report->machines, more->machines);
    report->status = gravest(report->status, more->status);
    report->doubt = report->doubt > more->doubt ? report->doubt : more->doubt;
    report->fall = fmax(report->fall, more->fall);
    report->size = fmax(report->size, more->size);
    report->primal += more->primal;
    report->dual += more->dual;
    report->iterations += more->iterations;
    report->n_sv += more->n_sv;
    basis_report_join(&report->basis, &more->basis);
    report->passes += more->passes;
    report->precond_flops += more->precond_flops;
    report->kernel_evals += more->kernel_evals;
    if (!(more->lambda_bound <= report->lambda_bound)) /* or is no number */
        report->lambda_bound = more->lambda_bound;
    report->seconds = fmax(report->seconds, more->seconds);
    report->different = more->different;
    if (more->gap > report->gap || isnan(more->gap))
        report->gap = more->gap;
    for (size_t i = 0; i < more->notes && i < KLR_NOTES; i++)
        report_note(report, &more->note[i]);
    if (more->notes > KLR_NOTES)
        report->notes += more->notes - KLR_NOTES;
}

/* With one class alone there is nothing to gain: both objectives are 0, and so
 * is the gap. */
static void report_add(struct klr_report *report,
                       const struct machine_group *group,
                       const struct training *training, size_t fold, size_t s)
{
    const struct solution *solution = &group->solution[s];
    const struct partition *partition = training->partition;
    size_t machine = s / group->count;
    struct klr_note note = {
        .kind = solution->note,
        .first = partition->label[group->class[machine]],
        .second = group->machines > 1 ? (double)NAN
                                      : partition->label[group->class[1]],
        .fold = fold < partition->folds ? fold + 1 : 0,
    };
    struct klr_report more = {
        .machines = solution->status,
        .status = gravest(solution->status, solution->link_status),
        .primal = solution->primal,
        .dual = solution->dual,
        .gap = solution->primal - solution->dual,
        .doubt = solution->doubt,
        .fall = solution->fall,
        .size = solution->size,
        .iterations = solution->iterations,
        .precond_flops = solution->flops,
        .lambda_bound = solution->lambda_bound,
        .basis = solution->basis,
    };
    if (more.gap != 0)
        more.gap /= fabs(more.primal);
    note.part = note.kind == KLR_NOTE_NONE;
    if (note.part)
        note.kind = solution->link_note;
    if (note.kind != KLR_NOTE_NONE)
        report_note(&more, &note);
    report_join(report, &more);
}

/* Fill in what the report has besides the sums over the problems. */
static void report_finish(struct klr_report *report,
                          const struct training *training)
{
    report->solver = (enum klr_solver_type)training->params->solver;
    report->passes = training->op->passes;
    report->precond_flops /= 2.0 * (double)training->op->n;
    report->precond_flops /= (double)training->op->n;
    report->kernel_evals = training->op->evaluations;
    report->different = training->partition->n;
    report->seconds = klr_seconds() - training->clock.begin;
}
