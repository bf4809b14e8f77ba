/* SPDX-License-Identifier: BSD-3-Clause
 *
 * klr-scale: map every feature linearly to common limits, or to zero mean and
 * unit deviation. Files and output are svm-scale's, byte for byte; range files
 * are described in docs/FORMAT.md, section 3.
 *
 * Two passes over the data, the first one replaced by a range file with -r.
 * Memory is that of the features, whatever the length of the file. A feature
 * that a row lacks is 0; one that never changes is left out. A range file is
 * written between the passes, but replaces an old one after the second.
 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/machine/system.h"
#include "base/numbers.h"
#include "cli/cli.h"
#include "cli/scale/scale_run.h"
#include "solver.h"

struct scale_options {
    double lower, upper; /* NaN: not given */
    const char *save, *restore;
    int standardize, exact, unlabelled, string_labels, quiet;
};

struct scale {
    struct scale_options options;
    const char *data; /* the data set */
    const char *file; /* which an error is about; NULL: the command line */
    double label_limit[2];
    int label_limits; /* values of -y so far */
    struct cli_scaling scaling;
    struct klr_output *ranges;    /* of -s; else NULL */
    size_t rows;                  /* written */
    size_t serials;               /* of them that have their number as the
                                     feature 0 */
    struct cli_scaled_rows lines; /* as they are written */
    struct cli_progress progress;
    double begin; /* of the run, in seconds */
};

static const struct klr_option scale_table[] = {
    {.type = KLR_REAL,
     .letter = 'l',
     .name = "lower",
     .argument = "LOWER",
     .offset = offsetof(struct scale_options, lower),
     .preset = NAN,
     .min = -HUGE_VAL,
     .max = HUGE_VAL,
     .group = "Scaling",
     .help = "lower limit of the features (default -1)"},
    {.type = KLR_REAL,
     .letter = 'u',
     .name = "upper",
     .argument = "UPPER",
     .offset = offsetof(struct scale_options, upper),
     .preset = NAN,
     .min = -HUGE_VAL,
     .max = HUGE_VAL,
     .help = "upper limit of the features (default 1)"},
    {.type = KLR_REPEATED,
     .letter = 'y',
     .name = "labels",
     .argument = "LOWER UPPER",
     .values = 2,
     .help = "limits of the labels (default: labels stay)"},
    {.type = KLR_FLAG,
     .name = "standardize",
     .offset = offsetof(struct scale_options, standardize),
     .help = "to zero mean and unit deviation instead of limits"},
    {.type = KLR_STRING,
     .letter = 's',
     .name = "save",
     .argument = "FILE",
     .offset = offsetof(struct scale_options, save),
     .group = "Range files",
     .help = "write the ranges of features and labels to FILE"},
    {.type = KLR_STRING,
     .letter = 'r',
     .name = "restore",
     .argument = "FILE",
     .offset = offsetof(struct scale_options, restore),
     .help = "scale as FILE says, in one pass"},
    {.type = KLR_FLAG,
     .name = "exact",
     .offset = offsetof(struct scale_options, exact),
     .group = "Files",
     .help = "all digits that tell numbers apart (default: six)"},
    {.type = KLR_FLAG,
     .name = "unlabelled",
     .offset = offsetof(struct scale_options, unlabelled),
     .help = "rows may lack the label"},
    {.type = KLR_FLAG,
     .name = "string-labels",
     .offset = offsetof(struct scale_options, string_labels),
     .help = "labels are names, not numbers, and stay as they are"},
    {.type = KLR_FLAG,
     .letter = 'q',
     .name = "quiet",
     .offset = offsetof(struct scale_options, quiet),
     .group = "Output",
     .help = "no warnings"},
    {.name = NULL},
};

static const char scale_examples[] =
    "Examples\n"
    "  klr-scale -s ranges train > train.scaled\n"
    "  klr-scale -r ranges test > test.scaled    as the training set\n"
    "  klr-scale -l 0 counts > counts.scaled     zeros stay zeros\n";

/* ---- Options ---- */

/* -y LOWER UPPER, one after the other. */
static int take_label_limit(const char *name, const char *value, void *context,
                            struct klr_error *err)
{
    struct scale *scale = context;
    char quoted[KLR_QUOTED_SIZE];
    double *limit = &scale->label_limit[scale->label_limits % 2];
    if (!klr_read_real(value, limit))
        return klr_fail(err, KLR_E_USAGE, "option -%s: %s is not a number",
                        name, klr_quote(quoted, value));
    scale->label_limits++;
    return 0;
}

static int refuse_pair(const char *option, const char *other,
                       struct klr_error *err)
{
    return klr_fail(err, KLR_E_USAGE, "%s and %s exclude each other", option,
                    other);
}

