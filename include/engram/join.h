/* engram/join.h - a device as a part of a program with a sensor: samples as they come.
 * SPDX-License-Identifier: Apache-2.0
 *
 * eg_join (engram/remote.h) takes part with data in files. A joiner takes part with what is
 * pushed, and leaves the thread to its program between turns:
 *
 *     eg_joiner *j;
 *     eg_join_new(&(eg_join_how){.url = "https://...", .client = -1, .key = "device.key"},
 *                 &(eg_join_shape){1, 28, 28, 10}, &j);
 *     while (!over) {
 *         eg_join_push(j, x, y, n);
 *         eg_join_step(j, &over);
 *     }
 *     eg_join_free(j);
 *
 * What was pushed stays with the joiner, in memory. One thread at a time per joiner. The first
 * joiner of a process adds a data set "pushed" to the family: make it before other threads read
 * experiments.
 */
#ifndef EG_PUBLIC_JOIN_H
#define EG_PUBLIC_JOIN_H

#include <engram/remote.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_joiner eg_joiner;

/* What a sample is like: as the server's data are, whose classes these must be too. */
typedef struct eg_join_shape {
    int64_t channels, height, width, classes;
} eg_join_shape;

/* Finds the server and learns the run. `how` is borrowed until the end; its own_data is taken
 * for true, and its settings may not name other data. Failures as of eg_join. Free with
 * eg_join_free. */
eg_status eg_join_new(const eg_join_how *how, const eg_join_shape *shape, eg_joiner **out);
void eg_join_free(eg_joiner *j); /* NULL is fine */

/* Takes n samples in: x [n, channels, height, width], as the network's preparation expects them
 * (pixels from 0 to 1), and their classes y [n]. They count from the next turn on. EG_EINVAL: a
 * value is not finite, or a class is none; then nothing is taken in. */
eg_status eg_join_push(eg_joiner *j, const float *x, const int32_t *y, int64_t n);

/* From here on what is pushed is another task: the next turn begins it. */
void eg_join_begin_task(eg_joiner *j);

/* Asks the server for a turn, for as long as it lets questions wait (a quarter of its patience,
 * 25 seconds at most), and takes it if there is one. *over: the run is. EG_EINVAL: nothing was
 * pushed yet; others as of eg_join. */
eg_status eg_join_step(eg_joiner *j, bool *over);

int64_t eg_join_n_turns(const eg_joiner *j); /* taken so far */

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
