/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What there is to say of the spectrum of a kernel matrix, on stdout.
 */
#include "cli/cli.h"

#include <stdio.h>

static void print_json(const struct cli_program *program,
                       const struct klr_spectrum *s)
{
    printf("{\"kernel_matrix\": \"%s\", ", klr_definiteness_names[s->kind]);
    cli_json_real("least", s->whole.least, ", ");
    cli_json_real("most", s->whole.most, ", ");
    cli_json_real("centred_least", s->centred.least, ", ");
    cli_json_real("centred_most", s->centred.most, ", ");
    if (s->exact)
        printf("\"negative\": %zu, ", s->negative);
    cli_json_real("tolerance", s->tolerance, ", ");
    printf("\"method\": \"%s\", \"steps\": %lld, \"n\": %zu, ",
           s->exact ? "tridiagonalisation" : "lanczos", s->steps, s->n);
    cli_json_warnings(program, ", ");
    printf("\"seconds\": %.6f}\n", s->seconds);
}

void cli_print_spectrum(const struct cli_program *program,
                        const struct klr_spectrum *s, bool json)
{
    if (json) {
        print_json(program, s);
        return;
    }
    printf("kernel matrix: %s; smallest eigenvalue %.6g",
           klr_definiteness_names[s->kind], s->whole.least);
    if (s->n > 1)
        printf(", on vectors of sum 0 %.6g", s->centred.least);
    if (s->exact)
        printf(" (all %zu by tridiagonalisation, %zu negative)\n", s->n,
               s->negative);
    else
        printf(" (estimates by %lld Lanczos steps)\n", s->steps);
}
