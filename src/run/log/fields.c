/* fields.c - the values of an event on their way into an object or out of one.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/log/fields.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The next field may be missing; then *x stays as it is. A pointer that is NULL is not written.
 */
eg_fields *eg_field_optional(eg_fields *f)
{
    f->optional = true;
    return f;
}

/* The member that is read; NULL where it may be missing and is. */
static eg_status field_find(eg_fields *f, const char *key, const eg_json **out)
{
    bool optional = f->optional;
    f->optional = false;
    *out = eg_json_get(f->from, key);
    return *out || optional ? EG_OK : eg_fail(EG_EFORMAT, "'%s' is missing", key);
}

/* Whether a pointer is left out of what is written. */
static bool field_is_left_out(eg_fields *f, const void *x)
{
    bool optional = f->optional;
    f->optional = false;
    return optional && !x;
}

/* A value of another kind is a fault of the file, not of a call. */
static eg_status field_taken(eg_status s, const char *key)
{
    return eg_blame(s == EG_EINVAL ? EG_EFORMAT : s, "%s", key);
}

static eg_status field_bounded(const char *key, int64_t x, int64_t min, int64_t max)
{
    if (x >= min && x <= max)
        return EG_OK;
    return eg_fail(EG_EFORMAT, "%s: %" PRId64 " is outside [%" PRId64 ", %" PRId64 "]", key, x,
                   min, max);
}

static eg_status field_take_int(const eg_json *v, const char *key, int64_t min, int64_t max,
                                int64_t *x)
{
    EG_TRY(field_taken(eg_json_int(v, x), key));
    return field_bounded(key, *x, min, max);
}

/* Every function below names a field once and goes both ways: it puts *x into the object, or
 * takes the member out, checks it, and sets *x. */
eg_status eg_field_int(eg_fields *f, const char *key, int64_t min, int64_t max, int64_t *x)
{
    const eg_json *v;
    if (f->to) {
        f->optional = false;
        EG_TRY(field_bounded(key, *x, min, max));
        return eg_json_set(f->to, key, eg_json_of_int(*x));
    }
    EG_TRY(field_find(f, key, &v));
    return v ? field_take_int(v, key, min, max, x) : EG_OK;
}

static eg_json *field_number(double x)
{
    return isfinite(x) ? eg_json_of_real(x) : eg_json_of_null();
}

static eg_status field_take_real(const eg_json *v, const char *key, double *x)
{
    *x = NAN;
    return eg_json_kind_of(v) == EG_JSON_NULL ? EG_OK : field_taken(eg_json_real(v, x), key);
}

/* null is NaN. */
eg_status eg_field_real(eg_fields *f, const char *key, double *x)
{
    const eg_json *v;
    if (f->to)
        return eg_json_set(f->to, key, field_number(*x));
    EG_TRY(field_find(f, key, &v));
    return field_take_real(v, key, x);
}

eg_status eg_field_bool(eg_fields *f, const char *key, bool *x)
{
    const eg_json *v;
    if (f->to) {
        f->optional = false;
        return eg_json_set(f->to, key, eg_json_of_bool(*x));
    }
    EG_TRY(field_find(f, key, &v));
    return v ? field_taken(eg_json_bool(v, x), key) : EG_OK;
}

/* What is written only if it is true. */
eg_status eg_field_mark(eg_fields *f, const char *key, bool *x)
{
    return f->to && !*x ? EG_OK : eg_field_bool(eg_field_optional(f), key, x);
}

static eg_status field_take_text(eg_fields *f, const eg_json *v, const char *key,
                                 const char **x)
{
    const char *text;
    EG_TRY(field_taken(eg_json_text(v, &text), key));
    *x = eg_arena_text(f->arena, "%s", text);
    return *x ? EG_OK : EG_ENOMEM;
}

eg_status eg_field_text(eg_fields *f, const char *key, const char **x)
{
    const eg_json *v;
    if (f->to)
        return field_is_left_out(f, *x) ? EG_OK : eg_json_set(f->to, key, eg_json_of_text(*x));
    EG_TRY(field_find(f, key, &v));
    return v ? field_take_text(f, v, key, x) : EG_OK;
}

