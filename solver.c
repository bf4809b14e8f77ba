/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The solver: one translation unit, room by room, from the ground up; the plan
 * is solver/internal.h. Each part also parses on its own (make check-parts).
 *
 * A test that includes it for the statics of a room stops on SOLVER_FLOOR, and
 * takes what is above from the archive, where it has been compiled already.
 */
#include "solver/internal.h"

#ifndef SOLVER_FLOOR
#define SOLVER_FLOOR 8
#elif defined(__GNUC__) /* nobody above uses all statics */
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

/* ---- examples in ---- */

#include "solver/data/names.c"           /* classes with names */
#include "solver/data/svmlight.c"        /* the tokenizer */
#include "solver/data/problem.c"         /* data sets in memory */
#include "solver/data/problem_arrays.c"  /* and from arrays there */
#include "solver/data/problem_scaling.c" /* features scaled */
#include "solver/data/sets.c"            /* sets of positions */
#include "solver/data/random.c"          /* order and chance */
#include "solver/data/partition.c"       /* the order of examples */
#include "solver/data/problem_sample.c"  /* rows drawn */
#include "solver/data/repeats.c"         /* equal ones as one */

/* ---- parameters ---- */

#include "solver/params/params_table.c" /* names, ranges, defaults */
#include "solver/params/params.c"       /* what follows from them alone */

/* ---- losses ---- */

#include "solver/loss/link.c"         /* the logistic function; links */
#include "solver/loss/link_fit.c"     /* links that are fitted */
#include "solver/loss/loss.c"         /* losses, their conjugates */
#include "solver/loss/losses.c"       /* of all examples, and the threshold */
#include "solver/loss/laplacian.c"    /* graphs of classes */
#include "solver/loss/softmax_loss.c" /* the loss of a softmax, thresholds */

/* ---- K times vectors ---- */

#include "solver/gram/gram_tiles.c"      /* parts of K: stored or computed */
#include "solver/gram/operator_tiles.c"  /* products by tiles */
#include "solver/gram/operator_linear.c" /* or by features */
#include "solver/gram/operator.c"        /* K: made ready, its products */
#include "solver/gram/operator_sparse.c" /* of few examples */
#include "solver/gram/operator_rows.c"   /* its rows and diagonal */
#include "solver/gram/columns.c"         /* products with few coefficients */

/* ---- matrices that are factored ---- */

#include "solver/matrix/triangle.c"         /* dense triangles */
#include "solver/matrix/panel_triangle.c"   /* and those in panels of columns */
#include "solver/matrix/lowrank_features.c" /* features that weigh most */
#include "solver/matrix/lowrank.c" /* a preconditioner of low rank, weighted */
#include "solver/matrix/lowrank_pivots.c" /* and its columns */
#include "solver/matrix/cholesky.c"       /* one of full rank, in floats */
#include "solver/matrix/small_hessian.c"  /* Hessians of few columns */
#include "solver/matrix/tridiagonal.c"    /* all of a spectrum */
#include "solver/matrix/lanczos.c"        /* the ends of one */
#include "solver/matrix/shortfall.c"      /* how negative it is at most */

/* ---- what every solver needs ---- */

#include "solver/solve/binary_problem.c" /* the problem */
#include "solver/solve/budget.c"         /* limits, interruption, progress */
#include "solver/solve/certificate.c"    /* points judged as they are saved */
#include "solver/solve/lambda_bound.c"   /* limits of lambda */

#if SOLVER_FLOOR >= 5

/* ---- decomposition of the dual ---- */

#include "solver/smo/smo_line.c"    /* the step along a line */
#include "solver/smo/smo_sweep.c"   /* loops over rows of K */
#include "solver/smo/smo_rows.c"    /* these rows */
#include "solver/smo/smo_shrink.c"  /* examples set aside */
#include "solver/smo/smo_start.c"   /* where it begins */
#include "solver/smo/smo_linear.c"  /* or, of a linear kernel, ends */
#include "solver/smo/smo_step.c"    /* a pair moves along its line */
#include "solver/smo/smo_gap.c"     /* objectives, and what is handed on */
#include "solver/smo/smo.c"         /* the method */
#include "solver/smo/smo_improve.c" /* from a point that is given */
#include "solver/smo/smo_keerthi.c" /* its outer loop, to first order */

/* ---- truncated Newton ---- */

#include "solver/newton/newton_step.c"        /* the step */
#include "solver/newton/softmax_precond.c"    /* and its preconditioner */
#include "solver/newton/newton_from_path.c"   /* a start between known points */
#include "solver/newton/newton_from_subset.c" /* or a subset */
#include "solver/newton/newton_gap.c"         /* objectives and gap */
#include "solver/newton/newton_foresee.c"     /* what L foresees */
#include "solver/newton/newton_by_pairs.c"    /* where pairs do better */
#include "solver/newton/newton.c"  /* the method, for the logistic loss */
#include "solver/newton/softmax.c" /* and for that of all classes at once */

/* ---- other solvers of klr, and of svm ---- */

#include "solver/variants/trirls.c" /* reweighted least squares, ended early */
#include "solver/variants/coef_deflation.c" /* its preconditioner */
#include "solver/variants/coef_columns.c"   /* by columns of K */
#include "solver/variants/coef_point.c"     /* for |beta|^2: the point */
#include "solver/variants/coef_step.c"      /* directions */
#include "solver/variants/coef_descend.c"   /* steps at one C */
#include "solver/variants/coef.c"           /* and the method */

