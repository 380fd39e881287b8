/* stream.c - each client goes through its data sources some samples at a time, and nobody tells
 * where one ends and the next begins (Fed-A-GEM, Appendix D).
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/scenario.h"

typedef struct stream {
    int64_t take, rounds;
} stream;

// clang-format off
static const eg_opt stream_opts[] = {
    EG_OPT_INT(stream, take, 20, 1, 1e9, "samples that a client has at once"),
    EG_OPT_INT(stream, rounds, 1, 1, 1e6, "rounds a client takes part in with each take"),
    EG_OPT_END,
};
// clang-format on

static eg_status stream_tasks(const void *self, eg_scenario *s)
{
    (void)self;
    return eg_build_source_tasks(s);
}

static eg_status stream_stages(const void *self, eg_scenario *s)
{
    const stream *o = self;
    return eg_build_takes(s, o->take, o->rounds);
}

const eg_kind eg_kind_stream = {
    .component =
        {"stream",
         "each client goes through its data sources some samples at a time, unannounced",
         sizeof(stream), stream_opts},
    .offers = 0,
    .clock = EG_CLOCK_USED,
    .order = EG_ORDER_NATURAL,
    .partition = "timeline",
    .many_sources = true,
    .tasks = stream_tasks,
    .stages = stream_stages,
};
