/* params_test.c - tables of tensors: places in the flat arrays, first values, weight files.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "training.h"

#include <engram/safetensors.h>

#include <stdio.h>
#include <unistd.h>

static size_t add(eg_params *p, const char *name, eg_shape shape, bool trained, eg_init init)
{
    size_t index = 99;
    const eg_param_info info = {.name = name, .shape = shape, .trained = trained, .init = init};
    assert_ok(eg_params_add(p, &info, &index));
    return index;
}

/* A table as a small network would have it. */
static eg_params *open_table(void)
{
    eg_params *p = NULL;
    assert_ok(eg_params_new(&p));
    add(p, "fc.weight", eg_dims(3, 7), true, (eg_init){.kind = EG_INIT_UNIFORM, .a = 0.5});
    add(p, "fc.bias", eg_dims(3), true, (eg_init){.kind = EG_INIT_NORMAL, .a = 2});
    add(p, "bn.running_var", eg_dims(5), false, (eg_init){.kind = EG_INIT_CONSTANT, .a = 1});
    add(p, "scale", eg_scalar(), true, (eg_init){.kind = EG_INIT_CONSTANT, .a = 4});
    add(p, "bn.running_mean", eg_dims(16), false, (eg_init){.kind = EG_INIT_CONSTANT, .a = 0});
    return p;
}

static void test_tensors_begin_at_multiples_of_16(void **state)
{
    (void)state;
    eg_params *p = open_table();
    static const size_t offsets[] = {0, 32, 0, 48, 16}, sizes[] = {21, 3, 5, 1, 16};
    assert_int_equal(eg_params_n(p), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(eg_params_at(p, i)->offset, offsets[i]);
        assert_int_equal(eg_params_at(p, i)->size, sizes[i]);
    }
    assert_int_equal(eg_params_length(p), 64);
    assert_int_equal(eg_state_length(p), 32);
    assert_int_equal(eg_params_count(p), 25);
    eg_params_free(p);
}

/* The floats of an array that belong to no tensor. */
static void check_gaps(const eg_params *p, bool trained, const float *v)
{
    size_t length = trained ? eg_params_length(p) : eg_state_length(p), used = 0;
    assert_true((uintptr_t)v % 64 == 0);
    for (size_t i = 0; i < eg_params_n(p); i++) {
        const eg_param_info *t = eg_params_at(p, i);
        if (t->trained != trained)
            continue;
        for (size_t j = used; j < t->offset; j++)
            assert_true(v[j] == 0);
        used = t->offset + t->size;
    }
    for (size_t j = used; j < length; j++)
        assert_true(v[j] == 0);
}

static void test_gaps_are_zero_and_stay_so_while_training(void **state)
{
    (void)state;
    for (size_t i = 0; eg_optims[i]; i++) {
        const training_spec spec = {.net = {"resnet18-thin", 3, 8, 8, 3, NULL},
                                    .batch = 3,
                                    .optimizer = eg_optims[i]->component.name,
                                    .rate = "0.01",
                                    .seed = 1};
        training t;
        assert_ok(training_open(&t, &spec));
        assert_ok(eg_optimizer_set(t.optimizer, "weight_decay", "0.1"));
        assert_ok(training_step(&t));
        assert_ok(training_step(&t));
        check_gaps(eg_net_params(t.net), true, t.value);
        check_gaps(eg_net_params(t.net), true, t.grad);
        check_gaps(eg_net_params(t.net), false, t.state);
        training_close(&t);
    }
}

