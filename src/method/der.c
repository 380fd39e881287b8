/* der.c - dark experience replay (Buzzega et al., 2020, arXiv:2004.07211), on every client.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: the loss gains alpha times the mean squared error, over rows and all classes, between
 * the logits of `batch` rows of the memory and those they were stored with: the outputs, in
 * training form, before the step that first saw them. Rows are replayed as they were fed then.
 * Server: the usual mean.
 */
#include <engram/method.h>
#include <engram/op.h>

typedef struct der {
    double alpha;
    int64_t batch;
} der;

static const eg_opt der_opts[] = {
    EG_OPT_REAL(der, alpha, 1, 0, 1e3, "weight of the stored logits; 0.3 for CIFAR-10"),
    EG_OPT_INT(der, batch, 32, 1, 65536, "rows drawn from the memory for each batch"),
    EG_OPT_END,
};

static eg_status der_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const der *d = options;
    (void)in;
    out->memory = out->logits = true;
    if (d->alpha > 0)
        out->replays[0] = (eg_replay){.rows = d->batch, .logits = true};
    return EG_OK;
}

static eg_node *der_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    const der *d = self;
    eg_replayed past = eg_client_replayed(c, g, 0);
    if (past.n == 0)
        return loss;
    eg_node *gap = eg_mse(g, eg_client_outputs(c, g, past.x), past.logits);
    return eg_add(g, loss, eg_affine(g, gap, d->alpha, 0));
}

const eg_method eg_method_der = {
    .component = {"der", "replay that holds the logits of rows from the client's memory",
                  sizeof(der), der_opts},
    .setup = der_setup,
    .loss = der_loss,
};
