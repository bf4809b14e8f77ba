/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line, by the tables of the program. Values are the next argument,
 * whatever it begins with; letters are not bundled.
 */
#include "cli/cli.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/help.h"

enum { MOST_NAMES = 128 };

/* The arguments, and how far they are read. */
struct parse {
    const struct cli_program *program;
    char **argument; /* what is left; ended by NULL */
    const char **operand;
    int operands;
    struct klr_error *err;
};

/* An option of a table and the struct that it fills. */
struct match {
    const struct klr_option *option;
    void *base;
};

/* By its letter, or where that is 0 by its long name. */
static struct match find(const struct cli_program *program, char letter,
                         const char *name, size_t length)
{
    struct match none = {NULL, NULL};
    for (size_t i = 0; program->tables[i]; i++) {
        const struct klr_option *option = program->tables[i];
        for (; option->name; option++) {
            struct match match = {option, program->bases[i]};
            if (letter ? option->letter == letter
                       : strlen(option->name) == length && length > 0 &&
                             memcmp(option->name, name, length) == 0)
                return match;
        }
    }
    return none;
}

/* ---- Unknown options ---- */

static size_t add_names(const struct klr_option *table, const char **names,
                        size_t count)
{
    for (; table->name && count < MOST_NAMES; table++)
        names[count++] = table->name;
    return count;
}

/* The option that other programs call so. */
static const struct klr_option *find_called(const struct cli_program *program,
                                            const char *name)
{
    for (size_t i = 0; program->tables[i]; i++)
        for (const struct klr_option *option = program->tables[i]; option->name;
             option++)
            if (klr_option_is_called(option, name))
                return option;
    return NULL;
}

/* The long option that `text` ("--gama", "-gamma") may have meant. */
static const char *suggest(const struct cli_program *program, const char *text)
{
    const char *names[MOST_NAMES + 1];
    const struct klr_option *called =
        find_called(program, text + strspn(text, "-"));
    size_t count = 0;
    if (called)
        return called->name;
    for (size_t i = 0; program->tables[i]; i++)
        count = add_names(program->tables[i], names, count);
    names[add_names(cli_common_options, names, count)] = NULL;
    return klr_nearest(text + strspn(text, "-"), names);
}

static int fail_unknown(const struct parse *parse, const char *text)
{
    char quoted[KLR_QUOTED_SIZE], name[KLR_QUOTED_SIZE], hint[80] = "";
    size_t length = strcspn(text, "=");
    bool joined = length == 2; /* "-c=1" */
    snprintf(name, sizeof name, "%.*s", joined ? INT_MAX : (int)length, text);
    const char *near = suggest(parse->program, name);
    struct match one = {NULL, NULL}; /* "-c1" */
    const char *value = text + 2 + joined;
    if (near && text[1] == '-' && strcmp(name + 2, near) == 0) /* "--help=1" */
        return klr_fail(parse->err, KLR_E_USAGE, "option %s takes no value",
                        name);
    if (text[1] != '-' && text[2])
        one = find(parse->program, text[1], NULL, 0);
    if (near)
        snprintf(hint, sizeof hint, " (did you mean --%s?)", near);
    else if (one.option && one.option->type != KLR_FLAG && *value &&
             !klr_option_read(one.option, value, one.base, NULL))
        snprintf(hint, sizeof hint, " (did you mean -%c %.40s?)", text[1],
                 value);
    klr_quote(quoted, name);
    return klr_fail(parse->err, KLR_E_USAGE, "unknown option %.*s%s",
                    (int)strlen(quoted) - 2, quoted + 1, hint);
}

/* ---- Options ---- */

/* `shown` as the user wrote the option; `attached`: the value after "=", or
 * NULL. */
static int take_values(struct parse *parse, struct match match,
                       const char *shown, const char *attached)
{
    const struct cli_program *program = parse->program;
    const struct klr_option *option = match.option;
    int code = 0, wanted = option->values ? option->values : 1;
    char letter[2] = {option->letter, '\0'};
    const char *name = letter[0] ? letter : option->name;
    if (!option->name[0])
        name = shown + 1; /* "w1" */
    for (int i = 0; i < wanted && !code; i++) {
        const char *value = attached ? attached : *parse->argument;
        if (!value)
            return klr_fail(
                parse->err, KLR_E_USAGE, "option %.40s needs %s (%s)", shown,
                wanted > 1 ? "more values" : "a value", option->argument);
        if (!attached)
            parse->argument++;
        attached = NULL;
        code =
            option->type == KLR_REPEATED
                ? program->repeated(name, value, program->context, parse->err)
                : klr_option_read(option, value, match.base, parse->err);
    }
    return code;
}

static int note_given(const struct parse *parse,
                      const struct klr_option *option)
{
    struct klr_text *given = parse->program->given;
    if (!given)
        return 0;
    klr_text_put(given, " ");
    klr_text_put(given, option->name);
    klr_text_put(given, " ");
    return given->failed ? klr_fail(parse->err, KLR_E_MEMORY, "out of memory")
                         : 0;
}

