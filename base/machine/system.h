/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What this process may use: memory, processors, time; and where files are.
 */
#ifndef KLR_BASE_SYSTEM_H
#define KLR_BASE_SYSTEM_H

#include <stddef.h>

/* Bytes of memory this process may use: the machine's, or the limit of its
 * control group (v1 or v2), as the first call finds it, or address space
 * (RLIMIT_AS) where that is less. */
size_t klr_memory_limit(void);

/* Processors this process may use: those it may be scheduled on, or the quota
 * of its control group (v1 or v2), rounded up, where that is less; at least
 * 1. */
size_t klr_processors(void);

/* The number of the mount that `path` leads to; -1 where the system does not
 * say. */
int klr_mount_of(const char *path);

/* Seconds on a clock that only goes forward. */
double klr_seconds(void);

#endif
