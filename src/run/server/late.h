/* late.h - answers to earlier rounds that may still come, and count then (server.late buffer).
 * SPDX-License-Identifier: Apache-2.0
 *
 * A device that is too late for its round may answer for some rounds more (FedBuff; Nguyen et
 * al., 2022, arXiv:2106.06639). Meanwhile it is asked nothing else. What counts is its change
 * of the model it was sent, at the model of now, with a weight of 1/sqrt(1 + age). So the
 * server keeps the models of the rounds that are waited for.
 */
#ifndef EG_LATE_H
#define EG_LATE_H

#include "run/server/round.h"

enum { EG_LATE_AGE = 16 }; /* rounds for which an answer is waited for */

/* Whether place i of the exchange is asked: not who has an older answer to give; in a replay,
 * not of whom the log heard nothing. The error text says why not. */
bool eg_late_asks(const eg_round *r, int64_t i);

/* Who has not answered in time may do so later, if the run and the transport allow it; in a
 * replay its reply is taken over, to be heard later. *kept: so it is. */
eg_status eg_late_keep(eg_round *r, int64_t i, eg_reply *reply, bool *kept);

/* Gives up what is too old; before a round's training. */
eg_status eg_late_begin(eg_federation *f);

/* Counts what has come of earlier rounds, after the round's own answers. While those that are
 * good are fewer than server.min_clients it waits for one. */
eg_status eg_late_count(eg_round *r);

void eg_late_close(eg_federation *f);

#endif
