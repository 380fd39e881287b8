/* ncm.c - tests answer with the class whose mean feature is nearest (Mensink et al., 2013).
 * SPDX-License-Identifier: Apache-2.0
 *
 * Training is untouched. After each round clients send, at the new global model, the sums of
 * the features of their samples, and of their memory's rows if they have one, with their
 * numbers by class; the server keeps mu_y, the mean over all clients, and of a class that
 * nobody has rows of any more the last one. Tests: argmin_y |f(x) - mu_y|. Where models are
 * personal a client's means are its own.
 */
#include "method/lib/class_means.h"

// clang-format off
static const eg_opt ncm_opts[] = {
    EG_OPT_BOOL(eg_class_means_opts, unit, false, "features and means are divided by their lengths"),
    EG_OPT_BOOL(eg_class_means_opts, mirror, false, "images count in the means mirrored too"),
    EG_OPT_END,
};
// clang-format on

static eg_status ncm_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)in;
    out->classes = true;
    out->pixels = ((const eg_class_means_opts *)options)->mirror;
    out->exchanges[0] = (eg_exchange){.name = "means", .sum = true};
    return EG_OK;
}

/* What the client knew, with means of what it has now. */
static eg_status ncm_renew(const eg_class_means_opts *n, eg_client *c, const eg_bundle *sums,
                           eg_bundle **known)
{
    const eg_bundle *last;
    EG_TRY(eg_client_recall(c, EG_KNOWN, &last));
    if (last) {
        EG_TRY(eg_bundle_new(known));
        EG_TRY(eg_bundle_copy(*known, last, ""));
    }
    return eg_class_means_take("ncm", c->net, n->unit, sums, known);
}

static eg_status ncm_know_own(void *self, eg_client *c, eg_bundle *to)
{
    eg_bundle *sums, *known = NULL;
    EG_TRY(eg_bundle_new(&sums));
    eg_status s = eg_class_sums(c, self, sums);
    if (s == EG_OK)
        s = ncm_renew(self, c, sums, &known);
    if (s == EG_OK)
        s = eg_bundle_copy(to, known, "");
    eg_bundle_free(known);
    eg_bundle_free(sums);
    return s;
}

const eg_method eg_method_ncm = {
    .component = {"ncm", "tests answer with the class whose mean feature is nearest",
                  sizeof(eg_class_means_opts), ncm_opts},
    .leaves = EG_LEAVES_FIGURES,
    .setup = ncm_setup,
    .know = eg_class_means_declare,
    .answers = eg_class_means_answers,
    .client = {.answer = eg_class_means_answer, .know = ncm_know_own},
    .server = EG_CLASS_MEANS_SERVER,
};
