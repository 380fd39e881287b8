/* json.c - JSON over jansson: the only file that includes it.
 * SPDX-License-Identifier: Apache-2.0
 *
 * An eg_json is a json_t under another name. Printing is our own: jansson writes every double
 * with 17 digits.
 */
#include "io/json.h"

#include "io/file.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JSON_MAX_FILE ((size_t)1 << 30)

static json_t *json_of(const eg_json *v)
{
    return (json_t *)v; /* jansson's getters are not const-correct; they change nothing */
}

static eg_json *json_wrap(json_t *j)
{
    if (!j)
        eg_fail(EG_ENOMEM, "cannot allocate a JSON value");
    return (eg_json *)j;
}

eg_status eg_json_parse(const void *bytes, size_t n, eg_json **out)
{
    json_error_t e;
    *out = (eg_json *)json_loadb(bytes, n, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &e);
    if (*out)
        return EG_OK;
    if (json_error_code(&e) == json_error_out_of_memory)
        return eg_fail(EG_ENOMEM, "cannot allocate JSON values");
    for (char *c = e.text; *c; c++) /* it may quote the input: keep the sentence printable */
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    return eg_fail(EG_EFORMAT, "line %d, column %d: %s", e.line, e.column, e.text);
}

eg_status eg_json_load(const char *path, eg_json **out)
{
    unsigned char *bytes;
    size_t n;
    *out = NULL;
    EG_TRY(eg_file_read(path, JSON_MAX_FILE, &bytes, &n));
    eg_status status = eg_blame(eg_json_parse(bytes, n, out), "%s", path);
    free(bytes);
    return status;
}

void eg_json_free(eg_json *v)
{
    json_decref(json_of(v));
}

eg_json_kind eg_json_kind_of(const eg_json *v)
{
    switch (json_typeof(json_of(v))) {
    case JSON_OBJECT:
        return EG_JSON_OBJECT;
    case JSON_ARRAY:
        return EG_JSON_ARRAY;
    case JSON_STRING:
        return EG_JSON_TEXT;
    case JSON_INTEGER:
        return EG_JSON_INT;
    case JSON_REAL:
        return EG_JSON_REAL;
    case JSON_TRUE:
    case JSON_FALSE:
        return EG_JSON_BOOL;
    case JSON_NULL:
        break;
    }
    return EG_JSON_NULL;
}

const char *eg_json_kind_text(eg_json_kind kind)
{
    static const char *const texts[] = {
        [EG_JSON_NULL] = "null",       [EG_JSON_BOOL] = "true or false",
        [EG_JSON_INT] = "an integer",  [EG_JSON_REAL] = "a number",
        [EG_JSON_TEXT] = "a text",     [EG_JSON_ARRAY] = "an array",
        [EG_JSON_OBJECT] = "an object"};
    return texts[kind];
}

static eg_status json_expect(const eg_json *v, eg_json_kind kind)
{
    eg_json_kind is = eg_json_kind_of(v);
    if (is == kind || (is == EG_JSON_INT && kind == EG_JSON_REAL))
        return EG_OK;
    return eg_fail(EG_EINVAL, "%s, not %s", eg_json_kind_text(is), eg_json_kind_text(kind));
}

eg_status eg_json_int(const eg_json *v, int64_t *out)
{
    EG_TRY(json_expect(v, EG_JSON_INT));
    *out = json_integer_value(json_of(v));
    return EG_OK;
}

eg_status eg_json_real(const eg_json *v, double *out)
{
    EG_TRY(json_expect(v, EG_JSON_REAL));
    *out = json_number_value(json_of(v));
    return EG_OK;
}

eg_status eg_json_bool(const eg_json *v, bool *out)
{
    EG_TRY(json_expect(v, EG_JSON_BOOL));
    *out = json_is_true(json_of(v));
    return EG_OK;
}

eg_status eg_json_text(const eg_json *v, const char **out)
{
    EG_TRY(json_expect(v, EG_JSON_TEXT));
    *out = json_string_value(json_of(v));
    return EG_OK;
}

size_t eg_json_count(const eg_json *v)
{
    return json_is_array(json_of(v)) ? json_array_size(json_of(v))
                                     : json_object_size(json_of(v));
}

const eg_json *eg_json_at(const eg_json *v, size_t i)
{
    return (const eg_json *)json_array_get(json_of(v), i);
}

const eg_json *eg_json_get(const eg_json *v, const char *key)
{
    return (const eg_json *)json_object_get(json_of(v), key);
}

eg_status eg_json_need(const eg_json *v, const char *key, eg_json_kind kind,
                       const eg_json **out)
{
    EG_TRY(json_expect(v, EG_JSON_OBJECT));
    const eg_json *member = eg_json_get(v, key);
    if (!member)
        return eg_fail(EG_ENOENT, "'%s' is missing", key);
    EG_TRY(eg_blame(json_expect(member, kind), "'%s'", key));
    *out = member;
    return EG_OK;
}

bool eg_json_next(const eg_json *v, const char **key, const eg_json **value)
{
    json_t *j = json_of(v);
    void *at =
        *key ? json_object_iter_next(j, json_object_key_to_iter(*key)) : json_object_iter(j);
    if (!at)
        return false;
    *key = json_object_iter_key(at);
    *value = (const eg_json *)json_object_iter_value(at);
    return true;
}

eg_json *eg_json_of_null(void)
{
    return json_wrap(json_null());
}

eg_json *eg_json_of_bool(bool b)
{
    return json_wrap(json_boolean(b));
}