/* -1 is "server". */
eg_status eg_field_who(eg_fields *f, const char *key, int64_t *x)
{
    const eg_json *v;
    const char *text;
    if (f->to)
        return eg_json_set(f->to, key, *x < 0 ? eg_json_of_text("server") : eg_json_of_int(*x));
    EG_TRY(field_find(f, key, &v));
    if (eg_json_kind_of(v) != EG_JSON_TEXT)
        return field_take_int(v, key, 0, f->run->clients - 1, x);
    *x = -1;
    EG_TRY(eg_json_text(v, &text));
    return strcmp(text, "server") == 0
               ? EG_OK
               : eg_fail(EG_EFORMAT, "%s: '%s' is neither 'server' nor a client's number", key,
                         text);
}

/* An array that is read, and its length, which must be n unless n is below 0. */
static eg_status field_take_array(const eg_json *v, const char *key, int64_t n, size_t *out)
{
    *out = eg_json_count(v);
    if (eg_json_kind_of(v) != EG_JSON_ARRAY)
        return eg_fail(EG_EFORMAT, "%s: wants an array, not %s", key,
                       eg_json_kind_text(eg_json_kind_of(v)));
    if (n >= 0 && *out != (size_t)n)
        return eg_fail(EG_EFORMAT, "%s: %zu values, not %" PRId64, key, *out, n);
    return EG_OK;
}

static eg_status field_put_ints(eg_fields *f, const char *key, const int64_t *x, size_t n)
{
    eg_json *list = eg_json_array();
    EG_TRY(eg_json_set(f->to, key, list));
    for (size_t i = 0; i < n; i++)
        EG_TRY(eg_json_add(list, eg_json_of_int(x[i])));
    return EG_OK;
}

static eg_status field_get_ints(eg_fields *f, const char *key, int64_t n,
                                const int64_t range[2], const int64_t **x, size_t *count)
{
    const eg_json *v;
    EG_TRY(field_find(f, key, &v));
    if (!v)
        return EG_OK;
    EG_TRY(field_take_array(v, key, n, count));
    int64_t *values = eg_arena_alloc(f->arena, (*count + 1) * sizeof *values);
    if (!values)
        return EG_ENOMEM;
    for (size_t i = 0; i < *count; i++)
        EG_TRY(field_take_int(eg_json_at(v, i), key, range[0], range[1], &values[i]));
    *x = values;
    return EG_OK;
}

/* n numbers; null is NaN. */
eg_status eg_field_numbers(eg_fields *f, const char *key, const double **x, size_t n)
{
    const eg_json *v;
    eg_json *list;
    if (f->to) {
        if (field_is_left_out(f, *x))
            return EG_OK;
        EG_TRY(eg_json_set(f->to, key, list = eg_json_array()));
        for (size_t i = 0; i < n; i++)
            EG_TRY(eg_json_add(list, field_number((*x)[i])));
        return EG_OK;
    }
    EG_TRY(field_find(f, key, &v));
    if (!v)
        return EG_OK;
    EG_TRY(field_take_array(v, key, (int64_t)n, &n));
    double *values = eg_arena_alloc(f->arena, (n + 1) * sizeof *values);
    if (!values)
        return EG_ENOMEM;
    for (size_t i = 0; i < n; i++)
        EG_TRY(field_take_real(eg_json_at(v, i), key, &values[i]));
    *x = values;
    return EG_OK;
}

/* n is what the array must hold. */
eg_status eg_field_ints(eg_fields *f, const char *key, int64_t min, int64_t max,
                        const int64_t **x, int64_t n)
{
    size_t count;
    if (f->to)
        return field_is_left_out(f, *x) ? EG_OK : field_put_ints(f, key, *x, (size_t)n);
    return field_get_ints(f, key, n, (const int64_t[]){min, max}, x, &count);
}

eg_status eg_field_int_list(eg_fields *f, const char *key, int64_t min, int64_t max,
                            const int64_t **x, size_t *n)
{
    if (f->to)
        return field_put_ints(f, key, *x, *n);
    return field_get_ints(f, key, -1, (const int64_t[]){min, max}, x, n);
}

static eg_status field_put_texts(eg_fields *f, const char *key, const char *const *x, size_t n)
{
    eg_json *list = eg_json_array();
    EG_TRY(eg_json_set(f->to, key, list));
    for (size_t i = 0; i < n; i++)
        EG_TRY(eg_json_add(list, eg_json_of_text(x[i])));
    return EG_OK;
}

