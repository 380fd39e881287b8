/* deit_slow_test.c - DeiT-Tiny's own weights: 20 images' logits, and gradients, are PyTorch's.
 * SPDX-License-Identifier: Apache-2.0
 *
 * tools/golden_transformers.py made the values; tools/weights deit-tiny FILE puts the weights
 * in place. Without them the test is skipped, and says so.
 */
#include "golden_file.h"
#include "test.h"

#include <engram/method.h>
#include <engram/op.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { IMAGES = 20, PROMPTS = 3, SAMPLE = 3 * 32 * 32, WIDTH = 192 };

static char weights[600];

static bool weights_are_here(void)
{
    const char *data = getenv("ENGRAM_DATA"), *home = getenv("HOME");
    snprintf(weights, sizeof weights, "%s%s/weights/deit_tiny_patch16_224.safetensors",
             data ? data : home, data ? "" : "/.local/share/engram");
    return access(weights, R_OK) == 0;
}

typedef struct deit {
    eg_json *file;
    eg_net *net;
    eg_graph *graph;
    eg_plan *plan;
    float *value, *grad, *state;
} deit;

/* Prompts before the tokens; the mean of what becomes of them. */
static eg_node *prompt_features(const void *options, const eg_net *net, eg_graph *g, eg_node *x)
{
    (void)options;
    eg_node *p = eg_net_param(net, g, "own.prompt", eg_dims(1, PROMPTS, WIDTH), (eg_init){0});
    eg_node *t = eg_net_tokens(net, g, x);
    p = eg_expand(g, p, eg_dims(2, PROMPTS, WIDTH));
    t = eg_net_encode(net, g, eg_concat(g, 2, (eg_node *[]){p, t}, 1), NULL);
    return eg_reshape(g, eg_mean(g, eg_slice(g, t, 1, 0, PROMPTS), EG_AXIS(1)),
                      eg_dims(2, WIDTH));
}

/* The network with a part that records its features, ready to run on n images. */
static void deit_open(deit *d, const eg_graft *graft, const char *train, int64_t n)
{
    const eg_net_spec spec = {"vit", 3, 32, 32, 1000, "preset=deit-tiny", 0, NULL, NULL};
    *d = (deit){0};
    assert_ok(eg_json_load("tests/golden/deit-tiny.json", &d->file));
    assert_ok(eg_net_new_grafted(&spec, graft, &d->net));
    assert_ok(eg_net_freeze(d->net, train));
    const eg_params *p = eg_net_params(d->net);
    assert_ok(eg_params_alloc(p, &d->value));
    assert_ok(eg_params_alloc(p, &d->grad));
    assert_ok(eg_state_alloc(p, &d->state));
    assert_ok(eg_net_start(d->net, weights, EG_TAKE_ALL, d->value, d->state));
    assert_ok(eg_graph_new(&d->graph));
    eg_graph *g = d->graph;
    eg_node *x = eg_input(g, "x", eg_dims(n, 3, 32, 32)), *f = eg_net_features(d->net, g, x);
    eg_output(g, "logits", eg_net_head(d->net, g, f));
    if (graft)
        eg_net_backward(d->net, g, eg_sum(g, eg_mul(g, f, f), EG_ALL_AXES));
    assert_ok(eg_graph_status(g));
    assert_ok(eg_compile(g, &d->plan));
    assert_ok(eg_plan_bind(d->plan, p, d->value, d->grad, d->state));
    golden_fill(GOLDEN_INPUT, 0, 1, (size_t)n * SAMPLE, eg_plan_input(d->plan, "x"));
}

static void deit_close(deit *d)
{
    eg_plan_free(d->plan);
    eg_graph_free(d->graph);
    eg_net_free(d->net);
    eg_json_free(d->file);
    free(d->value);
    free(d->grad);
    free(d->state);
}

/* The offset of a tensor among the trained ones. */
static size_t deit_place(const deit *d, const char *name, size_t *size)
{
    const eg_params *p = eg_net_params(d->net);
    for (size_t i = 0; i < eg_params_n(p); i++)
        if (strcmp(eg_params_at(p, i)->name, name) == 0) {
            assert_null(eg_params_at(p, i)->frozen);
            *size = eg_params_at(p, i)->size;
            return eg_params_at(p, i)->offset;
        }
    fail_msg("there is no tensor %s", name);
    return 0;
}

