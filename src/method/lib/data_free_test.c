/* data_free_test.c - legacies are brought once, classes are opened and closed, embeddings read;
 * what TARGET, MFCL and LANDER draw with has the sizes of their papers' programs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

#include "io/npy.h"
#include "method/lib/data_free.h"
#include "method/lib/drawer.h"
#include "method/lib/embeddings.h"
#include "own_folder.h"

#include <engram/op.h>

static int64_t drawer_count(int64_t noise, int64_t channels, int64_t side, eg_drawer_end end)
{
    eg_drawer d;
    assert_ok(eg_drawer_open(&d, &(eg_drawer_spec){.noise = noise,
                                                   .width = 64,
                                                   .channels = channels,
                                                   .height = side,
                                                   .width_of_image = side,
                                                   .end = end}));
    int64_t n = eg_params_count(d.table);
    eg_drawer_close(&d);
    return n;
}

static void test_generators_have_the_published_sizes(void **state)
{
    (void)state;
    assert_int_equal(drawer_count(256, 3, 32, EG_DRAWER_SIGMOID), 2328899);
    assert_int_equal(drawer_count(256, 1, 28, EG_DRAWER_SIGMOID), 1834305);
    assert_int_equal(drawer_count(1000, 3, 32, EG_DRAWER_WHITE), 8423939);
    eg_drawer d;
    assert_fails(eg_drawer_open(&d, &(eg_drawer_spec){.noise = 1,
                                                      .width = 1,
                                                      .channels = 1,
                                                      .height = 30,
                                                      .width_of_image = 30}),
                 EG_ESHAPE, "sides 4 divides, not 30x30");
}

/* Two norms of one channel by hand: inputs 1 and 3 (mean 2, variance 1), then x / 2 + 1 of
 * what comes out of the first. */
static void test_the_gap_of_statistics_by_hand(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        eg_graph *g;
        eg_plan *plan;
        assert_ok(eg_graph_new(&g));
        eg_node *x = eg_input(g, "x", eg_dims(2, 1));
        eg_node *one = eg_constant(g, eg_dims(1), 1), *zero = eg_constant(g, eg_dims(1), 0);
        size_t from = eg_graph_next(g);
        eg_node *first = eg_batch_norm_eval(g, x, zero, eg_constant(g, eg_dims(1), 4), one,
                                            zero, 0); /* x / 2: 0.5 and 1.5 */
        eg_batch_norm_eval(g, first, one, one, one, zero, 0);
        eg_output(g, "gap",
                  eg_statistics_gap(g, from, kind ? EG_GAP_DIVERGENCE : EG_GAP_NORMS));
        assert_ok(eg_compile(g, &plan));
        eg_plan_input(plan, "x")[0] = 1, eg_plan_input(plan, "x")[1] = 3;
        assert_ok(eg_plan_run(plan));
        /* |0 - 2| + |4 - 1| + |1 - 1| + |1 - 0.25|; divergences (ln 1/4 - 1 + 4 + 4) / 2 and
         * (ln 0.25 - 1 + 4) / 2 */
        double want = kind ? ((log(0.25) + 7) / 2 + (log(0.25) + 3) / 2) / 2 : 2 + 3 + 0.75;
        assert_near((double)*eg_plan_output(plan, "gap"), want, 1e-3);
        eg_plan_free(plan);
        eg_graph_free(g);
    }
}

static const char text[] =
    "name: t\n"
    "data: {name: glyphs, train: 160, test: 10, classes: 4, size: 8, mean: 0.5, std: 0.5}\n"
    "model: {name: layers, layers: [conv 4 k3, batch-norm, relu, flatten]}\n"
    "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 1}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {steps: 1, batch: 8}\n"
    "runs: [{label: a, method: target}]\n";

