/* json.h - JSON values: parsed, looked into, built and printed.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A value owns all that is inside it; what is looked up in it is borrowed until it is freed.
 * Keys keep the order in which they were written. One thread at a time per value.
 */
#ifndef EG_JSON_H
#define EG_JSON_H

#include "base/base.h"

typedef enum eg_json_kind {
    EG_JSON_NULL,
    EG_JSON_BOOL,
    EG_JSON_INT,
    EG_JSON_REAL,
    EG_JSON_TEXT,
    EG_JSON_ARRAY,
    EG_JSON_OBJECT,
} eg_json_kind;

typedef struct eg_json eg_json;

/* Parses n bytes holding one value of any kind. EG_EFORMAT: malformed, a key twice, a number
 * out of range, "line 3, column 7: ...". Texts cannot hold a zero character. */
eg_status eg_json_parse(const void *bytes, size_t n, eg_json **out);
eg_status eg_json_load(const char *path, eg_json **out); /* at most 1 GiB; errors name path */
void eg_json_free(eg_json *v);                           /* NULL is fine */

eg_json_kind eg_json_kind_of(const eg_json *v);
const char *eg_json_kind_text(eg_json_kind kind); /* "an integer" */

/* Takes a value out; EG_EINVAL if it is of another kind ("a text, not an integer"). A real may
 * be written as an integer. *out of a text is borrowed. */
eg_status eg_json_int(const eg_json *v, int64_t *out);
eg_status eg_json_real(const eg_json *v, double *out);
eg_status eg_json_bool(const eg_json *v, bool *out);
eg_status eg_json_text(const eg_json *v, const char **out);

size_t eg_json_count(const eg_json *v);                        /* elements or members; else 0 */
const eg_json *eg_json_at(const eg_json *v, size_t i);         /* of an array, or NULL */
const eg_json *eg_json_get(const eg_json *v, const char *key); /* of an object, or NULL */

/* A member that must be there. EG_ENOENT: "'shape' is missing"; EG_EINVAL: it is of another
 * kind, or v is no object. */
eg_status eg_json_need(const eg_json *v, const char *key, eg_json_kind kind,
                       const eg_json **out);

/* Walks the members of an object; start with *key NULL. */
bool eg_json_next(const eg_json *v, const char **key, const eg_json **value);

/* Make values, which the next two calls take over. NULL when memory is out, for a real that is
 * NaN or infinite and for a text that is not UTF-8; the error text says so. */
eg_json *eg_json_of_null(void);
eg_json *eg_json_of_bool(bool b);
eg_json *eg_json_of_int(int64_t i);
eg_json *eg_json_of_real(double r);
eg_json *eg_json_of_text(const char *text);
eg_json *eg_json_array(void);
eg_json *eg_json_object(void);

/* Add a value, which belongs to v from here on, even on failure. A value of NULL fails with the
 * error text it left, so that building needs one check per line:
 *     EG_TRY(eg_json_set(event, "loss", eg_json_of_real(loss))); */
eg_status eg_json_set(eg_json *object, const char *key, eg_json *value);
eg_status eg_json_add(eg_json *array, eg_json *value);

/* Prints on one line without spaces (indent 0), or with a line per member or element, each
 * level indented by that many spaces more. Reals have the fewest digits that read back as the
 * same double, and always a point or an exponent, so that they stay reals. *out ends in a zero,
 * which *n (may be NULL) does not count; free() it. */
eg_status eg_json_print(const eg_json *v, int indent, char **out, size_t *n);

#endif
