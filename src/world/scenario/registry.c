/* registry.c - the lists of scenario kinds and partitioners.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

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

const eg_family eg_kind_family = {"scenarios", "scenario", eg_kinds, NULL};
const eg_family eg_partition_family = {"partitioners", "partitioner", eg_partitions, NULL};
