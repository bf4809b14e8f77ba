/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The edits of mutants: bytes, tokens, numbers, lines, whole files. Tokens are
 * what stands between blanks, colons and ends of lines, so that an edit of one
 * leaves the rest of the file in order and reaches what lies behind the parser.
 */
#include "tests/fuzz/mutate.h"

#include <stdio.h>
#include <string.h>

/* A part of a text. */
struct span {
    const char *at;
    size_t length;
};

static size_t draw(struct mutant *m, size_t limit)
{
    m->state ^= m->state << 13;
    m->state ^= m->state >> 7;
    m->state ^= m->state << 17;
    return (size_t)((m->state * 2685821657736338717ULL >> 11) % limit);
}

/* The `cut` bytes at `at` give way to `with`; what would become too long stays
 * as it was. */
static void replace(struct mutant *m, size_t at, size_t cut, struct span with)
{
    size_t behind = m->length - at - cut;
    if (m->length - cut + with.length > MUTANT_MOST)
        return;
    memcpy(m->spare, with.at, with.length);
    memmove(m->text + at + with.length, m->text + at + cut, behind);
    memcpy(m->text + at, m->spare, with.length);
    m->length = at + with.length + behind;
}

static size_t offset_of(const struct mutant *m, struct span span)
{
    return (size_t)(span.at - m->text);
}

static void replace_span(struct mutant *m, struct span span, struct span with)
{
    replace(m, offset_of(m, span), span.length, with);
}

static struct span words(const char *text)
{
    return (struct span){text, strlen(text)};
}

static int ends_token(char c)
{
    return c == ' ' || c == '\t' || c == ':' || c == '\n' || c == '\r';
}

/* A token of the text, empty if the place chosen has none. */
static struct span some_token(struct mutant *m, const char *text, size_t length)
{
    size_t begin = length ? draw(m, length) : 0, end = begin;
    while (begin > 0 && !ends_token(text[begin - 1]))
        begin--;
    while (end < length && !ends_token(text[end]))
        end++;
    return (struct span){text + begin, end - begin};
}

/* A line of the text with its end. */
static struct span some_line(struct mutant *m, const char *text, size_t length)
{
    size_t begin = length ? draw(m, length) : 0, end = begin;
    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    while (end < length && text[end] != '\n')
        end++;
    return (struct span){text + begin, end + (end < length) - begin};
}

static struct span own_token(struct mutant *m)
{
    return some_token(m, m->text, m->length);
}

static struct span own_line(struct mutant *m)
{
    return some_line(m, m->text, m->length);
}

/* ---- Bytes ---- */

static char some_byte(struct mutant *m)
{
    static const char telling[] = "\0\r\n\t :#-+.eE0123456789,;xnai\xff\xef";
    if (draw(m, 4) == 0)
        return (char)draw(m, 256);
    return telling[draw(m, sizeof telling)];
}

static void flip_bit(struct mutant *m)
{
    if (m->length)
        m->text[draw(m, m->length)] ^= (char)(1 << draw(m, 8));
}

static void set_byte(struct mutant *m)
{
    if (m->length)
        m->text[draw(m, m->length)] = some_byte(m);
}

static void insert_bytes(struct mutant *m)
{
    char bytes[8];
    size_t count = 1 + draw(m, sizeof bytes), same = draw(m, 2);
    for (size_t i = 0; i < count; i++)
        bytes[i] = i && same ? bytes[0] : some_byte(m);
    replace(m, draw(m, m->length + 1), 0, (struct span){bytes, count});
}

static void delete_bytes(struct mutant *m)
{
    size_t at = draw(m, m->length + 1), left = m->length - at;
    size_t count = draw(m, draw(m, 2) ? 4 : 64);
    replace(m, at, count < left ? count : left, words(""));
}

/* ---- Tokens and numbers ---- */

/* Behind a blank: the colon of a feature is an end of its token. */
static void insert_token(struct mutant *m)
{
    static const char *const tokens[] = {
        " ",          "\t",     ":",
        " :",         " 1:",    " :1",
        " 0:1",       " 1:1",   " 9:-1e-3",
        " qid:1",     " qid:",  " #",
        "  ",         " -1:1",  "\n",
        " 1000000:1", " 3:1:1", "::",
        " 1e3:",      "\r",     " 2147483647:1"};
    struct span token = own_token(m);
    replace(m, offset_of(m, token) + token.length, 0,
            words(tokens[draw(m, sizeof tokens / sizeof *tokens)]));
}

static void delete_token(struct mutant *m)
{
    replace_span(m, own_token(m), words(""));
}

static void repeat_token(struct mutant *m)
{
    struct span token = own_token(m);
    replace(m, offset_of(m, token), 0, token);
}

static void borrow_token(struct mutant *m)
{
    struct specimen *from = &m->corpus->item[draw(m, m->corpus->count)];
    struct span token = some_token(m, from->text, from->length);
    replace_span(m, own_token(m), token);
}

static void swap(struct mutant *m, struct span a, struct span b)
{
    if (a.at > b.at) {
        struct span first = b;
        b = a;
        a = first;
    }
    size_t at = offset_of(m, a), length = offset_of(m, b) + b.length - at;
    size_t between = length - a.length - b.length;
    if (a.at + a.length > b.at)
        return;
    memcpy(m->spare, b.at, b.length);
    memcpy(m->spare + b.length, a.at + a.length, between);
    memcpy(m->spare + b.length + between, a.at, a.length);
    memcpy(m->text + at, m->spare, length);
}

static void swap_tokens(struct mutant *m)
{
    struct span a = own_token(m), b = own_token(m);
    swap(m, a, b);
}

