/* field.h - the fields of an event, walked to be written or to be read.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every function below names a field once and goes both ways: it puts *x into the object, or
 * takes the member out, checks it, and sets *x. Arrays and texts that are read are the arena's.
 * Errors name the key.
 */
#ifndef EG_FIELD_H
#define EG_FIELD_H

#include "base/arena.h"
#include "io/json.h"
#include "run/log/event.h"

struct eg_fields {
    eg_json *to;         /* the object that is written, or NULL: */
    const eg_json *from; /* the one that is read */
    eg_arena *arena;
    const eg_start_event *run; /* read: what bounds the events of the run; NULL in its start */
    bool optional;             /* of the next field */
};

/* The next field may be missing; then *x stays as it is. A pointer that is NULL is not written.
 */
eg_fields *eg_optional(eg_fields *f);

eg_status eg_field_int(eg_fields *f, const char *key, int64_t min, int64_t max, int64_t *x);
eg_status eg_field_real(eg_fields *f, const char *key, double *x); /* null is NaN */
eg_status eg_field_bool(eg_fields *f, const char *key, bool *x);
eg_status eg_field_text(eg_fields *f, const char *key, const char **x);
eg_status eg_field_who(eg_fields *f, const char *key, int64_t *x); /* -1 is "server" */

/* n is what the array must hold, if it is known, or below 0. */
eg_status eg_field_ints(eg_fields *f, const char *key, int64_t min, int64_t max,
                        const int64_t **x, int64_t n);
eg_status eg_field_int_list(eg_fields *f, const char *key, int64_t min, int64_t max,
                            const int64_t **x, size_t *n);
eg_status eg_field_texts(eg_fields *f, const char *key, const char *const **x, size_t *n);

/* Counts x[i] of total[i], as the fractions they are; null where the total is 0. A NULL is
 * null. */
eg_status eg_field_shares(eg_fields *f, const char *key, const int64_t *total, int64_t n,
                          const int64_t **x);

/* An object of numbers by name. */
eg_status eg_field_reals(eg_fields *f, const char *key, const char *const **names,
                         const double **x, size_t *n);

#endif
