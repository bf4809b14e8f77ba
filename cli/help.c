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
    if (mark)
        snprintf(text, sizeof text, "%.*s%s%s", (int)(mark - option->help),
                 option->help, preset, mark + 2);
    else
        snprintf(text, sizeof text, "%s", option->help);
    print_left(option);
    print_wrapped(text);
}

/* Every option under `group`, of whatever table; one without a group is under
 * that of the option before. */
static void print_group(const struct klr_option *const *tables,
                        const char *group)
{
    const char *current = "";
    printf("\n%s\n", group);
    for (; *tables; tables++)
        for (const struct klr_option *option = *tables; option->name;
             option++) {
            if (option->group)
                current = option->group;
            if (strcmp(current, group) == 0)
                print_option(option);
        }
}

/* True if an option before `option` begins its group. */
static bool group_is_known(const struct klr_option *const *tables,
                           const struct klr_option *option)
{
    for (; *tables; tables++)
        for (const struct klr_option *o = *tables; o->name; o++) {
            if (o == option)
                return false;
            if (o->group && strcmp(o->group, option->group) == 0)
                return true;
        }
    return false;
}

static void print_groups(const struct klr_option *const *tables)
{
    for (size_t i = 0; tables[i]; i++)
        for (const struct klr_option *o = tables[i]; o->name; o++)
            if (o->group && !group_is_known(tables, o))
                print_group(tables, o->group);
}

void cli_print_help(const struct cli_program *program)
{
    const struct klr_option *const common[] = {cli_common_options, NULL};
    printf("usage: %s [options] %s\n%s\n", program->name, program->operands,
           program->purpose);
    print_groups(program->tables);
    print_groups(common);
    if (program->examples)
        printf("\n%s", program->examples);
}
