/* server.h - server optimisers: how the mean of the clients' models moves the global one.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The change from the global model to the mean counts as a gradient (Reddi et al., 2021,
 * arXiv:2003.00295; momentum: Hsu et al., 2019, arXiv:1909.06335). An optimizer owns its state
 * and belongs to one thread.
 */
#ifndef EG_OPTIM_SERVER_H
#define EG_OPTIM_SERVER_H

#include <engram/opt.h>

typedef enum eg_server_rule {
    EG_SERVER_NONE,     /* the mean is the new model */
    EG_SERVER_SGD,      /* a share of the way to it, or beyond */
    EG_SERVER_MOMENTUM, /* FedAvgM */
    EG_SERVER_ADAM,     /* FedAdam */
    EG_SERVER_ADAGRAD,  /* FedAdagrad */
    EG_SERVER_YOGI,     /* FedYogi */
} eg_server_rule;

typedef struct eg_server_optimizer_opts {
    int rule;  /* eg_server_rule */
    double lr; /* 0: 1 for sgd and momentum, 0.01 for the others */
    double beta1, beta2, tau;
} eg_server_optimizer_opts;

/* The rows of its options, for a struct that has them in its member `at`. */
// clang-format off
#define EG_SERVER_OPTIMIZER_ROWS(self, at) \
    EG_OPT_CHOICE_AS("optimizer", self, at.rule, 0, "what moves the model along the clients' mean change; none: their mean is the model", "none|sgd|momentum|adam|adagrad|yogi"), \
    EG_OPT_REAL_AS("lr", self, at.lr, 0, 0, 1e3, "of the optimizer: step size; 0: 1 for sgd and momentum, 0.01 for the others"), \
    EG_OPT_REAL_AS("beta1", self, at.beta1, 0.9, 0, 0.9999, "of all but sgd: share of the mean change that is kept"), \
    EG_OPT_REAL_AS("beta2", self, at.beta2, 0.99, 0, 0.9999, "of adam and yogi: share of the mean squared change that is kept"), \
    EG_OPT_REAL_AS("tau", self, at.tau, 1e-3, 1e-12, 1e3, "of adam, adagrad and yogi: added to the root; less adapts more")
// clang-format on

typedef struct eg_server_optimizer eg_server_optimizer;

/* An optimiser of n parameters; the options are copied. Without a rule (EG_SERVER_NONE) there
 * is none. */
eg_status eg_server_optimizer_new(const eg_server_optimizer_opts *opts, size_t n,
                                  eg_server_optimizer **out);
void eg_server_optimizer_free(eg_server_optimizer *o); /* NULL is fine */

/* One round: from the global model before [n] and the clients' mean [n] to the new model out
 * [n], which may be either of them. The state stays as it was until the step is kept: whoever
 * cannot use the new model leaves it at that. */
void eg_server_optimizer_step(eg_server_optimizer *o, const float *before, const float *mean,
                              float *out);

/* The last step counts. False, and it does not, if the new state is not finite: a mean square
 * may be too large for a float where the model it leads to is not. */
bool eg_server_optimizer_keep(eg_server_optimizer *o);

/* The state, to be kept in a checkpoint and put back: slot i ([n], borrowed until a step is
 * kept; NULL past the last). restore copies as many slots as there are, each [n]. */
const float *eg_server_optimizer_slot(const eg_server_optimizer *o, int i);
void eg_server_optimizer_restore(eg_server_optimizer *o, const float *const *slots);

#endif
