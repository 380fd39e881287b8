/* items.c - what parts have on a worker under keys: programs, networks and generators.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/client/worker.h"

eg_status eg_worker_program(eg_worker *w, const char *key, eg_recorder record, void *context,
                            eg_program **out)
{
    return eg_shelf_program(&w->shelf, key, record, context, out);
}

eg_status eg_worker_learner(eg_worker *w, const char *key, const eg_params *table,
                            eg_learner **out)
{
    return eg_shelf_learner(&w->shelf, key, table, out);
}

static void items_end_generator(void *generator)
{
    eg_generator_free(generator);
}

eg_status eg_worker_generator(eg_worker *w, const char *key, const eg_generator_spec *spec,
                              eg_generator **out)
{
    eg_shelf_item *item;
    EG_TRY(eg_shelf_find(&w->shelf, key, &item));
    if (!item->thing) {
        eg_generator *made;
        EG_TRY(eg_generator_new(spec, &made));
        item->thing = made, item->end = items_end_generator;
    }
    EG_ASSERT(item->end == items_end_generator);
    *out = item->thing;
    return EG_OK;
}
