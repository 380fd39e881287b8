/* script.h - what the log of a run says of who answered when, so that it can be run again.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A run in which devices were left out, or counted late, is a function of its configuration,
 * its seed, and who answered in which round: a replay takes the last from the log and carries
 * out the same turns elsewhere. It belongs to one thread.
 */
#ifndef EG_SCRIPT_H
#define EG_SCRIPT_H

#include "run/log/event.h"

typedef struct eg_script {
    const char *folder; /* borrowed */
    struct eg_events *log;
} eg_script;

/* What became of a client in an exchange. */
typedef enum eg_fate {
    EG_FATE_COUNTS,  /* its answer counts */
    EG_FATE_REFUSED, /* what it keeps does, its answer does not */
    EG_FATE_UNHEARD, /* nothing of it was heard */
} eg_fate;

/* Of a finished run. EG_ENOENT: there is no such run, or no end to it; EG_EINVAL: it cannot be
 * carried out elsewhere, and why. */
eg_status eg_script_open(const char *folder, eg_script *out);
void eg_script_close(eg_script *s); /* of zeros too */

/* round from 1. *why: the log's sentence of who does not count; else NULL. */
eg_fate eg_script_fate(const eg_script *s, int64_t round, size_t exchange, int64_t client,
                       const char **why);

/* The answer to round `asked` that was heard later; NULL: none was. */
const eg_late_event *eg_script_late(const eg_script *s, int64_t asked, int64_t client);

/* Those that were heard in a round, in the order in which they counted: [*n]. */
const eg_late_event *eg_script_heard(const eg_script *s, int64_t round, size_t *n);

/* Whether the round was skipped with a sentence that begins so. */
bool eg_script_skips(const eg_script *s, int64_t round, const char *why);

/* EG_EINVAL: the run ended in other bits than these, and which. */
eg_status eg_script_compare(const eg_script *s, const char *params_sha256);

#endif
