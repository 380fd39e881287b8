/* poison_test.c - every method with a client of mad data, and with a step size that diverges.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The bits do not depend on who works for whom, and nobody else is left out.
 */
#include "method_runs.h"

#include "run/log/events.h"

enum { OWNERS = 3, SAMPLES = 16, CLASSES = 4 }; /* samples: of an owner in a class */

/* Images of 8x8, owned by turns; those of owner 0 are 3e38 throughout. */
static eg_status poison_load(const void *self, const eg_origin *from, eg_split split,
                             eg_table *out)
{
    (void)self, (void)from;
    EG_TRY(eg_table_alloc_f32(out, OWNERS * SAMPLES * CLASSES, 1, 8, 8, CLASSES));
    EG_TRY(eg_alloc((size_t)out->n, sizeof *out->group, &out->group));
    for (int64_t i = 0; i < out->n; i++) {
        out->y[i] = (int32_t)(i / OWNERS % CLASSES);
        out->group[i] = (int32_t)(i % OWNERS);
        bool bad = split == EG_TRAIN && out->group[i] == 0;
        for (int64_t k = 0; k < 64; k++)
            out->f32[64 * i + k] = bad ? 3e38F : (float)(k % CLASSES == out->y[i]);
    }
    return EG_OK;
}

static const eg_dataset poison = {
    .component = {.name = "poison", .help = "one owner's values are 3e38"},
    .load = poison_load,
};

static const char *const poison_text =
    "name: t\n"
    "data: poison\n"
    "model: {name: mlp, depth: 1, width: 8}\n"
    "scenario: {kind: class-incremental, clients: 3, tasks: 2, rounds: 2, partition: group}\n"
    "memory: {kind: reservoir, size: 20}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {epochs: 1, batch: 8}\n"
    "re_fed: {size: 30, epochs: 2, lr: 0.1}\n"
    "dualprompt: {pool: 2}\n"
    "runs:\n";

/* How a run ended: its bits, or its sentence; and who was left out, as a set of bits. */
typedef struct poison_end {
    char text[1024];
    unsigned left_out;
} poison_end;

static poison_end poison_run(const char *set, int workers)
{
    char file[FILES_PATH * 2], path[512];
    poison_end end = {0};
    eg_experiment *e;
    eg_events *log;
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    if (eg_experiment_load(file, "one", set ? 1 : 0, &set, &e) != EG_OK) {
        snprintf(end.text, sizeof end.text, "%s", eg_error()); /* it knows where it would end */
        return end;
    }
    if (runs_run(e, folder, workers, 0, path) == EG_OK)
        runs_hash(path, end.text);
    else
        snprintf(end.text, sizeof end.text, "%s", eg_error());
    assert_ok(eg_events_load(path, &log));
    for (size_t i = 0; i < log->n_loss; i++)
        end.left_out |= log->loss[i].client >= 0 ? 1U << log->loss[i].client : 0;
    eg_events_free(log);
    eg_experiment_free(e);
    return end;
}

/* All ways to carry it out agree; *left_out: those who were left out. */
static void agree(const char *label, const char *set, unsigned *left_out)
{
    poison_end one = poison_run(set, 1);
    *left_out = one.left_out;
    for (int workers = 2; workers <= 4; workers++) {
        poison_end other = poison_run(set, workers < 4 ? workers : -2);
        if (strcmp(one.text, other.text) != 0 || one.left_out != other.left_out)
            fail_msg("%s %s: '%s' on one worker, '%s' on %d", label, set ? set : "", one.text,
                     other.text, workers);
    }
}

static void write_method(const char *base, const eg_method *m)
{
    char runs[256];
    snprintf(runs, sizeof runs, "- {label: one, method: %s%s}\n", m->component.name,
             method_runs_needs(m));
    method_runs_write(base, runs);
}

/* Methods that draw images take none of such data, and those for transformers no other network:
 * it is said before the first round. */
static void check_refusal(eg_status status, const char *why)
{
    char file[FILES_PATH * 2], path[512];
    eg_experiment *e;
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    assert_ok(eg_experiment_load(file, "one", 0, NULL, &e));
    assert_fails(runs_run(e, folder, 1, 0, path), status, why);
    eg_experiment_free(e);
}

static void test_only_the_poisoned_client_is_left_out(void **state)
{
    (void)state;
    for (const eg_method *const *m = eg_methods; *m; m++) {
        unsigned left_out;
        write_method(poison_text, *m);
        if (method_runs_base(*m) == method_runs_images) {
            check_refusal(EG_EINVAL, "pixels from -1 to 1");
            continue;
        }
        if ((*m)->features) { /* of a transformer; one has none to put prompts or factors in */
            bool prompts = strcmp((*m)->component.name, "lora") != 0;
            check_refusal(prompts ? EG_ENOTSUP : EG_ENOENT,
                          prompts ? "no transformer" : "no tensor or layer");
            continue;
        }
        agree((*m)->component.name, NULL, &left_out);
        bool is_plain = strcmp((*m)->component.name, "fedavg") == 0;
        if (left_out & ~1U || (is_plain && !left_out))
            fail_msg("%s: clients %x were left out", (*m)->component.name, left_out);
    }
}

static void test_runs_that_diverge_have_the_same_end_everywhere(void **state)
{
    (void)state;
    for (const eg_method *const *m = eg_methods; *m; m++) {
        bool vectors = method_runs_base(*m) == method_runs_text;
        unsigned left_out;
        write_method(vectors ? poison_text : method_runs_base(*m), *m);
        agree((*m)->component.name, "optimizer.lr=1000", &left_out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_the_poisoned_client_is_left_out),
        cmocka_unit_test(test_runs_that_diverge_have_the_same_end_everywhere),
    };
    assert_ok(eg_dataset_add(&poison));
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
