/* derpp.c - DER++ (Buzzega et al., 2020, arXiv:2004.07211), on every client.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: the loss gains alpha times the mean squared error, over rows and all classes, between
 * the logits of `batch` rows of the memory and those they were stored with, and beta times the
 * cross entropy of a second, independent draw of `batch` rows with their labels. Each draw has
 * a forward pass of its own, so that batch norm sees the batch, then each draw, by itself.
 * Server: the usual mean.
 */
#include <engram/method.h>
#include <engram/op.h>

typedef struct derpp {
    double alpha, beta;
    int64_t batch;
} derpp;

static const eg_opt derpp_opts[] = {
    EG_OPT_REAL(derpp, alpha, 1, 0, 1e3, "weight of the stored logits"),
    EG_OPT_REAL(derpp, beta, 0.5, 0, 1e3, "weight of the labels of a second draw"),
    EG_OPT_INT(derpp, batch, 32, 1, 65536, "rows of each of the two draws from the memory"),
    EG_OPT_END,
};

enum { DERPP_LOGITS, DERPP_LABELS }; /* its two draws */

static eg_status derpp_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const derpp *d = options;
    (void)in;
    out->memory = out->logits = true;
    out->replays[DERPP_LOGITS] = (eg_replay){.rows = d->batch, .logits = true};
    out->replays[DERPP_LABELS] = (eg_replay){.rows = d->batch, .labels = true};
    return EG_OK;
}

static eg_node *derpp_add(eg_graph *g, eg_node *loss, double factor, eg_node *term)
{
    return eg_add(g, loss, eg_affine(g, term, factor, 0));
}

/* A factor of 0 is no term at all, nor is there one while the memory is empty. */
static eg_node *derpp_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    const derpp *d = self;
    if (d->alpha > 0) {
        eg_replayed past = eg_client_replayed(c, g, DERPP_LOGITS);
        if (past.n > 0)
            loss = derpp_add(g, loss, d->alpha,
                             eg_mse(g, eg_client_outputs(c, g, past.x), past.logits));
    }
    if (d->beta > 0) {
        eg_replayed past = eg_client_replayed(c, g, DERPP_LABELS);
        if (past.n > 0) {
            eg_node *now = eg_client_counted(c, g, eg_client_outputs(c, g, past.x));
            loss = derpp_add(g, loss, d->beta, eg_client_loss(c, g, now, past.labels));
        }
    }
    return loss;
}

const eg_method eg_method_derpp = {
    .component = {"derpp",
                  "DER++: holds logits of memory rows, and learns the labels of others again",
                  sizeof(derpp), derpp_opts},
    .setup = derpp_setup,
    .loss = derpp_loss,
};