static int check_exclusions(const struct scale *scale, struct klr_error *err)
{
    const struct scale_options *options = &scale->options;
    bool lower = !isnan(options->lower), upper = !isnan(options->upper);
    const char *rest = options->restore       ? "-r"
                       : options->standardize ? "--standardize"
                                              : NULL;
    if (rest && (lower || upper))
        return refuse_pair(rest, lower ? "-l" : "-u", err);
    if (options->restore && scale->label_limits)
        return refuse_pair("-r", "-y", err);
    if (options->string_labels && scale->label_limits)
        return refuse_pair("--string-labels", "-y", err);
    if (options->restore && options->save)
        return refuse_pair("-r", "-s", err);
    if (options->restore && options->standardize)
        return refuse_pair("-r", "--standardize", err);
    if (options->restore && strcmp(options->restore, "-") == 0 &&
        strcmp(scale->data, "-") == 0)
        return klr_fail(err, KLR_E_USAGE,
                        "ranges (-r) and data cannot both come from stdin");
    if (options->save && klr_output_is_stdout(options->save))
        return klr_fail(err, KLR_E_USAGE,
                        "the ranges (-s) cannot go to stdout");
    return 0;
}

static int check_limits(const char *option, double lower, double upper,
                        struct klr_error *err)
{
    if (lower < upper)
        return 0;
    return klr_fail(err, KLR_E_USAGE,
                    "%s: the lower limit %g is not below the upper limit %g",
                    option, lower, upper);
}

/* svm-scale keeps the limits of its command line in single precision, which
 * shows in its files: 0.9 is 0.89999997615814209. So it is here, but for
 * --exact. */
static double settle_limit(const struct scale *scale, double limit)
{
    float single = (float)limit;
    return scale->options.exact || !isfinite(single) ? limit : single;
}

static int settle_options(struct scale *scale, struct klr_error *err)
{
    const struct scale_options *options = &scale->options;
    int code = check_exclusions(scale, err);
    scale->scaling.features.lower =
        isnan(options->lower) ? -1 : settle_limit(scale, options->lower);
    scale->scaling.features.upper =
        isnan(options->upper) ? 1 : settle_limit(scale, options->upper);
    scale->scaling.features.standardize = options->standardize;
    scale->scaling.has_y = scale->label_limits > 0;
    scale->scaling.y.lower = settle_limit(scale, scale->label_limit[0]);
    scale->scaling.y.upper = settle_limit(scale, scale->label_limit[1]);
    if (!code)
        code = check_limits("options -l, -u", scale->scaling.features.lower,
                            scale->scaling.features.upper, err);
    if (!code && scale->scaling.has_y)
        code = check_limits("option -y", scale->scaling.y.lower,
                            scale->scaling.y.upper, err);
    return code;
}

/* No output is what is read: its end would never come. */
static int check_outputs(struct scale *scale, struct klr_error *err)
{
    const char *const read[] = {scale->data, scale->options.restore};
    int code = 0;
    if (scale->options.save) {
        scale->file = scale->options.save;
        code = klr_output_check(scale->file, read, 1, err);
    }
    if (!code) {
        scale->file = "stdout";
        code = klr_output_check("-", read, 2, err);
    }
    return code;
}

/* ---- The first pass: ranges ---- */

/* In the first pass; `context` is a struct scale. */
static void tell_read(unsigned long long rows, void *context)
{
    struct scale *scale = context;
    cli_progress_rows(&scale->progress, "rows read", rows,
                      klr_seconds() - scale->begin);
}

static int write_ranges(struct scale *scale, struct klr_error *err)
{
    scale->file = scale->options.save;
    int code = klr_output_open(&scale->ranges, scale->file, err);
    if (code)
        return code;
    cli_ranges_write(&scale->scaling, scale->ranges);
    return klr_output_finish(scale->ranges, err);
}

/* The ranges, from their file or from the data, which may have to be saved. */
static int find_ranges(struct scale *scale, struct klr_reader *reader,
                       struct klr_error *err)
{
    const struct scale_options *options = &scale->options;
    int code;
    if (options->restore) {
        scale->file = options->restore;
        code = cli_ranges_restore(&scale->scaling, options->restore, err);
        if (!code && options->string_labels && scale->scaling.has_y)
            code = klr_fail(err, KLR_E_DATA,
                            "it scales labels: names (--string-labels) cannot "
                            "be scaled");
        return code;
    }
    scale->file = scale->data;
    code = cli_scaling_learn(&scale->scaling, reader, tell_read, scale, err);
    return code || !options->save ? code : write_ranges(scale, err);
}

/* The new range file takes the place of the old one. */
static int keep_ranges(struct scale *scale, struct klr_error *err)
{
    struct klr_output *ranges = scale->ranges;
    scale->file = scale->options.save;
    scale->ranges = NULL;
    return klr_output_commit(ranges, err);
}

/* ---- The second pass: rows ---- */

/* In the second pass. */
static void tell_written(struct scale *scale)
{
    cli_progress_rows(&scale->progress, "rows scaled", scale->rows,
                      klr_seconds() - scale->begin);
}