static void test_rows_see_the_classes_of_the_task_and_replayed_ones_all(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, text, NULL);
    one_client_train(&o);
    assert_ok(one_client_turn(&o, 0));
    eg_client *c = o.c;
    assert_int_equal(c->batch, 8);
    for (int i = 0; i < 8; i++) /* 0 and 1 are of the first task */
        c->labels[i] = (float)(i == 0 || i == 3 ? i / 3 : 2 + i % 2);
    eg_new_classes_fill(c);
    const float *open = eg_plan_input(c->plan, "target.open");
    for (int i = 0; i < 8; i++)
        for (int y = 0; y < 4; y++)
            assert_near(open[i * 4 + y], i == 0 || i == 3 || y >= 2 ? 0 : -1e9, 0);
    one_client_close(&o);
}

/* What a client was brought it has in later rounds, too; the model stands in for itself. */
static void test_a_legacy_is_kept_with_the_model_it_came_with(void **state)
{
    (void)state;
    one_client o;
    const eg_bundle *legacy;
    one_client_open(&o, text, NULL);
    const float x[2 * 64] = {1}, told[2 * 4] = {2}, open[4] = {1, 1, 0, 0};
    assert_ok(eg_bundle_scalar(o.down, "target.drawn.version", 1));
    assert_ok(eg_bundle_scalar(o.down, "target.drawn.model", 1));
    assert_ok(eg_bundle_add_flat(o.down, "target.drawn.x", x, 2 * 64));
    assert_ok(eg_bundle_add_flat(o.down, "target.drawn.told", told, 2 * 4));
    assert_ok(eg_bundle_add_flat(o.down, "target.drawn.open", open, 4));
    size_t n = o.c->n_params;
    float *sent = malloc(n * sizeof *sent);
    assert_non_null(sent);
    memcpy(sent, eg_bundle_find(o.down, "param", NULL), n * sizeof *sent);
    one_client_train(&o);
    one_client_train(&o); /* nothing is brought now */
    legacy = one_client_kept(&o, "target.legacy");
    assert_non_null(legacy);
    assert_near(eg_bundle_find(legacy, "target.drawn.told", NULL)[0], 2, 0);
    assert_memory_equal(eg_bundle_find(legacy, "target.model.param", NULL), sent,
                        n * sizeof *sent);
    free(sent);
    one_client_close(&o);
}

static void test_embeddings_come_from_a_file_of_rows(void **state)
{
    (void)state;
    static const unsigned char head[] = "\x93NUMPY\x01\x00\x76\x00"
                                        "{'descr': '<f4', 'fortran_order': False, "
                                        "'shape': (3, 2), }";
    unsigned char bytes[128 + 6 * sizeof(float)];
    const float values[] = {1, 2, 3, 4, 5, 6};
    char path[FILES_PATH * 2];
    float *out;
    int64_t d;
    memset(bytes, ' ', 127);
    memcpy(bytes, head, sizeof head - 1);
    bytes[127] = '\n';
    memcpy(bytes + 128, values, sizeof values);
    files_write(folder, "e.npy", (const char *)bytes, sizeof bytes);
    snprintf(path, sizeof path, "%s/e.npy", folder);
    assert_ok(eg_embeddings_width(path, &d));
    assert_int_equal(d, 2);
    assert_ok(eg_embeddings_load(path, 2, 2, &out));
    assert_near(out[3], 4, 0);
    free(out);
    assert_fails(eg_embeddings_load(path, 4, 2, &out), EG_ESHAPE, "[3, 2] for 4 classes");
    assert_fails(eg_embeddings_width("none.npy", &d), EG_ENOENT, "none.npy");
    assert_ok(eg_embeddings_load("", 5, 400, &out));
    double sum = 0, squares = 0;
    for (int i = 0; i < 2000; i++)
        sum += (double)out[i], squares += (double)(out[i] * out[i]);
    assert_near(sum / 2000, 0, 0.07);
    assert_near(squares / 2000, 1, 0.1);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generators_have_the_published_sizes),
        cmocka_unit_test(test_the_gap_of_statistics_by_hand),
        cmocka_unit_test(test_rows_see_the_classes_of_the_task_and_replayed_ones_all),
        cmocka_unit_test(test_a_legacy_is_kept_with_the_model_it_came_with),
        cmocka_unit_test(test_embeddings_come_from_a_file_of_rows),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
