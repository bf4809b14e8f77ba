/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A data set in memory, read in batches: the lines that are complete in the
 * input's block. Turns of the pool parse them, each into places of its own in
 * the reader's arrays that are surely large enough; then rows, labels and lines
 * are added to the problem, in order. What is wrong with a line is told when
 * its turn comes there. So neither the rows nor the error depend on the number
 * of threads. Where packed rows are asked for, turns pack them, too, until a
 * row comes that cannot be packed.
 */
#include "solver/data/data.h"

enum {
    BATCH_LINES = 4096, /* at most */
    BATCH_TASK = 8      /* lines of a task */
};

/* A row, its place in the arrays, how it was parsed, whether it is packed
 * already, and its hash. */
struct batch_row {
    struct klr_row row;
    size_t place, most;
    int code;
    bool packed;
    uint64_t hash;
};

/* A problem's arrays while it grows. */
struct problem_room {
    size_t label, start, line, text, offset; /* capacities */
    struct rows rows;                        /* the features, */
    bool packs;                              /* or, while it can be, */
    struct klr_packed *packed;               /* these */
    size_t words;                            /* capacity of packed->value */
    uint64_t hash;                           /* of all rows */
};

/* The number of the next row's line. Where rows may be packed there are none as
 * long as lines are numbered as rows are. */
static int problem_add_line(struct klr_problem *problem,
                            struct problem_room *room, int flags, long line,
                            struct klr_error *err)
{
    size_t i = 0, n = problem->n;
    bool first = !problem->line;
    if (first && (flags & KLR_READ_PACKED) && line == (long)n + 1)
        return 0;
    if (KLR_GROW(problem->line, room->line, n + 1, err))
        return KLR_E_MEMORY;
    for (; first && i < n; i++)
        problem->line[i] = (long)i + 1;
    problem->line[n] = line;
    return 0;
}

