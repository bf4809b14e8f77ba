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

int cli_fail(const struct cli_program *program, const char *file,
             const struct klr_error *err)
{
    fprintf(stderr, "%s: ", program->name);
    if (file)
        fprintf(stderr, "%s:", cli_input_name(file));
    if (file && err->line)
        fprintf(stderr, "%ld:", err->line);
    if (file && err->line && err->column)
        fprintf(stderr, "%ld:", err->column);
    fprintf(stderr, "%s%s\n", file ? " " : "", err->message);
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
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: warning: ", program->name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
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
