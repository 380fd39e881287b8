/* layout_test.c - memory by lifetime: values that share bytes never spoil each other.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "against_double.h"
#include "engine/graph/plan_private.h"
#include "isa.h"
#include "training.h"

#include <limits.h>
#include <stdio.h>

/* A network drawn at random, whose nodes read any earlier one: lifetimes of every length. */
typedef struct maze {
    eg_graph *g;
    eg_params *table;
    eg_rng r;
    eg_node *h[64]; /* all [n, c, side, side] */
    int n;
    int64_t channels;
} maze;

static eg_node *maze_pick(maze *m)
{
    return m->h[eg_rng_below(&m->r, (uint64_t)m->n)];
}

static eg_node *maze_recent(maze *m)
{
    return m->h[m->n - 1];
}

static eg_node *maze_param(maze *m, const char *kind, eg_shape shape)
{
    char name[32];
    snprintf(name, sizeof name, "%d.%s", m->n, kind);
    return eg_param(m->g, m->table, name, shape, (eg_init){0});
}

static eg_node *maze_conv(maze *m, eg_node *x)
{
    eg_node *w = maze_param(m, "weight", eg_dims(m->channels, m->channels, 3, 3));
    eg_node *b = maze_param(m, "bias", eg_dims(m->channels));
    return eg_conv2d(m->g, x, w, eg_rng_below(&m->r, 2) ? b : NULL,
                     (eg_window){.stride = 1, .padding = 1});
}

static eg_node *maze_norm(maze *m, eg_node *x)
{
    eg_shape c = eg_dims(m->channels);
    eg_node *stats = eg_channel_stats(m->g, x, NULL, NULL, 0);
    return eg_batch_norm(m->g, x, stats, maze_param(m, "weight", c), maze_param(m, "bias", c),
                         1e-5);
}

/* Another shape, something element-wise there, and back: memory read in two ways. */
static eg_node *maze_flat(maze *m, eg_node *x)
{
    eg_shape s = eg_node_shape(x);
    eg_node *flat = eg_reshape(m->g, x, eg_dims(s.dim[0], eg_shape_size(s) / s.dim[0]));
    return eg_reshape(m->g, eg_tanh(m->g, flat), s);
}

static eg_node *maze_pool(maze *m, eg_node *x)
{
    return eg_max_pool(m->g, x, (eg_window){.kernel = 3, .stride = 1, .padding = 1});
}

static eg_node *maze_node(maze *m)
{
    eg_graph *g = m->g;
    eg_node *a = maze_recent(m), *b = maze_pick(m);
    switch (eg_rng_below(&m->r, 12)) {
    case 0:
        return eg_relu(g, a);
    case 1:
        return eg_tanh(g, a);
    case 2:
        return eg_affine(g, eg_sub(g, a, b), 0.5, 0);
    case 3:
        return eg_mul(g, a, b);
    case 4:
        return eg_add(g, eg_tanh(g, b), eg_affine(g, a, 0.3, 0.1));
    case 5:
        return eg_relu(g, maze_conv(m, a));
    case 6:
        return eg_tanh(g, maze_conv(m, b));
    case 7:
        return eg_relu(g, eg_add(g, maze_norm(m, a), b)); /* a residual */
    case 8:
        return eg_tanh(g, maze_norm(m, b));
    case 9:
        return maze_flat(m, b);
    case 10:
        return maze_pool(m, a);
    default:
        return eg_leaky_relu(g, eg_add(g, b, b), 0.2);
    }
}

static void maze_open(maze *m, uint32_t number)
{
    *m = (maze){.r = eg_rng_at(1, number, 0, EG_FOR_TEST)};
    assert_ok(eg_graph_new(&m->g));
    assert_ok(eg_params_new(&m->table));
    static const int64_t channels[] = {3, 16, 20};
    m->channels = channels[number % 3]; /* batch innermost, blocked, batch innermost */
    int64_t batch = number % 2 ? 5 : 16;
    m->h[m->n++] = eg_input(m->g, "x", eg_dims(batch, m->channels, 5, 4));
    while (m->n < 24) {
        m->h[m->n] = maze_node(m);
        m->n++;
    }
    eg_node *y = eg_add(m->g, eg_mul(m->g, maze_recent(m), maze_pick(m)), m->h[m->n - 2]);
    eg_output(m->g, "y", eg_tanh(m->g, y));
    eg_backward(m->g, eg_sum(m->g, eg_mul(m->g, y, y), EG_ALL_AXES), m->table);
    assert_ok(eg_graph_status(m->g));
}

static void maze_close(maze *m)
{
    eg_graph_free(m->g);
    eg_params_free(m->table);
}

static void test_networks_drawn_at_random_agree_with_their_double_form(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 60; i++) {
        maze m;
        maze_open(&m, i);
        double gap = against_double(m.g, m.table);
        if (!(gap <= 1e-3)) /* floats drift by 1e-4; a spoilt value is off by more */
            fail_msg("network %u is off by %g", i, gap);
        maze_close(&m);
    }
}

