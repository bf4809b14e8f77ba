/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Template, a part of tile.h: powers of 2 and of others, tanh, and the logistic
 * function, of the elements of vectors.
 */

/* Adding this rounds x <= 0 to an integer n, which stands in the last bits. */
#define TO_INTEGER ((REAL)(INT64_C(3) << (POINT - 1)) - LOWEST)

/* 2^(n + x) for |x| <= 1/2, given n + TO_INTEGER, within 2 units in the last
 * place; 2^0 = 1 exactly, and n = LOWEST gives 0. 2 2^x = 2 + x p(x), where p
 * interpolates 2 (2^x - 1) / x at the Chebyshev points, meets 2^(n-1), whose
 * biased exponent is what the last bits are. Vectors go side by side: one alone
 * would wait for each of its operations. */
LOCAL void NAME(scaled)(const size_t beside, reals x[GROUP],
                        const reals n[GROUP])
{
    reals scale[GROUP], p[GROUP];
    EACH(q) scale[q] = (reals)((bits)n[q] << POINT);
    EACH(q) p[q] = NAME(all)(POWERS[0]);
#pragma GCC unroll 16
    for (size_t c = 1; c < sizeof POWERS / sizeof *POWERS; c++)
        EACH(q) p[q] = FMA(p[q], x[q], NAME(all)(POWERS[c]));
    EACH(q) x[q] = p[q] * scale[q];
}

/* 2^x for x <= 0; 0 half a power above the lowest. */
LOCAL void NAME(powers)(const size_t beside, reals x[GROUP])
{
    reals n[GROUP];
    EACH(q) x[q] = MOST(x[q], NAME(all)(LOWEST));
    EACH(q) n[q] = x[q] + TO_INTEGER;
    EACH(q) x[q] -= n[q] - TO_INTEGER;
    NAME(scaled)(beside, x, n);
}

/* tanh within 2 units in the last place: x + x^3 q(x^2) up to 0.65, with q from
 * Chebyshev points as above, then (1 - e) / (1 + e); e is e^(-2 |x|). */
LOCAL reals NAME(tanh)(reals x, reals e)
{
    reals size = NAME(abs)(x), square = x * x;
    reals far = (1 - e) / (1 + e);
    reals q = NAME(all)(TANHS[0]);
#pragma GCC unroll 16
    for (size_t c = 1; c < sizeof TANHS / sizeof *TANHS; c++)
        q = FMA(q, square, NAME(all)(TANHS[c]));
    reals near = FMA(size * square, q, size);
    reals value = NAME(choose)(size < (REAL)0.65, near, far);
    return (reals)((bits)value | ((bits)x & SIGN_BIT));
}

#ifdef LOGS
/* e^x for x <= 0: x = n log 2 + r, the first part of log 2 times n exact. */
LOCAL void NAME(exponentials)(const size_t beside, reals x[GROUP])
{
    const REAL log2 = 0x1.62e42fefa2p-1, rest = 0x1.9ef35793c7673p-41;
    const REAL per_log2 = 0x1.71547652b82fep+0;
    reals n[GROUP], whole[GROUP];
    EACH(q) x[q] = MOST(x[q], NAME(all)(LOWEST * log2));
    EACH(q) n[q] = x[q] * per_log2 + TO_INTEGER;
    EACH(q) whole[q] = n[q] - TO_INTEGER;
    EACH(q) x[q] = ((x[q] - whole[q] * log2) - whole[q] * rest) * per_log2;
    NAME(scaled)(beside, x, n);
}

/* log(1 + e) for 0 <= e <= 1 is 2 artanh s = 2 s + s^3 q(s^2) for s = e / (2 +
 * e), with q from Chebyshev points as above. */
LOCAL reals NAME(log_above)(reals e)
{
    reals s = e / (2 + e), square = s * s;
    reals q = NAME(all)(LOGS[0]);
#pragma GCC unroll 16
    for (size_t c = 1; c < sizeof LOGS / sizeof *LOGS; c++)
        q = FMA(q, square, NAME(all)(LOGS[c]));
    return FMA(s * square, q, s + s);
}

static TARGET void NAME(logistic)(size_t n, const REAL *z, REAL *p, REAL *rest,
                                  REAL *loss)
{
    const size_t beside = GROUP;
    for (size_t i = 0; i < n; i += beside * WIDE) {
        reals e[GROUP];
        EACH(q) e[q] = -NAME(abs)(((const reals *)(z + i))[q]);
        NAME(exponentials)(beside, e);
        EACH(q)
        {
            reals x = ((const reals *)(z + i))[q];
            e[q] = NAME(choose)(x == x, e[q], x);
            reals near = 1 / (1 + e[q]), far = e[q] * near;
            ((reals *)(p + i))[q] = NAME(choose)(x > 0, near, far);
            ((reals *)(rest + i))[q] = NAME(choose)(x > 0, far, near);
            if (loss)
                ((reals *)(loss + i))[q] =
                    NAME(choose)(x > 0, x, (reals){0}) + NAME(log_above)(e[q]);
        }
    }
}
#define LOGISTIC NAME(logistic)
#else
#define LOGISTIC NULL
#endif

LOCAL reals NAME(power)(reals base, int degree)
{
    reals power = NAME(all)(1);
    for (; degree > 0; degree /= 2) {
        if (degree % 2)
            power *= base;
        if (degree > 1)
            base *= base;
    }
    return power;
}
