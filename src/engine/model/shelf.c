/* shelf.c - things that stay under keys.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/model/shelf.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

enum { SHELF_PLANS = 4 };

void eg_shelf_fini(eg_shelf *s)
{
    for (size_t i = 0; i < s->n; i++) {
        if (s->items[i]->thing)
            s->items[i]->end(s->items[i]->thing);
        free(s->items[i]->key);
        free(s->items[i]);
    }
    free(s->items);
    *s = (eg_shelf){0};
}

eg_status eg_shelf_find(eg_shelf *s, const char *key, eg_shelf_item **out)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->items[i]->key, key) == 0) {
            *out = s->items[i];
            return EG_OK;
        }
    EG_TRY(eg_grow(&s->items, s->n, &s->cap, sizeof *s->items));
    eg_shelf_item *item = calloc(1, sizeof *item);
    if (!item || !(item->key = strdup(key))) {
        free(item);
        return eg_fail(EG_ENOMEM, "no memory for '%s'", key);
    }
    *out = s->items[s->n++] = item;
    return EG_OK;
}

static void shelf_end_program(void *program)
{
    eg_program_free(program);
}

static void shelf_end_learner(void *learner)
{
    eg_learner_free(learner);
}

/* A program is made once, its callers' context changes. */
static void shelf_record(void *context, eg_graph *g, int64_t batch)
{
    const eg_shelf_item *item = context;
    item->record(item->context, g, batch);
}

eg_status eg_shelf_program(eg_shelf *s, const char *key, eg_recorder record, void *context,
                           eg_program **out)
{
    eg_shelf_item *item;
    EG_TRY(eg_shelf_find(s, key, &item));
    item->record = record, item->context = context;
    if (!item->thing) {
        eg_program *made;
        EG_TRY(eg_program_new(shelf_record, item, SHELF_PLANS, &made));
        eg_program_share(made, s->room);
        item->thing = made, item->end = shelf_end_program;
    }
    EG_ASSERT(item->end == shelf_end_program);
    *out = item->thing;
    return EG_OK;
}

eg_status eg_shelf_learner(eg_shelf *s, const char *key, const eg_params *table,
                           eg_learner **out)
{
    eg_shelf_item *item;
    EG_TRY(eg_shelf_find(s, key, &item));
    if (!item->thing) {
        eg_learner *made;
        EG_TRY(eg_learner_new(table, &made));
        item->thing = made, item->end = shelf_end_learner;
    }
    *out = item->thing;
    EG_ASSERT(item->end == shelf_end_learner && (*out)->table == table);
    return EG_OK;
}
