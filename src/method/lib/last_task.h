/* last_task.h - the global model that the last common task left, for clients that come later.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A part's server half keeps a copy of the model at which each period began. A client whose
 * first turn in a period comes when the model has moved on is sent the copy beside the model of
 * the moment; in the period's first round both are one, and nothing is sent twice.
 */
#ifndef EG_LAST_TASK_H
#define EG_LAST_TASK_H

#include <engram/network.h>
#include <engram/server.h>

/* Zeroed bytes may be given to fini. */
typedef struct eg_last_task {
    int64_t period;       /* of the last round that was sent; 0: none yet */
    float *param, *state; /* [n_params], [n_state]: the model when it began */
    float *turned;        /* [n_clients]: the last period of which there is an answer */
} eg_last_task;

/* In the begin hook. kept: what eg_last_task_keep filled, NULL: nothing; prefix: of names. */
eg_status eg_last_task_init(eg_last_task *l, const eg_server *s, const char *prefix,
                            const eg_bundle *kept);
void eg_last_task_fini(eg_last_task *l);
eg_status eg_last_task_keep(const eg_last_task *l, const eg_server *s, const char *prefix,
                            eg_bundle *to);

/* In the send hook of training: a new period begins with the model as it is. */
void eg_last_task_turn(eg_last_task *l, const eg_server *s);
/* In the send_one hook: adds "<prefix>.param" and "<prefix>.state", if the client needs them.
 */
eg_status eg_last_task_send(const eg_last_task *l, const eg_server *s, const char *prefix,
                            int64_t client, eg_bundle *to);
/* In the collect hook of training: the client has had its turn. */
void eg_last_task_collect(eg_last_task *l, int64_t client);

/* On the client: where it stood, or NULL members if the download has nothing of it. */
eg_status eg_last_task_read(const eg_client *c, const char *prefix, const eg_bundle *from,
                            eg_weights *out);

#endif
