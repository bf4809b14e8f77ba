/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The preconditioner of coef_deflation.c by columns of K. At a small width the
 * hinge loss of an svm has W_i at the few examples F on the margin, and next to
 * nothing elsewhere; any loss may have it so where there are few examples. H is
 * then I + K_F V_F K_F' nearly, which is M if Q spans the columns k_i of F:
 * Newton's direction takes a conjugate gradient or two.
 *
 * What M asks of Z = K Q are the rows k_i'Q of F, and these are the
 * coefficients of k_i in Q, known from making it orthonormal: no product is
 * needed. Columns stay when weights change, and others join.
 */
#include "solver/variants/coef.h"

enum {
    COLUMNS_MOST = 1536, /* of K, on the margin */
    COLUMNS_AT_ONCE = 16
};

static double coef_columns_bytes(size_t n)
{
    return deflation_bytes(n, COLUMNS_MOST) +
           (double)n * (sizeof(bool) + sizeof(size_t) +
                        COLUMNS_AT_ONCE * sizeof(double));
}

static int coef_columns_create(struct coef_columns *columns,
                               const struct binary_problem *problem,
                               struct klr_arena *arena, struct klr_error *err)
{
    size_t n = problem->n;
    int code = deflation_create(&columns->m, problem, COLUMNS_MOST, arena, err);
    if (!code && (!KLR_TAKE_ZERO(arena, columns->has, n, 1, err) ||
                  !KLR_TAKE(arena, columns->m.place, n, 1, err) ||
                  !KLR_TAKE(arena, columns->row, COLUMNS_AT_ONCE, n, err)))
        code = KLR_E_MEMORY;
    return code;
}

static void coef_columns_forget(struct coef_columns *columns)
{
    memset(columns->has, 0, columns->m.n * sizeof *columns->has);
    columns->m.rank = columns->m.rows = 0;
}

/* The weights of all others together add sum W_i |k_i|^2 <= 1 to H, about. */
static bool coef_columns_want(const struct coef *c, size_t i)
{
    return c->w[i] * c->square * (double)c->n > 1;
}

/* The columns that are to join. False: the clock ended that. */
static bool coef_columns_join(struct coef *c)
{
    const struct binary_problem *b = c->problem;
    struct coef_columns *columns = &c->columns;
    size_t place[COLUMNS_AT_ONCE], position[COLUMNS_AT_ONCE], count = 0;
    for (size_t i = 0; i < c->n; i++) {
        if (coef_columns_want(c, i) && !columns->has[i]) {
            place[count] = i;
            position[count++] = set_position(b->set, i);
        }
        if (count < COLUMNS_AT_ONCE && i + 1 < c->n)
            continue;
        if (count > 0 && !operator_rows(b->op, position, count, b->set,
                                        KLR_DOUBLE, columns->row, c->n))
            return false;
        for (size_t q = 0; q < count; q++) {
            deflation_add_column(&columns->m, place[q],
                                 columns->row + q * c->n);
            columns->has[place[q]] = true;
        }
        count = 0;
    }
    return true;
}

/* To make columns orthonormal takes 4 n operations for each one and each of the
 * others, a product 2 n^2: columns are bought with the products that directions
 * have taken. */
static struct deflation *coef_preconditioner(struct coef *c)
{
    struct coef_columns *columns = &c->columns;
    double count = 0, missing = 0, n = (double)c->n;
    for (size_t i = 0; i < c->n; i++) {
        count += coef_columns_want(c, i);
        missing += coef_columns_want(c, i) && !columns->has[i];
    }
    bool full = (double)columns->m.rank + missing > (double)columns->m.room;
    double cost = 2 * (full ? count : missing) * count / n;
    if (count > (double)columns->m.room || cost > c->products)
        return &c->deflation;
    c->products -= cost;
    if (full)
        coef_columns_forget(columns);
    return coef_columns_join(c) ? &columns->m : NULL;
}
