/* pulse.h - a thread that tells a server, while a device works, that it is still there.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_PULSE_H
#define EG_PULSE_H

#include "io/http_client.h"

typedef struct eg_pulse eg_pulse;

/* Starts it: while there is work, one word every so many seconds, through a connection of its
 * own, which is taken over even on failure. */
eg_status eg_pulse_new(eg_http_client *take, int64_t client, double every, eg_pulse **out);
void eg_pulse_free(eg_pulse *p); /* NULL is fine */

/* The turn that is worked on; -1: none, and nothing is said. */
void eg_pulse_set(eg_pulse *p, int64_t number);

#endif
