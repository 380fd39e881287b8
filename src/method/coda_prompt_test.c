/* coda_prompt_test.c - components of other tasks stay as they are; tasks share evenly.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

#define TEXT(method, more)                                                                     \
    "name: t\n"                                                                                \
    "data: {name: glyphs, train: 24, test: 8, classes: 4, size: 8, mean: 0.5, std: 0.5}\n"     \
    "model: {name: vit, patch: 4, width: 8, depth: 2, heads: 1}\n"                             \
    "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 1}\n"                   \
    "train: {epochs: 2, batch: 4}\n"                                                           \
    "memory: {kind: reservoir, size: 8}\n"                                                     \
    "optimizer: {lr: 0.5, momentum: 0.5, weight_decay: 0.01}\n"                                \
    "dualprompt: {pool: 2, blocks: 1, expert_blocks: 1}\n"                                     \
    "coda_prompt: {pool: 4, blocks: 2, length: 2" more "}\n"                                   \
    "runs: [{label: a, method: " method "}]\n"

/* Whether row i of a tensor of so many rows has changed. */
static bool row_changed(const one_client *o, const float *before, const char *name, size_t rows,
                        size_t i)
{
    const eg_param_info *t = eg_params_named(eg_net_params(o->net), name);
    assert_non_null(t);
    size_t width = t->size / rows, at = t->offset + i * width;
    return memcmp(before + at, o->c->param + at, width * sizeof *before) != 0;
}

/* Trains both tasks; rows [task] of a tensor that has `each` per task change in it alone. */
static void check_rows(const char *text, const char *const *names, size_t n, size_t each)
{
    one_client o;
    one_client_open(&o, text, NULL);
    float *before = malloc(o.c->n_params * sizeof *before);
    assert_non_null(before);
    for (size_t task = 0; task < 2; task++) {
        memcpy(before, o.c->param, o.c->n_params * sizeof *before);
        one_client_train(&o);
        for (size_t k = 0; k < n; k++)
            for (size_t i = 0; i < 2 * each; i++)
                assert_int_equal(row_changed(&o, before, names[k], 2 * each, i),
                                 i / each == task);
        assert_true(row_changed(&o, before, "head.weight", 1, 0));
    }
    free(before);
    one_client_close(&o);
}

static void test_components_of_other_tasks_stay(void **state)
{
    (void)state;
    static const char *const names[] = {"coda_prompt.component.0", "coda_prompt.key.0",
                                        "coda_prompt.attention.0", "coda_prompt.component.1",
                                        "coda_prompt.key.1",       "coda_prompt.attention.1"};
    check_rows(TEXT("coda-prompt", ""), names, 6, 2);
    check_rows(TEXT("[er, coda-prompt]", ""), names, 6, 2);
    check_rows(TEXT("coda-prompt", ", ortho: 0"), names, 6, 2);
}

/* Within a turn, too: no gradient reaches them. */
static void test_gradients_of_other_tasks_components_are_zero(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, TEXT("coda-prompt", ""), NULL);
    one_client_train(&o);
    const eg_part *part = one_client_recording(o.e);
    for (size_t i = 0; i < o.c->n_params; i++)
        o.c->grad[i] = 1;
    assert_ok(part->method->client.grad(part->options, o.c));
    const eg_param_info *t = eg_params_named(eg_net_params(o.net), "coda_prompt.key.1");
    for (size_t i = 0; i < t->size; i++) /* two of the four are of the first task */
        assert_near((double)o.c->grad[t->offset + i], i < t->size / 2 ? 1 : 0, 0);
    t = eg_params_named(eg_net_params(o.net), "head.weight");
    assert_near((double)o.c->grad[t->offset], 1, 0);
    one_client_close(&o);
}

/* An optimiser that decays what has no gradient moves them, but nothing else does. */
static void test_samples_have_the_prompts_of_their_own_task(void **state)
{
    (void)state;
    static const char text[] = TEXT("dualprompt", "");
    static const char *const names[] = {"dualprompt.expert", "dualprompt.key"};
    char plain[sizeof text];
    strcpy(plain, text);
    memcpy(strstr(plain, "weight_decay: 0.01"), "weight_decay: 0.00", 18);
    check_rows(plain, names, 2, 1);
}

static void test_pools_must_suit_the_tasks(void **state)
{
    (void)state;
    one_client o = {0};
    one_client_load(&o, TEXT("fedavg", ""), NULL);
    const eg_setting in = eg_experiment_setting(o.e, o.feed.scenario);
    static const char *const methods[] = {"coda_prompt", "dualprompt"};
    static const char *const pools[] = {"pool=5", "pool=3"};
    static const char *const why[] = {"5 components cannot be shared evenly by 2 tasks",
                                      "the scenario has 2 tasks, and pool is 3"};
    for (int i = 0; i < 2; i++) {
        const eg_method *m = eg_method_find(methods[i]);
        eg_wishes wishes = {0};
        void *options;
        assert_ok(eg_component_new(&m->component, &options));
        assert_ok(eg_opts_set_text(m->component.opts, options, pools[i]));
        assert_fails(m->setup(options, &in, &wishes), EG_EINVAL, why[i]);
        free(options);
    }
    eg_feed_close(&o.feed);
    eg_experiment_free(o.e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_components_of_other_tasks_stay),
        cmocka_unit_test(test_gradients_of_other_tasks_components_are_zero),
        cmocka_unit_test(test_samples_have_the_prompts_of_their_own_task),
        cmocka_unit_test(test_pools_must_suit_the_tasks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