/* A gradient has the norm and the entries that PyTorch has, to a thousandth of them. */
static void deit_check(const deit *d, size_t row, const char *name)
{
    size_t size, at = deit_place(d, name, &size);
    const eg_json *want = eg_json_at(eg_json_get(d->file, "gradients"), row);
    double norm = 0, off = golden_distance(eg_json_get(want, "at"), d->grad + at, size, 1e-4);
    for (size_t i = 0; i < size; i++)
        norm += (double)d->grad[at + i] * (double)d->grad[at + i];
    print_message("%s: norm %g, entries off by %.2g\n", name, sqrt(norm), off);
    assert_near(sqrt(norm), real_of(want, "norm"), 1e-3 * real_of(want, "norm"));
    assert_true(off <= 1e-3);
}

/* The largest difference of one image's logits from those of a file. */
static double image_gap(const eg_json *at, const float *logits)
{
    size_t n = eg_json_count(at);
    double worst = 0, want;
    for (size_t k = 0; k < n; k++) {
        assert_ok(eg_json_real(eg_json_at(at, k), &want));
        worst = fmax(worst, fabs(want - (double)logits[k * 1000 / n]));
    }
    return worst;
}

static void test_logits_of_twenty_images_are_pytorchs(void **state)
{
    (void)state;
    deit d;
    double worst = 0;
    deit_open(&d, NULL, "all", IMAGES);
    assert_ok(eg_plan_run(d.plan));
    const float *logits = eg_plan_output(d.plan, "logits");
    for (size_t i = 0; i < IMAGES; i++) {
        const eg_json *at = eg_json_get(eg_json_at(eg_json_get(d.file, "logits"), i), "at");
        worst = fmax(worst, image_gap(at, logits + i * 1000));
    }
    print_message("largest difference %.2g\n", worst);
    assert_true(worst < 1e-4);
    deit_close(&d);
}

static void test_the_gradient_of_a_prompt_is_pytorchs(void **state)
{
    (void)state;
    static const eg_component own = {.name = "own", .help = "a prompt"};
    const eg_graft graft = {&own, NULL, prompt_features};
    deit d;
    size_t size;
    deit_open(&d, &graft, "[own]", 2);
    size_t at = deit_place(&d, "own.prompt", &size);
    golden_fill(1, 0, 1, size, d.value + at);
    assert_ok(eg_plan_run(d.plan));
    deit_check(&d, 0, "own.prompt");
    deit_close(&d);
}

static void test_the_gradients_of_factors_are_pytorchs(void **state)
{
    (void)state;
    const eg_method *lora = eg_method_find("lora");
    void *options;
    deit d;
    size_t size;
    assert_ok(eg_component_new(&lora->component, &options));
    assert_ok(eg_opts_set_text(lora->component.opts, options, "rank=2 alpha=4"));
    const eg_graft graft = {&lora->component, options, lora->features};
    deit_open(&d, &graft, "[lora]", 2);
    const eg_params *p = eg_net_params(d.net);
    for (size_t i = 0; i < eg_params_n(p); i++) /* those of other blocks change nothing */
        if (strncmp(eg_params_at(p, i)->name, "lora.", 5) == 0)
            memset(d.value + eg_params_at(p, i)->offset, 0,
                   eg_params_at(p, i)->size * sizeof *d.value);
    size_t at = deit_place(&d, "lora.blocks.5.attn.qkv.weight.A", &size);
    golden_fill(2, 0, 0.1F, size, d.value + at);
    at = deit_place(&d, "lora.blocks.5.attn.qkv.weight.B", &size);
    golden_fill(3, 0, 0.1F, size, d.value + at);
    assert_ok(eg_plan_run(d.plan));
    deit_check(&d, 1, "lora.blocks.5.attn.qkv.weight.A");
    deit_check(&d, 2, "lora.blocks.5.attn.qkv.weight.B");
    deit_close(&d);
    free(options);
}

int main(void)
{
    if (!weights_are_here()) {
        printf("not tested here: %s is missing; tools/weights puts it there\n", weights);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logits_of_twenty_images_are_pytorchs),
        cmocka_unit_test(test_the_gradient_of_a_prompt_is_pytorchs),
        cmocka_unit_test(test_the_gradients_of_factors_are_pytorchs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
