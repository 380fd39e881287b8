/* round.h - a round in progress: its exchange, and who has turns in it.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_ROUND_H
#define EG_ROUND_H

#include "method/mean.h"
#include "run/server/federation.h"

/* Who has turns in an exchange. */
typedef struct eg_round_who {
    int64_t n;
    const int32_t *clients; /* [n], ascending */
    uint8_t *met;           /* [n, n_classes], or one row for all; NULL: all classes count */
    size_t met_step;        /* from one client's row to the next */
} eg_round_who;

typedef struct eg_round {
    eg_federation *f;
    size_t exchange;     /* its place in the agreement */
    eg_round_who chosen; /* those of the round, */
    eg_round_who all;    /* and with those who would be if they had data; n 0: not asked yet */
    int32_t *list;       /* the clients of the latter */
    const eg_round_who *now; /* of these two, those of the exchange */
    int64_t *asked;          /* [n_asked], places among the latter: who has a turn */
    int64_t n_asked;
    eg_bundle *down;        /* what all are sent */
    int64_t good;           /* uploads that count */
    eg_bundle_mean answers; /* of an exchange whose answers count by their mean alone */
    double samples, loss, bytes_up, bytes_down;
    int64_t at;     /* whose reply is taken: a place in the list; -1: nobody's of this round */
    double *losses; /* [chosen.n]: of training; NaN: of nobody who counts. NULL: all are sums */
    int64_t *held;  /* [classes]: rows in the memories of held_by clients; NULL: nobody told */
    int64_t held_by;
    char abandoned[256]; /* why no sum came of training; "": one did, or there are none */
} eg_round;

/* How far a client got that is left out. */
typedef enum eg_left { EG_LEFT_UNHEARD, EG_LEFT_ANSWERED, EG_LEFT_SUMMED } eg_left;

/* Makes the download of an exchange; tells client i's turn; leaves one out, for what eg_error
 * says; counts what a turn took, and writes its notes; has an upload that is accepted join the
 * mean, with a factor on its weight. */
eg_status eg_round_send(eg_round *r);
eg_status eg_round_tell(void *round, int64_t i, eg_turn *out, eg_bundle **own);
eg_status eg_round_leave_out(eg_round *r, int64_t client, eg_left left);
void eg_round_spend(eg_federation *f, bool trains, const eg_reply *reply);
eg_status eg_round_note(eg_round *r, int64_t client, const eg_reply *reply);
eg_status eg_round_count(eg_round *r, int64_t client, const eg_bundle *up, double factor);

/* hidden.c: an exchange of whose answers the server learns the sum alone. Of training the mean
 * becomes next_param and next_state; what parts declared is collected. */
eg_status eg_round_hidden(eg_round *r);

#endif
