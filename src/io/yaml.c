/* yaml.c - libyaml's events turned into a bounded tree.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/yaml.h"

#include "base/base.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { YAML_MAX_DEPTH = 32, YAML_MAX_NODES = 20000, YAML_MAX_BYTES = 1 << 20 };

struct eg_yaml {
    eg_arena arena;
    char *name;
    eg_yaml_node *root;
};

typedef struct yaml_reader {
    eg_yaml *y;
    yaml_parser_t parser;
    eg_yaml_node *open[YAML_MAX_DEPTH]; /* the collections around the next event */
    eg_yaml_node *last[YAML_MAX_DEPTH]; /* their newest children */
    eg_yaml_node *pending;              /* a mapping's child that has its key, not its value */
    int depth;
    size_t n_nodes;
} yaml_reader;

static eg_status yaml_fail_at(const eg_yaml *y, size_t line, size_t column, const char *words)
{
    return eg_fail(EG_EFORMAT, "%s:%zu:%zu: %s", y->name, line + 1, column + 1, words);
}

static eg_status yaml_fail_mark(const yaml_reader *r, yaml_mark_t mark, const char *words)
{
    return yaml_fail_at(r->y, mark.line, mark.column, words);
}

/* A new node under the innermost open collection. */
static eg_status yaml_add(yaml_reader *r, yaml_mark_t mark, eg_yaml_node **out)
{
    if (r->n_nodes++ == YAML_MAX_NODES)
        return yaml_fail_mark(r, mark, "the document has too many nodes");
    eg_yaml_node *node = eg_arena_alloc(&r->y->arena, sizeof *node);
    if (!node)
        return EG_ENOMEM;
    node->line = (int)mark.line + 1;
    node->column = (int)mark.column + 1;
    *out = node;
    if (r->depth == 0) {
        r->y->root = node;
        return EG_OK;
    }
    eg_yaml_node *parent = r->open[r->depth - 1], *last = r->last[r->depth - 1];
    if (last)
        last->next = node;
    else
        parent->child = node;
    r->last[r->depth - 1] = node;
    parent->n++;
    return EG_OK;
}

static eg_status yaml_text(yaml_reader *r, const yaml_event_t *e, const char **out)
{
    const char *value = (const char *)e->data.scalar.value;
    size_t n = e->data.scalar.length;
    if (memchr(value, 0, n))
        return yaml_fail_mark(r, e->start_mark, "a text holds a zero byte");
    char *text = eg_arena_alloc(&r->y->arena, n + 1);
    if (!text)
        return EG_ENOMEM;
    memcpy(text, value, n);
    *out = text;
    return EG_OK;
}

bool eg_yaml_same_key(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if ((*a == '-' ? '_' : *a) != (*b == '-' ? '_' : *b))
            return false;
    return *a == *b;
}

static eg_status yaml_key(yaml_reader *r, const yaml_event_t *e)
{
    if (e->type != YAML_SCALAR_EVENT)
        return yaml_fail_mark(r, e->start_mark, "a key must be a text");
    const eg_yaml_node *mapping = r->open[r->depth - 1];
    const char *key;
    EG_TRY(yaml_text(r, e, &key));
    for (const eg_yaml_node *c = mapping->child; c; c = c->next)
        if (eg_yaml_same_key(c->key, key))
            return eg_fail(EG_EFORMAT, "%s:%zu:%zu: '%s' is given twice, first at line %d",
                           r->y->name, e->start_mark.line + 1, e->start_mark.column + 1, key,
                           c->line);
    EG_TRY(yaml_add(r, e->start_mark, &r->pending));
    r->pending->key = key;
    return EG_OK;
}

