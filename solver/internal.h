/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The solver in rooms, each a folder with one header of its name. The way of
 * the data:
 *
 *   file -> problem -> partition, operator -> solver -> model -> probabilities
 *
 * A room uses the rooms of its own floor and of those below, by their header
 * alone (make check-floors):
 *
 *   floor 8   validate compress inspect         folds, grids; small models;
 *                                               questions
 *   floor 7   train                             all machines of a model
 *   floor 6   model                             files, predictions
 *   floor 5   smo newton variants basis subspace fisher  solvers
 *   floor 4   solve                             the problem they are given
 *   floor 3   matrix                            factors, preconditioners
 *   floor 2   gram                              K times vectors, rows, columns
 *   floor 1   loss                              losses, links
 *   floor 0   data params                       examples, options
 *
 * What is under all floors: base/, kernel.h and solver.h.
 */
#ifndef KLR_SOLVER_INTERNAL_H
#define KLR_SOLVER_INTERNAL_H

#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/features/feature_table.h"
#include "base/features/packed.h"
#include "base/features/scaling.h"
#include "base/hash.h"
#include "base/machine/cpu.h"
#include "base/machine/system.h"
#include "base/machine/vectors.h"
#include "base/memory.h"
#include "base/numbers.h"
#include "base/text.h"
#include "base/threads.h"
#include "solver.h"

#endif
