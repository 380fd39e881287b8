/* edit.h - a client's records, changed as the bytes of a fuzz input say, and a turn on them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Inventing whole bundles would rarely get past their format, whose reader has a target of its
 * own. Here a real turn makes the records, the input takes entries out, gives them another name
 * or length and puts strange numbers into them, and the next turn must end with a status.
 */
#ifndef EG_FUZZ_EDIT_H
#define EG_FUZZ_EDIT_H

#include "fuzz/fuzz.h"
#include "one_client.h"

#include <math.h>

typedef struct edit_input {
    const uint8_t *bytes;
    size_t n;
} edit_input;

/* The next byte; 0, which changes nothing, past the last. */
static inline unsigned edit_byte(edit_input *in)
{
    if (in->n == 0)
        return 0;
    in->n--;
    return *in->bytes++;
}

static inline double edit_number(edit_input *in)
{
    static const double strange[] = {0,     -1,           1,    0.5,      1e18,     -1e18,
                                     1e300, -0.0,         3,    16777216, INFINITY, -INFINITY,
                                     NAN,   2147483648.0, 9e15, 1e-300};
    return strange[edit_byte(in) % (sizeof strange / sizeof *strange)];
}

/* Adds a tensor with another length: `less` values fewer, or more of a strange one. */
static inline void edit_length(eg_bundle *to, const eg_bundle_entry *e, edit_input *in,
                               bool longer)
{
    size_t k = 1 + edit_byte(in) % 16, n = longer ? e->n + k : e->n > k ? e->n - k : 1;
    float *values = calloc(n, sizeof *values);
    EG_ASSERT(values);
    memcpy(values, e->values, (n < e->n ? n : e->n) * sizeof *values);
    EG_ASSERT(eg_bundle_add_flat(to, e->name, values, n) == EG_OK);
    free(values);
}

/* Adds a tensor with a strange number in it. */
static inline void edit_value(eg_bundle *to, const eg_bundle_entry *e, edit_input *in)
{
    float *values;
    size_t at = edit_byte(in) % (e->n ? e->n : 1);
    EG_ASSERT(eg_bundle_room(to, e->name, e->shape, &values) == EG_OK);
    memcpy(values, e->values, e->n * sizeof *values);
    if (e->n)
        values[at] = (float)edit_number(in);
}

static inline void edit_copy(eg_bundle *to, const eg_bundle_entry *e, const char *name)
{
    EG_ASSERT((e->is_scalar ? eg_bundle_scalar(to, name, e->scalar)
                            : eg_bundle_add(to, name, e->shape, e->values)) == EG_OK);
}

static inline void edit_entry(eg_bundle *to, const eg_bundle_entry *e, edit_input *in)
{
    const float one = 1;
    switch (edit_byte(in) % 8) {
    case 1: /* it is not there */
        return;
    case 2:
        edit_copy(to, e, "another");
        return;
    case 3:
        EG_ASSERT((e->is_scalar ? eg_bundle_add_flat(to, e->name, &one, 1)
                                : eg_bundle_scalar(to, e->name, 1)) == EG_OK);
        return;
    case 4:
    case 5:
        if (e->is_scalar)
            EG_ASSERT(eg_bundle_scalar(to, e->name, edit_number(in)) == EG_OK);
        else
            edit_value(to, e, in);
        return;
    case 6:
    case 7:
        if (e->is_scalar)
            EG_ASSERT(eg_bundle_scalar(to, e->name, edit_number(in)) == EG_OK);
        else
            edit_length(to, e, in, edit_byte(in) % 2);
        return;
    default:
        edit_copy(to, e, e->name);
    }
}

/* A changed copy. Two entries cannot both be called "another": the second is left out. */
static inline eg_bundle *edit_bundle(const eg_bundle *from, edit_input *in)
{
    eg_bundle *to;
    eg_bundle_entry e;
    EG_ASSERT(eg_bundle_new(&to) == EG_OK);
    for (size_t i = 0; i < eg_bundle_n(from); i++) {
        double scalar;
        eg_bundle_at(from, i, &e);
        bool twice =
            eg_bundle_find(to, "another", NULL) || eg_bundle_scalar_of(to, "another", &scalar);
        if (twice && in->n && *in->bytes % 8 == 2)
            edit_byte(in);
        else
            edit_entry(to, &e, in);
    }
    return to;
}

enum { EDIT_RECORDS = 8 };

/* A client that has had a few turns, and what it kept then. */
typedef struct edit_client {
    one_client o;
    size_t n;
    char names[EDIT_RECORDS][64];
    eg_bundle *kept[EDIT_RECORDS];
} edit_client;

/* Adds what SCAFFOLD's server sends: nothing, yet. */
static inline void edit_add_control(one_client *o)
{
    float *zeros;
    EG_ASSERT(eg_bundle_room(o->down, "scaffold.control", eg_dims((int64_t)o->c->n_params),
                             &zeros) == EG_OK);
}

/* Opens the run of a text and has client 0 take its turns until the last round. */
static inline void edit_open(edit_client *e, const char *text, int rounds)
{
    one_client_open(&e->o, text, NULL);
    edit_add_control(&e->o);
    for (int i = 0; i < rounds; i++) {
        one_client_train(&e->o);
        edit_add_control(&e->o);
    }
    e->n = eg_records_n(e->o.records);
    EG_ASSERT(e->n <= EDIT_RECORDS);
    for (size_t i = 0; i < e->n; i++) {
        edit_input none = {0};
        snprintf(e->names[i], sizeof e->names[i], "%s", eg_records_name(e->o.records, i));
        e->kept[i] = edit_bundle(one_client_kept(&e->o, e->names[i]), &none);
    }
}

/* One turn on changed records: it ends with a status and leaves the worker fit for the next. */
static inline void edit_turn(edit_client *e, edit_input in)
{
    one_client *o = &e->o;
    eg_records_free(o->records);
    o->records = NULL;
    files_remove(o->store);
    o->kept[0] = (eg_receipt){0};
    for (size_t i = 0; i < e->n; i++)
        one_client_keep(o, 0, e->names[i], edit_bundle(e->kept[i], &in));
    eg_status s = one_client_turn(o, 0);
    EG_ASSERT(s == EG_OK || *eg_error());
}

#endif
