/* pass.c - prototypes of one's own past (Zhu et al., 2021, CVPR, "PASS"), in a federation.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: it keeps a prototype of every class it has had, measured at the model it receives in
 * every round it has the class, and its newest radius. The loss gains lambda times the head's
 * cross entropy on such prototypes, with noise, of classes outside its task (FedSpace's
 * Equation 8), and distill times the distance of the batch's features from those of the model
 * it received when its task began. Server: the usual mean. Its rotations are train.rotations.
 *
 * The original has lambda and distill 10. FedSpace compares itself with 0.01 and without
 * distillation; its release draws from prototypes of the current task too (`variant`).
 */
#include <engram/method.h>
#include <engram/op.h>

#include "method/lib/prototypes.h"

#include <stdlib.h>

typedef struct pass {
    double lambda, distill;
    int variant; /* of "paper|release": an eg_measure */
} pass;

typedef struct pass_client {
    pass is;
    eg_prototypes own, now; /* of its record; of this turn */
    eg_draws old;
    eg_learner *past; /* the model its task began with; NULL: none, or of its first task */
} pass_client;

// clang-format off
static const eg_opt pass_opts[] = {
    EG_OPT_REAL(pass, lambda, 0.01, 0, 1e6, "weight of the head's loss on prototypes of the client's past"),
    EG_OPT_REAL(pass, distill, 0, 0, 1e6, "weight of the features' distance from the model the task began with"),
    EG_OPT_CHOICE(pass, variant, 0,
                  "paper: prototypes at the received model, of samples as they are, of other tasks; release: "
                  "after training, with crops and flips, of this task too", "paper|release"),
    EG_OPT_END,
};
// clang-format on

static const char pass_name[] = "pass";

static eg_status pass_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    pass_client *p = self;
    bool release = p->is.variant == EG_MEASURE_RELEASE;
    (void)exchange, (void)from;
    EG_TRY(eg_prototypes_init(&p->own, c->scenario, c->net));
    EG_TRY(eg_prototypes_init(&p->now, c->scenario, c->net));
    EG_TRY(eg_prototypes_recall(&p->own, pass_name, c));
    EG_TRY(eg_draws_init(&p->old, &p->own, c, release));
    if (p->is.distill > 0)
        EG_TRY(eg_client_stage_model(c, "pass.model", &p->past));
    return release ? EG_OK : eg_prototypes_measure(&p->now, c, EG_MEASURE_PAPER);
}

static void pass_fini(void *self)
{
    pass_client *p = self;
    eg_prototypes_fini(&p->own);
    eg_prototypes_fini(&p->now);
    free(p->old.classes);
}

static bool pass_teaches(const pass_client *p)
{
    bool usable = p->own.radius > 0 || p->is.variant == EG_MEASURE_PAPER;
    return usable && p->old.n > 0 && p->is.lambda > 0;
}

static uint32_t pass_form(void *self, eg_client *c)
{
    const pass_client *p = self;
    return (uint32_t)c->n_drawn << 2 | (uint32_t)pass_teaches(p) << 1 |
           (uint32_t)(p->past != NULL);
}

/* The Euclidean distance of all features together; its slope at 0 is 0. */
static eg_node *pass_distance(eg_client *c, eg_graph *g)
{
    eg_node *past = eg_input(g, "pass.past", eg_dims(c->batch, eg_net_n_features(c->net)));
    eg_node *apart = eg_sub(g, c->features, past);
    eg_node *squared = eg_sum(g, eg_mul(g, apart, apart), EG_ALL_AXES);
    return eg_sqrt(g, eg_affine(g, squared, 1, 1e-12));
}

static eg_node *pass_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    const pass_client *p = self;
    if (pass_teaches(p))
        loss = eg_add(g, loss, eg_affine(g, eg_draws_loss(pass_name, c, g), p->is.lambda, 0));
    if (p->past)
        loss = eg_add(g, loss, eg_affine(g, pass_distance(c, g), p->is.distill, 0));
    return loss;
}

static eg_status pass_fill(void *self, eg_client *c)
{
    const pass_client *p = self;
    if (pass_teaches(p))
        eg_draws_fill_loss(&p->old, pass_name, c);
    if (!p->past)
        return EG_OK;
    const eg_weights at = {p->past->param, p->past->state};
    return eg_client_look(c, &at, &(eg_rows){.n = c->batch, .x = c->x, .labels = c->labels},
                          &(eg_look){.features = eg_plan_input(c->plan, "pass.past")});
}

static eg_status pass_trained(void *self, eg_client *c)
{
    pass_client *p = self;
    if (p->is.variant == EG_MEASURE_RELEASE) {
        EG_TRY(eg_prototypes_measure(&p->now, c, EG_MEASURE_RELEASE));
        p->now.radius = p->own.radius >= 0 ? p->own.radius : p->now.radius;
    }
    eg_prototypes_update(&p->own, &p->now);
    return eg_prototypes_keep(&p->own, pass_name, c);
}

const eg_method eg_method_pass = {
    .component = {"pass", "each client's head learns prototypes of its own past classes again",
                  sizeof(pass), pass_opts},
    .setup = eg_prototypes_setup,
    .loss = pass_loss,
    .form = pass_form,
    .fill = pass_fill,
    .client = {.size = sizeof(pass_client),
               .fini = pass_fini,
               .download = pass_download,
               .trained = pass_trained},
};