eg_status eg_field_texts(eg_fields *f, const char *key, const char *const **x, size_t *n)
{
    const eg_json *v;
    if (f->to)
        return field_is_left_out(f, *x) ? EG_OK : field_put_texts(f, key, *x, *n);
    EG_TRY(field_find(f, key, &v));
    if (!v)
        return EG_OK;
    EG_TRY(field_take_array(v, key, -1, n));
    const char **texts = eg_arena_alloc(f->arena, (*n + 1) * sizeof *texts);
    if (!texts)
        return EG_ENOMEM;
    for (size_t i = 0; i < *n; i++)
        EG_TRY(field_take_text(f, eg_json_at(v, i), key, &texts[i]));
    *x = texts;
    return EG_OK;
}

static eg_status field_put_shares(eg_fields *f, const char *key, const int64_t *total,
                                  int64_t n, const int64_t *x)
{
    if (!x)
        return eg_json_set(f->to, key, eg_json_of_null());
    eg_json *list = eg_json_array();
    EG_TRY(eg_json_set(f->to, key, list));
    for (int64_t i = 0; i < n; i++) {
        EG_ASSERT(total[i] == 0 || (x[i] >= 0 && x[i] <= total[i]));
        EG_TRY(eg_json_add(list, total[i] > 0 ? eg_json_of_real((double)x[i] / (double)total[i])
                                              : eg_json_of_null()));
    }
    return EG_OK;
}

/* A fraction that was a count over a total gives the count back. One that was not may come
 * from elsewhere and is refused, for all that is made of it would be off. */
static eg_status field_take_share(const eg_json *v, const char *key, int64_t total, int64_t *x)
{
    double share;
    EG_TRY(field_taken(eg_json_real(v, &share), key));
    if (!(share >= 0 && share <= 1))
        return eg_fail(EG_EFORMAT, "%s: %g is no fraction", key, share);
    *x = llround(share * (double)total);
    if (total < 1 || fabs(share * (double)total - (double)*x) > 0.01)
        return eg_fail(EG_EFORMAT, "%s: %g is no share of %" PRId64 " samples", key, share,
                       total);
    return EG_OK;
}

/* Counts x[i] of total[i], as the fractions they are; null where the total is 0. A NULL is
 * null. */
eg_status eg_field_shares(eg_fields *f, const char *key, const int64_t *total, int64_t n,
                          const int64_t **x)
{
    const eg_json *v;
    size_t count;
    if (f->to)
        return field_put_shares(f, key, total, n, *x);
    EG_TRY(field_find(f, key, &v));
    if (!v || eg_json_kind_of(v) == EG_JSON_NULL)
        return EG_OK;
    EG_TRY(field_take_array(v, key, n, &count));
    int64_t *counts = eg_arena_alloc(f->arena, count * sizeof *counts);
    if (!counts)
        return EG_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const eg_json *share = eg_json_at(v, i);
        if (eg_json_kind_of(share) != EG_JSON_NULL)
            EG_TRY(field_take_share(share, key, total[i], &counts[i]));
        else if (total[i] > 0)
            return eg_fail(EG_EFORMAT, "%s: null for %" PRId64 " samples", key, total[i]);
    }
    *x = counts;
    return EG_OK;
}

static eg_status field_put_reals(eg_fields *f, const char *key, const char *const *names,
                                 const double *x, size_t n)
{
    eg_json *object = eg_json_object();
    EG_TRY(eg_json_set(f->to, key, object));
    for (size_t i = 0; i < n; i++)
        EG_TRY(eg_json_set(object, names[i], field_number(x[i])));
    return EG_OK;
}

/* An object of numbers by name. */
eg_status eg_field_reals(eg_fields *f, const char *key, const char *const **names,
                         const double **x, size_t *n)
{
    const eg_json *v, *value;
    const char *name = NULL;
    if (f->to)
        return field_put_reals(f, key, *names, *x, *n);
    EG_TRY(field_find(f, key, &v));
    if (eg_json_kind_of(v) != EG_JSON_OBJECT)
        return eg_fail(EG_EFORMAT, "%s: wants an object, not %s", key,
                       eg_json_kind_text(eg_json_kind_of(v)));
    size_t count = eg_json_count(v), i = 0;
    const char **texts = eg_arena_alloc(f->arena, (count + 1) * sizeof *texts);
    double *values = eg_arena_alloc(f->arena, (count + 1) * sizeof *values);
    if (!texts || !values)
        return EG_ENOMEM;
    for (; eg_json_next(v, &name, &value); i++) {
        texts[i] = eg_arena_text(f->arena, "%s", name);
        EG_TRY(texts[i] ? field_take_real(value, key, &values[i]) : EG_ENOMEM);
    }
    *names = texts;
    *x = values;
    *n = count;
    return EG_OK;
}
