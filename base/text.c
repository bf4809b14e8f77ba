/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A text that grows (text.h). A failure sticks.
 */
#include "base/text.h"

#include <string.h>

#include "base/memory.h"

void klr_text_put_some(struct klr_text *text, const char *more, size_t length)
{
    if (text->failed ||
        KLR_GROW(text->text, text->capacity, text->length + length + 1, NULL)) {
        text->failed = true;
        return;
    }
    memcpy(text->text + text->length, more, length);
    text->length += length;
    text->text[text->length] = '\0';
}

void klr_text_put(struct klr_text *text, const char *more)
{
    klr_text_put_some(text, more, strlen(more));
}

void klr_text_putf(struct klr_text *text, const char *format, ...)
{
    char some[512];
    KLR_FORMAT(some, format);
    klr_text_put(text, some);
}

void klr_text_put_json(struct klr_text *text, const char *more)
{
    klr_text_put_some(text, "\"", 1);
    for (; *more; more++)
        if ((unsigned char)*more < ' ')
            klr_text_putf(text, "\\u%04x", (unsigned)*more);
        else
            klr_text_putf(text, "%s%c",
                          *more == '"' || *more == '\\' ? "\\" : "", *more);
    klr_text_put_some(text, "\"", 1);
}

void klr_text_put_visible(struct klr_text *text, const char *more)
{
    const char *end = more + strlen(more);
    char shown[KLR_VISIBLE_SIZE];
    while (more < end) {
        more += klr_visible(more, end, shown);
        klr_text_put(text, shown);
    }
}

void klr_text_put_shell(struct klr_text *text, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz"
                                "0123456789_-+=./:,@%^";
    bool quoted = !*word || word[strspn(word, plain)];
    klr_text_put_some(text, " '", quoted ? 2 : 1);
    for (; *word; word++)
        if ((unsigned char)*word < ' ' || *word == 0x7F)
            klr_text_putf(text, "\\x%02X", (unsigned)*word);
        else if (*word == '\'')
            klr_text_put(text, "'\\''");
        else
            klr_text_put_some(text, word, 1);
    klr_text_put_some(text, "'", quoted);
}
