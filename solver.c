/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The solver: one translation unit, its parts in reading order. Each part also
 * parses on its own (make check-parts); what they share is solver/internal.h.
 */
#include "solver/internal.h"

/* examples in */
#include "solver/names.c"    /* classes with names */
#include "solver/svmlight.c" /* the tokenizer */
#include "solver/problem.c"  /* data sets in memory */
#include "solver/scaling.c"  /* features to common limits or deviations */

/* problems */
#include "solver/params_table.c" /* parameters: names, ranges, defaults */
#include "solver/params.c"       /* ... what they leave open, checks */
#include "solver/layout.c"   /* classes and folds: the order of the examples */
#include "solver/strips.c"   /* parts of K: stored or computed */
#include "solver/operator.c" /* K: products, rows, diagonal */

/* solvers */
#include "solver/clock.c"      /* limits, interruption, progress */
#include "solver/links.c"      /* sigmoid; probabilities from decision values */
#include "solver/loss.c"       /* losses, their conjugates, the threshold */
#include "solver/smo_line.c"   /* two-variable decomposition of the dual: */
#include "solver/smo_sweep.c"  /* its step, its loops over rows of K, */
#include "solver/smo_rows.c"   /* these rows, */
#include "solver/smo_shrink.c" /* examples set aside, */
#include "solver/smo_start.c"  /* where it begins, */
#include "solver/smo.c"        /* and the method; */
#include "solver/smo1.c"       /* its outer loop, to first order */
#include "solver/triangle.c"   /* dense triangles, factored: for the next, */
#include "solver/precond.c"    /* low rank, weighted, */
#include "solver/pivots.c"     /* and its columns: for the next */
#include "solver/cholesky.c"   /* of full rank, float: for discriminants */
#include "solver/direction.c"  /* the step of the Newton method, */
#include "solver/coupled.c"    /* and its preconditioner on several columns */
#include "solver/span.c"       /* its start between known points, */
#include "solver/subset.c"     /* or from a subset of the examples, */
#include "solver/newton_gap.c" /* its objectives and gap; */
#include "solver/newton.c"     /* truncated Newton for the logistic loss, */
#include "solver/softmax.c"    /* and for that of all classes at once */
#include "solver/trirls.c"     /* reweighted least squares, ended early */
#include "solver/coef_step.c"  /* Newton and others for |beta|^2: a step, */
#include "solver/coef.c"       /* and the method */
#include "solver/hessian.c"    /* dense, of few columns: for span.c, too */
#include "solver/ivm.c"        /* the same loss on points chosen greedily */
#include "solver/columns.c"    /* K times few coefficients: for the next */
#include "solver/lhalf.c"      /* half thresholding: an l1/2 regularizer */
#include "solver/fisher_threshold.c"  /* Fisher discriminants: thresholds, */
#include "solver/fisher_gap.c"        /* of all kernels: what e is worth, */
#include "solver/fisher_inverse.c"    /* a preconditioner, */
#include "solver/fisher_descent.c"    /* conjugate gradients, */
#include "solver/fisher.c"            /* and the method; */
#include "solver/fisher_basis.c"      /* bases of few kernels, */
#include "solver/fisher_scan.c"       /* all that is read of them, */
#include "solver/fisher_candidates.c" /* which may join them, */
#include "solver/fisher_greedy.c"     /* and how they are chosen */
#include "solver/bound.c"    /* how far lambda of an sklr makes sense */
#include "solver/spectrum.c" /* whether K is positive semidefinite */
#include "solver/systems.c"  /* which of them trains which model */

/* models out */
#include "solver/model.c"      /* the model in memory */
#include "solver/model_save.c" /* ... to a file */
#include "solver/model_keys.c" /* ... from a file: lines of keys and values */
#include "solver/model_load.c" /* ... all of it, checked */
#include "solver/multiclass.c" /* several classes as binary problems */
#include "solver/calibrate.c"  /* links fitted on decision values */
#include "solver/loo.c"        /* approximate leave-one-out */
#include "solver/ensemble.c"   /* all machines of a model */
#include "solver/train.c"      /* a model for each C */
#include "solver/predict.c"    /* labels, decision values, probabilities */
#include "solver/metrics.c"    /* accuracy, log loss, AUC and others */
#include "solver/validate.c"   /* cross validation */
#include "solver/grid.c"       /* ... at every point of a grid */