eg_json *eg_json_of_int(int64_t i)
{
    return json_wrap(json_integer(i));
}

eg_json *eg_json_of_real(double r)
{
    if (isfinite(r))
        return json_wrap(json_real(r));
    eg_fail(EG_EINVAL, "JSON cannot hold %s", isnan(r) ? "NaN" : "infinity");
    return NULL;
}

eg_json *eg_json_of_text(const char *text)
{
    json_t *j = json_string(text);
    if (!j)
        eg_fail(EG_EINVAL, "a text is not UTF-8");
    return (eg_json *)j;
}

eg_json *eg_json_array(void)
{
    return json_wrap(json_array());
}

eg_json *eg_json_object(void)
{
    return json_wrap(json_object());
}

eg_status eg_json_set(eg_json *object, const char *key, eg_json *value)
{
    if (!value)
        return eg_blame(EG_EINVAL, "'%s'", key);
    EG_ASSERT(json_is_object(json_of(object)));
    if (json_object_set_new(json_of(object), key, json_of(value)) != 0)
        return eg_fail(EG_EINVAL, "a key is not UTF-8, or memory is out");
    return EG_OK;
}

eg_status eg_json_add(eg_json *array, eg_json *value)
{
    if (!value)
        return EG_EINVAL;
    EG_ASSERT(json_is_array(json_of(array)));
    if (json_array_append_new(json_of(array), json_of(value)) != 0)
        return eg_fail(EG_ENOMEM, "cannot add to a JSON array");
    return EG_OK;
}

/* Text that grows; once memory is out it only remembers that. */
typedef struct json_buffer {
    char *bytes;
    size_t n, cap;
    int indent;
    eg_status status;
} json_buffer;

static int json_put(const char *text, size_t n, void *context)
{
    json_buffer *b = context;
    while (b->status == EG_OK && b->cap - b->n <= n) /* one more, for the closing zero */
        b->status = eg_grow(&b->bytes, b->cap, &b->cap, 1);
    if (b->status != EG_OK)
        return -1;
    memcpy(b->bytes + b->n, text, n);
    b->n += n;
    return 0;
}

/* The fewest digits that read back as r, and a point or an exponent. */
static void json_put_real(json_buffer *b, double r)
{
    char text[40];
    if (r == floor(r) && fabs(r) < 1e15)
        snprintf(text, sizeof text, "%.0f", r); /* 1200, not 1.2e+03 */
    else
        for (int digits = 1; digits <= 17; digits++) {
            snprintf(text, sizeof text, "%.*g", digits, r);
            if (strtod(text, NULL) == r)
                break;
        }
    for (char *c = text; *c; c++)
        if (!strchr("0123456789+-e", *c))
            *c = '.'; /* whatever the locale's point is */
    json_put(text, strlen(text), b);
    if (!strpbrk(text, ".e"))
        json_put(".0", 2, b);
}

static void json_put_break(json_buffer *b, size_t depth)
{
    if (b->indent == 0)
        return;
    json_put("\n", 1, b);
    for (size_t i = 0; i < depth * (size_t)b->indent; i++)
        json_put(" ", 1, b);
}

static void json_put_value(json_buffer *b, json_t *j, size_t depth);

static void json_put_members(json_buffer *b, json_t *j, size_t depth)
{
    const char *key = NULL;
    const eg_json *value;
    bool first = true;
    while (eg_json_next((eg_json *)j, &key, &value)) {
        if (!first)
            json_put(",", 1, b);
        first = false;
        json_put_break(b, depth);
        json_t *name = json_string_nocheck(key);
        json_put_value(b, name, depth);
        json_decref(name);
        json_put(": ", b->indent ? 2 : 1, b);
        json_put_value(b, json_of(value), depth);
    }
}

static void json_put_elements(json_buffer *b, json_t *j, size_t depth)
{
    for (size_t i = 0; i < json_array_size(j); i++) {
        if (i > 0)
            json_put(",", 1, b);
        json_put_break(b, depth);
        json_put_value(b, json_array_get(j, i), depth);
    }
}

/* jansson bounds the depth of what it parses to 2048, so that recursion is safe. */
static void json_put_value(json_buffer *b, json_t *j, size_t depth)
{
    bool object = json_is_object(j), array = json_is_array(j);
    if (json_is_real(j)) {
        json_put_real(b, json_real_value(j));
    } else if (!object && !array) {
        if (json_dump_callback(j, json_put, b, JSON_ENCODE_ANY) != 0 && b->status == EG_OK)
            b->status = eg_fail(EG_ENOMEM, "cannot allocate JSON text");
    } else if (eg_json_count((eg_json *)j) == 0) {
        json_put(object ? "{}" : "[]", 2, b);
    } else {
        json_put(object ? "{" : "[", 1, b);
        if (object)
            json_put_members(b, j, depth + 1);
        else
            json_put_elements(b, j, depth + 1);
        json_put_break(b, depth);
        json_put(object ? "}" : "]", 1, b);
    }
}

eg_status eg_json_print(const eg_json *v, int indent, char **out, size_t *n)
{
    json_buffer b = {.indent = indent};
    json_put_value(&b, json_of(v), 0);
    if (b.status == EG_OK && indent > 0)
        json_put("\n", 1, &b);
    *out = NULL;
    if (b.status != EG_OK) {
        free(b.bytes);
        return b.status;
    }
    b.bytes[b.n] = 0;
    *out = b.bytes;
    if (n)
        *n = b.n;
    return EG_OK;
}