static void odd_number(struct mutant *m)
{
    static const char *const numbers[] = {
        "0",          "-0",         "1",      "-1",     "+1",
        "2",          "0.5",        "1.",     ".5",     ".",
        "1e",         "1e+",        "--1",    "nan",    "-nan",
        "inf",        "-Infinity",  "0x1p3",  "1e3",    "1e30",
        "1e-30",      "1e150",      "-1e154", "1e-160", "1e300",
        "1e308",      "-1e308",     "1e309",  "5e-324", "1e-400",
        "2147483646", "2147483647", "32768",  "000001", "1e99999999999",
        "2147483648", "4294967296", "-3",     "1,5",    "9223372036854775807",
        "65537",      "1000000",    "10",     "1.5",    "18446744073709551616",
        "0.1",        "1_000",      "1f",     "",       "-9223372036854775809",
    };
    replace_span(m, own_token(m),
                 words(numbers[draw(m, sizeof numbers / sizeof *numbers)]));
}

static void random_number(struct mutant *m)
{
    char text[40];
    int exponent = (int)draw(m, 2) * ((int)draw(m, 640) - 330);
    snprintf(text, sizeof text, "%s%zu.%zue%d", draw(m, 2) ? "-" : "",
             draw(m, 10), draw(m, 1000), exponent);
    replace_span(m, own_token(m), words(text));
}

static void change_digit(struct mutant *m)
{
    for (int trial = 0; trial < 20 && m->length; trial++) {
        char *c = &m->text[draw(m, m->length)];
        if (*c < '0' || *c > '9')
            continue;
        *c = (char)('0' + draw(m, 10));
        return;
    }
}

/* Up to a few blocks of the reader. */
static void long_token(struct mutant *m)
{
    static const char fill[] = "0123456789.e-:x ";
    static char bytes[MUTANT_MOST];
    size_t count = 1 + draw(m, draw(m, 8) ? 400 : MUTANT_MOST);
    memset(bytes, fill[draw(m, sizeof fill - 1)], count);
    struct span token = own_token(m);
    replace(m, offset_of(m, token) + draw(m, token.length + 1), 0,
            (struct span){bytes, count});
}

/* ---- Lines ---- */

static void delete_line(struct mutant *m)
{
    replace_span(m, own_line(m), words(""));
}

static void repeat_line(struct mutant *m)
{
    struct span line = own_line(m);
    size_t at = offset_of(m, line), count = 1 + draw(m, draw(m, 4) ? 2 : 30);
    while (count-- > 0)
        replace(m, at, 0, (struct span){m->text + at, line.length});
}

static void swap_lines(struct mutant *m)
{
    struct span a = own_line(m), b = own_line(m);
    swap(m, a, b);
}

static void borrow_line(struct mutant *m)
{
    struct specimen *from = &m->corpus->item[draw(m, m->corpus->count)];
    struct span line = some_line(m, from->text, from->length);
    struct span own = own_line(m);
    replace(m, offset_of(m, own), draw(m, 2) ? own.length : 0, line);
}

static void blank_line(struct mutant *m)
{
    static const char *const lines[] = {"\n", " \n", "\t \r\n", "#\n",
                                        "# a:b\n"};
    replace(m, offset_of(m, own_line(m)), 0,
            words(lines[draw(m, sizeof lines / sizeof *lines)]));
}

/* ---- Files ---- */

static void truncate_text(struct mutant *m)
{
    m->length = draw(m, m->length + 1);
}

static void carriage_returns(struct mutant *m)
{
    for (size_t i = 0; i < m->length; i++)
        if (m->text[i] == '\n' && (i == 0 || m->text[i - 1] != '\r'))
            replace(m, i++, 0, words("\r"));
}

static void blanks_to_tabs(struct mutant *m)
{
    for (size_t i = 0; i < m->length; i++)
        if (m->text[i] == ' ')
            m->text[i] = '\t';
}

static void byte_order_mark(struct mutant *m)
{
    static const char *const marks[] = {"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff",
                                        "\xef\xbb"};
    replace(m, 0, 0, words(marks[draw(m, 4)]));
}

/* ---- Mutants ---- */

/* Edits that spare the structure come more often: they reach further. */
static void (*const edits[])(struct mutant *) = {
    flip_bit,       set_byte,      insert_bytes,     delete_bytes,
    insert_token,   insert_token,  delete_token,     repeat_token,
    borrow_token,   borrow_token,  swap_tokens,      swap_tokens,
    odd_number,     odd_number,    odd_number,       random_number,
    random_number,  change_digit,  change_digit,     change_digit,
    long_token,     delete_line,   repeat_line,      repeat_line,
    swap_lines,     swap_lines,    borrow_line,      borrow_line,
    blank_line,     truncate_text, carriage_returns, blanks_to_tabs,
    byte_order_mark};

/* Neighbouring seeds give states that have nothing in common (SplitMix64). */
static uint64_t spread(uint64_t seed)
{
    uint64_t z = seed + 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
    return z ? z : 1;
}

void mutate(struct mutant *mutant, const struct corpus *corpus, uint64_t seed)
{
    mutant->state = spread(seed);
    mutant->corpus = corpus;
    const struct specimen *base = &corpus->item[draw(mutant, corpus->count)];
    memcpy(mutant->text, base->text, base->length);
    mutant->length = base->length;
    size_t count = 1 + draw(mutant, draw(mutant, 3) ? 2 : 10);
    while (count-- > 0)
        edits[draw(mutant, sizeof edits / sizeof *edits)](mutant);
}
