/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Template: the loops of SMO over a part of a row, for one instruction set.
 * Whoever includes it defines
 *
 *   NAME(x)    x with the suffix of the instruction set
 *   TARGET     the function attribute that admits its instructions
 *   BYTES      of a vector: 16 or 32
 *   SIDES(p)   the bytes from p on, as integers of the size of a double
 *   MAX(a, b)  of vectors, element by element
 *   ANY(m)     not 0 if any integer of a vector is not; each has equal bits
 *
 * Elements are independent but for the largest of them, which has no order, and
 * none is fused: so values do not depend on the instruction set.
 */
#define LOCAL    static inline __attribute__((always_inline)) TARGET
#define LANES_OF (BYTES / sizeof(double))

typedef double NAME(doubles)
    __attribute__((vector_size(BYTES), aligned(8), __may_alias__));
typedef int64_t NAME(integers)
    __attribute__((vector_size(BYTES), aligned(8), __may_alias__));
typedef float NAME(half_vector)
    __attribute__((vector_size(BYTES / 2), aligned(4), __may_alias__));
#define doubles     NAME(doubles)
#define integers    NAME(integers)
#define half_vector NAME(half_vector)
#define row_load    NAME(row_load)
#define side_mask   NAME(side_mask)
#define masked      NAME(masked)
#define largest     NAME(largest)
#define update_part NAME(update_part)
#define gain_part   NAME(gain_part)

LOCAL doubles row_load(const void *row, enum klr_precision precision, size_t k)
{
    if (precision == KLR_FLOAT)
        return __builtin_convertvector(
            *(const half_vector *)((const float *)row + k), doubles);
    return *(const doubles *)((const double *)row + k);
}

/* All bits where the example is on that side. */
LOCAL integers side_mask(const unsigned char *side, enum smo_side which)
{
    integers sides = (integers)SIDES(side);
    return (sides & (int64_t)which) == (int64_t)which;
}

LOCAL doubles masked(doubles x, integers mask, double otherwise)
{
    integers other = (integers)(otherwise - (doubles){0});
    return (doubles)(((integers)x & mask) | (other & ~mask));
}

LOCAL double largest(doubles x)
{
    double most = x[0];
    for (size_t t = 1; t < LANES_OF; t++)
        most = x[t] > most ? x[t] : most;
    return most;
}

LOCAL double update_part(size_t count, double t, const void *row_i,
                         const void *row_j, enum klr_precision precision,
                         double *s, const unsigned char *side)
{
    doubles most = -INFINITY - (doubles){0};
    size_t k = 0;
    for (; k + LANES_OF <= count; k += LANES_OF) {
        doubles x = *(doubles *)(s + k) - t * (row_load(row_i, precision, k) -
                                               row_load(row_j, precision, k));
        *(doubles *)(s + k) = x;
        x = masked(x, side_mask(side + k, SMO_CAN_RISE), -INFINITY);
        most = (doubles)MAX(x, most);
    }
    double best = largest(most);
    for (; k < count; k++) {
        s[k] -= t * (smo_entry(row_i, precision, k) -
                     smo_entry(row_j, precision, k));
        if ((side[k] & SMO_CAN_RISE) && s[k] > best)
            best = s[k];
    }
    return best;
}

LOCAL double gain_part(const struct smo_pick *pick, size_t count,
                       const void *row, enum klr_precision precision,
                       const double *s, const double *hessian,
                       const unsigned char *side, double *least)
{
    doubles most = {0}, below = -INFINITY - (doubles){0};
    doubles tiny = smo_tiny - (doubles){0};
    size_t k = 0;
    for (; k + LANES_OF <= count; k += LANES_OF) {
        doubles x = *(const doubles *)(s + k);
        integers can = side_mask(side + k, SMO_CAN_FALL);
        below = (doubles)MAX(masked(-x, can, -INFINITY), below);
        doubles v = pick->s - x, gain = v;
        if (row) {
            doubles q = pick->hessian + *(const doubles *)(hessian + k) -
                        2 * row_load(row, precision, k);
            gain = v * v / (doubles)MAX(q, tiny);
        }
        can &= v > pick->eps;
        most = (doubles)MAX(masked(gain, can, 0), most);
    }
    double best = largest(most), over = largest(below);
    for (; k < count; k++) {
        if (!(side[k] & SMO_CAN_FALL))
            continue;
        double gain = smo_gain(pick, s[k], hessian[k], row, precision, k);
        over = -s[k] > over ? -s[k] : over;
        best = gain > best ? gain : best;
    }
    *least = -over < *least ? -over : *least;
    return best;
}

TARGET static double NAME(sweep_update)(size_t count, double t,
                                        const void *row_i, const void *row_j,
                                        enum klr_precision precision, double *s,
                                        const unsigned char *side)
{
    return precision == KLR_FLOAT
               ? update_part(count, t, row_i, row_j, KLR_FLOAT, s, side)
               : update_part(count, t, row_i, row_j, KLR_DOUBLE, s, side);
}

TARGET static double NAME(sweep_gain)(const struct smo_pick *pick, size_t count,
                                      const void *row,
                                      enum klr_precision precision,
                                      const double *s, const double *hessian,
                                      const unsigned char *side, double *least)
{
    if (!row)
        return gain_part(pick, count, NULL, KLR_FLOAT, s, hessian, side, least);
    return precision == KLR_FLOAT
               ? gain_part(pick, count, row, KLR_FLOAT, s, hessian, side, least)
               : gain_part(pick, count, row, KLR_DOUBLE, s, hessian, side,
                           least);
}

TARGET static size_t NAME(sweep_violator)(const struct smo_bounds *bounds,
                                          size_t count, const double *s,
                                          const unsigned char *side)
{
    size_t k = 0;
    for (; k + LANES_OF <= count; k += LANES_OF) {
        doubles x = *(const doubles *)(s + k);
        integers rise = side_mask(side + k, SMO_CAN_RISE) & (x > bounds->rise);
        integers fall = side_mask(side + k, SMO_CAN_FALL) & (x < bounds->fall);
        if (ANY(rise | fall))
            break;
    }
    while (k < count && !smo_side_beyond(bounds, s[k], side[k]))
        k++;
    return k;
}

#undef doubles
#undef integers
#undef half_vector
#undef row_load
#undef side_mask
#undef masked
#undef largest
#undef update_part
#undef gain_part
#undef LOCAL
#undef LANES_OF
#undef NAME
#undef TARGET
#undef BYTES
#undef SIDES
#undef MAX
#undef ANY
