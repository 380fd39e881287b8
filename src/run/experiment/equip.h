/* equip.h - what the server of a run and each of its clients have alike.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_EQUIP_H
#define EG_EQUIP_H

#include "run/experiment/feed.h"

/* Opens the run's data and scenario, asks its parts for their wishes, and makes its network. On
 * failure what was opened is the caller's to close all the same: eg_feed_close, eg_net_free. */
eg_status eg_experiment_equip(const eg_experiment *e, uint64_t seed, const char *data_dir,
                              eg_feed *feed, eg_agreement *agreed, eg_net **net);

#endif