/* A long skip: the first value is read again at the very end, after many of its size. */
static void test_a_value_read_late_is_still_there(void **state)
{
    (void)state;
    eg_graph *g;
    assert_ok(eg_graph_new(&g));
    eg_node *x = eg_input(g, "x", eg_dims(6, 7));
    eg_node *first = eg_tanh(g, x), *h = first, *middle = NULL;
    for (int i = 0; i < 20; i++) {
        h = eg_affine(g, eg_tanh(g, h), 1.1, 0.01 * i);
        middle = i == 9 ? h : middle;
    }
    eg_output(g, "y", eg_add(g, eg_mul(g, h, first), middle));
    assert_true(against_double(g, NULL) < 1e-5);
    eg_graph_free(g);
}

/* Whoever may be overwritten in place is needed once more here. */
static void test_in_place_never_destroys_what_is_needed(void **state)
{
    (void)state;
    eg_graph *g;
    eg_params *table;
    assert_ok(eg_graph_new(&g));
    assert_ok(eg_params_new(&table));
    eg_node *x = eg_input(g, "x", eg_dims(4, 6)), *h = eg_exp(g, x);
    eg_node *w = eg_param(g, table, "w", eg_dims(4, 6), (eg_init){0});
    eg_node *c = eg_constant(g, eg_dims(4, 6), 0.25);
    eg_output(g, "an input", eg_tanh(g, x));
    eg_output(g, "a parameter", eg_tanh(g, w));
    eg_output(g, "a constant", eg_tanh(g, c));
    eg_output(g, "an output", eg_tanh(g, h)); /* of h, which is an output itself */
    eg_output(g, "h", h);
    eg_node *k = eg_exp(g, eg_mul(g, x, w)), *flat = eg_reshape(g, k, eg_dims(24));
    eg_output(g, "an alias", eg_tanh(g, flat)); /* k is read again, under its first shape */
    eg_output(g, "what it aliases", eg_mul(g, k, c));
    eg_node *twice = eg_sub(g, x, w);
    eg_output(g, "both operands", eg_mul(g, twice, twice));
    eg_node *left = eg_exp(g, w), *right = eg_mul(g, w, x);
    eg_output(g, "left, then right", eg_sub(g, eg_sub(g, left, right), right));
    assert_true(against_double(g, table) < 1e-6);
    eg_graph_free(g);
    eg_params_free(table);
}

static bool in_arena(const eg_value *v)
{
    return v->home == EG_IN_ARENA && !v->within && v->bytes;
}

static bool meet(const eg_value *a, const eg_value *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Roots of the arena: those that live together lie apart, and within it. */
static void check_layout(const eg_plan *p)
{
    for (size_t i = 0; i < p->n_values; i++) {
        const eg_value *a = p->values[i];
        if (!in_arena(a))
            continue;
        assert_true(a->offset % EG_ALIGN == 0 && a->offset + a->bytes <= p->bytes);
        for (size_t j = i + 1; j < p->n_values; j++) {
            const eg_value *b = p->values[j];
            if (in_arena(b) && meet(a, b))
                assert_true(a->offset + a->bytes <= b->offset ||
                            b->offset + b->bytes <= a->offset);
        }
    }
}

static void test_values_that_live_together_lie_apart(void **state)
{
    (void)state;
    for (size_t i = 0; eg_models[i]; i++) {
        const training_spec spec = {.net = training_images(eg_models[i]->component.name, 28),
                                    .batch = 4,
                                    .optimizer = "sgd",
                                    .rate = "0.1"};
        training t;
        assert_ok(training_open(&t, &spec));
        check_layout(t.plan);
        training_close(&t);
    }
    maze m;
    eg_plan *plan;
    maze_open(&m, 3);
    assert_ok(eg_compile(m.g, &plan));
    check_layout(plan);
    eg_plan_free(plan);
    maze_close(&m);
}

static void test_the_arena_is_smaller_than_the_sum_of_its_values(void **state)
{
    (void)state;
    const training_spec spec = {.net = {"resnet18-thin", 3, 32, 32, 10, NULL},
                                .batch = 8,
                                .optimizer = "sgd",
                                .rate = "0.1"};
    training t;
    assert_ok(training_open(&t, &spec));
    size_t sum = 0;
    for (size_t i = 0; i < t.plan->n_values; i++)
        if (t.plan->values[i]->home == EG_IN_ARENA)
            sum += t.plan->values[i]->bytes;
    print_message("values %.1f MB, arena %.1f MB\n", 1e-6 * (double)sum,
                  1e-6 * (double)eg_plan_bytes(t.plan));
    assert_true(2 * eg_plan_bytes(t.plan) < sum);
    training_close(&t);
}

int main(int argc, char **argv)
{
    if (!isa_from_argument(argc, argv))
        return ISA_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_value_read_late_is_still_there),
        cmocka_unit_test(test_in_place_never_destroys_what_is_needed),
        cmocka_unit_test(test_networks_drawn_at_random_agree_with_their_double_form),
        cmocka_unit_test(test_values_that_live_together_lie_apart),
        cmocka_unit_test(test_the_arena_is_smaller_than_the_sum_of_its_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
