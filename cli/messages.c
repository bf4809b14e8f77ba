/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages: one line each on stderr, "NAME: FILE:line:column: message".
 * Results are stdout's; whether they arrived is asked once, at the end.
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WARNING_SIZE = 8192 }; /* a path and more */

void cli_print_visibly(FILE *out, const char *text)
{
    const char *end = text + strlen(text);
    while (text < end) {
        size_t length = klr_printable(text, end);
        if (length)
            fwrite(text, 1, length, out);
        else
            fprintf(out, "\\x%02X", (unsigned char)*text);
        text += length ? length : 1;
    }
}

int cli_fail(const struct cli_program *program, const char *file,
             const struct klr_error *err)
{
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

void cli_warn(const struct cli_program *program, const char *format, ...)
{
    char text[WARNING_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "%s: warning: ", program->name);
    cli_print_visibly(stderr, text);
    fputc('\n', stderr);
}

int cli_finish(const struct cli_program *program, int status)
{
    errno = EIO; /* of a write that failed before */
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "%s: stdout: cannot write: %s\n", program->name,
            strerror(errno));
    return CLI_FAILURE;
}
