/* layers_test.c - the layers of generators and critics: names, first values, and gradients.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The gradient of a critic's penalty, which holds a gradient itself, is compared with
 * differences in double precision, and what a plan computes of it with the double form. An
 * argument names the instruction set to test.
 */
#include "against_double.h"
#include "isa.h"

#include <engram/layers.h>

static const eg_param_info *find(const eg_params *p, const char *name)
{
    for (size_t i = 0; i < eg_params_n(p); i++)
        if (strcmp(eg_params_at(p, i)->name, name) == 0)
            return eg_params_at(p, i);
    fail_msg("there is no tensor %s", name);
    return NULL;
}

typedef struct fixture {
    eg_graph *g;
    eg_params *table;
} fixture;

static fixture open_fixture(void)
{
    fixture f;
    assert_ok(eg_graph_new(&f.g));
    assert_ok(eg_params_new(&f.table));
    return f;
}

static void close_fixture(fixture *f)
{
    eg_graph_free(f->g);
    eg_params_free(f->table);
}

static void test_a_transposed_convolution_has_pytorchs_weights(void **state)
{
    (void)state;
    fixture f = open_fixture();
    const eg_conv_layer_spec spec = {
        .out = 8, .kernel = 4, .stride = 2, .padding = 1, .bias = true};
    eg_node *x = eg_input(f.g, "x", eg_dims(2, 12, 5, 7));
    eg_node *y = eg_conv_transpose_layer(f.g, f.table, "up", x, &spec);
    assert_true(eg_shape_equal(eg_node_shape(y), eg_dims(2, 8, 10, 14)));
    const eg_param_info *w = find(f.table, "up.weight"), *b = find(f.table, "up.bias");
    assert_true(eg_shape_equal(w->shape, eg_dims(12, 8, 4, 4)));
    assert_true(eg_shape_equal(b->shape, eg_dims(8)));
    assert_near(w->init.a, 1 / sqrt(8.0 * 16),
                1e-12); /* by PyTorch's fan in: the second axis */
    assert_near(b->init.a, w->init.a, 0);
    close_fixture(&f);
}

static void test_instance_norm_has_tensors_only_when_affine(void **state)
{
    (void)state;
    fixture f = open_fixture();
    eg_node *x = eg_input(f.g, "x", eg_dims(2, 6, 3, 3));
    eg_instance_norm_layer(f.g, f.table, "bare", x, false);
    assert_int_equal(eg_params_n(f.table), 0);
    eg_instance_norm_layer(f.g, f.table, "norm", x, true);
    assert_int_equal(eg_params_n(f.table), 2);
    assert_near(find(f.table, "norm.weight")->init.a, 1, 0);
    assert_near(find(f.table, "norm.bias")->init.a, 0, 0);
    assert_ok(eg_graph_status(f.g));
    eg_node *one = eg_input(f.g, "one", eg_dims(2, 6, 1, 1));
    eg_instance_norm_layer(f.g, f.table, "flat", one, true);
    assert_fails(eg_graph_status(f.g), EG_ESHAPE, "'flat' has one value per channel");
    close_fixture(&f);
}

