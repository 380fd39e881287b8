/* fedlwf_2t.c - learning without forgetting with two teachers (Usmanova et al., 2021,
 * arXiv:2109.04197), as FedCIL compares with it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * From a client's second task on its loss is 0.33 CE + 0.33 KD(its own model as the last task
 * left it) + 0.34 KD(the model it received). KD is the KL divergence of outputs at temperature
 * 2, mean over rows, without the factor of its square.
 */
#include "method/lib/teacher.h"

#include <engram/op.h>

#include <string.h>

typedef struct fedlwf_2t {
    double own, server, temperature;
} fedlwf_2t;

typedef struct fedlwf_2t_client {
    fedlwf_2t is;
    eg_learner *past; /* the first teacher; NULL in the first task */
} fedlwf_2t_client;

static const eg_opt fedlwf_2t_opts[] = {
    EG_OPT_REAL(fedlwf_2t, own, 0.33, 0, 1, "weight of the client's own last model"),
    EG_OPT_REAL(fedlwf_2t, server, 0.34, 0, 1, "weight of the model it received"),
    EG_OPT_REAL(fedlwf_2t, temperature, 2, 1e-3, 1e3, "what outputs are divided by"),
    EG_OPT_END,
};

static eg_status fedlwf_2t_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const fedlwf_2t *f = options;
    (void)in;
    if (f->own + f->server > 1)
        return eg_fail(EG_EINVAL, "the teachers' weights %g and %g are more than 1 together",
                       f->own, f->server);
    out->shares_plain = out->classes = true;
    out->offers = EG_OFFERS_BOUNDARIES;
    return EG_OK;
}

static eg_status fedlwf_2t_recall(fedlwf_2t_client *f, eg_client *c)
{
    const eg_bundle *kept;
    bool found = false;
    EG_TRY(eg_client_recall(c, "fedlwf_2t.past", &kept));
    EG_TRY(eg_worker_learner(c->worker, "fedlwf_2t.past", eg_net_params(c->net), &f->past));
    if (kept)
        EG_TRY(eg_learner_recall(f->past, "fedlwf_2t", kept, &found));
    f->past = found ? f->past : NULL;
    return EG_OK;
}

static eg_status fedlwf_2t_download(void *self, eg_client *c, int exchange,
                                    const eg_bundle *from)
{
    (void)exchange, (void)from;
    return fedlwf_2t_recall(self, c);
}

/* What training left in the last task is the teacher from now on. */
static eg_status fedlwf_2t_task(void *self, eg_client *c)
{
    fedlwf_2t_client *f = self;
    const eg_bundle *kept;
    eg_bundle *record;
    bool found;
    EG_TRY(eg_client_recall(c, "fedlwf_2t", &kept));
    if (!kept)
        return EG_OK;
    EG_TRY(eg_worker_learner(c->worker, "fedlwf_2t.past", eg_net_params(c->net), &f->past));
    EG_TRY(eg_learner_recall(f->past, "fedlwf_2t", kept, &found));
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(eg_bundle_filled(record, eg_learner_keep(f->past, "fedlwf_2t", record)));
    return eg_client_keep(c, "fedlwf_2t.past", record);
}

static uint32_t fedlwf_2t_form(void *self, eg_client *c)
{
    const fedlwf_2t_client *f = self;
    (void)c;
    return f->past != NULL;
}

/* KL(teacher || student) at the temperature; the teacher's outputs are an input. */
static eg_node *fedlwf_2t_kd(const fedlwf_2t *f, eg_client *c, eg_graph *g, const char *teacher)
{
    double cold = 1 / f->temperature;
    eg_node *told = eg_input(g, teacher, eg_dims(c->batch, c->n_classes));
    eg_node *own = eg_client_outputs_of(c, g, c->features);
    return eg_kl_divergence(g, eg_log_softmax(g, eg_affine(g, own, cold, 0)),
                            eg_softmax(g, eg_affine(g, told, cold, 0)));
}

static eg_node *fedlwf_2t_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    const fedlwf_2t_client *f = self;
    const fedlwf_2t *is = &f->is;
    if (!f->past)
        return loss;
    eg_node *own = fedlwf_2t_kd(is, c, g, "fedlwf_2t.own");
    eg_node *server = fedlwf_2t_kd(is, c, g, "fedlwf_2t.server");
    eg_node *terms =
        eg_add(g, eg_affine(g, own, is->own, 0), eg_affine(g, server, is->server, 0));
    /* The batch's own cross entropy has the rest of the weight; other parts' terms stay. */
    terms = eg_sub(g, terms, eg_affine(g, c->plain, is->own + is->server, 0));
    return eg_add(g, loss, terms);
}

static eg_status fedlwf_2t_fill(void *self, eg_client *c)
{
    const fedlwf_2t_client *f = self;
    if (!f->past)
        return EG_OK;
    EG_TRY(eg_teacher_tell(c, f->past->param, f->past->state, "fedlwf_2t.own", NULL));
    return eg_teacher_tell(c, c->global, c->global_state, "fedlwf_2t.server", NULL);
}

static eg_status fedlwf_2t_trained(void *self, eg_client *c)
{
    (void)self;
    return eg_client_keep_model(c, "fedlwf_2t");
}

const eg_method eg_method_fedlwf_2t = {
    .component = {"fedlwf_2t", "distils the client's own last model and the one it received",
                  sizeof(fedlwf_2t), fedlwf_2t_opts},
    .setup = fedlwf_2t_setup,
    .loss = fedlwf_2t_loss,
    .form = fedlwf_2t_form,
    .fill = fedlwf_2t_fill,
    .client = {.size = sizeof(fedlwf_2t_client),
               .download = fedlwf_2t_download,
               .task = fedlwf_2t_task,
               .trained = fedlwf_2t_trained},
};
