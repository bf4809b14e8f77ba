/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A data set in memory, read in batches: the lines that are complete in the
 * input's block. Turns of the pool parse them, each into places of its own in
 * the reader's arrays that are surely large enough; then rows are moved
 * together, and labels and lines added to the problem, in order. What is wrong
 * with a line is told when its turn comes there. So neither the rows nor the
 * error depend on the number of threads.
 */
#include "solver/data/data.h"

enum {
    BATCH_LINES = 4096, /* at most */
    BATCH_TASK = 8      /* lines of a task */
};

/* Capacities of a problem's arrays while it grows. */
struct problem_room {
    size_t label, start, line, text, length;
};

static int problem_reserve(struct klr_problem *problem,
                           struct problem_room *room, bool keep,
                           struct klr_error *err)
{
    size_t need = problem->n + 1;
    if (KLR_GROW(problem->label, room->label, need, err) ||
        KLR_GROW(problem->start, room->start, need + 1, err) ||
        KLR_GROW(problem->line, room->line, need, err) ||
        (keep && (KLR_GROW(problem->text, room->text, need, err) ||
                  KLR_GROW(problem->length, room->length, need, err))))
        return KLR_E_MEMORY;
    return 0;
}

/* The label of the next row. -0 is written as 0, which it equals. */
static int problem_add_label(struct klr_problem *problem,
                             const struct klr_row *row, int flags,
                             struct klr_error *err)
{
    double *label = &problem->label[problem->n];
    size_t index = 0;
    *label = row->has_label && row->label != 0 ? row->label : 0;
    if (!row->has_label || !(flags & KLR_READ_NAMES))
        return 0;
    int code = names_add(&problem->names, row->label_text, row->label_length,
                         &index, err);
    *label = (double)index;
    return code;
}

static void problem_add(struct klr_problem *problem, const struct klr_row *row,
                        size_t end)
{
    size_t i = problem->n++;
    problem->start[i] = end - row->count;
    problem->start[i + 1] = end;
    problem->line[i] = row->line.number;
    problem->has_qid |= row->has_qid;
    problem->has_zero |= row->count && row->index[0] == 0;
    if (row->count && row->index[row->count - 1] > problem->dimension)
        problem->dimension = row->index[row->count - 1];
    if (problem->text) {
        problem->text[i] = row->line.offset + (row->features - row->line.text);
        problem->length[i] = row->features_length < UINT32_MAX
                                 ? (uint32_t)row->features_length
                                 : UINT32_MAX;
    }
}

/* ---- Batches ---- */

/* A row, its place in the arrays, behind those that are complete, for so many
 * features, and how it was parsed. */
struct batch_row {
    struct klr_row row;
    size_t place, most;
    int code;
};

struct line_batch {
    struct klr_reader *reader;
    struct klr_pool *pool;
    size_t count, room; /* rows; features for which they have places */
    struct batch_row *rows;
};

/* The next lines, which the block must hold all together: what has to be read
 * for the first one moves the others. 1, 0 at the end, or minus a code. */
static int batch_take(struct line_batch *b, struct klr_error *err)
{
    struct klr_input *input = b->reader->input;
    b->count = b->room = 0;
    do {
        struct batch_row *r = &b->rows[b->count];
        struct klr_line *line = &r->row.line;
        int got = klr_input_line(input, line, err);
        if (got != 1)
            return got;
        if (line_is_void(line->text, line->end))
            continue;
        r->place = b->room;
        r->most = line_most(line->text, line->end);
        b->room += r->most;
        b->count++;
    } while (b->count < BATCH_LINES && !klr_input_would_block(input));
    return 1;
}

/* The place of a row, as arrays of its own. */
static struct rows batch_place(const struct line_batch *b,
                               const struct batch_row *r)
{
    const struct rows *all = &b->reader->rows;
    size_t at = all->count + r->place;
    return (struct rows){0, r->most, r->most, all->index + at, all->value + at};
}

static void batch_task(void *context, size_t task, size_t thread)
{
    const struct line_batch *b = context;
    size_t first = task * BATCH_TASK, end = first + BATCH_TASK;
    (void)thread;
    for (size_t k = first; k < end && k < b->count; k++) {
        struct rows place = batch_place(b, &b->rows[k]);
        b->rows[k].code =
            line_parse(b->reader->flags, &place, &b->rows[k].row, NULL);
    }
}

static int batch_parse(struct line_batch *b, struct klr_error *err)
{
    int code = rows_reserve(&b->reader->rows, b->room, err);
    if (!code)
        klr_pool_run(b->pool, (b->count + BATCH_TASK - 1) / BATCH_TASK,
                     batch_task, b);
    return code;
}

/* The next row of the batch, moved behind the last one; b->reader->rows.count
 * stays until all are. */
