/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The operator against plain loops over the entries, and against itself: the
 * bits of a product depend neither on the memory for tiles, nor on the number
 * of threads, nor on what has been computed before.
 */
#if defined(__GNUC__) /* headers of rooms declare statics of other parts */
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#include <stdatomic.h>

#include "solver/data/sets.c"
#include "solver/gram/gram_tiles.c"

/* Every store must raise the turn of a block by one: another would undo that of
 * a faster thread, and all wait for ever. */
static atomic_size_t wrong_turns;

static void store_task(atomic_size_t *turn, size_t wave, memory_order order)
{
    size_t before = atomic_exchange(turn, wave);
    if (order == memory_order_release && before + 1 != wave)
        atomic_fetch_add(&wrong_turns, 1);
}

static void store_flag(atomic_bool *flag, bool value, memory_order order)
{
    (void)order;
    atomic_exchange(flag, value);
}

/* A wait: at its first yield the product ends, at the second its turn comes. */
struct wait {
    atomic_bool ended;
    atomic_size_t turn;
};
static struct wait *waiting;

static int yield(void)
{
    if (!waiting)
        return sched_yield();
    if (atomic_exchange(&waiting->ended, true))
        atomic_exchange(&waiting->turn, 1);
    return 0;
}

#define sched_yield yield
#undef atomic_store_explicit
#define atomic_store_explicit(at, value, order)                                \
    _Generic((at), atomic_size_t *                                             \
             : store_task, atomic_bool *                                       \
             : store_flag)(at, value, order)
#include "solver/gram/operator_tiles.c"

#include "solver/gram/operator_linear.c"

#include "solver/gram/operator.c"

#include "solver/gram/operator_sparse.c"

#include "solver/gram/operator_rows.c"

#include "solver/gram/columns.c"

#include "tests/larger.h"
#include "tests/tap.h"

enum { N = 1050, D = 6, M = 5, LEFT = 531, BLOCKS = 5, VARIANTS = 12 };

static double x[N * D];
static int feature[N * D];
static size_t start[N + 1];
static double gram[N * N];   /* K */
static float single[N * N];  /* in float */
static uint16_t half[N * N]; /* in fixed16 */
static double v[N * M], out[N * M], first[N * M];
static struct klr_pool *pool[3];
static struct klr_operator variant[VARIANTS];

static uint64_t state = 3;

static double uniform(void)
{
    state = state * UINT64_C(6364136223846793005) + 1442695041;
    return (double)(state >> 11) * 0x1p-52 - 1;
}

/* Dense features, or one of six. */
static struct klr_features make_features(bool sparse)
{
    for (size_t t = 0; t < N * D; t++) {
        x[t] = sparse && t % D != t / D % D ? 0 : uniform();
        feature[t] = (int)(t % D) + 1;
        start[t / D + 1] = t + 1;
    }
    for (size_t t = 0; t < N * M; t++)
        v[t] = uniform();
    return (struct klr_features){N, D, start, feature, x, NULL};
}

/* No tile, some tiles of floats, all of them and some of doubles, all; with
 * one, two and three threads. */
static bool make_variants(const struct klr_kernel *kernel,
                          const struct klr_features *features, bool fixed16)
{
    const size_t tile = (size_t)KLR_TILE * KLR_TILE * sizeof(float);
    const size_t budget[] = {tile - 1, 7 * tile + 5, (15 + 2 * 3) * tile + 7,
                             SIZE_MAX};
    bool right = true;
    for (size_t t = 0; t < VARIANTS; t++) {
        right = !operator_create(&variant[t], kernel, features, NULL,
                                 pool[t % 3], budget[t / 3], NULL) &&
                (!fixed16 ||
                 !operator_prefer_fixed16(&variant[t], budget[t / 3], NULL)) &&
                right;
        if (t / 3 == VARIANTS / 3 - 1)
            tiles_keep_at_once(&variant[t].tiles);
    }
    return right;
}

static void free_variants(void)
{
    for (size_t t = 0; t < VARIANTS; t++)
        operator_free(&variant[t]);
}

