/* lwf.c - learning without forgetting (Li and Hoiem, 2016, arXiv:1606.09282), on every client.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: from its second task on the loss gains lambda times the mean over rows of
 * -sum_k p_k log q_k (Equation 2), where p and q are the softmax at temperature 2 of the old
 * model's outputs and of its own, over the classes of tasks before this one (`over`: or over
 * all). The old model is the one that it received when its task began, in eval form, which
 * learns nothing. Server: the usual mean.
 */
#include "method/lib/teacher.h"

#include <engram/op.h>

enum { LWF_OLD };

typedef struct lwf {
    double lambda, temperature;
    int over; /* of "old|all" */
} lwf;

typedef struct lwf_client {
    lwf is;
    eg_learner *past; /* the old model; NULL in the first task */
} lwf_client;

static const eg_opt lwf_opts[] = {
    EG_OPT_REAL(lwf, lambda, 1, 0, 1e6, "weight of the old model's outputs"),
    EG_OPT_REAL(lwf, temperature, 2, 1e-3, 1e3, "what outputs are divided by"),
    EG_OPT_CHOICE(lwf, over, LWF_OLD, "which outputs are held: of classes before, or of all",
                  "old|all"),
    EG_OPT_END,
};

static const char lwf_name[] = "lwf";

static eg_status lwf_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)options, (void)in;
    out->offers = EG_OFFERS_BOUNDARIES;
    out->classes = true;
    return EG_OK;
}

static eg_status lwf_download(void *self, eg_client *c, int exchange, const eg_bundle *from)
{
    lwf_client *l = self;
    (void)exchange, (void)from;
    return l->is.lambda > 0 ? eg_teacher_recall(c, lwf_name, &l->past) : EG_OK;
}

static eg_status lwf_task(void *self, eg_client *c)
{
    lwf_client *l = self;
    if (l->is.lambda <= 0 || c->view.stage == 0)
        return EG_OK;
    EG_TRY(eg_client_keep_model(c, lwf_name));
    return eg_teacher_recall(c, lwf_name, &l->past);
}

static uint32_t lwf_form(void *self, eg_client *c)
{
    const lwf_client *l = self;
    (void)c;
    return l->past != NULL;
}

static eg_node *lwf_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    const lwf_client *l = self;
    if (!l->past)
        return loss;
    eg_node *told = eg_input(g, "lwf.told", eg_dims(c->batch, c->n_classes));
    eg_node *open =
        l->is.over == LWF_OLD ? eg_input(g, "lwf.open", eg_dims(1, c->n_classes)) : NULL;
    eg_node *own = eg_client_outputs_of(c, g, c->features);
    eg_node *held = eg_teacher_loss(g, told, own, l->is.temperature, open);
    return eg_add(g, loss, eg_affine(g, held, l->is.lambda, 0));
}

static eg_status lwf_fill(void *self, eg_client *c)
{
    const lwf_client *l = self;
    if (!l->past)
        return EG_OK;
    if (l->is.over == LWF_OLD)
        eg_teacher_open_old(c, eg_plan_input(c->plan, "lwf.open"));
    return eg_teacher_tell(c, l->past->param, l->past->state, "lwf.told", NULL);
}

const eg_method eg_method_lwf = {
    .component = {"lwf", "holds old outputs as the model that the task began with has them",
                  sizeof(lwf), lwf_opts},
    .setup = lwf_setup,
    .loss = lwf_loss,
    .form = lwf_form,
    .fill = lwf_fill,
    .client = {.size = sizeof(lwf_client), .download = lwf_download, .task = lwf_task},
};
