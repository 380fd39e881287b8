/* class_replay_records.c - a client's generators in its records, one at a time in memory.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/class_replay.h"

#include <stdio.h>

eg_class_name eg_class_name_of(const char *part, int64_t class)
{
    eg_class_name name;
    if (class == EG_ANY_CLASS)
        snprintf(name.text, sizeof name.text, "%s.all", part);
    else
        snprintf(name.text, sizeof name.text, "%s.%lld", part, (long long)class);
    return name;
}

eg_status eg_class_recall(const eg_class_place *at, eg_generator *m, eg_generator_extent extent,
                          bool *found)
{
    eg_class_name name = eg_class_name_of(at->part, at->class);
    const eg_bundle *kept;
    *found = false;
    EG_TRY(eg_client_recall(at->c, name.text, &kept));
    if (kept)
        EG_TRY(eg_generator_recall(m, name.text, extent, kept, found));
    return eg_client_release(at->c, name.text);
}

eg_status eg_class_keep(const eg_class_place *at, const eg_generator *m, bool *finite)
{
    eg_class_name name = eg_class_name_of(at->part, at->class);
    eg_bundle *record;
    EG_TRY(eg_bundle_new(&record));
    EG_TRY(
        eg_bundle_filled(record, eg_generator_keep(m, name.text, EG_WHOLE_GENERATOR, record)));
    *finite = eg_bundle_check(record, record) == EG_OK;
    if (!*finite) {
        eg_bundle_free(record);
        return EG_OK;
    }
    EG_TRY(eg_client_keep(at->c, name.text, record));
    return eg_client_release(at->c, name.text);
}