static size_t positions(struct klr_set set, size_t *position)
{
    size_t count = 0;
    for (size_t q = 0; q < set.count; q++)
        for (size_t i = set.range[q].begin; i < set.range[q].end; i++)
            position[count++] = i;
    return count;
}

static const char *const names[] = {"half", "float", "double"};

static enum klr_precision coarsest(void)
{
    return variant->fixed16 ? KLR_FIXED16 : KLR_FLOAT;
}

/* out agrees with K[rows, cols] V but for the rounding of sums. */
static bool agrees(struct klr_set rows, struct klr_set cols, size_t m,
                   enum klr_precision precision)
{
    static size_t row[N], col[N];
    size_t count = positions(rows, row), width = positions(cols, col);
    bool right = count == rows.size && width == cols.size;
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < m; c++) {
            long double sum = 0, size = 0;
            for (size_t j = 0; j < width; j++) {
                size_t at = row[i] * N + col[j];
                long double k = gram[at];
                if (precision == KLR_FLOAT && !variant->groups)
                    k = single[at];
                else if (precision == KLR_FIXED16)
                    k = half[at] / 65535.0L;
                sum += k * v[j * m + c];
                size += fabsl(k * v[j * m + c]);
            }
            right =
                right && fabsl(sum - out[i * m + c]) <=
                             (precision == KLR_FIXED16 ? 1e-6L : 1e-14L) * size;
        }
    return right;
}

static void check(const char *name, struct klr_set rows, struct klr_set cols,
                  size_t m, enum klr_precision precision)
{
    size_t bytes = rows.size * m * sizeof *out;
    bool same = true;
    for (size_t t = 0; t < 2 * VARIANTS; t++) {
        struct klr_operator *op = &variant[t % VARIANTS];
        double before = op->passes;
        double pass = (double)rows.size * (double)cols.size / N / N;
        memset(out, 0xff, sizeof out);
        operator_apply(op, rows, cols, v, m, precision, out);
        if (t == 0)
            memcpy(first, out, bytes);
        same = same && !memcmp(out, first, bytes) &&
               fabs(op->passes - before - pass) < 1e-12;
    }
    ok(same && agrees(rows, cols, m, precision), "%s: %zu vectors, %s", name, m,
       names[precision]);
}

static void test_apply(void)
{
    static const struct klr_range all[] = {{0, N}};
    static const struct klr_range pair[] = {{40, 300}, {700, 890}};
    static const struct klr_range held[] = {{0, 128}, {640, 750}};
    static const struct klr_range rest[] = {{128, 640}, {750, N}};
    static const struct klr_range cut[] = {{0, 100}, {100, 100}, {100, N}};
    static struct klr_range second[N / 2], few[4];
    for (size_t q = 0; q < N / 2; q++)
        second[q] = (struct klr_range){2 * q, 2 * q + 1};
    for (size_t q = 0; q < 4; q++)
        few[q] = (struct klr_range){10 + 300 * q, 11 + 301 * q};
    const struct {
        const char *name;
        struct klr_set rows, cols;
    } cases[] = {
        {"no columns", set_of(pair, 2), set_of(pair, 0)},
        {"no rows", set_of(pair, 0), set_of(pair, 2)},
        {"every second of some rows", set_of(few, 4), set_of(second, N / 2)},
        {"every second", set_of(second, N / 2), set_of(second, N / 2)},
        {"a pair", set_of(pair, 2), set_of(pair, 2)},
        {"a fold's rest", set_of(rest, 2), set_of(rest, 2)},
        {"a fold", set_of(held, 2), set_of(rest, 2)},
        {"all", set_of(all, 1), set_of(all, 1)},
        {"all, cut in three", set_of(cut, 3), set_of(cut, 3)},
        {"some columns", set_of(all, 1), set_of(pair, 2)},
        {"one row", set_of(few, 1), set_of(all, 1)},
        {"a fold, once more", set_of(held, 2), set_of(rest, 2)},
        {"every second, once more", set_of(second, N / 2),
         set_of(second, N / 2)},
    };
    for (size_t t = 0; t < sizeof cases / sizeof *cases; t++)
        for (size_t m = 1; m <= M; m += 2)
            for (int p = (int)coarsest(); p <= KLR_DOUBLE; p++)
                check(cases[t].name, cases[t].rows, cases[t].cols, m,
                      (enum klr_precision)p);
}

