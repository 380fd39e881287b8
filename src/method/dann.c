/* dann.c - domain-adversarial training (Ganin et al., 2016, arXiv:1505.07818) of tasks.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: a second head tells from the features which task a row is of; the loss gains its mean
 * cross entropy over the rows whose task is known (rows from a memory, or that a part made, do
 * not count). The head learns to tell, the body not to: on its way to the body the term's
 * gradient is multiplied by -lambda, which grows over the run's rounds, 2 / (1 + exp(-10 p)) -
 * 1 at progress p. Server: the usual mean.
 *
 * While a client has one task only, which is the rule without a cache of older samples, there
 * is nothing to tell apart: the head soon always answers that task, the term and its gradient
 * go to 0, and with each new task both rise again for a while.
 *
 * Nothing bounds what the body can gain: with a large learning rate the term runs away.
 */
#include <engram/method.h>
#include <engram/op.h>

#include "base/real.h"

#include <math.h>

typedef struct dann {
    double lambda;
} dann;

static const eg_opt dann_opts[] = {
    EG_OPT_REAL(dann, lambda, 0, 0, 1e3, "weight of the reversed gradient; 0: the schedule"),
    EG_OPT_END,
};

static eg_status dann_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options;
    out->offers = EG_OFFERS_TASK_IDS;
    out->side = in->scenario ? eg_scenario_n_tasks(in->scenario) : 1;
    return EG_OK;
}

/* x to the last bit, with -lambda times the gradient: the difference is 0, its slope is not. */
static eg_node *dann_reverse(eg_graph *g, eg_node *x, eg_node *lambda)
{
    eg_node *same = eg_stop_gradient(g, x);
    return eg_add(g, same, eg_mul(g, eg_sub(g, same, x), lambda));
}

static eg_node *dann_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    (void)self;
    eg_node *lambda = eg_input(g, "dann.lambda", eg_dims(1, 1));
    eg_node *domains = eg_input(g, "dann.domains", eg_dims(c->batch));
    eg_node *weights = eg_input(g, "dann.weights", eg_dims(c->batch));
    eg_node *logits = eg_net_side(c->net, g, dann_reverse(g, c->features, lambda));
    eg_node *term = eg_cross_entropy(g, logits, domains, weights);
    eg_output(g, "dann.loss", term);
    return eg_add(g, loss, term);
}

static double dann_lambda(const dann *d, const eg_client *c)
{
    if (d->lambda > 0)
        return d->lambda;
    int64_t rounds = eg_scenario_n_rounds(c->scenario);
    double progress = rounds > 0 ? fmin(1, (double)c->round / (double)rounds) : 1;
    return 2 / (1 + eg_real_exp(-10 * progress)) - 1;
}

/* Whether the task of the batch's row i is known. */
static bool dann_is_known(const eg_client *c, int64_t i)
{
    return i < c->n_drawn && c->drawn[i].task != EG_OWN_ROW;
}

static eg_status dann_fill(void *self, eg_client *c)
{
    float *domains = eg_plan_input(c->plan, "dann.domains"); /* [batch] */
    float *weights = eg_plan_input(c->plan, "dann.weights"); /* [batch] */
    int64_t known = 0;
    *eg_plan_input(c->plan, "dann.lambda") = (float)dann_lambda(self, c);
    for (int64_t i = 0; i < c->n_drawn; i++)
        known += dann_is_known(c, i);
    for (int64_t i = 0; i < c->batch; i++) { /* the sum over rows is divided by batch */
        domains[i] = dann_is_known(c, i) ? (float)c->drawn[i].task : 0;
        weights[i] = dann_is_known(c, i) ? (float)c->batch / (float)known : 0;
    }
    return EG_OK;
}

const eg_method eg_method_dann = {
    .component =
        {"dann",
         "features that do not tell tasks apart, by a domain head with reversed gradient",
         sizeof(dann), dann_opts},
    .setup = dann_setup,
    .loss = dann_loss,
    .fill = dann_fill,
};