static void test_a_name_means_one_tensor(void **state)
{
    (void)state;
    eg_params *p = open_table();
    char name[] = "fc.weight"; /* the table keeps a copy */
    size_t index = 0;
    assert_int_equal(add(p, name, eg_dims(3, 7), true, (eg_init){0}), 0);
    eg_param_info info = {.name = "fc.weight", .shape = eg_dims(7, 3), .trained = true};
    assert_fails(eg_params_add(p, &info, &index), EG_ESHAPE,
                 "parameter 'fc.weight' is [3, 7] and is asked for as [7, 3]");
    info = (eg_param_info){.name = "fc.bias", .shape = eg_dims(3)};
    assert_fails(eg_params_add(p, &info, &index), EG_ESHAPE, "asked for as untrained [3]");
    info = (eg_param_info){.name = "none", .shape = eg_dims(3, 0), .trained = true};
    assert_fails(eg_params_add(p, &info, &index), EG_ESHAPE, "dimension 1 is 0");
    info.shape = eg_dims(3000000000, 3000000000, 3000000000);
    assert_fails(eg_params_add(p, &info, &index), EG_ESHAPE, "more elements than memory");
    assert_int_equal(eg_params_n(p), 5);
    eg_params_free(p);
}

static void test_a_graph_gives_equal_names_the_same_node(void **state)
{
    (void)state;
    eg_params *p = open_table();
    eg_graph *g;
    assert_ok(eg_graph_new(&g));
    eg_node *w = eg_param(g, p, "fc.weight", eg_dims(3, 7), (eg_init){0});
    assert_ptr_equal(eg_param(g, p, "fc.weight", eg_dims(3, 7), (eg_init){0}), w);
    eg_param(g, p, "fc.weight", eg_dims(21), (eg_init){0});
    assert_fails(eg_graph_status(g), EG_ESHAPE, "[3, 7] and is asked for as [21]");
    eg_graph_free(g);
    eg_params_free(p);
}

/* Fills `value` from a table of two tensors: n floats, then 50. */
static void init_pair(size_t n, uint64_t seed, eg_init_kind kind, float *value)
{
    eg_params *p;
    assert_ok(eg_params_new(&p));
    add(p, "first", eg_dims((int64_t)n), true, (eg_init){.kind = EG_INIT_UNIFORM, .a = 1});
    add(p, "second", eg_dims(50), true, (eg_init){.kind = kind, .a = 2});
    eg_params_init(p, seed, value, NULL);
    memmove(value + n, value + eg_params_at(p, 1)->offset, 50 * sizeof *value);
    eg_params_free(p);
}

static void test_first_values_depend_on_seed_tensor_and_element_alone(void **state)
{
    (void)state;
    static float a[400], b[400];
    init_pair(50, 1, EG_INIT_UNIFORM, a);
    init_pair(50, 1, EG_INIT_UNIFORM, b);
    assert_memory_equal(a, b, 100 * sizeof *a);
    init_pair(300, 1, EG_INIT_UNIFORM, b); /* a longer first tensor moves no other value */
    assert_memory_equal(a, b, 50 * sizeof *a);
    assert_memory_equal(a + 50, b + 300, 50 * sizeof *a);
    init_pair(50, 2, EG_INIT_UNIFORM, b);
    for (size_t j = 0; j < 100; j++)
        assert_true(a[j] != b[j]);
    for (size_t j = 0; j < 50; j++) /* the second tensor is no copy of the first */
        assert_true(a[50 + j] != 2 * a[j]);
}

static void test_first_values_have_the_spread_they_are_asked_for(void **state)
{
    (void)state;
    enum { N = 100000 };
    static const eg_init_kind kinds[] = {EG_INIT_UNIFORM, EG_INIT_NORMAL, EG_INIT_CONSTANT,
                                         EG_INIT_NORMAL};
    static const double spreads[] = {0.57735, 1, 0, 1}, means[] = {0, 0, 1, 10};
    for (int k = 0; k < 4; k++) {
        eg_params *p;
        float *value = NULL;
        double mean = 0, square = 0;
        assert_ok(eg_params_new(&p));
        add(p, "w", eg_dims(N), true,
            (eg_init){.kind = kinds[k], .a = 3, .mean = k == 3 ? 30 : 0});
        assert_ok(eg_params_alloc(p, &value));
        eg_params_init(p, 8, value, NULL);
        for (size_t j = 0; j < N; j++) {
            mean += (double)value[j] / N;
            square += (double)value[j] * (double)value[j] / N;
            assert_true(kinds[k] == EG_INIT_NORMAL || fabsf(value[j]) <= 3);
        }
        assert_near(mean, 3 * means[k], 0.05);
        assert_near(sqrt(fmax(0, square - mean * mean)), 3 * spreads[k], 0.02);
        free(value);
        eg_params_free(p);
    }
}