static eg_status yaml_value(yaml_reader *r, const yaml_event_t *e)
{
    eg_yaml_node *node = r->pending;
    r->pending = NULL;
    if (!node)
        EG_TRY(yaml_add(r, e->start_mark, &node));
    node->line = (int)e->start_mark.line + 1;
    node->column = (int)e->start_mark.column + 1;
    if (e->type == YAML_SCALAR_EVENT) {
        node->type = EG_YAML_SCALAR;
        return yaml_text(r, e, &node->text);
    }
    node->type = e->type == YAML_MAPPING_START_EVENT ? EG_YAML_MAPPING : EG_YAML_SEQUENCE;
    if (r->depth == YAML_MAX_DEPTH)
        return yaml_fail_mark(r, e->start_mark, "collections are nested too deeply");
    r->open[r->depth] = node;
    r->last[r->depth++] = NULL;
    return EG_OK;
}

static eg_status yaml_refuse_extras(const yaml_reader *r, const yaml_event_t *e)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (e->type == YAML_SCALAR_EVENT)
        anchor = e->data.scalar.anchor, tag = e->data.scalar.tag;
    else if (e->type == YAML_MAPPING_START_EVENT)
        anchor = e->data.mapping_start.anchor, tag = e->data.mapping_start.tag;
    else if (e->type == YAML_SEQUENCE_START_EVENT)
        anchor = e->data.sequence_start.anchor, tag = e->data.sequence_start.tag;
    else if (e->type == YAML_ALIAS_EVENT)
        return yaml_fail_mark(r, e->start_mark, "aliases are not supported");
    if (anchor)
        return yaml_fail_mark(r, e->start_mark, "anchors are not supported");
    if (tag)
        return yaml_fail_mark(r, e->start_mark, "tags are not supported");
    return EG_OK;
}

static eg_status yaml_event(yaml_reader *r, const yaml_event_t *e)
{
    EG_TRY(yaml_refuse_extras(r, e));
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (r->y->root)
            return yaml_fail_mark(r, e->start_mark, "a second document begins");
        return EG_OK;
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        r->depth--;
        return EG_OK;
    case YAML_SCALAR_EVENT:
    case YAML_MAPPING_START_EVENT:
    case YAML_SEQUENCE_START_EVENT:
        if (r->depth > 0 && !r->pending && r->open[r->depth - 1]->type == EG_YAML_MAPPING)
            return yaml_key(r, e);
        return yaml_value(r, e);
    default:
        return EG_OK;
    }
}

/* What libyaml says, in plain words where it means a tab more often than not. */
static const char *yaml_problem(const yaml_parser_t *p)
{
    if (!p->problem)
        return "this is not YAML";
    return strcmp(p->problem, "found character that cannot start any token") == 0
               ? "nothing can begin with this character (YAML is indented with blanks, not "
                 "tabs)"
               : p->problem;
}

static eg_status yaml_read(yaml_reader *r)
{
    for (bool done = false; !done;) {
        yaml_event_t e;
        if (!yaml_parser_parse(&r->parser, &e)) {
            const yaml_parser_t *p = &r->parser;
            if (p->error == YAML_MEMORY_ERROR)
                return eg_fail(EG_ENOMEM, "%s: out of memory", r->y->name);
            return yaml_fail_mark(r, p->error == YAML_READER_ERROR ? p->mark : p->problem_mark,
                                  yaml_problem(p));
        }
        done = e.type == YAML_STREAM_END_EVENT;
        eg_status status = yaml_event(r, &e);
        yaml_event_delete(&e);
        EG_TRY(status);
    }
    return EG_OK;
}

