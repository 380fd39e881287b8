/* fields.h - the values of an event: each function names one and goes both ways.
 * SPDX-License-Identifier: Apache-2.0
 *
 * It puts *x into the object that is written, or takes it out of the one that is read.
 */
#ifndef EG_FIELDS_H
#define EG_FIELDS_H

#include "run/log/event.h"

/* The fields of an event on their way into an object or out of one. Arrays and texts that are
 * read are the arena's; errors name the key. */
struct eg_fields {
    eg_json *to;         /* the object that is written, or NULL: */
    const eg_json *from; /* the one that is read */
    eg_arena *arena;
    const eg_start_event *run; /* read: what bounds the events of the run; NULL in its start */
    bool optional;             /* of the next field */
};

/* The next field may be missing; then *x stays as it is. A pointer that is NULL is not written.
 */
eg_fields *eg_field_optional(eg_fields *f);

eg_status eg_field_int(eg_fields *f, const char *key, int64_t min, int64_t max, int64_t *x);
eg_status eg_field_real(eg_fields *f, const char *key, double *x); /* null is NaN */
eg_status eg_field_bool(eg_fields *f, const char *key, bool *x);
eg_status eg_field_mark(eg_fields *f, const char *key,
                        bool *x); /* written only if it is true */
eg_status eg_field_text(eg_fields *f, const char *key, const char **x);
eg_status eg_field_who(eg_fields *f, const char *key, int64_t *x); /* -1 is "server" */

/* Arrays: of n numbers, where null is NaN; of n whole ones within bounds; of as many as there
 * are; of texts. */
eg_status eg_field_numbers(eg_fields *f, const char *key, const double **x, size_t n);
eg_status eg_field_ints(eg_fields *f, const char *key, int64_t min, int64_t max,
                        const int64_t **x, int64_t n);
eg_status eg_field_int_list(eg_fields *f, const char *key, int64_t min, int64_t max,
                            const int64_t **x, size_t *n);
eg_status eg_field_texts(eg_fields *f, const char *key, const char *const **x, size_t *n);

/* Counts x[i] of total[i], as the fractions they are; null where the total is 0. */
eg_status eg_field_shares(eg_fields *f, const char *key, const int64_t *total, int64_t n,
                          const int64_t **x);

/* An object of numbers by name. */
eg_status eg_field_reals(eg_fields *f, const char *key, const char *const **names,
                         const double **x, size_t *n);

#endif