/* A weight file under construction: the table's own tensors, to be changed before writing. */
enum { N_OWN = 5 };

typedef struct weights {
    eg_params *table;
    float value[64], state[32]; /* what the file holds */
    eg_stored list[N_OWN + 1];
    size_t n;
    char path[32];
} weights;

static void weights_open(weights *w)
{
    memset(w, 0, sizeof *w);
    w->table = open_table();
    eg_params_init(w->table, 5, w->value, w->state);
    for (; w->n < N_OWN; w->n++) {
        const eg_param_info *t = eg_params_at(w->table, w->n);
        eg_stored *s = &w->list[w->n];
        *s = (eg_stored){.name = t->name, .type = EG_STORED_F32, .rank = t->shape.rank};
        memcpy(s->dims, t->shape.dim, sizeof t->shape.dim);
        s->bytes = (t->trained ? w->value : w->state) + t->offset;
    }
    strcpy(w->path, "/tmp/engram_params_XXXXXX");
    int fd = mkstemp(w->path);
    assert_true(fd >= 0);
    close(fd);
}

static void weights_close(weights *w)
{
    unlink(w->path);
    eg_params_free(w->table);
}

static void weights_save(weights *w)
{
    assert_ok(eg_safetensors_save(w->path, w->list, w->n, NULL, 0));
}

/* Loading must fail with these words, name the file, and change nothing. */
static void refuses(const weights *w, eg_status code, const char *words)
{
    _Alignas(64) float value[64], state[32];
    for (int i = 0; i < 64; i++)
        value[i] = state[i % 32] = (float)i;
    assert_fails(eg_params_load(w->table, w->path, value, state), code, words);
    const char *file = strstr(eg_error(), w->path); /* once */
    assert_true(file && !strstr(file + 1, w->path));
    for (int i = 0; i < 64; i++)
        assert_true(value[i] == (float)i && state[i % 32] == (float)(32 + i % 32));
}

static void test_what_is_saved_is_loaded(void **state)
{
    (void)state;
    weights w;
    weights_open(&w);
    float value[64] = {0}, untrained[32] = {0};
    const eg_stored_note note = {"network", "mlp"};
    eg_tensors *file;
    assert_ok(eg_params_save(w.table, w.path, w.value, w.state, &note, 1));
    assert_ok(eg_params_load(w.table, w.path, value, untrained));
    assert_memory_equal(value, w.value, sizeof value);
    assert_memory_equal(untrained, w.state, sizeof untrained);
    assert_ok(eg_safetensors_load(w.path, &file));
    assert_string_equal(eg_tensors_note(file, "network"), "mlp");
    eg_tensors_free(file);
    weights_close(&w);
}

/* Half the bytes, wrapped as DataParallel wraps, and with a tensor more. */
static void test_half_precision_and_wrapped_names_are_read(void **state)
{
    (void)state;
    weights w;
    char names[N_OWN + 1][80];
    uint16_t half[N_OWN][64];
    static const uint16_t bits[] = {0x3c00, 0xc000, 0x3555, 0x0001}; /* as F16 and as BF16 */
    for (int k = 0; k < 2; k++) {
        float value[64] = {0}, untrained[32] = {0};
        weights_open(&w);
        for (size_t i = 0; i < N_OWN; i++) {
            snprintf(names[i], sizeof names[i], "module.%s", w.list[i].name);
            w.list[i].name = names[i];
            w.list[i].type = k ? EG_STORED_BF16 : EG_STORED_F16;
            for (size_t j = 0; j < 64; j++)
                half[i][j] = bits[j % 4];
            w.list[i].bytes = half[i];
        }
        weights_save(&w);
        assert_ok(eg_params_load(w.table, w.path, value, untrained));
        static const double want[2][4] = {{1, -2, 0.333251953125, 0x1p-24},
                                          {0.0078125, -2, 0x1.aap-21, 0x1p-133}};
        size_t at = eg_params_at(w.table, 0)->offset;
        for (size_t j = 0; j < eg_params_at(w.table, 0)->size; j++)
            assert_near((double)value[at + j] / want[k][j % 4], 1, 1e-12);
        weights_close(&w);
    }
}

