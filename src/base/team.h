/* team.h - threads that carry out one piece of work together, in step.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A team belongs to one thread at a time, and that thread is its first member: it calls
 * eg_team_run, and all members run the same function at once, each as another part of so many.
 * They divide what is to be done by eg_team_range, and meet by eg_team_meet where one needs
 * what another has made. Nothing that is computed may depend on how many parts there are: no
 * sum is divided.
 *
 * Members wait by looking for a while, where there is a core for each of them, and then sleep.
 * There is no allocation while a team works, unless something fails.
 */
#ifndef EG_TEAM_H
#define EG_TEAM_H

#include "base/base.h"

enum { EG_MAX_TEAM = 64 };

typedef struct eg_team eg_team;

/* One member: number i of n. A zeroed part would be nobody's; alone it is {NULL, 0, 1}. */
typedef struct eg_team_part {
    eg_team *team;
    int i, n;
} eg_team_part;
#define EG_WHOLE ((eg_team_part){.n = 1})

/* Units [from, to) of what is divided. */
typedef struct eg_range {
    int64_t from, to;
} eg_range;

/* n: 1 to EG_MAX_TEAM, that of the owner among them. Fewer if the system has no more. */
eg_status eg_team_new(int n, eg_team **out);
void eg_team_free(eg_team *t);      /* NULL is fine */
int eg_team_size(const eg_team *t); /* of NULL: 1 */

/* Runs work on all members and waits for them; the failure of the first that failed becomes the
 * caller's. A work that can fail must not meet the others after that, unless all fail alike.
 * */
typedef eg_status (*eg_team_work)(void *context, const eg_team_part *part);
eg_status eg_team_run(eg_team *t, eg_team_work work, void *context);

/* Waits until all members are here: what they wrote can be read behind it. Alone: at once. */
void eg_team_meet(const eg_team_part *p);

/* This part of n units, of which each begins at a multiple of `grain` (the last may be less).
 * The parts are in order, and as equal as that allows. */
eg_range eg_team_range(const eg_team_part *p, int64_t n, int64_t grain);

/* The team that works for this thread, whoever computes on it; NULL: none. Not owned. */
void eg_team_enter(eg_team *t);
eg_team *eg_team_here(void);

/* Work that is smaller, in seconds, is left to one thread; for tests, 0 divides everything. */
void eg_team_set_least(eg_team *t, double seconds);
double eg_team_least(const eg_team *t);

/* Cores that this process may use, at least 1. */
int eg_cores(void);

#endif