/* Rows of V beyond the first `used`, every third, are 0. */
static void check_sparse(struct klr_set rows, struct klr_set cols, size_t used)
{
    static double all[N * M];
    size_t counted = 8 * used < cols.size ? used : cols.size;
    double pass = (double)rows.size * (double)counted / N / N;
    bool same = true, whole;
    memcpy(all, v, sizeof v);
    for (size_t j = 0; j < cols.size; j++)
        for (size_t c = 0; c < M && (j % 3 || j / 3 >= used); c++)
            v[j * M + c] = 0;
    for (size_t t = 0; t < 2 * VARIANTS; t++) {
        struct klr_operator *op = &variant[t % VARIANTS];
        double before = op->passes;
        memset(out, 0xff, sizeof out);
        same = !operator_apply_sparse(op, rows, cols, v, M, KLR_DOUBLE, out,
                                      &whole, NULL) &&
               whole && same;
        if (t == 0)
            memcpy(first, out, sizeof out);
        same = same && !memcmp(out, first, sizeof out) &&
               fabs(op->passes - before - pass) < 1e-12;
    }
    ok(same && agrees(rows, cols, M, KLR_DOUBLE), "%zu of %zu examples", used,
       cols.size);
    memcpy(v, all, sizeof v);
}

static void test_sparse(void)
{
    static const struct klr_range held[] = {{0, 128}, {640, 750}};
    static const struct klr_range rest[] = {{128, 640}, {750, N}};
    const size_t used[] = {0, 20, 40, 200};
    for (size_t t = 0; t < sizeof used / sizeof *used; t++) {
        check_sparse(set_of(held, 2), set_of(rest, 2), used[t]);
        check_sparse(set_of(rest, 2), set_of(rest, 2), used[t]);
    }
}

/* A vector's product is the same whatever stands beside it. */
static void test_columns(void)
{
    const struct klr_range all = {0, N};
    static double alone[N];
    bool same = true;
    operator_apply(&variant[8], set_of(&all, 1), set_of(&all, 1), v, M,
                   coarsest(), out);
    for (size_t c = 0; c < M; c++) {
        for (size_t i = 0; i < N; i++)
            alone[i] = v[i * M + c];
        operator_apply(&variant[8], set_of(&all, 1), set_of(&all, 1), alone, 1,
                       coarsest(), first);
        for (size_t i = 0; i < N; i++)
            same = same && first[i] == out[i * M + c];
    }
    ok(same, "vectors together or alone");
}

/* Elements that are not 0, from one or another part of the examples: with room
 * for 40 columns the old ones must go. */
static size_t make_few(size_t turn, size_t n, double *few)
{
    static const size_t count[] = {20, 25, 3, 0, 40, 41, 17};
    memset(few, 0, n * sizeof *few);
    for (size_t k = 0; k < count[turn]; k++)
        few[(turn * n / 5 + k * 13) % n] = v[turn + k];
    return count[turn];
}

/* out agrees with K of the set times them. */
static bool agrees_few(struct klr_set set, const double *few)
{
    static size_t position[N];
    bool right = true;
    positions(set, position);
    for (size_t i = 0; i < set.size; i++) {
        long double sum = 0, size = 0;
        for (size_t j = 0; j < set.size; j++) {
            size_t at = position[i] * N + position[j];
            sum += (long double)few[j] * single[at];
            size += fabsl((long double)few[j] * single[at]);
        }
        right = right && fabsl(sum - out[i]) <= 1e-14L * size;
    }
    return right;
}

