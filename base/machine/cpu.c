/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the processor can do. Asking for AVX-512 also asks for AVX2: the code
 * for the former falls back on instructions of the latter.
 */
#include "base/machine/cpu.h"

#include <stdlib.h>
#include <string.h>

static enum klr_cpu cpu_present(void)
{
#if defined __x86_64__
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return KLR_CPU_PORTABLE;
    return __builtin_cpu_supports("avx512f") ? KLR_CPU_AVX512 : KLR_CPU_AVX2;
#else
    return KLR_CPU_PORTABLE;
#endif
}

enum klr_cpu klr_cpu(void)
{
    static const char *const names[] = {"portable", "avx2"};
    enum klr_cpu cpu = cpu_present();
    const char *wish = getenv("KLR_CPU");
    for (int level = KLR_CPU_PORTABLE; wish && level < (int)cpu; level++)
        if (strcmp(wish, names[level]) == 0)
            return (enum klr_cpu)level;
    return cpu;
}