static void count_extra(void *told, const char *name)
{
    assert_string_equal(name, "extra.weight");
    ++*(int *)told;
}

static void test_what_the_network_lacks_is_left_out_if_asked(void **state)
{
    (void)state;
    weights w;
    weights_open(&w);
    float value[64] = {0}, untrained[32] = {0};
    int told = 0;
    w.list[w.n] = w.list[0];
    w.list[w.n++].name = "extra.weight";
    weights_save(&w);
    refuses(&w, EG_ESHAPE, "'extra.weight' is none of the network's");
    const eg_params_wish wish = {.extra = count_extra, .told = &told};
    assert_ok(eg_params_start(w.table, w.path, &wish, value, untrained));
    assert_int_equal(told, 1);
    assert_memory_equal(value, w.value, sizeof value);
    weights_close(&w);
}

static void test_fresh_tensors_keep_their_values(void **state)
{
    (void)state;
    weights w;
    weights_open(&w);
    float value[64], untrained[32] = {0};
    for (int i = 0; i < 64; i++)
        value[i] = -1;
    eg_take fresh[N_OWN] = {EG_TAKE_NONE}; /* fc.weight, which the file has otherwise */
    w.list[0].dims[0] = 7, w.list[0].dims[1] = 3;
    weights_save(&w);
    assert_fails(eg_params_load(w.table, w.path, value, untrained), EG_ESHAPE, "1 tensor does");
    assert_ok(
        eg_params_start(w.table, w.path, &(eg_params_wish){.take = fresh}, value, untrained));
    const eg_param_info *weight = eg_params_at(w.table, 0), *bias = eg_params_at(w.table, 1);
    for (size_t i = 0; i < weight->size; i++)
        assert_true(value[weight->offset + i] == -1);
    assert_memory_equal(value + bias->offset, w.value + bias->offset,
                        bias->size * sizeof *value);
    weights_close(&w);
}

static void test_first_rows_are_taken_of_more(void **state)
{
    (void)state;
    weights w;
    weights_open(&w);
    float value[64] = {0}, untrained[32] = {0}, many[5 * 7];
    eg_take take[N_OWN] = {EG_TAKE_ROWS}; /* fc.weight, of which the file has five rows */
    for (int i = 0; i < 5 * 7; i++)
        many[i] = (float)i;
    w.list[0].dims[0] = 5, w.list[0].bytes = many;
    weights_save(&w);
    assert_fails(eg_params_load(w.table, w.path, value, untrained), EG_ESHAPE,
                 "'fc.weight' is [5, 7], not [3, 7]");
    assert_ok(
        eg_params_start(w.table, w.path, &(eg_params_wish){.take = take}, value, untrained));
    assert_memory_equal(value, many, 3 * 7 * sizeof *value);
    assert_true(value[3 * 7] == 0); /* the gap */
    w.list[0].dims[0] = 2;
    weights_save(&w);
    assert_fails(
        eg_params_start(w.table, w.path, &(eg_params_wish){.take = take}, value, untrained),
        EG_ESHAPE, "'fc.weight' is [2, 7], not [3, 7] or of more rows");
    weights_close(&w);
}

static void test_all_that_does_not_fit_is_named(void **state)
{
    (void)state;
    weights w;
    weights_open(&w);
    w.list[0].dims[0] = 7, w.list[0].dims[1] = 3;
    w.list[1].name = "fc2.bias";
    weights_save(&w);
    refuses(&w, EG_ESHAPE, "3 tensors do not fit: 'fc.weight' is [7, 3], not [");
    assert_non_null(strstr(eg_error(), "'fc.bias' is missing"));
    assert_non_null(strstr(eg_error(), "'fc2.bias' is none of the network's"));
    weights_close(&w);
}