/* Sums of columns that are kept; with too many all stays as it was. */
static void test_few(struct klr_set set)
{
    enum { ROOM = 40, TURNS = 7 };
    static float store[ROOM * (N + 8)];
    static double few[N], sum[TURNS][N];
    const size_t bytes = ROOM * columns_pitch(set.size) * sizeof *store;
    bool same = true, right = true;
    for (size_t t = 0; t < VARIANTS; t++) {
        struct submatrix k = {&variant[t], set};
        struct columns c;
        struct klr_arena arena = {0};
        right = !columns_alloc(&c, k, bytes, &arena, NULL) && right;
        c.value = store;
        for (size_t turn = 0; turn < TURNS; turn++) {
            bool fits = make_few(turn, set.size, few) <= ROOM;
            memcpy(out, v, sizeof out);
            right = right && columns_multiply(&c, few, out) == fits &&
                    !memcmp(out + set.size, v + set.size, sizeof *out) &&
                    (fits ? agrees_few(set, few)
                          : !memcmp(out, v, set.size * sizeof *out));
            if (t == 0)
                memcpy(sum[turn], out, sizeof *sum);
            same = same && !memcmp(sum[turn], out, set.size * sizeof *out);
        }
        klr_arena_free(&arena);
    }
    ok(same && right, "vectors of few elements, of %zu", set.size);
}

static void test_counts(void)
{
    const struct klr_range all = {0, N};
    const unsigned long long triangle = /* and the rest of the diagonal */
        (unsigned long long)(N - 1024) * N + 256 * 256 * (BLOCKS * 2);
    const unsigned long long tile = 256 * 256; /* the first ones are whole */
    const unsigned long long last = (N - 1024) * (N - 1024);
    for (size_t t = 0; t < VARIANTS; t++)
        for (int p = (int)coarsest(); p <= KLR_DOUBLE; p++) {
            const size_t tiles[2][3][VARIANTS / 3] = {
                {{0}, {0, 7, 15, 15}, {0, 0, 3, 15}},
                {{1, 14, 15, 15}, {0, 0, 0, 15}, {0, 0, 0, 15}}};
            const size_t kept = tiles[variant->fixed16][p][t / 3];
            unsigned long long before = variant[t].evaluations, computed;
            operator_apply(&variant[t], set_of(&all, 1), set_of(&all, 1), v, 1,
                           (enum klr_precision)p, out);
            computed = variant[t].evaluations - before;
            ok(variant[t].tiles.kept[p].stored == kept &&
                   computed == (kept == 15   ? 0
                                : kept == 14 ? last
                                             : triangle - kept * tile),
               "%llu %ss computed with %zu tiles kept", computed, names[p],
               kept);
        }
}

/* At the question after so many. */
static bool ends(void *left)
{
    size_t *count = left;
    return *count == 0 || !(*count)--;
}

/* Ended at any question, whatever is asked of K says so, no thread waits for
 * ever, and what follows is right. */
static void test_ends(void)
{
    const struct klr_range all = {0, N};
    const struct klr_set set = set_of(&all, 1);
    const size_t turns = BLOCKS * (BLOCKS / 2 + 1);
    bool right = true;
    operator_apply(&variant[0], set, set, v, 1, KLR_FLOAT, first);
    for (size_t t = 0; t < VARIANTS; t++)
        for (size_t end = 0; end <= turns; end++) {
            size_t left = end;
            struct klr_pool *own = variant[t].pool;
            if (!own)
                continue;
            klr_pool_watch(own, ends, &left);
            bool whole =
                operator_apply(&variant[t], set, set, v, 1, KLR_FLOAT, out);
            bool one = klr_pool_size(own) == 1;
            right =
                right && (one ? whole == (end == turns) : whole || left == 0);
            right = right && (!whole || !memcmp(out, first, N * sizeof *out));
            klr_pool_watch(own, NULL, NULL);
        }
    ok(right, "products that end before their last tile");
}

/* Rows, other products and filling, too. */
static void test_all_end(void)
{
    const struct klr_range all = {0, N}, some = {0, N / 2};
    const struct klr_set set = set_of(&all, 1), rows = set_of(&some, 1);
    const size_t row = 3;
    size_t left = 0;
    struct klr_operator *op = &variant[1];
    klr_pool_watch(op->pool, ends, &left);
    ok(!operator_apply(op, rows, set, v, 1, KLR_FLOAT, out) &&
           !operator_rows(op, &row, 1, set, KLR_DOUBLE, out, N) &&
           !operator_row(op, set, row, out) &&
           (op->groups > 0 || !operator_fill(op, set, KLR_FLOAT)),
       "none of what asks for K begins");
    klr_pool_watch(op->pool, NULL, NULL);
    ok(operator_row(op, set, row, out), "but without the watch");
}

