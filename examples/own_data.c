/* own_data.c - data in memory as a data set, and an experiment from a text.
 * SPDX-License-Identifier: Apache-2.0
 *
 * cc own_data.c $(pkg-config --cflags --libs engram); own_data FOLDER
 */
#include <engram/engram.h>
#include <stdio.h>

enum { CLASSES = 4, TRAIN = 400, TEST = 80 };

static eg_table tables[2]; /* by eg_split */

/* Images of one channel, 4 x 4: a bright column tells the class. */
static eg_status fill(eg_table *t, int64_t n, eg_split split)
{
    EG_TRY(eg_table_alloc_u8(t, n, 1, 4, 4, CLASSES));
    for (int64_t i = 0; i < n; i++) {
        eg_rng r = eg_rng_at(7, (uint32_t)split, (uint32_t)i, EG_FOR_DATA);
        t->y[i] = (int32_t)(i % CLASSES);
        for (int64_t k = 0; k < 16; k++) {
            uint32_t bright = k % 4 == t->y[i] ? 100 : 0;
            t->u8[i * 16 + k] = (uint8_t)(bright + eg_rng_below(&r, 100));
        }
    }
    return EG_OK;
}

static eg_status columns_load(const void *self, const eg_origin *from, eg_split split,
                              eg_table *out)
{
    (void)self, (void)from;
    return eg_table_copy(&tables[split], out);
}

static const eg_dataset columns = {
    .component = {.name = "columns", .help = "bright columns"},
    .generated = true,
    .load = columns_load,
};

static const char text[] =
    "name: own-data\n"
    "data: {name: columns, mean: 0.3, std: 0.2}\n"
    "model: {name: mlp, depth: 0}\n"
    "scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 3, partition: iid}\n"
    "optimizer: {lr: 0.1}\n"
    "memory: {kind: reservoir, size: 40}\n"
    "runs: [{label: er, method: er}]\n";

static eg_status run(const char *out, char folder[512])
{
    eg_experiment_file *file = NULL;
    eg_experiment *e = NULL;
    eg_run_how how = {.out = out, .workers = 1};
    bool stopped;
    EG_TRY(fill(&tables[EG_TRAIN], TRAIN, EG_TRAIN));
    EG_TRY(fill(&tables[EG_TEST], TEST, EG_TEST));
    EG_TRY(eg_dataset_add(&columns));
    EG_TRY(eg_experiment_parse("own_data.c", text, &file));
    eg_status s = eg_experiment_file_resolve(file, "er", 0, NULL, &e);
    if (s == EG_OK)
        s = eg_experiment_run(e, &how, folder, &stopped);
    eg_experiment_free(e);
    eg_experiment_file_free(file);
    return s;
}

int main(int argc, char **argv)
{
    char folder[512];
    eg_status s = run(argc > 1 ? argv[1] : "runs", folder);
    if (s == EG_OK)
        printf("engram %s: %s\n", eg_version(), folder);
    else
        fprintf(stderr, "%s\n", eg_error());
    eg_table_fini(&tables[EG_TRAIN]);
    eg_table_fini(&tables[EG_TEST]);
    return s == EG_OK ? 0 : 1;
}
