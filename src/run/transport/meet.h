/* meet.h - before the first round: do all ranks run the same, and see the same folder?
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_MEET_H
#define EG_MEET_H

#include "run/transport/transport.h"

/* On rank 0: waits for all others, and refuses the first that differs in something, by rank,
 * host and name. workers: [ranks], how many each has. */
eg_status eg_meet_all(const eg_site *site, int *workers);

/* On another: says what it has, and looks for what rank 0 shows. EG_EIO: rank 0 has ended it,
 * or the run's folder is not the one that rank 0 sees. */
eg_status eg_meet_server(const eg_site *site);

#endif