static bool has_ended(void *wait)
{
    return atomic_load(&((struct wait *)wait)->ended);
}

/* A thread that waits for a tile whose thread ended the product. */
static void test_wait(void)
{
    struct klr_operator op = {.pool = pool[2]};
    struct product p = {.op = &op};
    struct wait wait = {false, 0};
    waiting = &wait;
    klr_pool_watch(op.pool, has_ended, &wait);
    ok(!product_wait(&p, &wait.turn, 1, 0) && wait.turn == 0,
       "a product that ends while a thread waits");
    waiting = NULL;
    klr_pool_watch(op.pool, NULL, NULL);
    ok(product_wait(&p, &wait.turn, 0, 0),
       "a turn that has come needs no wait");
}

/* Products that compute entries, until one finds them all kept. */
static unsigned products_computing(struct klr_operator *op,
                                   enum klr_precision precision)
{
    const struct klr_range all = {0, N};
    unsigned computing = 0;
    for (unsigned long long last = 1; op->evaluations != last; computing++) {
        last = op->evaluations;
        operator_apply(op, set_of(&all, 1), set_of(&all, 1), v, 1, precision,
                       out);
    }
    return computing - 1;
}

/* A tile is kept by the product after as many as the patience is. */
static void test_patience(const struct klr_kernel *kernel,
                          const struct klr_features *features)
{
    for (unsigned patience = 0; patience < 4; patience++) {
        struct klr_operator op;
        if (operator_create(&op, kernel, features, NULL, pool[2], SIZE_MAX,
                            NULL))
            printf("Bail out! no memory\n");
        op.tiles.patience[KLR_FLOAT] = patience;
        unsigned computing = products_computing(&op, KLR_FLOAT);
        ok(computing == patience + 1, "patience %u: %u products compute",
           patience, computing);
        operator_free(&op);
    }
}

/* Fixed16 is kept once it has been computed twice as long as its memory took,
 * by what the last tiles have cost; at once where that is little or not known.
 */
static void test_measured(const struct klr_kernel *kernel,
                          const struct klr_features *features)
{
    const struct tile_store little = {.ready = 1ULL << 50,
                                      .spent = TILES_MEASURE - 1};
    /* beside the cost of 15 tiles */
    const unsigned long long much = 1ULL << 40;
    const struct {
        unsigned long long ready, spent;
        unsigned products;
    } cost[] = {{0, 0, 1},
                {4 * much, much, 1},
                {75 * much, 10 * much, 16},
                {900 * much, much, 255}};
    for (size_t c = 0; c < sizeof cost / sizeof *cost; c++) {
        struct klr_operator op;
        if (operator_create(&op, kernel, features, NULL, pool[2], SIZE_MAX,
                            NULL) ||
            operator_prefer_fixed16(&op, SIZE_MAX, NULL))
            printf("Bail out! no memory\n");
        op.tiles.kept[KLR_FIXED16].ready = cost[c].ready;
        op.tiles.kept[KLR_FIXED16].spent = cost[c].spent;
        unsigned computing = products_computing(&op, KLR_FIXED16);
        ok(computing == cost[c].products, "%u products compute fixed16",
           computing);
        operator_free(&op);
    }
    ok(store_patience(&little) == 0, "a tile or two tell little");
}

/* Tiles lie in the order of filling, however many there are. */
static void test_slots(void)
{
    static char memory[1];
    size_t slot[] = {3, 1000000};
    struct tile_store kept[] = {
        [KLR_DOUBLE] = {.stored = 2, .tile = memory, .slot = slot}};
    const struct gram_tiles tiles = {.kept = kept};
    uintptr_t begin = (uintptr_t)memory;
    ok((uintptr_t)tiles_at(&tiles, KLR_DOUBLE, 0, 0) - begin ==
               (uintptr_t)3 * TILE_AREA * sizeof(double) &&
           (uintptr_t)tiles_at(&tiles, KLR_DOUBLE, 1, 0) - begin ==
               (uintptr_t)1000000 * TILE_AREA * sizeof(double),
       "a million tiles lie one behind the other");
}

