/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sets of positions: short lists of ascending ranges.
 */
#include "solver/data/data.h"

static size_t set_position(struct klr_set set, size_t i)
{
    const struct klr_range *range = set.range;
    for (; i >= range->end - range->begin; range++)
        i -= range->end - range->begin;
    return range->begin + i;
}

static struct klr_set set_of(const struct klr_range *range, size_t count)
{
    struct klr_set set = {range, count, 0};
    for (size_t q = 0; q < count; q++)
        set.size += range[q].end - range[q].begin;
    return set;
}

static struct klr_set set_after(struct klr_set set, size_t i,
                                struct klr_range *range)
{
    struct klr_set rest = {range, 0, set.size - i};
    for (size_t q = 0; q < set.count; q++) {
        struct klr_range next = set.range[q];
        size_t size = next.end - next.begin, skip = i < size ? i : size;
        next.begin += skip;
        i -= skip;
        if (next.begin < next.end)
            range[rest.count++] = next;
    }
    return rest;
}

static size_t set_append(struct klr_range *range, size_t count,
                         struct klr_range more)
{
    if (count > 0 && range[count - 1].end == more.begin) {
        range[count - 1].end = more.end;
        return count;
    }
    range[count] = more;
    return count + 1;
}
