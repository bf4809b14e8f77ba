/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Predictions as text: the predicted label, then probabilities of the classes
 * or decision values.
 */
#include "cli/cli.h"

#include "base/memory.h"

int cli_answers_create(struct cli_answers *answers, size_t classes,
                       const double *label, const struct klr_names *names,
                       struct klr_error *err)
{
    *answers = (struct cli_answers){
        .classes = classes, .label = label, .named = names != NULL};
    if (!(answers->number = klr_alloc(classes, KLR_REAL_SIZE, err)) ||
        !(answers->text = klr_alloc(classes, sizeof *answers->text, err)))
        return KLR_E_MEMORY;
    for (size_t c = 0; c < classes; c++)
        answers->text[c] = klr_label_text(names, label[c], answers->number[c]);
    return 0;
}

void cli_answers_free(struct cli_answers *answers)
{
    klr_free(answers->number);
    klr_free(answers->text);
    *answers = (struct cli_answers){0};
}

void cli_write_names(struct klr_output *out, const struct cli_answers *answers)
{
    klr_puts(out, "labels");
    for (size_t c = 0; c < answers->classes; c++) {
        klr_puts(out, " ");
        klr_puts(out, answers->text[c]);
    }
    klr_puts(out, "\n");
}

const char *cli_label_text(const struct cli_answers *answers, double label)
{
    size_t c = 0;
    while (answers->label[c] != label)
        c++;
    return answers->text[c];
}

void cli_write_answer(struct klr_output *out, const struct cli_answers *answers,
                      double label, const double *probability,
                      const double *decision, size_t decisions)
{
    klr_puts(out, cli_label_text(answers, label));
    if (probability)
        klr_put_reals(out, probability, answers->classes, sizeof *probability);
    if (decision)
        klr_put_reals(out, decision, decisions, sizeof *decision);
}
