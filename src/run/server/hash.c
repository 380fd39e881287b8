/* hash.c - what a run has learned, as a digest: runs with equal ones ended in the same bits.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/checksum.h"
#include "run/server/federation.h"

#include <engram/gallery.h>

/* A model's values in table order, without the gaps: parameters, then statistics. */
static void hash_model(eg_sha256 *h, const eg_params *p, const float *param, const float *state)
{
    for (int trained = 1; trained >= 0; trained--)
        for (size_t i = 0; i < eg_params_n(p); i++) {
            const eg_param_info *t = eg_params_at(p, i);
            if (t->trained == (trained == 1))
                eg_sha256_add(h, eg_param_values(t, param, state), t->size * sizeof(float));
        }
}

/* Generators count only where there are any: without, a run keeps its digest. */
static void hash_gallery(eg_sha256 *h, const eg_gallery *g)
{
    char digest[65];
    if (eg_gallery_n(g) == 0)
        return;
    eg_gallery_digest(g, digest);
    eg_sha256_add(h, digest, 64);
}

static void hash_known(eg_sha256 *h, const eg_bundle *known)
{
    for (size_t i = 0; i < eg_bundle_n(known); i++) {
        eg_bundle_entry e;
        eg_bundle_at(known, i, &e);
        eg_sha256_add(h, e.values, e.n * sizeof *e.values);
    }
}

eg_status eg_federation_hash(eg_federation *f, const eg_gallery *g, const eg_bundle *known,
                             char out[65])
{
    const eg_params *p = eg_net_params(f->net);
    eg_sha256 h;
    uint8_t digest[32];
    eg_sha256_init(&h);
    if (!f->agreed.all.personal)
        hash_model(&h, p, f->param, f->state);
    for (int64_t c = 0; f->agreed.all.personal && c < eg_scenario_n_clients(f->feed.scenario);
         c++) {
        eg_records *own = NULL;
        eg_weights model;
        eg_status s = eg_federation_own(f, c, &own, &model);
        if (s == EG_OK)
            hash_model(&h, p, model.param, model.state);
        eg_records_free(own);
        EG_TRY(s);
    }
    hash_gallery(&h, g);
    hash_known(&h, known);
    eg_sha256_end(&h, digest);
    eg_sha256_text(digest, out);
    return EG_OK;
}