static void test_counters_of_pytorch_are_no_obstacle(void **state)
{
    (void)state;
    weights w;
    weights_open(&w);
    int64_t count = 12345;
    float value[64] = {0}, untrained[32] = {0};
    w.list[w.n++] =
        (eg_stored){.name = "bn.num_batches_tracked", .type = EG_STORED_I64, .bytes = &count};
    weights_save(&w);
    assert_ok(eg_params_load(w.table, w.path, value, untrained));
    assert_memory_equal(value, w.value, sizeof value);
    weights_close(&w);
}

static void test_a_missing_or_unknown_tensor_is_named(void **state)
{
    (void)state;
    weights w;
    weights_open(&w);
    w.list[1] = w.list[--w.n]; /* without fc.bias */
    weights_save(&w);
    refuses(&w, EG_ESHAPE, "'fc.bias' is missing");
    weights_close(&w);
    weights_open(&w);
    w.list[w.n] = w.list[0];
    w.list[w.n++].name = "fc2.weight";
    weights_save(&w);
    refuses(&w, EG_ESHAPE, "'fc2.weight' is none of the network's");
    weights_close(&w);
}

static void test_a_tensor_of_another_shape_or_type_is_named(void **state)
{
    (void)state;
    weights w;
    weights_open(&w);
    w.list[0].dims[0] = 7, w.list[0].dims[1] = 3;
    weights_save(&w);
    refuses(&w, EG_ESHAPE, "'fc.weight'");
    assert_non_null(strstr(eg_error(), "[7, 3]"));
    weights_close(&w);
    weights_open(&w);
    w.list[0].type = EG_STORED_I32;
    weights_save(&w);
    refuses(&w, EG_ESHAPE, "'fc.weight' holds I32, not F32");
    weights_close(&w);
}

static void test_values_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        weights w;
        weights_open(&w);
        w.value[20] = bad[i];
        weights_save(&w);
        refuses(&w, EG_EINVAL, "'fc.weight': element 20");
        weights_close(&w);
        weights_open(&w);
        w.state[16 + 3] = bad[i];
        weights_save(&w);
        refuses(&w, EG_EINVAL, "'bn.running_mean': element 3");
        weights_close(&w);
    }
}

static void test_a_file_cut_short_anywhere_is_refused(void **state)
{
    (void)state;
    weights w;
    weights_open(&w);
    weights_save(&w);
    FILE *f = fopen(w.path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    fclose(f);
    assert_true(size > 300);
    for (long n = size - 1; n >= 0; n -= 7) {
        assert_int_equal(truncate(w.path, n), 0);
        refuses(&w, EG_EFORMAT, "");
    }
    unlink(w.path);
    refuses(&w, EG_ENOENT, "");
    weights_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors_begin_at_multiples_of_16),
        cmocka_unit_test(test_gaps_are_zero_and_stay_so_while_training),
        cmocka_unit_test(test_a_name_means_one_tensor),
        cmocka_unit_test(test_a_graph_gives_equal_names_the_same_node),
        cmocka_unit_test(test_first_values_depend_on_seed_tensor_and_element_alone),
        cmocka_unit_test(test_first_values_have_the_spread_they_are_asked_for),
        cmocka_unit_test(test_what_is_saved_is_loaded),
        cmocka_unit_test(test_half_precision_and_wrapped_names_are_read),
        cmocka_unit_test(test_what_the_network_lacks_is_left_out_if_asked),
        cmocka_unit_test(test_fresh_tensors_keep_their_values),
        cmocka_unit_test(test_first_rows_are_taken_of_more),
        cmocka_unit_test(test_all_that_does_not_fit_is_named),
        cmocka_unit_test(test_counters_of_pytorch_are_no_obstacle),
        cmocka_unit_test(test_a_missing_or_unknown_tensor_is_named),
        cmocka_unit_test(test_a_tensor_of_another_shape_or_type_is_named),
        cmocka_unit_test(test_values_that_are_not_finite_are_refused),
        cmocka_unit_test(test_a_file_cut_short_anywhere_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
