/* yaml.h - YAML documents as a small tree in which every node knows its line and column.
 * SPDX-License-Identifier: Apache-2.0
 *
 * One document of mappings, sequences and scalars. Anchors, aliases, tags, keys that are not
 * plain text and keys written twice are errors. A document owns its nodes; they are read-only.
 */
#ifndef EG_YAML_H
#define EG_YAML_H

#include "base/base.h"

typedef struct eg_yaml eg_yaml;

typedef enum eg_yaml_type {
    EG_YAML_SCALAR,
    EG_YAML_SEQUENCE,
    EG_YAML_MAPPING,
} eg_yaml_type;

typedef struct eg_yaml_node {
    eg_yaml_type type;
    int line, column; /* from 1 */
    const char *key;  /* in a mapping, else NULL */
    const char *text; /* of a scalar, else NULL; may be empty, never holds a zero byte */
    size_t n;         /* children */
    struct eg_yaml_node *child; /* the first */
    struct eg_yaml_node *next;  /* the next sibling */
} eg_yaml_node;

/* Reads one document. name stands before line and column in errors: "demo.yaml:3:9: ...". An
 * empty document is an empty mapping. EG_EFORMAT when the text is not accepted. */
eg_status eg_yaml_parse(const char *name, const void *bytes, size_t n, eg_yaml **out);
eg_status eg_yaml_load(const char *path, eg_yaml **out);
void eg_yaml_free(eg_yaml *y); /* NULL is fine */

/* Borrowed: valid until the document is freed. */
const eg_yaml_node *eg_yaml_root(const eg_yaml *y);
const char *eg_yaml_name(const eg_yaml *y);

/* Whether two keys are equal but for dashes, which count as underscores. */
bool eg_yaml_same_key(const char *a, const char *b);

/* The child with this key, dashes counting as underscores; NULL if there is none. */
const eg_yaml_node *eg_yaml_get(const eg_yaml_node *mapping, const char *key);

/* The text of a scalar node, borrowed from y; of any other the error names key and place. */
eg_status eg_yaml_text(const eg_yaml *y, const eg_yaml_node *node, const char **out);

/* "mapping", "sequence" or "text". */
const char *eg_yaml_type_name(eg_yaml_type type);

/* Sets the error text to "<name>:<line>:<column>: ..." and returns code. */
eg_status eg_yaml_fail(const eg_yaml *y, const eg_yaml_node *at, eg_status code,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Puts "<name>:<line>:<column>: " before the error text; EG_OK passes untouched. */
eg_status eg_yaml_blame(const eg_yaml *y, const eg_yaml_node *at, eg_status code);

#endif
