/* der.c - dark experience replay (Buzzega et al., 2020, arXiv:2004.07211), on every client.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: the loss gains alpha times the mean squared error, over rows and all classes, between
 * the logits of `batch` rows of the memory and those they were stored with: the outputs, in
 * training form, before the step that first saw them. Rows are replayed as they were fed then.
 * Server: the usual mean.
 */
#include "method/dark.h"

static const eg_opt der_opts[] = {
    EG_OPT_REAL(eg_dark, alpha, 1, 0, 1e3, "weight of the stored logits; 0.3 for CIFAR-10"),
    EG_OPT_INT(eg_dark, batch, 32, 1, 65536, "rows drawn from the memory for each batch"),
    EG_OPT_END,
};

static const eg_dark_names der_names = {
    .x = "der.x",
    .logits = "der.logits",
    .block = 1ull << 60,
};

static eg_node *der_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    return eg_dark_loss(self, &der_names, c, g, loss);
}

static eg_status der_fill(void *self, eg_client *c)
{
    return eg_dark_fill(self, &der_names, c);
}

const eg_method eg_method_der = {
    .name = "der",
    .help = "replay that holds the logits of rows from the client's memory",
    .size = sizeof(eg_dark),
    .opts = der_opts,
    .needs_memory = true,
    .needs_logits = true,
    .aside = eg_dark_aside,
    .loss = der_loss,
    .fill = der_fill,
};
