/* message_most.c - how long a message of a run can be, either way.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Neither side takes more from the other, since neither trusts the other.
 */
#include "run/transport/transport.h"

#include "run/experiment/feed.h"

/* What parts send of their own, generators and figures, may be larger than a small network;
 * nothing declares how much it is. */
enum {
    MOST_MODELS = 32,
    MOST_BESIDE = 64 << 20,
    MOST_HEAD = 1 << 20, /* bytes beside vectors: names, notes, scalars */
    MOST_STEP = 512,     /* of a hidden sum: what is said of one other client */
};

static void most_count(void *to, const eg_method *method, const void *options)
{
    size_t *models = to;
    (void)options;
    *models += method->client.answer || method->server.send || method->server.send_one
                   ? MOST_MODELS
                   : 0;
}

size_t eg_message_most(const eg_site *site)
{
    const eg_params *p = eg_net_params(site->net);
    size_t beside = 0, models = 1 + site->agreed->n_uploads;
    eg_parts_each(&site->e->parts, most_count, &beside);
    return (eg_params_length(p) * (models + beside) + eg_state_length(p)) * sizeof(float) +
           MOST_HEAD + (beside ? MOST_BESIDE : 0) +
           (site->agreed->hides
                ? MOST_STEP * (size_t)eg_scenario_n_clients(site->feed->scenario)
                : 0);
}
