/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A loop that answers rows as they come: "server MODEL" reads rows without
 * labels from stdin, in the svmlight format, and writes the label of each and
 * the probability of that answer. What is wrong with a row is told on stderr,
 * and answered by "?". Compiles as C and as C++.
 */
#include <stdio.h>
#include <stdlib.h>

#include <klr/solver.h>

enum { MOST_CLASSES = 64 };

static double largest(const double *p, size_t count)
{
    double most = p[0];
    for (size_t c = 1; c < count; c++)
        if (p[c] > most)
            most = p[c];
    return most;
}

static int answer(const struct klr_model *model,
                  struct klr_predictor *predictor, const struct klr_row *row,
                  struct klr_error *err)
{
    const size_t start[2] = {0, row->count};
    int dimension = row->count ? row->index[row->count - 1] : 0;
    struct klr_features x = {1, dimension, start, row->index, row->value, NULL};
    double label, probability[MOST_CLASSES];
    char number[KLR_REAL_SIZE];
    int code = klr_predict(predictor, &x, &label, NULL, probability, err);
    if (code)
        return code;
    printf("%s %.3f\n",
           klr_label_text(klr_model_label_names(model), label, number),
           largest(probability, klr_model_classes(model)));
    return 0;
}

/* Answers wait until there is nothing more to read at once. */
static int serve(const struct klr_model *model, struct klr_predictor *predictor,
                 struct klr_error *err)
{
    struct klr_reader *reader = NULL;
    struct klr_row row;
    int code = klr_reader_open(&reader, "-", KLR_READ_UNLABELLED, err);
    if (code)
        return code;
    for (int got = 1; got != 0;) {
        if (klr_reader_would_block(reader))
            fflush(stdout);
        got = klr_reader_next(reader, &row, err);
        if (got == -KLR_E_IO || got == -KLR_E_MEMORY) {
            code = -got;
            break;
        }
        if (got < 0 || (got == 1 && answer(model, predictor, &row, err))) {
            fprintf(stderr, "stdin:%ld: %s\n",
                    err->line && got < 0 ? err->line : row.line.number,
                    err->message);
            puts("?");
        }
    }
    klr_reader_close(reader);
    return code;
}

int main(int argc, char **argv)
{
    struct klr_model *model = NULL;
    struct klr_predictor *predictor = NULL;
    struct klr_error err;
    if (argc != 2) {
        fputs("usage: server MODEL < rows\n", stderr);
        return 2;
    }
    int code = klr_model_load(&model, argv[1], &err);
    if (!code && (!klr_model_has_probabilities(model) ||
                  klr_model_classes(model) > MOST_CLASSES))
        code = klr_fail(&err, KLR_E_USAGE, "no probabilities, or too many");
    if (!code)
        code = klr_predictor_create(&predictor, model, 1, &err);
    if (!code)
        code = serve(model, predictor, &err);
    if (code)
        fprintf(stderr, "server: %s\n", err.message);
    klr_predictor_free(predictor); /* it refers to the model */
    klr_model_free(model);
    return code ? EXIT_FAILURE : EXIT_SUCCESS;
}
