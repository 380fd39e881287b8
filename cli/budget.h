/* budget.h - what a device may take of its machine: memory, rank among processes, and when.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_CLI_BUDGET_H
#define EG_CLI_BUDGET_H

#include "option.h"

typedef struct budget {
    int64_t memory;      /* bytes; 0: no bound */
    int64_t niceness;    /* 0: as it was started */
    const char *command; /* it works only while this ends with 0; NULL: always */
    double every;        /* seconds until a command that did not is run again */
    double looked;       /* when it was run last */
    bool waits;          /* it did not end with 0 */
} budget;

/* "64M" in bytes, for a row of options. EG_EINVAL */
eg_status budget_take_bytes(void *field, const char *value);

/* Bounds this process, before it has threads. */
eg_status budget_begin(const budget *b);

/* Whether the device may work; runs the command, at most once in a second, and waits while it
 * does not end with 0. False: a stop was asked for. */
bool budget_may(budget *b);

#endif