static int problem_reserve(struct klr_problem *problem,
                           struct problem_room *room, bool keep,
                           struct klr_error *err)
{
    size_t need = problem->n + 1;
    if (KLR_GROW(problem->label, room->label, need, err) ||
        (!room->packs &&
         KLR_GROW(problem->start, room->start, need + 1, err)) ||
        (keep &&
         (KLR_GROW(problem->text, room->text, need / KLR_TEXT_ROWS + 1, err) ||
          KLR_GROW(problem->offset, room->offset, need + 1, err))))
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

static void problem_put_text(struct klr_problem *problem, size_t i,
                             int64_t text)
{
    int64_t *from = &problem->text[i / KLR_TEXT_ROWS];
    if (i % KLR_TEXT_ROWS == 0)
        *from = text;
    problem->offset[i] =
        text - *from < UINT32_MAX ? (uint32_t)(text - *from) : UINT32_MAX;
}

static int64_t problem_text(const struct klr_problem *problem, size_t i)
{
    bool known = problem->text && problem->offset[i] != UINT32_MAX;
    return known ? problem->text[i / KLR_TEXT_ROWS] + problem->offset[i] : -1;
}

static void problem_add(struct klr_problem *problem, const struct klr_row *row)
{
    size_t i = problem->n++;
    problem->has_qid |= row->has_qid;
    problem->has_zero |= row->count && row->index[0] == 0;
    if (row->count && row->index[row->count - 1] > problem->dimension)
        problem->dimension = row->index[row->count - 1];
    if (problem->text) {
        int64_t text = row->line.offset + (row->features - row->line.text);
        problem_put_text(problem, i, text);
        problem_put_text(problem, i + 1, text + (int64_t)row->features_length);
    }
}

/* ---- Features ---- */

static struct klr_packed *packed_free(struct klr_packed *packed)
{
    if (packed) {
        klr_free(packed->index);
        klr_free(packed->value);
    }
    return klr_free(packed);
}

/* As the first row has them; NULL: that cannot be. */
static int packed_create(struct klr_packed **out, const struct klr_row *row,
                         struct klr_error *err)
{
    size_t columns = row->count;
    *out = NULL;
    if (columns == 0 || columns > KLR_PACKED_COLUMNS || row->index[0] < 1)
        return 0;
    struct klr_packed *packed = klr_zalloc(1, sizeof *packed, err);
    if (!packed ||
        !(packed->index = klr_alloc(columns, sizeof *packed->index, err))) {
        packed_free(packed);
        return KLR_E_MEMORY;
    }
    packed->columns = columns;
    for (size_t k = 0; k < columns; k++)
        packed->index[k] = row->index[0] + (int)k;
    *out = packed;
    return 0;
}

/* The row into `word`; false: that cannot be. */
static bool packed_put(const struct klr_packed *packed,
                       const struct klr_row *row, uint32_t *word)
{
    size_t columns = packed->columns;
    bool packs = row->count == columns &&
                 !memcmp(row->index, packed->index, columns * sizeof(int));
    for (size_t k = 0; k < columns && packs; k++)
        packs = klr_pack(row->value[k], &word[k]);
    return packs;
}

/* Append features to the rows. */
static int rows_append(struct rows *rows, size_t count, const int *index,
                       const double *value, struct klr_error *err)
{
    if (rows_reserve(rows, count, err))
        return KLR_E_MEMORY;
    memcpy(rows->index + rows->count, index, count * sizeof *index);
    memcpy(rows->value + rows->count, value, count * sizeof *value);
    rows->count += count;
    return 0;
}

/* From now on features are rows, those that there are as well. */
static int problem_unpack(struct klr_problem *problem,
                          struct problem_room *room, struct klr_error *err)
{
    double space[KLR_PACKED_COLUMNS];
    struct klr_features x = {.n = problem->n, .packed = room->packed};
    room->packs = false;
    int code = KLR_GROW(problem->start, room->start, problem->n + 2, err);
    if (!code)
        code = rows_reserve(&room->rows, klr_features_count(&x), err);
    for (size_t i = 0; i < x.n && !code; i++) {
        struct klr_feature_row row = klr_features_row(&x, i, space);
        problem->start[i] = room->rows.count;
        code = rows_append(&room->rows, row.count, row.index, row.value, err);
    }
    room->packed = packed_free(room->packed);
    return code;
}

/* Make room for `more` rows. *word is the place of the first one, or NULL if
 * there are no packed rows yet. */
static int problem_packed_room(const struct klr_problem *problem,
                               struct problem_room *room, size_t more,
                               uint32_t **word, struct klr_error *err)
{
    struct klr_packed *packed = room->packed;
    *word = NULL;
    if (!packed)
        return 0;
    size_t at = problem->n * packed->columns, need = more * packed->columns;
    if (KLR_GROW(packed->value, room->words, at + need, err))
        return KLR_E_MEMORY;
    *word = packed->value + at;
    return 0;
}

static int problem_add_packed(struct klr_problem *problem,
                              struct problem_room *room,
                              const struct batch_row *r, struct klr_error *err)
{
    uint32_t *word;
    if (r->packed)
        return 0;
    int code = problem->n == 0 ? packed_create(&room->packed, &r->row, err) : 0;
    if (!code)
        code = problem_packed_room(problem, room, 1, &word, err);
    if (!code && !(word && packed_put(room->packed, &r->row, word)))
        code = problem_unpack(problem, room, err);
    return code;
}

static int problem_add_features(struct klr_problem *problem,
                                struct problem_room *room,
                                const struct batch_row *r,
                                struct klr_error *err)
{
    const struct klr_row *row = &r->row;
    int code = room->packs ? problem_add_packed(problem, room, r, err) : 0;
    if (code || room->packs)
        return code;
    problem->start[problem->n] = room->rows.count;
    code = rows_append(&room->rows, row->count, row->index, row->value, err);
    problem->start[problem->n + 1] = room->rows.count;
    return code;
}

/* ---- Batches ---- */

struct line_batch {
    struct klr_reader *reader;
    struct klr_pool *pool;
    size_t count, room; /* rows; features for which they have places */
    struct batch_row *rows;
    const struct klr_packed *packed; /* to be packed like it, or NULL, ... */
    uint32_t *word;                  /* (count, columns) ... to here */
};

/* Take the next lines. The block must hold all of them together, since reading
 * may move those before. 1, 0 at the end, or minus a code. */
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
    return (struct rows){0, r->most, r->most, all->index + r->place,
                         all->value + r->place};
}

