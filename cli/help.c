/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The text of --help, made of the option tables: what a default is said to be
 * is what it is.
 */
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

enum { HELP_COLUMN = 28, HELP_WIDTH = 79, HELP_LEFT = 64, HELP_TEXT = 1024 };

const struct klr_option cli_common_options[] = {
    {.type = KLR_REPEATED,
     .name = "help",
     .group = "Other",
     .help = "this text"},
    {.type = KLR_REPEATED, .name = "version", .help = "the version"},
    {.name = NULL},
};

/* "-c, --cost C", "    --json", or "-wLABEL WEIGHT" without a long name. */
static void print_left(const struct klr_option *option)
{
    char left[HELP_LEFT], letter[] = "    ";
    const char *argument = option->argument ? option->argument : "";
    if (!option->name[0]) {
        snprintf(left, sizeof left, "-%c%s", option->letter, argument);
    } else {
        if (option->letter)
            snprintf(letter, sizeof letter, "-%c, ", option->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, option->name,
                 *argument ? " " : "", argument);
    }
    printf("  %-*s", HELP_COLUMN - 2, left);
    if (strlen(left) > HELP_COLUMN - 3)
        printf("\n%*s", HELP_COLUMN, "");
}

/* Words wrapped between HELP_COLUMN and HELP_WIDTH; line feeds stand. */
static void print_wrapped(const char *text)
{
    size_t column = HELP_COLUMN;
    while (*text) {
        size_t blanks = strspn(text, " ");
        size_t word = strcspn(text + blanks, " \n");
        if (column + blanks + word > HELP_WIDTH) {
            printf("\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
            text += blanks;
            blanks = 0;
        }
        printf("%.*s", (int)(blanks + word), text);
        column += blanks + word;
        text += blanks + word;
        if (*text == '\n') {
            printf("\n%*s", HELP_COLUMN + 2, "");
            column = HELP_COLUMN + 2;
            text++;
        }
    }
    putchar('\n');
}

static void print_option(const struct klr_option *option)
{
    char preset[KLR_PRESET_SIZE], text[HELP_TEXT];
    const char *mark = strstr(option->help, "%s");
    klr_option_preset_text(option, preset);
    if (option->group)
        printf("\n%s\n", option->group);
    if (mark)
        snprintf(text, sizeof text, "%.*s%s%s", (int)(mark - option->help),
                 option->help, preset, mark + 2);
    else
        snprintf(text, sizeof text, "%s", option->help);
    print_left(option);
    print_wrapped(text);
}

static void print_table(const struct klr_option *table)
{
    for (; table->name; table++)
        print_option(table);
}

void cli_print_help(const struct cli_program *program)
{
    printf("usage: %s [options] %s\n%s\n", program->name, program->operands,
           program->purpose);
    for (size_t i = 0; program->tables[i]; i++)
        print_table(program->tables[i]);
    print_table(cli_common_options);
    if (program->examples)
        printf("\n%s", program->examples);
}