/* Tiles of many features are kept at once, of few features not soon; all
 * features of dense rows count, their zeros, too. Doubles may be asked for
 * once. */
static void test_price(void)
{
    enum { ROWS = 40, MANY = 100 };
    static double value[ROWS * MANY];
    static size_t begin[ROWS + 1];
    static int index[ROWS * MANY];
    const struct klr_kernel kernel = {.type = KLR_RBF, .gamma = 1e-3};
    unsigned patience[2], doubles[2];
    for (int many = 0; many < 2; many++) {
        struct klr_operator op;
        size_t width = many ? MANY : 5;
        for (size_t i = 0; i < ROWS * width; i++) {
            bool zero = many && (i + i / width) % 10 > 2;
            value[i] = zero ? 0 : 1 + (double)(i * i % 97) / 97;
            index[i] = (int)(i % width) + 1;
        }
        for (size_t i = 0; i <= ROWS; i++)
            begin[i] = i * width;
        struct klr_features rows = {ROWS, MANY, begin, index, value, NULL};
        if (operator_create(&op, &kernel, &rows, NULL, NULL, 0, NULL))
            printf("Bail out! no memory\n");
        patience[many] = op.tiles.patience[KLR_FLOAT];
        doubles[many] = op.tiles.patience[KLR_DOUBLE];
        ok(!operator_prefer_fixed16(&op, SIZE_MAX, NULL) &&
               op.tiles.patience[KLR_FLOAT] == doubles[many],
           "floats beside fixed16 may be asked for once only");
        operator_free(&op);
    }
    ok(patience[0] > 4 && patience[1] == 0 && doubles[0] > 2 && doubles[1] == 1,
       "of few features a tile is computed %u times before it is kept, of many "
       "%u",
       patience[0], patience[1]);
}

/* After a fill the entries to be kept are there, and no others were
 * computed. */
static void test_fill(const struct klr_kernel *kernel,
                      const struct klr_features *features)
{
    const struct klr_range some[] = {{0, 256}, {512, 1000}};
    const struct klr_set set = set_of(some, 2);
    for (int keep = 0; keep < 2; keep++) {
        struct klr_operator op;
        if (operator_create(&op, kernel, features, NULL, pool[2],
                            keep ? SIZE_MAX : 0, NULL))
            printf("Bail out! no memory\n");
        operator_fill(&op, set, KLR_FLOAT);
        unsigned long long filled = op.evaluations;
        operator_apply(&op, set, set, v, 1, KLR_FLOAT, out);
        ok(keep ? op.evaluations == filled && filled > 0
                : filled == 0 && op.passes > 0,
           "%llu entries before a product, %llu behind it", filled,
           op.evaluations);
        operator_free(&op);
    }
}

/* Several threads work with the same tiles, each through an operator of its
 * own. */
struct sharing {
    struct klr_operator *op;
    atomic_size_t evaluations, wrong;
};

static void sharing_task(void *context, size_t index, size_t thread)
{
    static const struct klr_range all = {0, N};
    const struct klr_set set = {&all, 1, N};
    struct sharing *s = context;
    struct klr_operator share;
    double product[N];
    (void)thread;
    if (operator_share(&share, s->op, NULL))
        printf("Bail out! no memory\n");
    operator_apply(&share, set, set, v, 1, index % 2 ? KLR_DOUBLE : coarsest(),
                   product);
    const double *right = index % 2 ? first + N : first;
    atomic_fetch_add(&s->wrong, memcmp(product, right, sizeof product) != 0);
    atomic_fetch_add(&s->evaluations, share.evaluations);
    operator_free(&share);
}

/* They give the bits that one gives alone, and compute each tile that is kept
 * once. */
