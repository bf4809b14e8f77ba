/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Laplacians of graphs, factored without subtractions, as stars that become
 * meshes (Grassmann, Taksar & Heyman 1985), so that columns of tiny weights
 * keep all digits.
 */
#include "solver/loss/loss.h"

static void laplacian_factor(size_t k, double *w)
{
    for (size_t a = 0; a < k; a++) {
        double degree = 0;
        for (size_t b = a + 1; b < k; b++)
            degree += w[a * k + b];
        w[a * k + a] = degree;
        for (size_t b = a + 1; b < k && degree > 0; b++)
            for (size_t c = b + 1; c < k; c++)
                w[b * k + c] += w[a * k + b] / degree * w[a * k + c];
    }
}

static void laplacian_solve(size_t k, const double *w, double *x)
{
    double sum = 0;
    for (size_t a = 0; a < k; a++)
        for (size_t b = a + 1; b < k && w[a * k + a] > 0; b++)
            x[b] += w[a * k + b] / w[a * k + a] * x[a];
    for (size_t a = k; a-- > 0;) {
        double flow = a + 1 < k ? x[a] : 0;
        for (size_t b = a + 1; b < k; b++)
            flow += w[a * k + b] * x[b];
        x[a] = w[a * k + a] > 0 ? flow / w[a * k + a] : 0;
        sum += x[a];
    }
    for (size_t a = 0; a < k; a++)
        x[a] -= sum / (double)k;
}
