/* fedcil.c - class-incremental learning with generative replay (Qi et al., ICLR 2023,
 * arXiv:2302.13001).
 * SPDX-License-Identifier: Apache-2.0
 *
 * The run's network is the critic of an ACGAN: its second head tells real images from drawn
 * ones. Client (fedcil_client.c): trains critic and generator, replays the past with the
 * generator that its last task left, and is held to what the global generator draws (Equations
 * 12 to 14). Server (fedcil_server.c): averages both networks, a class's outputs over those who
 * have seen it, and consolidates them on what the clients' generators draw (Equation 10).
 *
 * In Equations 12 to 14 the minus before KL would maximise it: it is minimised here, as in the
 * published code, and gradients flow through both of its arguments. Equation 12 takes the
 * generator of the last task, as printed. Equation 14's KL against a one-hot label would be
 * infinite: it is the cross entropy. In a task's first round there is no consistency, as in the
 * published code; `agrees: always` is Equation 16, which has it in every round.
 *
 * {consistency: 0, steps: 0, heads: mean} is FedAvg with an ACGAN. {consistency: 0, heads:
 * mean} with server.bn: keep comes nearest to what the published code carries out: neither
 * averages the statistics of batch norms, but there a client's own last from round to round,
 * while here it begins every round with the server's.
 */
#include "method/lib/fedcil.h"

#include "engine/model/acgan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// clang-format off
static const eg_opt fedcil_opts[] = {
    EG_OPT_REAL(eg_fedcil, consistency, 1, 0, 1e6, "weight of each of the three consistency losses"),
    EG_OPT_CHOICE(eg_fedcil, agrees, EG_FEDCIL_LATER,
                  "whether they count from a task's second round on, or always", "later|always"),
    EG_OPT_REAL(eg_fedcil, pull, 0, 0, 1e3, "of the generator to the one it received: FedProx's strength for it"),
    EG_OPT_INT(eg_fedcil, steps, 100, 0, 1e6, "steps of the server's consolidation; 0: none"),
    EG_OPT_CHOICE(eg_fedcil, heads, EG_FEDCIL_HEADS_SEEN,
                  "a class's outputs are averaged over clients that have seen it, or over all", "seen|mean"),
    EG_OPT_CHOICE(eg_fedcil, boundary, EG_FEDCIL_BY_TASK,
                  "what was learned becomes the past when a task ends, or with every round", "task|round"),
    EG_OPT_INT(eg_fedcil, width, 64, 4, 1024, "of the generator: channels of the largest maps"),
    EG_OPT_CHOICE(eg_fedcil, form, EG_ACGAN_MNIST, "of the generator: layers as published for MNIST or for CIFAR-10",
                  EG_ACGAN_FORMS),
    EG_OPT_REAL(eg_fedcil, lr, 1e-4, 0, 1, "step size of the generators' Adam, and of the server's"),
    EG_OPT_REAL(eg_fedcil, beta1, 0.5, 0, 0.999, "its first decay"),
    EG_OPT_REAL(eg_fedcil, beta2, 0.99, 0, 0.9999, "its second decay"),
    EG_OPT_REAL(eg_fedcil, weight_decay, 1e-5, 0, 1, "its weight decay"),
    EG_OPT_END,
};
// clang-format on

static eg_status fedcil_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    const eg_fedcil *f = options;
    if (in->train->rotations)
        return eg_fail(EG_EINVAL, "its generator draws upright images alone; "
                                  "train.rotations must be false");
    if (f->heads == EG_FEDCIL_HEADS_SEEN && in->other_mean)
        return eg_fail(EG_EINVAL,
                       "heads: seen puts means of its own in the place of what "
                       "server.mean or server.optimizer makes of the head: set heads "
                       "to mean");
    out->side = 1;
    out->images = true;
    out->shares_plain = true;
    out->global = true;
    out->offers = f->boundary == EG_FEDCIL_BY_TASK ? EG_OFFERS_BOUNDARIES : 0;
    return EG_OK;
}

void eg_fedcil_describe(const eg_fedcil *f, const eg_net *net, bool draws_only,
                        eg_fedcil_spec *out)
{
    const eg_net_spec *n = eg_net_spec_of(net);
    snprintf(out->options, sizeof out->options,
             "width=%lld form=%s lr=%.9g beta1=%.9g beta2=%.9g weight_decay=%.9g",
             (long long)f->width, f->form == EG_ACGAN_CIFAR ? "cifar" : "mnist", f->lr,
             f->beta1, f->beta2, f->weight_decay);
    out->is = (eg_generator_spec){.kind = "acgan",
                                  .options = out->options,
                                  .channels = n->channels,
                                  .height = n->height,
                                  .width = n->width,
                                  .classes = n->classes,
                                  .draws_only = draws_only};
}

eg_status eg_label_set_init(eg_label_set *s, int64_t classes)
{
    s->classes = classes, s->n = 0;
    EG_TRY(eg_alloc((size_t)classes, sizeof *s->mask, &s->mask));
    return eg_alloc((size_t)classes, sizeof *s->list, &s->list);
}

void eg_label_set_fini(eg_label_set *s)
{
    free(s->mask);
    free(s->list);
}

void eg_label_set_clear(eg_label_set *s)
{
    memset(s->mask, 0, (size_t)s->classes * sizeof *s->mask);
    s->n = 0;
}

void eg_label_set_join(eg_label_set *s, const float *mask)
{
    s->n = 0;
    for (int64_t i = 0; i < s->classes; i++) {
        if (mask[i] != 0)
            s->mask[i] = 1;
        if (s->mask[i] != 0)
            s->list[s->n++] = (float)i;
    }
}

void eg_label_set_add(eg_label_set *s, int64_t label)
{
    s->mask[label] = 1;
    eg_label_set_join(s, s->mask);
}

eg_status eg_label_set_write(const eg_label_set *s, const char *name, eg_bundle *to)
{
    return eg_bundle_add_flat(to, name, s->mask, (size_t)s->classes);
}

eg_status eg_label_set_read(eg_label_set *s, const char *name, const eg_bundle *from)
{
    const float *mask;
    EG_TRY(eg_bundle_need_counts(from, name, (size_t)s->classes, 1, &mask));
    eg_label_set_clear(s);
    eg_label_set_join(s, mask);
    return EG_OK;
}

const eg_method eg_method_fedcil = {
    .component = {"fedcil", "generative replay with an ACGAN, consolidated by the server",
                  sizeof(eg_fedcil), fedcil_opts},
    .leaves = EG_LEAVES_FIGURES | EG_LEAVES_GENERATORS,
    .setup = fedcil_setup,
    .loss = eg_fedcil_loss,
    .form = eg_fedcil_form,
    .fill = eg_fedcil_fill,
    .client = {.size = sizeof(eg_fedcil_client),
               .fini = eg_fedcil_client_fini,
               .download = eg_fedcil_download,
               .task = eg_fedcil_task,
               .samples = eg_fedcil_samples,
               .trained = eg_fedcil_trained,
               .answer = eg_fedcil_answer},
    .server = {.size = sizeof(eg_fedcil_server),
               .fini = eg_fedcil_server_fini,
               .begin = eg_fedcil_begin,
               .send = eg_fedcil_send,
               .accept = eg_fedcil_accept,
               .collect = eg_fedcil_collect,
               .refine = eg_fedcil_refine,
               .work = eg_fedcil_work,
               .save = eg_fedcil_save,
               .exhibit = eg_fedcil_exhibit},
};