static void batch_move(const struct line_batch *b, const struct batch_row *r,
                       size_t *end)
{
    const struct rows *all = &b->reader->rows;
    memmove(all->index + *end, r->row.index, r->row.count * sizeof *all->index);
    memmove(all->value + *end, r->row.value, r->row.count * sizeof *all->value);
    *end += r->row.count;
}

/* ---- Problems ---- */

static int problem_add_batch(struct klr_problem *problem,
                             struct problem_room *room, struct line_batch *b,
                             struct klr_error *err)
{
    int flags = b->reader->flags, code = batch_parse(b, err);
    size_t end = b->reader->rows.count;
    for (size_t k = 0; k < b->count && !code; k++) {
        struct batch_row *r = &b->rows[k];
        struct rows place = batch_place(b, r);
        if (r->code)
            return line_parse(flags, &place, &r->row, err);
        code = problem_reserve(problem, room, flags & KLR_READ_KEEP, err);
        if (!code)
            code = problem_add_label(problem, &r->row, flags, err);
        if (code)
            return code;
        batch_move(b, r, &end);
        problem_add(problem, &r->row, end);
    }
    b->reader->rows.count = end;
    return code;
}

/* One batch is read without other threads: to start them takes as long. */
static int problem_fill(struct klr_problem *problem, struct klr_reader *reader,
                        long long threads, klr_rows_fn *told, void *context,
                        struct klr_error *err)
{
    struct problem_room room = {0};
    struct line_batch b = {.reader = reader};
    int got = 1, code = 0;
    b.rows = klr_alloc(BATCH_LINES, sizeof *b.rows, err);
    if (!b.rows)
        return KLR_E_MEMORY;
    for (int batch = 0; got == 1 && !code; batch++) {
        got = batch_take(&b, err);
        if (batch == 1 && b.count > 0)
            klr_pool_create(&b.pool, threads, NULL);
        code = problem_add_batch(problem, &room, &b, err);
        if (told)
            told(problem->n, context);
    }
    klr_pool_free(b.pool);
    klr_free(b.rows);
    return code ? code : -got;
}

/* Of labels, names, indices and values. Never 0. */
static uint64_t problem_hash(const struct klr_problem *problem)
{
    size_t n = problem->n, entries = problem->start[n];
    uint64_t hash = klr_hash(0, problem->label, n * sizeof *problem->label);
    for (size_t i = 0; i < klr_names_count(problem->names); i++) {
        const char *name = klr_names_text(problem->names, i);
        hash = klr_hash(hash, name, strlen(name));
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t end = problem->start[i + 1];
        hash = klr_hash(hash, &end, sizeof end);
    }
    hash = klr_hash(hash, problem->index, entries * sizeof *problem->index);
    hash = klr_hash(hash, problem->value, entries * sizeof *problem->value);
    return hash ? hash : 1;
}

int klr_problem_read(struct klr_problem *problem, const char *path, int flags,
                     long long threads, struct klr_error *err)
{
    return klr_problem_read_told(problem, path, flags, threads, NULL, NULL,
                                 err);
}

int klr_problem_read_told(struct klr_problem *problem, const char *path,
                          int flags, long long threads, klr_rows_fn *told,
                          void *context, struct klr_error *err)
{
    *problem = (struct klr_problem){0};
    struct klr_reader *reader = NULL;
    int code = klr_reader_open(&reader, path, flags, err);
    if (!code)
        code = problem_fill(problem, reader, threads, told, context, err);
    if (!code && problem->n == 0)
        code = klr_fail(err, KLR_E_DATA, "no examples");
    if (!code && problem->names)
        code = names_sort(problem->names, problem->n, problem->label, err);
    if (!code) {
        problem->index = reader->rows.index;
        problem->value = reader->rows.value;
        reader->rows = (struct rows){0};
        problem->hash = problem_hash(problem);
        if (flags & KLR_READ_KEEP) {
            problem->reader = reader;
            reader = NULL;
        }
    }
    klr_reader_close(reader);
    if (code)
        klr_problem_free(problem);
    return code;
}

bool klr_problem_has_serials(const struct klr_problem *problem)
{
    for (size_t i = 0; i < problem->n; i++) {
        size_t at = problem->start[i];
        if (at == problem->start[i + 1] || problem->index[at] != 0 ||
            problem->value[at] != (double)(i + 1))
            return false;
    }
    return true;
}

void klr_problem_free(struct klr_problem *problem)
{
    klr_free(problem->label);
    klr_names_free(problem->names);
    klr_free(problem->start);
    klr_free(problem->index);
    klr_free(problem->value);
    klr_free(problem->line);
    klr_free(problem->text);
    klr_free(problem->length);
    klr_reader_close(problem->reader);
    scaling_free(problem->scaling);
    *problem = (struct klr_problem){0};
}

static struct klr_features problem_features(const struct klr_problem *problem)
{
    return (struct klr_features){
        .n = problem->n,
        .dimension = problem->dimension,
        .start = problem->start,
        .index = problem->index,
        .value = problem->value,
    };
}
