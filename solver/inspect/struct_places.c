/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sizes and fields of public structs, for callers in languages that cannot read
 * the headers.
 */
#include "solver/internal.h"

#define PLACE_SIZE(type)   #type, sizeof(struct type)
#define PLACE(type, field) #type "." #field, offsetof(struct type, field)

static const struct struct_place {
    const char *name;
    size_t bytes;
} struct_places[] = {
    {PLACE_SIZE(klr_error)},         {PLACE_SIZE(klr_features)},
    {PLACE_SIZE(klr_problem)},       {PLACE(klr_problem, n)},
    {PLACE(klr_problem, dimension)}, {PLACE(klr_problem, start)},
    {PLACE(klr_problem, index)},     {PLACE(klr_problem, value)},
    {PLACE_SIZE(klr_params)},        {PLACE(klr_params, example_weight)},
    {PLACE(klr_params, fold)},       {PLACE(klr_params, folds)},
    {PLACE(klr_params, progress)},   {PLACE(klr_params, context)},
    {PLACE_SIZE(klr_report)},        {PLACE(klr_report, status)},
    {PLACE(klr_report, primal)},     {PLACE(klr_report, dual)},
    {PLACE(klr_report, gap)},        {PLACE(klr_report, iterations)},
    {PLACE(klr_report, n_sv)},       {PLACE(klr_report, seconds)},
    {PLACE_SIZE(klr_validation)},    {PLACE(klr_validation, count)},
    {PLACE(klr_validation, solved)}, {PLACE(klr_validation, held_out)},
    {PLACE(klr_validation, answer)}, {PLACE(klr_validation, metrics)},
    {PLACE(klr_held_out, fold)},     {PLACE(klr_held_out, label)},
    {PLACE(klr_held_out, classes)},  {PLACE(klr_held_out, probability)},
};

size_t klr_struct_place(const char *name)
{
    for (size_t i = 0; i < sizeof struct_places / sizeof *struct_places; i++)
        if (strcmp(struct_places[i].name, name) == 0)
            return struct_places[i].bytes;
    return SIZE_MAX;
}
