/* stop.h - Ctrl-C: a run ends after its round, with a checkpoint; a second one ends it at once.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_CLI_STOP_H
#define EG_CLI_STOP_H

#include <engram/base.h>

/* From here on SIGINT, SIGTERM and SIGUSR1 are requests to stop; says: each is confirmed on
 * stderr. Call it before there are any other threads, which inherit what it sets; calls after
 * the first do nothing. EG_ENOMEM: there is no thread to wait for them. */
eg_status stop_watch(bool says);

/* To be called before: SIGHUP is a request to read files again. Whether there was one since the
 * last call of the second. */
void stop_hear_reload(void);
bool stop_take_reload(void);

/* Sleeps, after stop_watch, until the seconds are over or a stop is asked for. */
void stop_pause(double seconds);

/* The end is near anyway: from here on nothing is said, and nothing ends at once. */
void stop_ignore(void);

/* True once a stop was asked for. Any thread may call it. */
bool stop_asked(void);

#endif