static void batch_task(void *context, size_t task, size_t thread)
{
    const struct line_batch *b = context;
    size_t first = task * BATCH_TASK, end = first + BATCH_TASK;
    (void)thread;
    for (size_t k = first; k < end && k < b->count; k++) {
        struct batch_row *r = &b->rows[k];
        struct rows place = batch_place(b, r);
        r->code = line_parse(b->reader->flags, &place, &r->row, NULL);
        r->packed =
            b->word && !r->code &&
            packed_put(b->packed, &r->row, b->word + k * b->packed->columns);
        if (!r->code)
            r->hash = row_hash(r->row.count, r->row.index, r->row.value);
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

/* ---- Problems ---- */

static int problem_add_batch(struct klr_problem *problem,
                             struct problem_room *room, struct line_batch *b,
                             struct klr_error *err)
{
    int flags = b->reader->flags;
    int code = problem_packed_room(problem, room, b->count, &b->word, err);
    b->packed = room->packed;
    if (!code)
        code = batch_parse(b, err);
    for (size_t k = 0; k < b->count && !code; k++) {
        struct batch_row *r = &b->rows[k];
        struct rows place = batch_place(b, r);
        if (r->code)
            return line_parse(flags, &place, &r->row, err);
        code = problem_reserve(problem, room, flags & KLR_READ_KEEP, err);
        if (!code)
            code =
                problem_add_line(problem, room, flags, r->row.line.number, err);
        if (!code)
            code = problem_add_label(problem, &r->row, flags, err);
        if (!code)
            code = problem_add_features(problem, room, r, err);
        if (!code)
            problem_add(problem, &r->row);
        room->hash = klr_hash_word(room->hash, r->hash);
    }
    return code;
}

/* One batch is read without other threads: to start them takes as long. */
static int problem_fill(struct klr_problem *problem, struct problem_room *room,
                        struct klr_reader *reader, long long threads,
                        klr_rows_fn *told, void *context, struct klr_error *err)
{
    struct line_batch b = {.reader = reader};
    int got = 1, code = 0;
    b.rows = klr_alloc(BATCH_LINES, sizeof *b.rows, err);
    if (!b.rows)
        return KLR_E_MEMORY;
    for (int batch = 0; got == 1 && !code; batch++) {
        got = batch_take(&b, err);
        if (batch == 1 && b.count > 0)
            klr_pool_create(&b.pool, threads, NULL);
        code = problem_add_batch(problem, room, &b, err);
        if (told)
            told(problem->n, context);
    }
    klr_pool_free(b.pool);
    klr_free(b.rows);
    return code ? code : -got;
}

/* A hash of labels, names and rows, given that of all rows. Never 0. */
static uint64_t problem_hash(const struct klr_problem *problem, uint64_t rows)
{
    uint64_t hash =
        klr_hash(rows, problem->label, problem->n * sizeof *problem->label);
    for (size_t i = 0; i < klr_names_count(problem->names); i++) {
        const char *name = klr_names_text(problem->names, i);
        hash = klr_hash(hash, name, strlen(name));
    }
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
    struct problem_room room = {.packs = flags & KLR_READ_PACKED};
    int code = klr_reader_open(&reader, path, flags, err);
    if (!code)
        code =
            problem_fill(problem, &room, reader, threads, told, context, err);
    if (!code && problem->n == 0)
        code = klr_fail(err, KLR_E_DATA, "no examples");
    if (!code && problem->names)
        code = names_sort(problem->names, problem->n, problem->label, err);
    problem->index = room.rows.index;
    problem->value = room.rows.value;
    problem->packed = room.packed;
    if (!code) {
        klr_free(reader->rows.index);
        klr_free(reader->rows.value);
        reader->rows = (struct rows){0};
        problem->hash = problem_hash(problem, room.hash);
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
        size_t at = problem->packed ? 0 : problem->start[i];
        if (problem->packed || at == problem->start[i + 1] ||
            problem->index[at] != 0 || problem->value[at] != (double)(i + 1))
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
    packed_free(problem->packed);
    klr_free(problem->line);
    klr_free(problem->text);
    klr_free(problem->offset);
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
        .packed = problem->packed,
    };
}
