/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interruption of a run. To be included after solver.c or solver.h.
 */
#ifndef KLR_TESTS_STOP_H
#define KLR_TESTS_STOP_H

/* Ends a run at its first report, which becomes *context, unless NULL. */
static int stop_at_once(const struct klr_progress *progress, void *context)
{
    if (context)
        *(struct klr_progress *)context = *progress;
    return 1;
}

#endif