/* ---- few kernels ---- */

#include "solver/basis/ivm_candidates.c" /* points that may join */
#include "solver/basis/ivm.c"            /* points chosen greedily */
#include "solver/basis/lhalf.c" /* half thresholding: an l1/2 regularizer */

/* ---- klr in the span of few kernels ---- */

#include "solver/subspace/subspace_sweep.c"   /* K of points and examples */
#include "solver/subspace/subspace_sample.c"  /* a sample, a preconditioner */
#include "solver/subspace/subspace_loss.c"    /* losses of two classes */
#include "solver/subspace/subspace_softmax.c" /* and of a softmax */
#include "solver/subspace/subspace_newton.c"  /* the method, the gap */
#include "solver/subspace/subspace_level.c"   /* some examples for all */
#include "solver/subspace/subspace_share.c"  /* machines with the same points */
#include "solver/subspace/subspace_grow.c"   /* points by growing */
#include "solver/subspace/subspace_bound.c"  /* the gap to all points */
#include "solver/subspace/subspace_loo.c"    /* approximate leave-one-out */
#include "solver/subspace/subspace_size.c"   /* how many points */
#include "solver/subspace/subspace_choose.c" /* which of them */
#include "solver/subspace/subspace.c"        /* all of it */
#include "solver/subspace/subspace_project.c" /* an expansion on few points */

/* ---- Fisher discriminants ---- */

#include "solver/fisher/fisher_threshold.c"  /* thresholds */
#include "solver/fisher/fisher_gap.c"        /* of all kernels: the gap */
#include "solver/fisher/fisher_inverse.c"    /* a preconditioner */
#include "solver/fisher/fisher_descent.c"    /* conjugate gradients */
#include "solver/fisher/fisher.c"            /* and the method */
#include "solver/fisher/fisher_basis.c"      /* bases of few kernels */
#include "solver/fisher/fisher_scan.c"       /* all that is read of them */
#include "solver/fisher/fisher_candidates.c" /* kernels that may join */
#include "solver/fisher/fisher_choose.c"     /* which of them do */
#include "solver/fisher/fisher_greedy.c"     /* and the method */

#endif

#if SOLVER_FLOOR >= 6

/* ---- models out ---- */

#include "solver/model/classes.c"       /* classes and their machines */
#include "solver/model/model.c"         /* the model in memory */
#include "solver/model/model_weights.c" /* a linear one as its weights */
#include "solver/model/model_subset.c"  /* with fewer support vectors */
#include "solver/model/model_options.c" /* the options it was trained with */
#include "solver/model/model_write.c"   /* to a file */
#include "solver/model/model_keys.c" /* from a file: lines of keys and values */
#include "solver/model/model_read.c" /* all of it, checked */
#include "solver/model/coupling.c"   /* pairwise probabilities put together */
#include "solver/model/model_answer.c" /* labels, probabilities */
#include "solver/model/predict.c" /* from decision values, by products with K */

#endif

#if SOLVER_FLOOR >= 7

/* ---- training ---- */

#include "solver/train/systems.c"       /* which solver trains which model */
#include "solver/train/settle.c"        /* what parameters leave open, checks */
#include "solver/train/weights.c"       /* of classes and examples */
#include "solver/train/dent.c"          /* a K that is not definite */
#include "solver/train/groups.c"        /* machines that are solved together */
#include "solver/train/shared_points.c" /* that all pairs have */
#include "solver/train/reports.c"       /* what solutions add up to */
#include "solver/train/calibrate.c"     /* decision values to fit it on */
#include "solver/train/loo.c"           /* approximate leave-one-out */
#include "solver/train/team.c"          /* threads that share work */
#include "solver/train/pair_journal.c"  /* pairs that are kept */
#include "solver/train/ensemble.c"      /* all machines of a model */
#include "solver/train/describe.c"      /* what a model says of that */
#include "solver/train/train.c"         /* a model for each C */

#endif

#if SOLVER_FLOOR >= 8

/* ---- validation ---- */

#include "solver/validate/metrics.c" /* accuracy, log loss, AUC and others */
#include "solver/validate/standard_error.c" /* and how far to trust them */
#include "solver/validate/thresholds.c"     /* where to cut probabilities */
#include "solver/validate/fold.c"           /* a fold */
#include "solver/validate/grid_journal.c"   /* what a grid has known before */
#include "solver/validate/grid.c"           /* every point of it */
#include "solver/validate/cross_validate.c" /* the best of them */

/* ---- smaller models ---- */

#include "solver/compress/compress.c"       /* a model on few of its vectors */
#include "solver/compress/compress_refit.c" /* and trained on them again */

/* ---- questions about a problem ---- */

#include "solver/inspect/spread.c"        /* do C and features fit K? */
#include "solver/inspect/forecast.c"      /* how long will it take? */
#include "solver/inspect/feature_kind.c"  /* how to scale features? */
#include "solver/inspect/spectrum.c"      /* is K positive semidefinite? */
#include "solver/inspect/struct_places.c" /* where do structs have what? */

#endif
