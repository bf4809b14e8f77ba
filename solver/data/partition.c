/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The order of the examples: stably sorted by class, in the order of the
 * model's labels, within a class by fold of the cross validation, and within a
 * fold by part: models of a fold's complement are calibrated on models without
 * one part of it. Every subset that a solver works on is then a short list of
 * ranges.
 */
#include "solver/data/data.h"

/* More distinct labels are not those of classes. */
enum { PARTITION_CLASSES = 1000 };

/* Put a label among k ascending ones unless it is there: k then. */
static size_t labels_insert(double *label, size_t k, double value)
{
    size_t low = 0, high = k;
    if (k > 0 && (value == label[0] || value == label[k - 1]))
        return k; /* of two classes each one */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (label[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < k && label[low] == value)
        return k;
    memmove(label + low + 1, label + low, (k - low) * sizeof *label);
    label[low] = value;
    return k + 1;
}

/* Sort the labels, each once: how many there are. */
static size_t labels_sort(double *label, size_t n)
{
    size_t k = 0;
    qsort(label, n, sizeof *label, compare_labels);
    for (size_t i = 0; i < n; i++)
        if (k == 0 || label[i] != label[k - 1])
            label[k++] = label[i];
    return k;
}

/* The distinct labels, ascending. */
static int partition_distinct(struct partition *partition,
                              const struct klr_problem *problem,
                              struct klr_error *err)
{
    size_t n = problem->n, k = 0, i = 0;
    double *label = klr_alloc(n, sizeof *label, err);
    if (!label)
        return KLR_E_MEMORY;
    while (i < n && k <= PARTITION_CLASSES)
        k = labels_insert(label, k, problem->label[i++]);
    memcpy(label + k, problem->label + i, (n - i) * sizeof *label);
    if (i < n)
        k = labels_sort(label, k + n - i);
    partition->k = k;
    partition->label = klr_alloc(k, sizeof *label, err);
    if (partition->label)
        memcpy(partition->label, label, k * sizeof *label);
    klr_free(label);
    return partition->label ? 0 : KLR_E_MEMORY;
}

static int partition_check_labels(const struct partition *partition, size_t n,
                                  struct klr_error *err)
{
    size_t k = partition->k;
    if (k < 2)
        return klr_fail(err, KLR_E_DATA,
                        "all examples have the same label: two classes are "
                        "needed");
    if (k > PARTITION_CLASSES || (n > 30 && k > n / 3))
        return klr_fail(err, KLR_E_DATA,
                        "%zu distinct labels in %zu examples look like "
                        "%s, not like classes",
                        k, n,
                        partition->names ? "names of examples"
                                         : "regression targets");
    return 0;
}

int klr_problem_check_labels(const struct klr_problem *problem,
                             struct klr_error *err)
{
    struct partition partition = {.names = problem->names};
    int code = partition_distinct(&partition, problem, err);
    if (!code)
        code = partition_check_labels(&partition, problem->n, err);
    klr_free(partition.label);
    return code;
}

static int partition_find(const struct partition *partition, const char *option,
                          const char *text, size_t *class,
                          struct klr_error *err)
{
    char quoted[KLR_QUOTED_SIZE];
    double label;
    bool read = label_read(partition->names, text, &label);
    for (*class = 0; read && *class < partition->k; ++*class)
        if (partition->label[*class] == label)
            return 0;
    return klr_fail(err, KLR_E_USAGE, "option %s: no example has the label %s",
                    option, klr_quote(quoted, text));
}

/* Two classes: `positive` comes first, or the larger label. */
static int partition_positive(struct partition *partition, const char *positive,
                              struct klr_error *err)
{
    size_t first = 1;
    if (positive && partition->k > 2)
        return klr_fail(err, KLR_E_USAGE,
                        "option --positive: the data have %zu classes, not two",
                        partition->k);
    if (partition->k > 2)
        return 0;
    if (positive &&
        partition_find(partition, "--positive", positive, &first, err))
        return KLR_E_USAGE;
    double label = partition->label[first];
    partition->label[first] = partition->label[0];
    partition->label[0] = label;
    return 0;
}

static size_t partition_class_of(const struct partition *partition,
                                 double label)
{
    if (partition->k == 2)
        return label != partition->label[0];
    const double *found = bsearch(&label, partition->label, partition->k,
                                  sizeof label, compare_labels);
    return (size_t)(found - partition->label);
}

/* Put the k different numbers of cell (n) into class (k), in the order in which
 * they first appear. */
static void classes_appearing(const size_t *cell, size_t n, size_t k,
                              size_t *class)
{
    size_t found = 0;
    for (size_t i = 0; i < n && found < k; i++) {
        size_t c = 0;
        while (c < found && class[c] != cell[i])
            c++;
        class[c] = cell[i];
        found += c == found;
    }
}

/* Turn class numbers cell[i], times the cells of a class, into cell numbers:
 * each class is shuffled and dealt like cards to the folds, unless these are
 * given, and what a fold gets to its parts, the next class going on where the
 * last one ended, so that what is dealt differs by one example at most. Classes
 * come in the order of `class`, whatever they are called. `dealt` (folds) is
 * zero at first, `member` (n) is workspace. */
static void partition_deal(const struct partition *partition,
                           const struct fold_plan *plan, const size_t *class,
                           size_t *cell, size_t *member, size_t *dealt)
{
    size_t next = 0, folds = partition->folds, parts = partition->parts;
    uint64_t state = plan->seed;
    for (size_t c = 0; c < partition->k; c++) {
        size_t count = 0;
        for (size_t i = 0; i < partition->n; i++)
            if (cell[i] == class[c])
                member[count++] = i;
        for (size_t left = count; left > 1; left--) {
            size_t pick = random_below(&state, left), last = member[left - 1];
            member[left - 1] = member[pick];
            member[pick] = last;
        }
        for (size_t i = 0; i < count; i++, next++) {
            size_t f = plan->fold ? plan->fold[member[i]] : next % folds;
            cell[member[i]] += f * parts + dealt[f]++ % parts;
        }
    }
}

static int partition_check_folds(const struct partition *partition,
                                 const size_t *fold, struct klr_error *err)
{
    size_t n = partition->n, folds = partition->folds;
    if (folds > n)
        return klr_fail(err, KLR_E_USAGE,
                        "option -v: %zu folds need at least as many examples, "
                        "not %zu",
                        folds, n);
    for (size_t i = 0; fold && i < n; i++)
        if (fold[i] >= folds)
            return klr_fail(err, KLR_E_USAGE,
                            "example %zu: of %zu folds there is no fold %zu",
                            i + 1, folds, fold[i]);
    return 0;
}

/* Counting sort of the examples by cell: stable. */
static void partition_sort(struct partition *partition, const size_t *cell)
{
    size_t cells = partition->k * partition->folds * partition->parts;
    for (size_t i = 0; i < partition->n; i++)
        partition->begin[cell[i] + 1]++;
    for (size_t c = 0; c < cells; c++)
        partition->begin[c + 1] += partition->begin[c];
    for (size_t i = 0; i < partition->n; i++)
        partition->order[partition->begin[cell[i]]++] = i;
    for (size_t c = cells; c > 0; c--)
        partition->begin[c] = partition->begin[c - 1];
    partition->begin[0] = 0;
}

static int partition_create(struct partition *partition,
                            const struct klr_problem *problem,
                            const char *positive, struct fold_plan plan,
                            struct klr_error *err)
{
    size_t n = problem->n, folds = plan.folds;
    size_t *cell = NULL, *class = NULL, *dealt = NULL;
    size_t cells = folds * plan.parts; /* of a class */
    int code = KLR_E_MEMORY;
    memset(partition, 0, sizeof *partition);
    partition->n = partition->examples = n;
    partition->names = problem->names;
    partition->folds = folds;
    partition->parts = plan.parts;
    if (partition_distinct(partition, problem, err) ||
        !(partition->order = klr_alloc(n, sizeof *partition->order, err)) ||
        !(cell = klr_alloc(n, sizeof *cell, err)))
        goto done;
    if ((code = partition_check_labels(partition, n, err)) ||
        (code = partition_positive(partition, positive, err)) ||
        (code = partition_check_folds(partition, plan.fold, err)))
        goto done;
    code = KLR_E_MEMORY;
    partition->begin =
        klr_zalloc(partition->k * cells + 1, sizeof *partition->begin, err);
    class = klr_alloc(partition->k, sizeof *class, err);
    dealt = klr_zalloc(folds, sizeof *dealt, err);
    if (!partition->begin || !class || !dealt)
        goto done;
    for (size_t i = 0; i < n; i++)
        cell[i] = partition_class_of(partition, problem->label[i]) * cells;
    if (cells > 1) {
        classes_appearing(cell, n, partition->k, class);
        partition_deal(partition, &plan, class, cell, partition->order, dealt);
    }
    partition_sort(partition, cell);
    code = 0;
done:
    klr_free(cell);
    klr_free(class);
    klr_free(dealt);
    if (code)
        partition_free(partition);
    return code;
}

static void partition_free(struct partition *partition)
{
    klr_free(partition->label);
    klr_free(partition->order);
    klr_free(partition->row);
    klr_free(partition->first);
    klr_free(partition->begin);
    memset(partition, 0, sizeof *partition);
}

static size_t partition_begin(const struct partition *partition, size_t c)
{
    return partition->begin[c * partition->folds * partition->parts];
}

static size_t partition_size(const struct partition *partition, size_t c)
{
    return partition_begin(partition, c + 1) - partition_begin(partition, c);
}

static bool held_out_has(const struct partition *partition,
                         struct held_out held_out, size_t fold, size_t part)
{
    if (held_out.part == partition->parts)
        return fold == held_out.fold;
    return fold != held_out.fold && part == held_out.part;
}

/* Append the cells of class c that are held out, or all others; neighbours
 * become one range. */
static void partition_cells(const struct partition *partition, size_t c,
                            struct held_out held_out, bool inside,
                            struct klr_range *range, size_t *count)
{
    const size_t *begin =
        partition->begin + c * partition->folds * partition->parts;
    size_t first = *count;
    for (size_t f = 0; f < partition->folds; f++)
        for (size_t p = 0; p < partition->parts; p++, begin++) {
            bool within = held_out_has(partition, held_out, f, p);
            if (begin[0] == begin[1] || within != inside ||
                (!inside && f == held_out.fold))
                continue;
            *count = first + set_append(range + first, *count - first,
                                        (struct klr_range){begin[0], begin[1]});
        }
}

static void partition_kept(const struct partition *partition, size_t c,
                           struct held_out held_out, struct klr_range *range,
                           size_t *count)
{
    partition_cells(partition, c, held_out, false, range, count);
}

static void partition_held(const struct partition *partition, size_t c,
                           struct held_out held_out, struct klr_range *range,
                           size_t *count)
{
    partition_cells(partition, c, held_out, true, range, count);
}
