/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is asked of a processor, and the instruction sets for which there is
 * code of its own.
 */
#ifndef KLR_BASE_CPU_H
#define KLR_BASE_CPU_H

#include <float.h>

/* Some code computes the rounding error of an operation, and results must be
 * the same everywhere: so a compiler may not keep more digits than a type
 * has. */
#if FLT_EVAL_METHOD != 0
#error "floats are to be computed as such: to CFLAGS add, on i386, \
-msse2 -mfpmath=sse, else -fexcess-precision=fast"
#endif

/* NaN and infinity are answers, too, and sums keep their order. */
#if defined __FAST_MATH__ || __FINITE_MATH_ONLY__ ||                           \
    defined __ASSOCIATIVE_MATH__ || defined __RECIPROCAL_MATH__
#error "CFLAGS are to be without -ffast-math, its parts, and -Ofast"
#endif

/* Each one includes those before it. */
enum klr_cpu {
    KLR_CPU_PORTABLE,
    KLR_CPU_AVX2,  /* with FMA */
    KLR_CPU_AVX512 /* F */
};

/* The best one that this processor and its system have, or, if that is less,
 * the one that the environment variable KLR_CPU names: portable, avx2 or
 * avx512; other values count as avx512. */
enum klr_cpu klr_cpu(void);

#endif