/* All rows; what is written leaves before waiting for more to read. */
static int put_rows(struct scale *scale, struct klr_reader *reader,
                    struct klr_output *out, struct klr_error *err)
{
    struct klr_row row;
    int got;
    scale->file = scale->data;
    while ((got = klr_reader_next(reader, &row, err)) == 1) {
        int code = cli_scaled_rows_put(&scale->lines, out, &row, err);
        if (code)
            return code;
        scale->rows++;
        scale->serials += row.count > 0 && row.index[0] == 0 &&
                          row.value[0] == (double)scale->rows;
        tell_written(scale);
        if (klr_reader_would_block(reader) && klr_output_flush(out, err)) {
            scale->file = "stdout";
            return KLR_E_IO;
        }
    }
    if (got == 0 && scale->rows == 0)
        return klr_fail(err, KLR_E_DATA, "no examples");
    return -got;
}

/* Else rows appear between the progress, or a program that reads them may show
 * its own. */
static bool writes_to_file(void)
{
    struct stat status;
    return fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode);
}

static int write_scaled(struct scale *scale, struct klr_reader *reader,
                        struct klr_error *err)
{
    struct klr_output *out;
    if (!writes_to_file()) {
        cli_progress_end(&scale->progress);
        scale->progress.quiet = true;
    }
    scale->lines = (struct cli_scaled_rows){
        .scaling = &scale->scaling,
        .exact = scale->options.exact,
        .string_labels = scale->options.string_labels,
    };
    scale->file = "stdout";
    int code = klr_output_open(&out, "-", err);
    if (!code)
        code = cli_scaled_rows_prepare(&scale->lines, err);
    if (!code)
        code = put_rows(scale, reader, out, err);
    if (code) {
        klr_output_abandon(out);
        return code;
    }
    scale->file = "stdout";
    return klr_output_commit(out, err);
}

/* ---- The program ---- */

/* Features of the data that the range file lacks, as it does those that never
 * changed when it was made; here they do. */
static void warn_unknown(struct scale *scale, const struct cli_program *program)
{
    int first = 0;
    size_t unknown =
        klr_scaling_unknown(&scale->scaling.features, scale->rows, &first);
    if (unknown)
        cli_warn(program,
                 "features left out because %s lacks them: %zu, the first is "
                 "%d",
                 cli_input_name(scale->options.restore), unknown, first);
}

/* Zeros that are scaled, where they make the file more than twice as long. */
static void warn_zeros(const struct scale *scale,
                       const struct cli_program *program)
{
    bool standardize = scale->scaling.features.standardize;
    size_t before = scale->lines.nonzeros_read,
           after = scale->lines.nonzeros_written;
    if (after > before && after - before > before)
        cli_warn(program,
                 "zeros are scaled too: %zu value%s before, %zu after; with "
                 "-l 0%s zeros stay zeros where no feature is negative",
                 before, klr_plural(before), after,
                 standardize ? " in place of --standardize" : "");
}

static void warn(struct scale *scale, const struct cli_program *program)
{
    if (scale->options.quiet)
        return;
    if (scale->lines.has_qid)
        cli_warn(program, "query ids (qid:) are left out");
    if (scale->serials == scale->rows)
        cli_warn(program, "feature 0 is the number of the example: a kernel "
                          "matrix, if this is one, is not to be scaled");
    if (scale->options.restore)
        warn_unknown(scale, program);
    warn_zeros(scale, program);
}

static int run(struct scale *scale, struct klr_error *err)
{
    const struct scale_options *options = &scale->options;
    struct klr_reader *reader = NULL;
    int flags = (options->restore ? 0 : KLR_READ_KEEP) |
                (options->unlabelled ? KLR_READ_UNLABELLED : 0) |
                (options->string_labels ? KLR_READ_NAMES : 0);
    int code = settle_options(scale, err);
    if (!code)
        code = check_outputs(scale, err);
    if (!code) {
        scale->file = scale->data;
        code = klr_reader_open(&reader, scale->data, flags, err);
    }
    if (!code)
        code = find_ranges(scale, reader, err);
    if (!code)
        code = write_scaled(scale, reader, err);
    if (!code)
        code = keep_ranges(scale, err);
    klr_reader_close(reader);
    return code;
}

static void scale_free(struct scale *scale)
{
    klr_output_abandon(scale->ranges);
    klr_scaling_free(&scale->scaling.features);
    cli_scaled_rows_free(&scale->lines);
}

int main(int argc, char **argv)
{
    struct scale scale = {.rows = 0};
    struct klr_error err;
    const char *operand[2];
    const struct cli_program program = {
        .name = "klr-scale",
        .purpose = "Scale the features of a data set.",
        .operands = "data",
        .min_operands = 1,
        .max_operands = 1,
        .tables = (const struct klr_option *const[]){scale_table, NULL},
        .bases = (void *const[]){&scale.options},
        .repeated = take_label_limit,
        .context = &scale,
        .examples = scale_examples,
    };
    cli_catch_signals();
    int status = cli_parse(&program, argc, argv, operand);
    if (status >= 0)
        return status;
    scale.data = operand[0];
    scale.begin = klr_seconds();
    scale.progress.name = program.name;
    int code = run(&scale, &err);
    cli_progress_end(&scale.progress);
    if (!code)
        warn(&scale, &program);
    status = code ? cli_fail(&program, scale.file, &err) : CLI_OK;
    scale_free(&scale);
    return cli_finish(&program, status);
}
