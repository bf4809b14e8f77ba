/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages: one line each on stderr, "NAME: FILE:line:column: message".
 * Results are stdout's; whether they arrived is asked once, at the end.
 */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

enum { WARNING_SIZE = 8192 }; /* a path and more */

void cli_print_visibly(FILE *out, const char *text)
{
    const char *end = text + strlen(text);
    char shown[KLR_VISIBLE_SIZE];
    while (text < end) {
        text += klr_visible(text, end, shown);
        fputs(shown, out);
    }
}

int cli_fail(const struct cli_program *program, const char *file,
             const struct klr_error *err)
{
    if (err->code == KLR_E_PIPE)
        return CLI_INTERRUPTED + SIGPIPE;
    fprintf(stderr, "%s: ", program->name);
    if (file) {
        cli_print_visibly(stderr, cli_input_name(file));
        fputc(':', stderr);
        if (err->line)
            fprintf(stderr, "%ld:", err->line);
        if (err->line && err->column)
            fprintf(stderr, "%ld:", err->column);
        fputc(' ', stderr);
    }
    cli_print_visibly(stderr, err->message);
    fputc('\n', stderr);
    return err->code == KLR_E_USAGE ? CLI_USAGE : CLI_FAILURE;
}

const char *cli_input_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "stdin" : path;
}

const char *cli_output_name(const char *path)
{
    return strcmp(path, "-") == 0 ? "stdout" : path;
}

static void keep_warning(struct klr_text *kept, const char *text)
{
    struct klr_text line = {0};
    klr_text_put_visible(&line, text);
    if (kept->length > 0)
        klr_text_put(kept, ", ");
    klr_text_put_json(kept, line.text ? line.text : "");
    kept->failed = kept->failed || line.failed;
    klr_free(line.text);
}

void cli_warn(const struct cli_program *program, const char *format, ...)
{
    char text[WARNING_SIZE];
    KLR_FORMAT(text, format);
    fprintf(stderr, "%s: warning: ", program->name);
    cli_print_visibly(stderr, text);
    fputc('\n', stderr);
    if (program->warnings)
        keep_warning(program->warnings, text);
}

void cli_json_warnings(const struct cli_program *program, const char *after)
{
    const struct klr_text *kept = program->warnings;
    if (kept->failed)
        printf("\"warnings\": null%s", after);
    else
        printf("\"warnings\": [%s]%s", kept->text ? kept->text : "", after);
}

static int fail_memory(const struct cli_program *program)
{
    struct klr_error err;
    klr_fail(&err, KLR_E_MEMORY, "out of memory");
    return cli_fail(program, NULL, &err);
}

int cli_finish(const struct cli_program *program, int status)
{
    if (program->warnings && program->warnings->failed && status == CLI_OK)
        status = fail_memory(program);
    errno = EIO; /* of a write that failed before */
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (errno == EPIPE)
        return CLI_INTERRUPTED + SIGPIPE;
    fprintf(stderr, "%s: stdout: cannot write: %s\n", program->name,
            strerror(errno));
    return CLI_FAILURE;
}
