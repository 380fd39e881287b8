/* chain_test.c - image ops one after the other, over shapes drawn at random.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Every change of layout between two ops is met sooner or later: few, odd and many channels,
 * batches that fill vectors and those that do not, windows of all kinds.
 */
#include "test.h"

#include "against_double.h"
#include "isa.h"

#include <engram/op.h>

#include <stdio.h>

typedef struct chain {
    eg_graph *g;
    eg_params *table;
    eg_rng r;
    char text[512]; /* what was drawn */
    int n_tensors;
} chain;

static int64_t draw(chain *c, int64_t low, int64_t high)
{
    return low + (int64_t)eg_rng_below(&c->r, (uint64_t)(high - low + 1));
}

static int64_t draw_channels(chain *c)
{
    static const int64_t some[] = {1, 2, 3, 4, 5, 8, 10, 16, 17, 20, 24, 32, 40};
    return some[draw(c, 0, (int64_t)(sizeof some / sizeof *some) - 1)];
}

static eg_node *tensor(chain *c, eg_shape shape)
{
    char name[16];
    snprintf(name, sizeof name, "t%d", c->n_tensors++);
    return eg_param(c->g, c->table, name, shape, (eg_init){0});
}

static void note(chain *c, const char *op, eg_window win)
{
    size_t used = strlen(c->text);
    snprintf(c->text + used, sizeof c->text - used, "; %s k%d s%d p%d", op, (int)win.kernel,
             (int)win.stride, (int)win.padding);
}

static bool fits(const eg_shape *s, int64_t kh, int64_t kw, int64_t padding)
{
    return s->dim[2] + 2 * padding >= kh && s->dim[3] + 2 * padding >= kw;
}

static eg_node *conv_node(chain *c, eg_node *x, const eg_shape *s)
{
    eg_window win = {
        .kernel = draw(c, 1, 5), .stride = draw(c, 1, 3), .padding = draw(c, 0, 2)};
    int64_t kw = draw(c, 0, 3) ? win.kernel : draw(c, 1, 5), out = draw_channels(c);
    if (!fits(s, win.kernel, kw, win.padding))
        return x;
    if (s->dim[1] % 2 == 0 && draw(c, 0, 3) == 0) {
        win.groups = 2;
        out += out % 2;
    }
    note(c, win.groups ? "grouped conv2d" : "conv2d", win);
    int64_t in = s->dim[1] / (win.groups ? win.groups : 1);
    eg_node *w = tensor(c, eg_dims(out, in, win.kernel, kw));
    return eg_conv2d(c->g, x, w, draw(c, 0, 1) ? tensor(c, eg_dims(out)) : NULL, win);
}

static eg_node *transposed_node(chain *c, eg_node *x, const eg_shape *s)
{
    eg_window win = {
        .kernel = draw(c, 1, 4), .stride = draw(c, 1, 3), .padding = draw(c, 0, 1)};
    int64_t h = s->dim[2] * win.stride, w = s->dim[3] * win.stride, out = draw_channels(c);
    win.output_padding = draw(c, 0, win.stride - 1);
    if (h > 20 || w > 20 || win.kernel <= 2 * win.padding)
        return x;
    note(c, "conv2d_transpose", win);
    eg_node *weights = tensor(c, eg_dims(s->dim[1], out, win.kernel, win.kernel));
    eg_node *bias = draw(c, 0, 1) ? tensor(c, eg_dims(out)) : NULL;
    return eg_conv2d_transpose(c->g, x, weights, bias, win);
}

static eg_node *pool_node(chain *c, eg_node *x, const eg_shape *s)
{
    eg_window win = {.kernel = draw(c, 1, 3), .stride = draw(c, 1, 3)};
    win.padding = draw(c, 0, win.kernel - 1);
    if (!fits(s, win.kernel, win.kernel, win.padding))
        return x;
    bool most = draw(c, 0, 1);
    note(c, most ? "max_pool" : "avg_pool", win);
    return most ? eg_max_pool(c->g, x, win) : eg_avg_pool(c->g, x, win);
}

static eg_node *norm_node(chain *c, eg_node *x, const eg_shape *s)
{
    eg_shape row = eg_dims(s->dim[1]);
    bool batch = draw(c, 0, 1);
    if (s->dim[2] * s->dim[3] < 3)
        return x;
    note(c, batch ? "batch_norm" : "instance_norm", (eg_window){0});
    eg_node *weight = tensor(c, row), *bias = tensor(c, row);
    if (!batch)
        return eg_instance_norm(c->g, x, weight, bias, 0.1);
    return eg_batch_norm(c->g, x, eg_channel_stats(c->g, x, NULL, NULL, 0), weight, bias, 0.1);
}

static eg_node *other_node(chain *c, eg_node *x, const eg_shape *s)
{
    int64_t kind = draw(c, 0, 5);
    note(c, "other", (eg_window){.kernel = kind});
    switch (kind) {
    case 0:
        return eg_relu(c->g, x);
    case 1:
        return eg_leaky_relu(c->g, x, 0.2);
    case 2:
        return eg_tanh(c->g, x);
    case 3:
        return eg_upsample(c->g, x, s->dim[2] * s->dim[3] > 30 ? 1 : draw(c, 1, 3));
    case 4:
        return eg_add(c->g, x, eg_mul(c->g, x, tensor(c, eg_dims(s->dim[1], 1, 1))));
    default:
        return eg_concat(c->g, 2, (eg_node *[]){x, eg_silu(c->g, x)}, s->dim[1] > 20 ? 2 : 1);
    }
}

static eg_node *chain_node(chain *c, eg_node *x)
{
    eg_shape s = eg_node_shape(x);
    switch (draw(c, 0, 5)) {
    case 0:
        return transposed_node(c, x, &s);
    case 1:
        return pool_node(c, x, &s);
    case 2:
        return norm_node(c, x, &s);
    case 3:
        return other_node(c, x, &s);
    default:
        return conv_node(c, x, &s);
    }
}

static void check_chain(uint32_t number)
{
    static const int64_t batches[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 33};
    chain c = {.r = eg_rng_at(1, number, 0, EG_FOR_TEST)};
    assert_ok(eg_graph_new(&c.g));
    assert_ok(eg_params_new(&c.table));
    eg_shape s =
        eg_dims(batches[draw(&c, 0, 9)], draw(&c, 1, 20), draw(&c, 1, 8), draw(&c, 1, 8));
    eg_shape_print(s, c.text);
    eg_node *x = tensor(&c, s); /* a tensor, so that its gradient is checked too */
    for (int64_t n = draw(&c, 2, 5); n > 0; n--)
        x = chain_node(&c, x);
    assert_ok(eg_graph_status(c.g));
    eg_output(c.g, "y", x);
    eg_node *weighed = eg_mul(c.g, eg_tanh(c.g, x), eg_input(c.g, "dy", eg_node_shape(x)));
    eg_backward(c.g, eg_sum(c.g, weighed, EG_ALL_AXES), c.table);
    double gap = against_double(c.g, c.table);
    if (!(gap <= 1e-4))
        fail_msg("chain %u, %s: off by %g", number, c.text, gap);
    eg_graph_free(c.g);
    eg_params_free(c.table);
}

static void test_chains_of_ops_agree_with_their_double_form(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 250; i++)
        check_chain(i);
}

int main(int argc, char **argv)
{
    if (!isa_from_argument(argc, argv))
        return ISA_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chains_of_ops_agree_with_their_double_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
