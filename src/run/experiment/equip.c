/* equip.c - data, wishes and network of a run.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/experiment/equip.h"

eg_status eg_experiment_equip(const eg_experiment *e, uint64_t seed, const char *data_dir,
                              eg_feed *feed, eg_agreement *agreed, eg_net **net)
{
    EG_TRY(eg_feed_open(e, seed, data_dir, feed));
    const eg_setting in = eg_experiment_setting(e, feed->scenario);
    EG_TRY(eg_parts_setup(&e->parts, &in, e->memory.kind != 0, agreed));
    if (agreed->all.images)
        EG_TRY(eg_feed_check_pixels(feed));
    eg_net_spec spec = eg_feed_net(e, feed);
    spec.side = agreed->all.side;
    return eg_net_new_marked(&spec, &e->layers, net);
}
