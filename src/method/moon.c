/* moon.c - model-contrastive federated learning (Li et al., 2021, arXiv:2103.16257).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: the loss gains mu times the mean over rows of -log(e^(s/t) / (e^(s/t) + e^(p/t))),
 * where s is the cosine between the row's features and those of the model it received, and p
 * that with those of its own model of its last round. Both others are in eval form and learn
 * nothing. In its first round a client has no last one, and no term. Server: the usual mean.
 */
#include "method/lib/teacher.h"

#include <engram/op.h>

typedef struct moon {
    double mu, temperature;
} moon;

typedef struct moon_client {
    moon is;
    eg_learner *past; /* its own model of its last round; NULL: there was none */
} moon_client;

static const eg_opt moon_opts[] = {
    EG_OPT_REAL(moon, mu, 1, 0, 1e3, "weight of the contrast"),
    EG_OPT_REAL(moon, temperature, 0.5, 1e-3, 1e3, "what cosines are divided by"),
    EG_OPT_END,
};

static eg_status moon_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    moon_client *m = self;
    (void)exchange, (void)from;
    return m->is.mu > 0 ? eg_teacher_recall(c, "moon", &m->past) : EG_OK;
}

static uint32_t moon_form(void *self, eg_client *c)
{
    const moon_client *m = self;
    (void)c;
    return m->past != NULL;
}

/* The cosine of each row's features with those of an input of that name: [batch, 1]. */
static eg_node *moon_cosine(eg_client *c, eg_graph *g, const char *name)
{
    eg_node *other = eg_input(g, name, eg_dims(c->batch, eg_net_n_features(c->net)));
    return eg_sum(g, eg_mul(g, eg_l2_normalize(g, c->features), eg_l2_normalize(g, other)),
                  EG_AXIS(1));
}

static eg_node *moon_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    const moon_client *m = self;
    if (!m->past)
        return loss;
    eg_node *cosines[] = {moon_cosine(c, g, "moon.global"), moon_cosine(c, g, "moon.past")};
    eg_node *logits = eg_affine(g, eg_concat(g, 2, cosines, 1), 1 / m->is.temperature, 0);
    eg_node *first =
        eg_constant(g, eg_dims(c->batch), 0); /* the received model is the answer */
    return eg_add(g, loss, eg_affine(g, eg_cross_entropy(g, logits, first, NULL), m->is.mu, 0));
}

static eg_status moon_fill(void *self, eg_client *c)
{
    const moon_client *m = self;
    if (!m->past)
        return EG_OK;
    EG_TRY(eg_teacher_tell(c, c->global, c->global_state, NULL, "moon.global"));
    return eg_teacher_tell(c, m->past->param, m->past->state, NULL, "moon.past");
}

static eg_status moon_trained(void *self, eg_client *c)
{
    (void)self;
    return eg_client_keep_model(c, "moon");
}

const eg_method eg_method_moon = {
    .component = {"moon",
                  "contrasts features with the global model's and the client's last own",
                  sizeof(moon), moon_opts},
    .loss = moon_loss,
    .form = moon_form,
    .fill = moon_fill,
    .client = {.size = sizeof(moon_client), .download = moon_download, .trained = moon_trained},
};
