/* subspace_test.c - inputs of layers, what a subspace gains, and projections, by hand.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

#include "method/lib/samples.h"
#include "method/lib/subspace.h"

#define TEXT                                                                                   \
    "name: t\n"                                                                                \
    "data: {name: glyphs, train: 40, test: 8, classes: 4, size: 8, mean: 0.5, std: 0.5}\n"     \
    "model: {name: layers, layers: [conv 3 k3 s2 p1, relu, flatten, linear 6, relu]}\n"        \
    "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 1}\n"                   \
    "train: {epochs: 1, batch: 4}\n"                                                           \
    "runs: [{label: a, method: fedavg}]\n"

enum { ROWS = 10, SIZE = 8, OUT = 4, KERNEL = 3 };

/* The sum of squares of what a 3x3 window with weights w gives on images, stride 2 and a border
 * of zeros, place by place. */
static double squares(const float *x, int n, const double w[KERNEL * KERNEL])
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int y = 0; y < OUT; y++)
            for (int z = 0; z < OUT; z++) {
                double at = 0;
                for (int r = 0; r < KERNEL; r++)
                    for (int q = 0; q < KERNEL; q++) {
                        int row = 2 * y + r - 1, column = 2 * z + q - 1;
                        bool in = row >= 0 && row < SIZE && column >= 0 && column < SIZE;
                        at +=
                            in ? w[r * KERNEL + q] * (double)x[(i * SIZE + row) * SIZE + column]
                               : 0;
                    }
                sum += at * at;
            }
    return sum;
}

static double form(const double *sum, int64_t d, const double *w)
{
    double value = 0;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++)
            value += w[i] * sum[i * d + j] * w[j];
    return value;
}

/* For any weights w of one output, w^T (sum x x^T) w is what the output's squares add up to. */
static void test_inputs_of_layers_are_what_their_weights_multiply(void **state)
{
    (void)state;
    one_client o;
    eg_subspaces s;
    eg_sample *samples;
    int64_t n;
    double **sums, w[KERNEL * KERNEL];
    float x[ROWS * SIZE * SIZE], labels[ROWS], features[ROWS * 6];
    eg_rng rng = eg_rng_at(1, 0, 0, EG_FOR_TEST);
    one_client_open(&o, TEXT, NULL);
    assert_ok(eg_stage_samples(o.c, 0, ROWS, &rng, &samples, &n));
    assert_int_equal(n, ROWS);
    assert_ok(eg_subspaces_init(&s, o.net, true));
    assert_int_equal(s.n, 3); /* the convolution, the linear layer, the head */
    assert_ok(eg_subspaces_inputs(&s, o.c, samples, n, &sums));
    eg_client_feed(o.c, samples, n, x, labels);
    for (int trial = 0; trial < 5; trial++) {
        for (int i = 0; i < KERNEL * KERNEL; i++)
            w[i] = eg_rng_normal(&rng);
        double is = form(sums[0], s.at[0].d, w), should = squares(x, ROWS, w);
        assert_near(is, should, 1e-6 * should);
    }
    assert_ok(eg_client_look(o.c, NULL, &(eg_rows){.n = n, .samples = samples},
                             &(eg_look){.features = features}));
    for (int j = 0; j < 6; j++)
        for (int k = 0; k < 6; k++) {
            double should = 0;
            for (int i = 0; i < ROWS; i++)
                should += (double)features[i * 6 + j] * (double)features[i * 6 + k];
            assert_near(sums[2][j * 6 + k], should, 1e-4);
        }
    eg_subspaces_free(&s, sums);
    eg_subspaces_fini(&s);
    free(samples);
    one_client_close(&o);
}

/* A layer of 4 inputs and 1 output whose subspace is empty. */
static eg_subspace layer(void)
{
    return (eg_subspace){.out = 1, .d = 4};
}

static void layer_end(eg_subspace *l)
{
    free(l->u);
    free(l->projector);
}

static void diagonal(double a, double b, double c, double d, double out[16])
{
    memset(out, 0, 16 * sizeof *out);
    out[0] = a, out[5] = b, out[10] = c, out[15] = d;
}

