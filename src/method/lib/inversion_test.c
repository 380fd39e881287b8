/* inversion_test.c - L-BFGS goes where PyTorch's goes, and a gradient gives its image away.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "base/base.h"
#include "method/lib/inversion.h"
#include "method/lib/lbfgs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The gradient of sum (1 - x_i)^2 + 2 (x_(i+1) - x_i^2)^2. */
static void valley(const float *x, float *g)
{
    for (int i = 0; i < 3; i++) {
        double own = (double)x[i], sum = -2 * (1 - own);
        if (i < 2)
            sum -= 8 * own * ((double)x[i + 1] - own * own);
        if (i > 0)
            sum += 4 * (own - (double)x[i - 1] * (double)x[i - 1]);
        g[i] = (float)sum;
    }
}

/* tools/torch_lbfgs.py prints where PyTorch is. */
static void test_steps_equal_pytorch(void **state)
{
    (void)state;
    static const struct {
        int step;
        double x[3], gap;
    } wanted[] = {{1, {-0.4656189, 0.3356582, 0.7700393}, 1e-6},
                  {2, {-0.4381069, 0.3682633, 0.7459540}, 1e-6},
                  {10, {3.2549744, 0.5960094, -0.0611180}, 1e-3},
                  {60, {1.1231384, 1.1334938, 1.2587492}, 1e-2}};
    float x[3] = {-0.5F, 0.3F, 0.8F}, g[3];
    eg_lbfgs l;
    assert_ok(eg_lbfgs_init(&l, 3));
    for (int step = 1, k = 0; step <= 60; step++) {
        valley(x, g);
        assert_true(eg_lbfgs_step(&l, x, g, 0.1));
        if (step != wanted[k].step)
            continue;
        for (int i = 0; i < 3; i++)
            assert_near((double)x[i], wanted[k].x[i], wanted[k].gap);
        k++;
    }
    float least[3] = {1, 1, 1};
    valley(least, g);
    assert_false(eg_lbfgs_step(&l, least, (const float[]){0, 0, 0}, 0.1));
    eg_lbfgs_fini(&l);
}

static void test_a_gradient_gives_label_and_image_away(void **state)
{
    (void)state;
    enum { SIDE = 8, PIXELS = SIDE * SIDE, KEEP = 2 };
    eg_net *net;
    eg_inversion v;
    float x[PIXELS], found[KEEP * PIXELS], *gradient;
    assert_ok(eg_net_new(&(eg_net_spec){.model = "mlp",
                                        .options = "depth=0",
                                        .channels = 1,
                                        .height = SIDE,
                                        .width = SIDE,
                                        .classes = 5},
                         &net));
    assert_ok(eg_inversion_open(&v, net, 1));
    assert_ok(eg_alloc(eg_inversion_size(&v), sizeof *gradient, &gradient));
    for (int i = 0; i < PIXELS; i++)
        x[i] = (i / SIDE + i % SIDE) % 5 < 2 ? 0.8F : -0.5F;
    for (int64_t label = 0; label < 5; label++) {
        assert_ok(eg_inversion_give(&v, x, label, gradient));
        assert_int_equal(eg_inversion_label(&v, gradient), label);
    }
    eg_rng rng = eg_rng_at(3, 0, 0, EG_FOR_TEST);
    double gap = 0, off = 0;
    int64_t n;
    const eg_inversion_search search = {
        .gradient = gradient, .label = 4, .steps = 600, .keep = KEEP, .lr = 0.5};
    assert_ok(eg_inversion_find(&v, &search, &rng, found, &n, &gap));
    assert_int_equal(n, KEEP);
    for (int i = 0; i < PIXELS; i++)
        off += pow((double)(found[(KEEP - 1) * PIXELS + i] - x[i]), 2) / PIXELS;
    print_message("mean squared error %.1e, gap %.1e\n", off, gap);
    assert_true(off <
                0.05); /* the image's variance is 0.4, and it began with an error of 1.4 */
    free(gradient);
    eg_inversion_close(&v);
    eg_net_free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_equal_pytorch),
        cmocka_unit_test(test_a_gradient_gives_label_and_image_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
