/* https_late.c - turns that stay open behind their exchange, for devices that are late.
 * SPDX-License-Identifier: Apache-2.0
 *
 * To its device such a turn is like any other: it has the page that asks, the download of its
 * exchange, and its number. The reader takes its answer apart like the others'.
 */
#include "run/transport/https.h"

#include <stdio.h>
#include <stdlib.h>

void eg_https_keep_late(eg_https *h, int64_t i)
{
    const eg_board_turn *b = &h->board.turns[i];
    eg_https_device *d = &h->devices[b->is.id];
    eg_https_late *l;
    h->asks -= h->turns[i].n_ask;
    d->turn = -1;
    if (eg_alloc(1, sizeof *l, &l) == EG_OK) { /* else it is lost like another */
        l->turn.is = (eg_turn){.id = b->is.id, .round = b->is.round};
        l->at = h->turns[i];
        l->at.n_ask = 0, l->at.late = true, l->at.of = &l->turn;
        l->down = eg_http_page_hold(h->down);
        d->late = l;
    } else {
        eg_http_page_drop(h->turns[i].ask);
    }
    h->turns[i] = (eg_https_turn){0};
}

void eg_https_requeue(eg_https *h)
{
    eg_https_turn *x = h->first, *next;
    h->first = NULL;
    for (; x; x = next) {
        next = x->next;
        if (!x->late)
            continue;
        x->next = NULL;
        *(h->first ? &h->last->next : &h->first) = x;
        h->last = x;
    }
}

bool eg_https_is_late(void *self, int64_t client)
{
    eg_https *h = self;
    pthread_mutex_lock(&h->lock);
    bool late = h->devices[client].late != NULL;
    pthread_mutex_unlock(&h->lock);
    return late;
}

/* Under the lock: the first client whose late answer is there; -1: none is. */
static int64_t late_first(const eg_https *h)
{
    for (int64_t i = 0; i < h->n_devices; i++)
        if (h->devices[i].late && h->devices[i].late->turn.there)
            return i;
    return -1;
}

/* Under the lock: whether some answer may still come to who has waited since then. */
static bool late_is_awaited(const eg_https *h, double since)
{
    double now = eg_seconds(), most = eg_https_deadline(h);
    if (h->stops || (most > 0 && now - since > most))
        return false;
    for (int64_t i = 0; i < h->n_devices; i++)
        if (h->devices[i].late && now - h->devices[i].heard < eg_https_patience(h))
            return true;
    return false;
}

/* Under the lock: frees what there is of a client's late turn, which the reader is not at. */
static void late_drop(eg_https *h, int64_t client)
{
    eg_https_late *l = h->devices[client].late;
    if (l->turn.reply.up)
        h->held -= eg_bundle_bytes(l->turn.reply.up);
    eg_http_page_drop(l->at.ask);
    eg_http_page_drop(l->down);
    eg_chunk_free(l->at.body);
    eg_reply_fini(&l->turn.reply);
    free(l->turn.why);
    free(l);
    h->devices[client].late = NULL;
}

void eg_https_drop_late(void *self, int64_t client)
{
    eg_https *h = self;
    pthread_mutex_lock(&h->lock);
    eg_https_late *l = h->devices[client].late;
    if (l) {
        l->at.late = false; /* off the queue */
        eg_https_requeue(h);
        while (h->busy)
            eg_cond_wait(&h->changed, &h->lock, 1);
        late_drop(h, client);
    }
    pthread_mutex_unlock(&h->lock);
}

/* Under the lock: an answer that is there. */
static eg_status late_take(eg_https *h, int64_t client, eg_reply *out, bool *lost)
{
    eg_https_late *l = h->devices[client].late;
    eg_board_turn *t = &l->turn;
    if (t->status == EG_OK && l->at.body) {
        pthread_mutex_unlock(&h->lock);
        eg_status s = eg_https_read(h, &l->at, l->at.body, t);
        pthread_mutex_lock(&h->lock);
        EG_TRY(s);
    } else if (t->reply.up) {
        h->held -= eg_bundle_bytes(t->reply.up);
    }
    *out = t->reply;
    t->reply = (eg_reply){0};
    char which[64];
    snprintf(which, sizeof which, "what it was asked in round %lld",
             (long long)t->is.round + 1);
    if (t->status == EG_OK) {
        eg_https_audit(h, "answered_late", client, NULL, which);
    } else {
        *lost = true;
        eg_fail(t->status, "%s", t->why ? t->why : "out of memory");
        eg_https_note_lost(h, client);
    }
    late_drop(h, client);
    return EG_OK;
}

eg_status eg_https_hear_late(void *self, bool waits, int64_t *client, eg_reply *out, bool *lost)
{
    eg_https *h = self;
    eg_status s = EG_OK;
    double since = eg_seconds();
    pthread_mutex_lock(&h->lock);
    while ((*client = late_first(h)) < 0 && waits && s == EG_OK) {
        bool alone;
        s = eg_https_is_short(h, &alone);
        if (!alone && !late_is_awaited(h, since))
            break;
        if (s == EG_OK)
            eg_https_nap(h);
    }
    if (s == EG_OK && *client >= 0)
        s = late_take(h, *client, out, lost);
    pthread_mutex_unlock(&h->lock);
    return s;
}