static eg_status yaml_parse_into(eg_yaml *y, const char *name, const void *bytes, size_t n)
{
    if (!(y->name = eg_arena_text(&y->arena, "%s", name)))
        return EG_ENOMEM;
    if (n > YAML_MAX_BYTES)
        return eg_fail(EG_EFORMAT, "%s: %zu bytes are more than the %d a file may have", name,
                       n, YAML_MAX_BYTES);
    if (n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) { /* some editors' mark of UTF-8 */
        bytes = (const char *)bytes + 3;
        n -= 3;
    }
    yaml_reader r = {.y = y};
    if (!yaml_parser_initialize(&r.parser))
        return eg_fail(EG_ENOMEM, "%s: out of memory", name);
    yaml_parser_set_input_string(&r.parser, bytes ? bytes : (const void *)"", n);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    eg_status status = yaml_read(&r);
    yaml_parser_delete(&r.parser);
    EG_TRY(status);
    if (y->root)
        return EG_OK;
    if (!(y->root = eg_arena_alloc(&y->arena, sizeof *y->root)))
        return EG_ENOMEM;
    *y->root = (eg_yaml_node){.type = EG_YAML_MAPPING, .line = 1, .column = 1};
    return EG_OK;
}

eg_status eg_yaml_parse(const char *name, const void *bytes, size_t n, eg_yaml **out)
{
    *out = NULL;
    eg_yaml *y = calloc(1, sizeof *y);
    if (!y)
        return eg_fail(EG_ENOMEM, "%s: out of memory", name);
    eg_status status = yaml_parse_into(y, name, bytes, n);
    if (status == EG_OK)
        *out = y;
    else
        eg_yaml_free(y);
    return status;
}

static eg_status yaml_slurp(const char *path, FILE *f, char **bytes, size_t *n)
{
    size_t cap = 0;
    for (*n = 0; *n <= YAML_MAX_BYTES;) {
        EG_TRY(eg_grow(bytes, *n, &cap, 1));
        size_t got = fread(*bytes + *n, 1, cap - *n, f);
        *n += got;
        if (got == 0)
            break;
    }
    return ferror(f) ? eg_fail(EG_EIO, "%s: %s", path, strerror(errno)) : EG_OK;
}

eg_status eg_yaml_load(const char *path, eg_yaml **out)
{
    *out = NULL;
    FILE *f = fopen(path, "rb");
    if (!f)
        return eg_fail(errno == ENOENT ? EG_ENOENT : EG_EIO, "%s: %s", path, strerror(errno));
    char *bytes = NULL;
    size_t n = 0;
    eg_status status = yaml_slurp(path, f, &bytes, &n);
    if (status == EG_OK)
        status = eg_yaml_parse(path, bytes, n, out);
    fclose(f);
    free(bytes);
    return status;
}

void eg_yaml_free(eg_yaml *y)
{
    if (!y)
        return;
    eg_arena_fini(&y->arena);
    free(y);
}

const eg_yaml_node *eg_yaml_root(const eg_yaml *y)
{
    return y->root;
}

const char *eg_yaml_name(const eg_yaml *y)
{
    return y->name;
}

const eg_yaml_node *eg_yaml_get(const eg_yaml_node *mapping, const char *key)
{
    if (!mapping || mapping->type != EG_YAML_MAPPING)
        return NULL;
    for (const eg_yaml_node *c = mapping->child; c; c = c->next)
        if (eg_yaml_same_key(c->key, key))
            return c;
    return NULL;
}

const char *eg_yaml_type_name(eg_yaml_type type)
{
    static const char *const names[] = {"text", "sequence", "mapping"};
    return names[type];
}

eg_status eg_yaml_fail(const eg_yaml *y, const eg_yaml_node *at, eg_status code,
                       const char *format, ...)
{
    char words[512];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    return eg_fail(code, "%s:%d:%d: %s", y->name, at->line, at->column, words);
}

eg_status eg_yaml_blame(const eg_yaml *y, const eg_yaml_node *at, eg_status code)
{
    return eg_blame(code, "%s:%d:%d", y->name, at->line, at->column);
}

eg_status eg_yaml_text(const eg_yaml *y, const eg_yaml_node *node, const char **out)
{
    if (node->type != EG_YAML_SCALAR)
        return eg_yaml_fail(y, node, EG_EINVAL, "%s: a value is wanted, not a %s",
                            node->key ? node->key : "entry", eg_yaml_type_name(node->type));
    *out = node->text;
    return EG_OK;
}
