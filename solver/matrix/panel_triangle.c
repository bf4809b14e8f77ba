/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Positive definite matrices A = R'R in double, R upper triangular, in panels
 * of KLR_BAND columns. Band by band, the triangle on the diagonal is factored,
 * and then the panels to the right of it are tasks of the pool: from each the
 * product of what lies above is subtracted, and it is divided by the triangle.
 * Elements depend on the columns up to their own, in an order that these fix:
 * a matrix with more columns has the same factor in the first ones.
 */
#include "solver/matrix/matrix.h"

enum { PANEL_AREA = KLR_BAND * KLR_BAND };

static size_t panels_bands(size_t n)
{
    return (n + KLR_BAND - 1) / KLR_BAND;
}

static size_t panels_size(size_t n)
{
    size_t bands = panels_bands(n);
    return bands * (bands + 1) / 2 * PANEL_AREA;
}

/* Panel j, from row 0 on. */
static double *panel_begin(const struct panels *p, size_t j)
{
    return p->value + j * (j + 1) / 2 * PANEL_AREA;
}

static double *panels_at(const struct panels *p, size_t r, size_t c)
{
    return panel_begin(p, c / KLR_BAND) + r * KLR_BAND + c % KLR_BAND;
}

/* ---- factoring ---- */

struct panel_step {
    struct panels *p;
    const double *least;
    bool *drop;  /* or NULL */
    size_t band; /* that is worked on */
};

/* to (rows of the band, KLR_BAND) -= what panel k and x, from band `first` on,
 * share above them. */
static void panel_reduce(const struct panels *p, size_t first, size_t k,
                         const double *x, double *to)
{
    double out[PANEL_AREA];
    size_t rows = band_rows(p->n, k * KLR_BAND);
    if (k == first)
        return;
    p->dense->gram((k - first) * KLR_BAND,
                   panel_begin(p, k) + first * PANEL_AREA, x, KLR_DOUBLE,
                   KLR_BAND, rows, KLR_BAND, out);
    for (size_t e = 0; e < rows * KLR_BAND; e++)
        to[e] -= out[e];
}

/* The triangle on the diagonal of the band. */
static void panel_diagonal(const struct panel_step *s)
{
    size_t first = s->band * KLR_BAND, rows = band_rows(s->p->n, first);
    double *a = panels_at(s->p, first, first);
    panel_reduce(s->p, 0, s->band, panel_begin(s->p, s->band), a);
    for (size_t i = 0; i < rows; i++) {
        double *row = a + i * KLR_BAND, least = s->least[first + i];
        bool low = !(row[i] > least);
        if (s->drop && low) {
            s->drop[first + i] = true;
            memset(row + i, 0, (KLR_BAND - i) * sizeof *row);
            row[i] = 1;
            continue;
        }
        s->p->raised = s->p->raised || low;
        row[i] = sqrt(low ? least : row[i]);
        for (size_t j = i + 1; j < rows; j++)
            row[j] /= row[i];
        for (size_t r = i + 1; r < rows; r++)
            for (size_t j = r; j < rows; j++)
                a[r * KLR_BAND + j] -= row[r] * row[j];
    }
}

/* The rows of the band in a panel to the right. */
static void panel_task(void *context, size_t task, size_t thread)
{
    const struct panel_step *s = context;
    const struct panels *p = s->p;
    size_t first = s->band * KLR_BAND;
    double *panel = panel_begin(p, s->band + 1 + task);
    double *to = panel + first * KLR_BAND;
    (void)thread;
    panel_reduce(p, 0, s->band, panel, to);
    p->dense->divide(KLR_BAND, panels_at(p, first, first), KLR_BAND, KLR_BAND,
                     to, KLR_BAND);
    for (size_t r = 0; s->drop && r < KLR_BAND; r++)
        if (s->drop[first + r])
            memset(to + r * KLR_BAND, 0, KLR_BAND * sizeof *to);
}

/* Rows and columns that are dropped leave R; elements move to the left and
 * upwards, never past one that is still to move. */
static void panels_compact(struct panels *p, const bool *drop)
{
    size_t to_c = 0, n = p->n;
    for (size_t c = 0; c < n; c++) {
        for (size_t r = 0, to_r = 0; r <= c && !drop[c]; r++)
            if (!drop[r])
                *panels_at(p, to_r++, to_c) = *panels_at(p, r, c);
        to_c += !drop[c];
    }
    p->n = to_c;
}

static bool panels_factor(struct panels *p, const double *least, bool *drop)
{
    struct panel_step step = {.p = p, .least = least, .drop = drop};
    size_t bands = panels_bands(p->n);
    p->raised = false;
    for (step.band = 0; step.band < bands; step.band++) {
        panel_diagonal(&step);
        if (!klr_pool_run(p->pool, bands - step.band - 1, panel_task, &step))
            return false;
    }
    if (drop)
        panels_compact(p, drop);
    return true;
}

/* ---- solving ---- */

static void panels_forward(const struct panels *p, double *x)
{
    for (size_t first = 0; first < p->n; first += KLR_BAND) {
        const double *panel = panel_begin(p, first / KLR_BAND);
        size_t rows = band_rows(p->n, first);
        double sum[KLR_BAND] = {0};
        for (size_t r = 0; r < first; r++)
            for (size_t c = 0; c < KLR_BAND; c++)
                sum[c] += panel[r * KLR_BAND + c] * x[r];
        for (size_t i = 0; i < rows; i++) {
            const double *row = panel + (first + i) * KLR_BAND;
            double v = x[first + i] = (x[first + i] - sum[i]) / row[i];
            for (size_t c = i + 1; c < rows; c++)
                sum[c] += row[c] * v;
        }
    }
}

static void panels_backward(const struct panels *p, double *x)
{
    for (size_t band = panels_bands(p->n); band-- > 0;) {
        size_t first = band * KLR_BAND, rows = band_rows(p->n, first);
        const double *panel = panel_begin(p, band);
        for (size_t i = rows; i-- > 0;) {
            const double *row = panel + (first + i) * KLR_BAND;
            for (size_t c = i + 1; c < rows; c++)
                x[first + i] -= row[c] * x[first + c];
            x[first + i] /= row[i];
        }
        for (size_t r = 0; r < first; r++)
            x[r] -= dot(rows, panel + r * KLR_BAND, x + first);
    }
}

static void panels_divide_from(const struct panels *p, size_t from, double *x)
{
    double *to = x;
    for (size_t first = from; first < p->n; first += KLR_BAND) {
        panel_reduce(p, from / KLR_BAND, first / KLR_BAND, x, to);
        p->dense->divide(band_rows(p->n, first), panels_at(p, first, first),
                         KLR_BAND, KLR_BAND, to, KLR_BAND);
        to += PANEL_AREA;
    }
}

static void panels_divide(const struct panels *p, double *x)
{
    panels_divide_from(p, 0, x);
}
