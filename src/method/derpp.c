/* derpp.c - DER++ (Buzzega et al., 2020, arXiv:2004.07211), on every client.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Client: the loss gains alpha times the mean squared error, over rows and all classes, between
 * the logits of `batch` rows of the memory and those they were stored with, and beta times the
 * cross entropy of a second, independent draw of `batch` rows with their labels. Server: the
 * usual mean.
 */
#include "method/dark.h"

static const eg_opt derpp_opts[] = {
    EG_OPT_REAL(eg_dark, alpha, 1, 0, 1e3, "weight of the stored logits"),
    EG_OPT_REAL(eg_dark, beta, 0.5, 0, 1e3, "weight of the labels of a second draw"),
    EG_OPT_INT(eg_dark, batch, 32, 1, 65536, "rows of each of the two draws from the memory"),
    EG_OPT_END,
};

static const eg_dark_names derpp_names = {
    .x = "derpp.x",
    .logits = "derpp.logits",
    .second_x = "derpp.second_x",
    .labels = "derpp.labels",
    .block = 2ull << 60,
    .second_block = 3ull << 60,
};

static eg_node *derpp_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    return eg_dark_loss(self, &derpp_names, c, g, loss);
}

static eg_status derpp_fill(void *self, eg_client *c)
{
    return eg_dark_fill(self, &derpp_names, c);
}

const eg_method eg_method_derpp = {
    .name = "derpp",
    .help = "DER++: holds logits of memory rows, and learns the labels of others again",
    .size = sizeof(eg_dark),
    .opts = derpp_opts,
    .needs_memory = true,
    .needs_logits = true,
    .aside = eg_dark_aside,
    .loss = derpp_loss,
    .fill = derpp_fill,
};