static int take_long(struct parse *parse, const char *text)
{
    size_t length = strcspn(text + 2, "=");
    const char *attached = text[2 + length] ? text + 3 + length : NULL;
    struct match match = find(parse->program, 0, text + 2, length);
    char shown[KLR_QUOTED_SIZE];
    if (!match.option)
        return fail_unknown(parse, text);
    if (note_given(parse, match.option))
        return KLR_E_MEMORY;
    snprintf(shown, sizeof shown, "--%s", match.option->name);
    if (match.option->type != KLR_FLAG)
        return take_values(parse, match, shown, attached);
    if (attached)
        return klr_fail(parse->err, KLR_E_USAGE, "option %s takes no value",
                        shown);
    return klr_option_read(match.option, NULL, match.base, parse->err);
}

static int take_letter(struct parse *parse, const char *text)
{
    struct match match = find(parse->program, text[1], NULL, 0);
    if (!match.option || (text[2] && match.option->name[0]))
        return fail_unknown(parse, text);
    if (note_given(parse, match.option))
        return KLR_E_MEMORY;
    if (match.option->type == KLR_FLAG)
        return klr_option_read(match.option, NULL, match.base, parse->err);
    return take_values(parse, match, text, NULL);
}

static int take_operand(struct parse *parse, const char *text)
{
    char quoted[KLR_QUOTED_SIZE];
    const struct cli_program *program = parse->program;
    if (parse->operands == program->max_operands)
        return klr_fail(parse->err, KLR_E_USAGE,
                        "one operand too many: %s (usage: %s [options] %s)",
                        klr_quote(quoted, text), program->name,
                        program->operands);
    parse->operand[parse->operands++] = text;
    return 0;
}

/* "-h" asks for help, unless the program has such a letter and what follows is
 * a value of it. */
static bool is_help(const struct parse *parse, const char *text)
{
    if (strcmp(text, "--help") == 0)
        return true;
    if (strcmp(text, "-h") != 0)
        return false;
    struct match match = find(parse->program, 'h', NULL, 0);
    if (!match.option)
        return true;
    int ignored;
    struct klr_option option = *match.option;
    option.offset = 0;
    return option.type == KLR_CHOICE &&
           (!*parse->argument ||
            klr_option_read(&option, *parse->argument, &ignored, NULL) != 0);
}

/* ---- The whole ---- */

/* As cli_parse, after the presets. */
static int parse_all(struct parse *parse)
{
    bool options = true;
    int code = 0;
    while (*parse->argument && !code) {
        const char *text = *parse->argument++;
        if (!options || text[0] != '-' || !text[1]) {
            code = take_operand(parse, text);
        } else if (strcmp(text, "--") == 0) {
            options = false;
        } else if (is_help(parse, text)) {
            cli_print_help(parse->program);
            return cli_finish(parse->program, CLI_OK);
        } else if (strcmp(text, "--version") == 0) {
            printf("%s %s\n", parse->program->name, KLR_VERSION);
            return cli_finish(parse->program, CLI_OK);
        } else {
            code = text[1] == '-' ? take_long(parse, text)
                                  : take_letter(parse, text);
        }
    }
    if (!code && parse->operands < parse->program->min_operands)
        code = klr_fail(parse->err, KLR_E_USAGE,
                        "operands are missing (usage: %s [options] %s)",
                        parse->program->name, parse->program->operands);
    return code ? cli_fail(parse->program, NULL, parse->err) : -1;
}

/* A stream that is closed becomes one whose use fails: no file that is opened
 * later may take its place, and be read or written in its stead. */
static void occupy_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* Keep the output in memory until cli_finish, unless it goes to a terminal. So
 * it is cli_finish that meets a full disk, and says so. */
static void buffer_stdout(void)
{
    static char buffer[1 << 16];
    if (!isatty(STDOUT_FILENO))
        setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
}

/* True if the stack is large enough for the largest blocks of numbers on it. */
static bool stack_suffices(const struct cli_program *program)
{
    enum { LEAST_KB = 256 };
    struct rlimit stack;
    if (getrlimit(RLIMIT_STACK, &stack) ||
        stack.rlim_cur >= (rlim_t)LEAST_KB * 1024)
        return true;
    fprintf(
        stderr,
        "%s: a stack of %llu KB is too small: %d KB are needed (ulimit -s)\n",
        program->name, (unsigned long long)stack.rlim_cur / 1024, LEAST_KB);
    return false;
}

int cli_parse(const struct cli_program *program, int argc, char **argv,
              const char **operand)
{
    struct klr_error err;
    struct parse parse = {.program = program, .operand = operand, .err = &err};
    occupy_streams();
    if (!stack_suffices(program))
        return CLI_FAILURE;
    buffer_stdout();
    if (argc < 2) {
        fprintf(stderr,
                "usage: %s [options] %s\n"
                "       %s --help tells more\n",
                program->name, program->operands, program->name);
        return CLI_USAGE;
    }
    parse.argument = argv + 1;
    for (size_t i = 0; program->tables[i]; i++)
        klr_options_preset(program->tables[i], program->bases[i]);
    int status = parse_all(&parse);
    for (int i = parse.operands; i <= program->max_operands; i++)
        operand[i] = NULL;
    return status;
}
