/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The instruction sets for which there is code of its own.
 */
#ifndef KLR_BASE_CPU_H
#define KLR_BASE_CPU_H

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