static void test_layers_begin_as_they_are_told(void **state)
{
    (void)state;
    fixture f = open_fixture();
    const eg_init zero = {.kind = EG_INIT_CONSTANT};
    const eg_layer_init draw = {.weight = {.kind = EG_INIT_NORMAL, .a = 0.02}, .bias = zero};
    const eg_layer_init about_one = {.weight = {.kind = EG_INIT_NORMAL, .a = 0.02, .mean = 1},
                                     .bias = zero};
    const eg_conv_layer_spec spec = {
        .out = 32, .kernel = 4, .stride = 2, .padding = 1, .bias = true, .init = &draw};
    eg_node *x = eg_input(f.g, "x", eg_dims(2, 16, 8, 8));
    eg_node *h = eg_conv_layer(f.g, f.table, "conv", x, &spec);
    h = eg_batch_norm_layer_from(f.g, f.table, "bn", h, &about_one);
    h = eg_conv_transpose_layer(f.g, f.table, "up", h, &spec);
    eg_linear_layer_of(f.g, f.table, "fc", eg_flatten(f.g, h),
                       &(eg_linear_layer_spec){.out = 3, .bias = true, .init = &draw});
    assert_ok(eg_graph_status(f.g));
    static const char *const weights[] = {"conv.weight", "up.weight", "fc.weight", "bn.weight"};
    float *value = NULL, *untrained = NULL;
    assert_ok(eg_params_alloc(f.table, &value));
    assert_ok(eg_state_alloc(f.table, &untrained));
    eg_params_init(f.table, 3, value, untrained);
    for (int k = 0; k < 4; k++) {
        const eg_param_info *t = find(f.table, weights[k]);
        double mean = 0, square = 0, n = (double)t->size;
        for (size_t i = 0; i < t->size; i++) {
            mean += (double)value[t->offset + i] / n;
            square += (double)value[t->offset + i] * (double)value[t->offset + i] / n;
        }
        assert_near(mean, k == 3 ? 1 : 0, 5 * 0.02 / sqrt(n));
        assert_near(sqrt(square - mean * mean), 0.02, 5 * 0.02 / sqrt(n));
    }
    assert_near((double)value[find(f.table, "conv.bias")->offset], 0, 0);
    assert_near((double)value[find(f.table, "bn.bias")->offset], 0, 0);
    free(value);
    free(untrained);
    close_fixture(&f);
}

/* A critic of 8x8 images: two halvings, instance norm, and one number per sample. */
static eg_node *record_critic(fixture *f, eg_node *x, int64_t width)
{
    const eg_conv_layer_spec first = {.out = width, .kernel = 4, .stride = 2, .padding = 1};
    const eg_conv_layer_spec second = {
        .out = 2 * width, .kernel = 4, .stride = 2, .padding = 1};
    const eg_conv_layer_spec last = {.out = 1, .kernel = 2, .stride = 1};
    eg_node *h = eg_leaky_relu(f->g, eg_conv_layer(f->g, f->table, "d1", x, &first), 0.2);
    h = eg_conv_layer(f->g, f->table, "d2", h, &second);
    h = eg_leaky_relu(f->g, eg_instance_norm_layer(f->g, f->table, "n2", h, true), 0.2);
    return eg_conv_layer(f->g, f->table, "d3", h, &last);
}

/* Images of 8x8 from 1x1, drawn by transposed convolutions. */
static eg_node *record_generator(fixture *f, eg_node *z, int64_t width, int64_t channels)
{
    const eg_conv_layer_spec first = {.out = 2 * width, .kernel = 2, .stride = 1};
    const eg_conv_layer_spec second = {.out = width, .kernel = 4, .stride = 2, .padding = 1};
    const eg_conv_layer_spec last = {
        .out = channels, .kernel = 4, .stride = 2, .padding = 1, .bias = true};
    eg_node *h = eg_conv_transpose_layer(f->g, f->table, "g1", z, &first);
    h = eg_relu(f->g, eg_instance_norm_layer(f->g, f->table, "n1", h, true));
    h = eg_relu(f->g, eg_conv_transpose_layer(f->g, f->table, "g2", h, &second));
    return eg_tanh(f->g, eg_conv_transpose_layer(f->g, f->table, "g3", h, &last));
}

/* (|d critic / d x| - 1)^2, mean over samples: the penalty of WGAN-GP, on drawn images. */
static eg_node *record_penalty(fixture *f, int64_t width, int64_t channels)
{
    eg_graph *g = f->g;
    eg_node *z = eg_input(g, "z", eg_dims(3, 5, 1, 1)), *grad;
    eg_node *x = record_generator(f, z, width, channels);
    eg_node *y = record_critic(f, x, width);
    eg_gradients(g, eg_sum(g, y, EG_ALL_AXES), 1, &x, &grad);
    grad = eg_flatten(g, grad);
    eg_node *norm = eg_sqrt(g, eg_sum(g, eg_mul(g, grad, grad), EG_AXIS(1)));
    eg_node *gap = eg_affine(g, norm, 1, -1);
    return eg_add(g, eg_mean(g, eg_mul(g, gap, gap), EG_ALL_AXES), eg_mean(g, y, EG_ALL_AXES));
}

