/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All that is under the kernel and the solver, as one translation unit.
 */

/* ---- errors, memory, text ---- */

#include "base/error.c"   /* errors, and what they quote */
#include "base/memory.c"  /* sizes and blocks */
#include "base/hash.c"    /* of 64 bits */
#include "base/text.c"    /* a text that grows */
#include "base/numbers.c" /* decimal to double and back */

/* ---- options ---- */

#include "base/option.c"      /* options as data */
#include "base/option_text.c" /* and as they would be written */

/* ---- files ---- */

#include "base/files/input.c"  /* lines of a file */
#include "base/files/output.c" /* output that appears whole or not at all */

/* ---- features ---- */

#include "base/features/packed.c"        /* values in few bytes */
#include "base/features/feature_table.c" /* numbers of names */
#include "base/features/scaling.c"       /* what is learnt from rows */

/* ---- the machine ---- */

#include "base/machine/cpu.c"    /* instructions there are */
#include "base/machine/system.c" /* limits of memory, processors */
#include "base/threads.c"        /* a pool of threads */
