/* registry.c - the lists of scenario kinds and partitioners.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "scenario/scenario.h"

// clang-format off
#define X(name) extern const eg_kind eg_kind_##name;
#include "kind/list.inc"
#undef X
#define X(name) extern const eg_partition eg_partition_##name;
#include "partition/list.inc"
#undef X

const eg_kind *const eg_kinds[] = {
#define X(name) &eg_kind_##name,
#include "kind/list.inc"
#undef X
    NULL,
};

const eg_partition *const eg_partitions[] = {
#define X(name) &eg_partition_##name,
#include "partition/list.inc"
#undef X
    NULL,
};
// clang-format on

bool eg_scenario_kind(size_t i, eg_member *out)
{
    if (i >= sizeof eg_kinds / sizeof *eg_kinds - 1)
        return false;
    *out = (eg_member){eg_kinds[i]->name, eg_kinds[i]->help, eg_kinds[i]->opts};
    return true;
}

bool eg_scenario_partition(size_t i, eg_member *out)
{
    if (i >= sizeof eg_partitions / sizeof *eg_partitions - 1)
        return false;
    const eg_partition *p = eg_partitions[i];
    *out = (eg_member){p->name, p->help, p->opts};
    return true;
}