static void test_shared(const struct klr_kernel *kernel,
                        const struct klr_features *features, bool fixed16)
{
    enum { TURNS = 12 };
    static const struct klr_range all = {0, N};
    const struct klr_set set = {&all, 1, N};
    make_variants(kernel, features, fixed16);
    for (size_t t = 0; t < VARIANTS; t += 3) {
        struct sharing s = {.op = &variant[t]};
        unsigned long long alone = variant[t + 1].evaluations;
        operator_apply(&variant[t + 1], set, set, v, 1, coarsest(), first);
        operator_apply(&variant[t + 1], set, set, v, 1, KLR_DOUBLE, first + N);
        alone = variant[t + 1].evaluations - alone;
        klr_pool_run(pool[2], TURNS, sharing_task, &s);
        size_t evaluations = atomic_load(&s.evaluations);
        ok(atomic_load(&s.wrong) == 0, "products of tiles that are shared");
        ok(t == 9 ? evaluations == alone : evaluations >= alone,
           "%zu entries computed, %llu alone", evaluations, alone);
    }
    free_variants();
}

/* A set without its first positions. */
static void test_after(void)
{
    static const struct klr_range range[] = {{2, 5}, {9, 10}, {20, 30}};
    const struct klr_set set = set_of(range, 3);
    struct klr_range rest[3];
    bool right = true;
    for (size_t i = 0; i <= set.size; i++) {
        struct klr_set after = set_after(set, i, rest);
        right = right && after.size == set.size - i &&
                after.size == set_of(rest, after.count).size;
        for (size_t k = 0; k < after.size; k++)
            right = right && set_position(after, k) == set_position(set, i + k);
    }
    ok(right, "sets without their first positions");
}

static bool rows_right(struct klr_operator *op, struct klr_set set)
{
    static const size_t row[] = {200, 1049, 3, 4, 5, 600, 256, 255};
    static size_t col[N];
    static float narrow[8 * N];
    static double wide[8 * N];
    bool right = true;
    positions(set, col);
    memset(narrow, 0, sizeof narrow);
    memset(wide, 0, sizeof wide);
    operator_rows(op, row, 8, set, KLR_FLOAT, narrow, N);
    operator_rows(op, row, 8, set, KLR_DOUBLE, wide, N);
    for (size_t r = 0; r < 8; r++)
        for (size_t j = 0; j < set.size; j++)
            right = right && narrow[r * N + j] == single[row[r] * N + col[j]] &&
                    wide[r * N + j] == gram[row[r] * N + col[j]];
    operator_row(op, set, 7, wide);
    for (size_t j = 0; j < set.size; j++)
        right = right && wide[j] == gram[col[7] * N + col[j]];
    operator_diagonal(op, set, out);
    for (size_t j = 0; j < set.size; j++)
        right = right && out[j] == gram[col[j] * (N + 1)];
    return right;
}

/* More rows than are put together, the last ones first, apart from each other;
 * every entry that is not copied is counted. */
static bool many_rows_right(struct klr_operator *op, struct klr_set set)
{
    enum { MANY = KLR_STRIP + 9 };
    static float entry[MANY][N];
    static size_t col[N];
    size_t row[MANY];
    void *to[MANY];
    unsigned long long before = op->evaluations;
    bool right = true;
    positions(set, col);
    for (size_t q = 0; q < MANY; q++) {
        row[q] = N - 1 - 14 * q;
        to[q] = entry[(q * 5) % MANY];
    }
    operator_rows_to(op, row, MANY, set, KLR_FLOAT, to);
    for (size_t q = 0; q < MANY; q++)
        for (size_t j = 0; j < set.size; j++)
            right = right && ((float *)to[q])[j] == single[row[q] * N + col[j]];
    if (op->tiles.kept[KLR_FLOAT].stored == 0)
        right = right && op->evaluations - before == MANY * set.size;
    return right;
}

static void test_entries(void)
{
    const struct klr_range odd[] = {{5, 77}, {80, 81}, {300, N}};
    for (size_t t = 0; t < VARIANTS; t++)
        ok(rows_right(&variant[t], set_of(odd, 3)) &&
               many_rows_right(&variant[t], set_of(odd, 3)),
           "rows and diagonal with %zu tiles kept, %zu threads",
           variant[t].tiles.kept[KLR_FLOAT].stored,
           klr_pool_size(variant[t].pool));
}

