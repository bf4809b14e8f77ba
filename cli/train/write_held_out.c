/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The predictions of a cross validation as a file (docs/FORMAT.md, section 5):
 * fold and true label of each example, then what klr-predict writes of it.
 */
#include "cli/cli.h"

static void write_header(struct klr_output *out,
                         const struct klr_held_out *held_out,
                         const struct cli_answers *answers)
{
    klr_puts(out, "fold true ");
    if (held_out->probability) {
        cli_write_names(out, answers);
        return;
    }
    klr_puts(out, "label");
    for (size_t d = 0; d < held_out->decisions; d++)
        klr_putf(out, " decision%zu", d + 1);
    klr_puts(out, "\n");
}

static void write_rows(struct klr_output *out,
                       const struct klr_held_out *held_out, const double *truth,
                       const struct cli_folds *folds,
                       const struct cli_answers *answers)
{
    const double *probability = held_out->probability;
    for (size_t i = 0; i < held_out->n; i++) {
        size_t f = held_out->fold[i];
        klr_putf(out, "%lld ", folds->n ? folds->name[f] : (long long)f + 1);
        klr_puts(out, cli_label_text(answers, truth[i]));
        klr_puts(out, " ");
        cli_write_answer(
            out, answers, held_out->label[i],
            probability ? probability + i * held_out->classes : NULL,
            probability ? NULL : held_out->decision + i * held_out->decisions,
            held_out->decisions);
        klr_put(out, "\n", 1);
    }
}

int cli_write_held_out(const char *path, const struct klr_held_out *held_out,
                       const double *truth, const struct cli_answers *answers,
                       const struct cli_folds *folds, struct klr_error *err)
{
    struct klr_output *out = NULL;
    int code = klr_output_open(&out, path, err);
    if (code)
        return code;
    write_header(out, held_out, answers);
    write_rows(out, held_out, truth, folds, answers);
    return klr_output_commit(out, err);
}