/* One element of one leaf, moved. */
typedef struct moved {
    const eg_node *leaf;
    int64_t element;
    double by;
} moved;

static void fill_moved(void *context, const eg_node *leaf, double *out)
{
    const moved *m = context;
    against_fill(NULL, leaf, out);
    if (leaf == m->leaf)
        out[m->element] += m->by;
}

static double loss_at(const fixture *f, eg_node *loss, const moved *m)
{
    double v;
    moved copy = *m;
    assert_ok(eg_evaluate(f->g, 1, &loss, fill_moved, &copy, (double *[]){&v}));
    return v;
}

static void test_the_penaltys_gradient_agrees_with_differences(void **state)
{
    (void)state;
    const double h = 1e-5;
    fixture f = open_fixture();
    eg_node *loss = record_penalty(&f, 2, 1);
    eg_backward(f.g, loss, f.table);
    assert_ok(eg_graph_status(f.g));
    assert_int_equal(f.g->n_grads, eg_params_n(f.table));
    for (size_t k = 0; k < f.g->n_grads; k++) {
        const eg_node *leaf = f.g->grads[k].param;
        int64_t size = eg_shape_size(leaf->shape);
        double *grad = calloc((size_t)size, sizeof *grad);
        assert_non_null(grad);
        assert_ok(eg_evaluate(f.g, 1, &f.g->grads[k].grad, against_fill, NULL, &grad));
        for (int64_t i = 0; i < size; i += size / 6 + 1) {
            double up = loss_at(&f, loss, &(moved){leaf, i, h});
            double down = loss_at(&f, loss, &(moved){leaf, i, -h});
            double gap = fabs((up - down) / (2 * h) - grad[i]) / fmax(1, fabs(grad[i]));
            if (!(gap <= 1e-6))
                fail_msg("tensor %zu, element %lld: off by %g", k, (long long)i, gap);
        }
        free(grad);
    }
    close_fixture(&f);
}

static void test_plans_of_the_penalty_agree_with_the_double_form(void **state)
{
    (void)state;
    static const int64_t widths[] = {3, 16}, channels[] = {3, 1};
    for (int i = 0; i < 2; i++) {
        fixture f = open_fixture();
        eg_node *loss = record_penalty(&f, widths[i], channels[i]);
        eg_output(f.g, "loss", loss);
        eg_backward(f.g, loss, f.table);
        double gap = against_double(f.g, f.table);
        if (!(gap <= 1e-4))
            fail_msg("width %d: off by %g", (int)widths[i], gap);
        close_fixture(&f);
    }
}

/* Only the input and the result change their layout: where channels fill blocks. */
static void test_instance_norm_keeps_maps_blocked(void **state)
{
    (void)state;
    if (strcmp(eg_isa_name(), "plain") == 0)
        skip();
    fixture f = open_fixture();
    const eg_conv_layer_spec spec = {.out = 32, .kernel = 4, .stride = 2, .padding = 1};
    eg_node *h = eg_input(f.g, "x", eg_dims(3, 16, 32, 32));
    h = eg_conv_layer(f.g, f.table, "d1", h, &spec);
    h = eg_leaky_relu(f.g, eg_instance_norm_layer(f.g, f.table, "n1", h, true), 0.2);
    eg_output(f.g, "y", eg_conv_layer(f.g, f.table, "d2", h, &spec));
    eg_plan *plan;
    assert_ok(eg_compile(f.g, &plan));
    int reorders = 0;
    for (size_t i = 0; i < eg_plan_n_steps(plan); i++)
        reorders += eg_plan_step_info(plan, i).activation;
    assert_int_equal(reorders, 2);
    eg_plan_free(plan);
    close_fixture(&f);
}

int main(int argc, char **argv)
{
    if (!isa_from_argument(argc, argv))
        return ISA_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_transposed_convolution_has_pytorchs_weights),
        cmocka_unit_test(test_instance_norm_has_tensors_only_when_affine),
        cmocka_unit_test(test_layers_begin_as_they_are_told),
        cmocka_unit_test(test_instance_norm_keeps_maps_blocked),
        cmocka_unit_test(test_the_penaltys_gradient_agrees_with_differences),
        cmocka_unit_test(test_plans_of_the_penalty_agree_with_the_double_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