/* The first rows as other examples, all at once or one by one. */
static void test_cross(struct klr_features other)
{
    struct klr_range all = {0, N}, rows = {0, LEFT};
    for (int p = (int)coarsest(); p <= KLR_DOUBLE; p++) {
        enum klr_precision precision = (enum klr_precision)p;
        bool same = true;
        for (size_t t = 0; t < VARIANTS + 3; t++) {
            struct klr_operator *op = &variant[t % VARIANTS];
            size_t step = t < VARIANTS ? LEFT : 1 + 59 * (t - VARIANTS);
            for (size_t i = 0; i < LEFT; i += step) {
                struct klr_points *left = NULL;
                struct klr_features part = other;
                part.start += i;
                part.n = LEFT - i < step ? LEFT - i : step;
                same = !klr_points_create_like(&left, op->points, &part, NULL,
                                               NULL) &&
                       same;
                operator_cross(op, left, set_of(&all, 1), v, M, precision,
                               out + i * M);
                klr_points_free(left);
            }
            if (t == 0)
                memcpy(first, out, sizeof out);
            same = same && !memcmp(out, first, LEFT * M * sizeof *out);
        }
        ok(same && agrees(set_of(&rows, 1), set_of(&all, 1), M, precision),
           "products with other examples, %s", names[p]);
    }
}

/* Entries are at most three quarters of a unit off: see t-gram. */
static void test_halves(void)
{
    double worst = 0;
    for (size_t t = 0; t < N * N; t++)
        worst = larger_of(worst, fabs(half[t] - 65535.0 * (double)single[t]));
    ok(worst <= 0.75, "fixed16 err by %.4f of a unit at most", worst);
}

static void test_kernel(enum klr_kernel_type type, bool sparse, bool fixed16)
{
    struct klr_kernel kernel = {type, 2, 0.5, 1};
    struct klr_features features = make_features(sparse);
    struct klr_range all = {0, N}, pair[] = {{40, 300}, {700, 890}};
    if (!ok(make_variants(&kernel, &features, fixed16),
            "%s kernel, %s features%s", klr_kernel_names[type],
            sparse ? "sparse" : "dense", fixed16 ? ", fixed16" : ""))
        return;
    struct klr_operator *op = &variant[0];
    klr_gram(op->points, all, op->points, set_of(&all, 1), KLR_DOUBLE, gram, N,
             op->tiles.work->gram);
    klr_gram(op->points, all, op->points, set_of(&all, 1), KLR_FLOAT, single, N,
             op->tiles.work->gram);
    if (fixed16) {
        klr_gram(op->points, all, op->points, set_of(&all, 1), KLR_FIXED16,
                 half, N, op->tiles.work->gram);
        test_halves();
    }
    if (!op->groups && !fixed16) {
        test_fill(&kernel, &features);
        test_patience(&kernel, &features);
        test_measured(&kernel, &features);
    }
    if (!op->groups)
        test_ends();
    test_all_end();
    test_cross(features);
    test_apply();
    test_sparse();
    if (!op->groups) {
        test_few(set_of(&all, 1));
        test_few(set_of(pair, 2));
        test_columns();
        test_counts();
        test_entries();
    }
    free_variants();
    test_shared(&kernel, &features, fixed16);
}

int main(void)
{
    struct klr_kernel given = {KLR_PRECOMPUTED, 0, 0, 0};
    struct klr_features features = make_features(false);
    struct klr_operator op;
    struct klr_error err;
    for (int t = 0; t < 3; t++)
        klr_pool_create(&pool[t], t + 1, NULL);
    test_after();
    test_wait();
    test_price();
    test_slots();
    test_kernel(KLR_RBF, false, false);
    test_kernel(KLR_RBF, false, true);
    test_kernel(KLR_LINEAR, false, false);
    test_kernel(KLR_LINEAR, true, false);
    ok(operator_create(&op, &given, &features, NULL, NULL, 0, &err) ==
               KLR_E_DATA &&
           !op.points && !op.tiles.work,
       "a failure leaves nothing: %s", err.message);
    ok(atomic_load(&wrong_turns) == 0, "turns are passed on once");
    for (int t = 0; t < 3; t++)
        klr_pool_free(pool[t]);
    return done_testing();
}
