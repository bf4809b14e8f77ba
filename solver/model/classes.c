/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several classes as binary problems, here called machines: one for each pair
 * of classes (a, b), a before b in the model's order, y = +1 for a; or one for
 * each class, y = +1, against all the others. Two classes are one pair.
 */
#include "solver/model/model.h"

/* Else pairs of them. */
static bool machines_are_classes(enum klr_multiclass multiclass)
{
    return multiclass == KLR_OVA || multiclass == KLR_SOFTMAX;
}

static size_t machine_count(enum klr_multiclass multiclass, size_t k)
{
    return machines_are_classes(multiclass) ? k : k * (k - 1) / 2;
}

static size_t machine_columns(enum klr_multiclass multiclass, size_t k)
{
    return machines_are_classes(multiclass) ? k : k - 1;
}

static enum klr_multiclass multiclass_of(const struct klr_params *params,
                                         size_t k)
{
    return k > 2 ? (enum klr_multiclass)params->multiclass : KLR_OVO;
}

static size_t pair_index(size_t k, size_t a, size_t b)
{
    return a * (2 * k - a - 1) / 2 + b - a - 1;
}

static void pair_classes(size_t k, size_t index, size_t *a, size_t *b)
{
    *a = 0;
    while (index >= k - 1 - *a)
        index -= k - 1 - (*a)++;
    *b = *a + 1 + index;
}
