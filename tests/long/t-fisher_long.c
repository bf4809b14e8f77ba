/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exact kernel Fisher discriminants of the data sets in $KLR_DATA against dense
 * solutions from the definition.
 */
#include "solver.c"

#include "tests/tap.h"

#include "tests/discriminants.h"

int main(void)
{
    static const char *const set[] = {"heart", "sonar", "ionosphere",
                                      "diabetes"};
    const char *folder = getenv("KLR_DATA");
    for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s.svm", folder ? folder : "", set[i]);
        if (folder)
            test_data(path);
        else
            ok(true, "%s # SKIP KLR_DATA is not set", set[i]);
    }
    return done_testing();
}
