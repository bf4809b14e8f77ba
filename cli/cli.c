/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the library and the three programs, as one translation unit: what all
 * programs share, then a room for each task.
 */

/* ---- all programs ---- */

#include "cli/messages.c"      /* one line each, on stderr */
#include "cli/signals.c"       /* those that end a program */
#include "cli/options.c"       /* the command line */
#include "cli/help.c"          /* the text of --help */
#include "cli/progress.c"      /* a line that tells how far it is */
#include "cli/costs.c"         /* what errors cost */
#include "cli/answers.c"       /* predictions as text */
#include "cli/print_metrics.c" /* how good they are */
#include "cli/feature_use.c"   /* features unlike those of a model */

/* ---- klr-scale ---- */

#include "cli/scale/range_file.c"  /* ranges in a file */
#include "cli/scale/scale_run.c"   /* what is learnt from the rows */
#include "cli/scale/scaled_rows.c" /* rows as they are written */

/* ---- klr-predict ---- */

#include "cli/predict/load_model.c"     /* what must be there first */
#include "cli/predict/read_rows.c"      /* rows in */
#include "cli/predict/answer_rows.c"    /* answers out */
#include "cli/predict/predict_report.c" /* what is told at the end */

/* ---- the log of a grid ---- */

#include "cli/log/read_lines.c"  /* its lines as they are read */
#include "cli/log/write_lines.c" /* and written */
#include "cli/log/run_log.c"     /* points kept and recalled */

/* ---- klr-train ---- */

#include "cli/train/take_options.c"        /* those that no table holds */
#include "cli/train/prepare_run.c"         /* what is refused at once */
#include "cli/train/read_values.c"         /* a value for each example */
#include "cli/train/read_folds.c"          /* folds */
#include "cli/train/read_data.c"           /* the training set */
#include "cli/train/data_warnings.c"       /* what it lacks */
#include "cli/train/problem_text.c"        /* the problem in words */
#include "cli/train/validate_points.c"     /* at one point or many */
#include "cli/train/validation_warnings.c" /* of the choice */
#include "cli/train/write_held_out.c"      /* predictions of the folds */
#include "cli/train/print_cuts.c"          /* thresholds to decide by */
#include "cli/train/fit_models.c"          /* a model for each C */
#include "cli/train/print_spectrum.c"      /* of the kernel matrix */
#include "cli/train/run_report.c"          /* what is told of a run */

/* ---- --auto ---- */

#include "cli/search/search_points.c" /* points that are validated */
#include "cli/search/search_basis.c"  /* the training that follows */
#include "cli/search/search_report.c" /* what a search tells */
#include "cli/search/search.c"        /* its three stages */
