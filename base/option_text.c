/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options as they would be written (option.h).
 */
#include <math.h>
#include <stdio.h>

#include "base/numbers.h"
#include "base/option.h"

bool klr_option_is_given(const struct klr_option *option, const void *base)
{
    const void *field = klr_option_field(option, base);
    const struct klr_reals *reals = field;
    switch (option->type) {
    case KLR_FLAG:
    case KLR_CHOICE:
        return !klr_option_is_preset(option, *(const int *)field);
    case KLR_INTEGER:
        return !klr_option_is_preset(option, (double)*(const long long *)field);
    case KLR_REAL:
        return !klr_option_is_preset(option, *(const double *)field);
    case KLR_REALS:
        return reals->count > 1 ||
               !klr_option_is_preset(option, reals->value[0]);
    case KLR_STRING:
        return *(const char *const *)field != NULL;
    case KLR_REPEATED:
        break;
    }
    return false;
}

static void put_real(struct klr_text *text, double value)
{
    char number[KLR_REAL_SIZE] = "nan";
    if (!isnan(value))
        klr_format_real(number, value);
    klr_text_put(text, number);
}

static void put_reals(struct klr_text *text, const struct klr_option *option,
                      const struct klr_reals *reals)
{
    for (size_t i = 0; i < reals->count; i++) {
        klr_text_put(text, i ? "," : "");
        put_real(text, reals->value[i]);
        if (reals->in_unit)
            klr_text_putf(text, "%c", option->unit);
    }
}

void klr_option_put(const struct klr_option *option, const void *base,
                    struct klr_text *text)
{
    const void *field = klr_option_field(option, base);
    const char *string;
    switch (option->type) {
    case KLR_FLAG:
        klr_text_putf(text, "%d", *(const int *)field);
        break;
    case KLR_CHOICE:
        klr_text_put(text, option->choices[*(const int *)field]);
        break;
    case KLR_INTEGER:
        if (option->word &&
            (double)*(const long long *)field == option->word_value)
            klr_text_put(text, option->word);
        else
            klr_text_putf(text, "%lld", *(const long long *)field);
        break;
    case KLR_REAL:
        put_real(text, *(const double *)field);
        break;
    case KLR_REALS:
        put_reals(text, option, field);
        break;
    case KLR_STRING:
        string = *(const char *const *)field;
        klr_text_put(text, string ? string : "");
        break;
    case KLR_REPEATED:
        break;
    }
}
