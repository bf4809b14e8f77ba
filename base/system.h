/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What this process may use: memory and time.
 */
#ifndef KLR_BASE_SYSTEM_H
#define KLR_BASE_SYSTEM_H

#include <stddef.h>

/* Bytes of memory this process may use: the machine's, or the limit of its
 * control group (v1 or v2) or address space (RLIMIT_AS) where that is less. */
size_t klr_memory_limit(void);

/* Seconds on a clock that only goes forward. */
double klr_seconds(void);

#endif