/* Of 10, 0.65 takes 3 + 4; of what is left, 2 + 1, half takes 2. */
static void test_the_fewest_directions_with_the_share_are_added(void **state)
{
    (void)state;
    eg_subspace l = layer();
    double sum[16];
    diagonal(1, 4, 2, 3, sum);
    assert_ok(eg_subspace_extend(&l, sum, 0, 0));
    assert_int_equal(l.m, 0);
    assert_ok(eg_subspace_extend(&l, sum, 0.65, 1));
    assert_int_equal(l.m, 1);
    layer_end(&l);
    l = layer();
    diagonal(1, 4, 2, 3, sum);
    assert_ok(eg_subspace_extend(&l, sum, 0.65, 0));
    assert_int_equal(l.m, 2);
    assert_near(fabs((double)l.u[1 * 2 + 0]), 1, 1e-6);
    assert_near(fabs((double)l.u[3 * 2 + 1]), 1, 1e-6);
    diagonal(1, 400, 2, 300, sum);
    sum[1] = sum[4] = 7; /* not along the diagonal alone */
    assert_ok(eg_subspace_rest(&l, sum));
    for (int i = 0; i < 16; i++)
        assert_near(sum[i], i == 0 ? 1 : i == 10 ? 2 : 0, 1e-9);
    assert_near(eg_subspace_energy(&l, sum), 3, 1e-9);
    assert_ok(eg_subspace_extend(&l, sum, 0.5, 0));
    assert_int_equal(l.m, 3);
    assert_near(fabs((double)l.u[2 * 3 + 2]), 1, 1e-6);
    diagonal(1, 1, 1, 1, sum);
    assert_ok(eg_subspace_extend(&l, sum, 1, 0)); /* no more than there are */
    assert_int_equal(l.m, 4);
    layer_end(&l);
}

/* Between two axes: the one direction of (1, 1, 0, 0) twice. */
static void test_directions_need_not_be_axes(void **state)
{
    (void)state;
    eg_subspace l = layer();
    double sum[16] = {2, 2, 0, 0, 2, 2};
    assert_ok(eg_subspace_extend(&l, sum, 1, 0));
    assert_int_equal(l.m, 1);
    assert_near((double)(l.u[0] * l.u[1]), 0.5, 1e-6);
    assert_near((double)l.u[2], 0, 1e-6);
    layer_end(&l);
}

/* G - G U U^T by hand, in the place of the tensor; and through a bundle. */
static void test_an_update_loses_what_lies_along_the_subspace(void **state)
{
    (void)state;
    one_client o;
    eg_subspaces s, back;
    eg_bundle *b;
    double sum[81] = {0};
    one_client_open(&o, TEXT, NULL);
    size_t n = o.c->n_params;
    float *update, *was;
    assert_ok(eg_params_alloc(eg_net_params(o.net), &update));
    assert_ok(eg_params_alloc(eg_net_params(o.net), &was));
    eg_params_init(eg_net_params(o.net), 9, update, NULL);
    memcpy(was, update, n * sizeof *was);
    assert_ok(eg_subspaces_init(&s, o.net, false));
    assert_int_equal(s.n, 2);
    sum[0] = sum[1] = sum[9] = sum[10] = 1; /* (1, 1, 0, ...) */
    assert_ok(eg_subspace_extend(&s.at[0], sum, 1, 0));
    assert_ok(eg_bundle_new(&b));
    assert_ok(eg_subspaces_put(&s, "t", b));
    assert_int_equal(eg_bundle_n(b), 1);
    assert_ok(eg_subspaces_init(&back, o.net, false));
    assert_ok(eg_subspaces_take(&back, "t", b));
    assert_ok(eg_subspaces_project(&back, update));
    size_t at = eg_params_at(eg_net_params(o.net), s.at[0].tensor)->offset;
    for (size_t i = 0; i < n; i++) {
        double should = (double)was[i];
        if (i >= at && i < at + 27 && (i - at) % 9 < 2) /* both become half their difference */
            should -= (double)(was[i] + was[(i - at) % 9 ? i - 1 : i + 1]) / 2;
        assert_near((double)update[i], should, 1e-6);
    }
    eg_bundle_clear(b);
    const char *name = eg_params_at(eg_net_params(o.net), s.at[0].tensor)->name;
    char full[64];
    snprintf(full, sizeof full, "u.%s", name);
    assert_ok(eg_bundle_add_flat(b, full, was, 10));
    assert_fails(eg_subspaces_take(&back, "u", b), EG_ESHAPE, "10 values for 9 inputs");
    eg_bundle_free(b);
    eg_subspaces_fini(&s);
    eg_subspaces_fini(&back);
    free(update);
    free(was);
    one_client_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inputs_of_layers_are_what_their_weights_multiply),
        cmocka_unit_test(test_the_fewest_directions_with_the_share_are_added),
        cmocka_unit_test(test_directions_need_not_be_axes),
        cmocka_unit_test(test_an_update_loses_what_lies_along_the_subspace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
