/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of the greedy method share: see fisher_greedy.c.
 */
#ifndef KLR_SOLVER_FISHER_GREEDY_H
#define KLR_SOLVER_FISHER_GREEDY_H

#include "solver/fisher/fisher_basis.h"

/* A candidate and what speaks for it. */
struct greedy_choice {
    bool found;
    size_t kernel;
    double value, gradient;
};

struct greedy_machine {
    struct basis basis;
    struct scan scan; /* through it */
    struct solution *solution;
    bool done, fresh;    /* at its end; with a new function */
    bool ranked;         /* it ended since no kernel adds anything */
    double bound;        /* of the objective of all expansions; NaN: none */
    bool exact;          /* what it takes wants a line of doubles */
    unsigned char *gone; /* (n) kernels that are taken or add nothing */
    struct greedy_choice best;
    double *past; /* (kernels) S, or the gradients that they had */
    size_t past_room;
    double measure;              /* what eps is compared with */
    struct judgement *judgement; /* (n) of kernels that have been drawn */
};

struct greedy {
    const struct binary_problem *problems;
    const struct klr_params *params;
    size_t n, machines;
    double penalty; /* C = 1/c */
    double *ridge;  /* (n) C R_jj */
    struct greedy_machine *machine;
    struct candidates candidates;
    enum klr_precision precision; /* of products, if all are candidates */
    double *vector, *product;     /* (n, machines) */
    double *column;               /* (n) of a solution */
    double largest;               /* |K_jj| */
    bool all, given;     /* all are candidates; all that are left are taken */
    size_t *left, count; /* kernels that some machine may take, */
    size_t drawn;        /* the first of them, in this step */
    size_t *met;         /* (n) the step that drew a kernel last; 0: none */
    size_t *chosen;      /* (machines) */
    struct scan **list;  /* (machines) those that are made together */
    uint64_t random;
    double fixed; /* bytes */
    struct klr_progress progress;
    enum klr_status status;
    struct klr_arena arena; /* all that is allocated */
};

static bool greedy_stopped(const struct greedy *g);

/* ---- choosing and taking: see fisher_choose.c ---- */

/* Consider the candidates loaded, which have been judged. */
static int greedy_choose(struct greedy *g, struct greedy_machine *m,
                         struct klr_error *err);
/* Prepare the kernels that the machines have chosen for joining.
 * KLR_E_MEMORY. */
static int greedy_begin(struct greedy *g, struct klr_error *err);
/* After a machine took what it had chosen: whether it is at its end.
 * KLR_E_MEMORY. */
static int greedy_taken(struct greedy *g, struct greedy_machine *m,
                        struct klr_error *err);
/* Sort the kernels drawn, the least recently drawn first. So the kernels of a
 * panel have about the same functions to meet. */
static void greedy_order(struct greedy *g, size_t *kernel, size_t count);
/* Forget those drawn that no machine can take any more. */
static void greedy_forget(struct greedy *g);
/* All kernels, judged by the empty bases. */
static int greedy_judge_all(struct greedy *g, struct klr_error *err);
/* New functions of the machines change what is known of all kernels. */
static void greedy_update(struct greedy *g);
/* The best of all kernels, for each machine. */
static void greedy_choose_all(struct greedy *g);

#endif
