/* layers_text_test.c - lists of layers: what they make, their one form, and every way to get
 * one wrong.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "engine/graph/graph.h"
#include "engine/model/layers_text.h"
#include "training.h"

#include "base/checksum.h"

#include <stdio.h>
#include <stdlib.h>

#define LAYERS_CNN                                                                             \
    "[conv 32 k5 p2, relu, pool 2, conv 64 k5 p2, relu, pool 2, flatten, linear 512, relu]"
#define LAYERS_CNN_SMALL                                                                       \
    "[conv 10 k5, pool 2, relu, conv 20 k5, channel-dropout 0.5, pool 2, relu, flatten, "      \
    "linear 50, relu, dropout 0.5]"
#define LAYERS_PFL                                                                             \
    "[conv 32 k3 p0, relu, conv 64 k3 p0, relu, pool 2, dropout 0.25, flatten, linear 128, "   \
    "relu, dropout 0.5]"

static void test_a_list_has_one_form(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"[flatten]", "[flatten]"},
        {" [ conv 32 , relu,flatten ] ", "[conv 32 k3, relu, flatten]"},
        {"[conv 3e1 p1 no-bias s2 k5]", "[conv 30 k5 s2 p1 no-bias]"},
        {"[conv 8 k3 s1 p0]", "[conv 8 k3]"},
        {"[pool 2 s2, avg-pool 3 s2 p1]", "[pool 2, avg-pool 3 s2 p1]"},
        {"[leaky-relu, leaky-relu 0.20, dropout .25]",
         "[leaky-relu 0.01, leaky-relu 0.2, dropout 0.25]"},
        {"[dropout 0.123456789012]", "[dropout 0.123456789012]"},
        {"[leaky-relu -0]", "[leaky-relu 0]"},
        {"[residual: [conv 8 p1, relu], relu]", "[residual [conv 8 k3 p1, relu], relu]"},
        {"[residual [residual[tanh],\n\tgelu]]", "[residual [residual [tanh], gelu]]"},
        {"[maxpool 2, max_pool 2, max-pool 3 s2, avg_pool 2, batch_norm, batchnorm]",
         "[pool 2, pool 2, pool 3 s2, avg-pool 2, batch-norm, batch-norm]"},
        {"[conv 8 g2 k3, conv 8 depthwise p1, conv 8 g1]",
         "[conv 8 k3 g2, conv 8 k3 p1 depthwise, conv 8 k3]"},
        {"[patch 16 k4, patch 8, class_token, position, transformer 2 h60, transformer 4]",
         "[patch 16 k4, patch 8 k4, class-token, position, transformer 2 h60, transformer 4]"},
        {"[layer-norm, attention 2, first-token]", "[layer-norm, attention 2, first-token]"},
        {"[batch-norm, group-norm 4, silu, sigmoid, global-pool, linear 7 no-bias]",
         "[batch-norm, group-norm 4, silu, sigmoid, global-pool, linear 7 no-bias]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_layer_list list;
        char text[EG_OPT_TEXT_SIZE], again[EG_OPT_TEXT_SIZE];
        assert_ok(eg_layers_parse(rows[i][0], &list));
        assert_ok(eg_layers_print(&list, text));
        assert_string_equal(text, rows[i][1]);
        assert_ok(eg_layers_parse(text, &list));
        assert_ok(eg_layers_print(&list, again));
        assert_string_equal(again, text);
    }
}

static void test_entries_are_numbered_as_in_a_sequential(void **state)
{
    (void)state;
    eg_layer_list list;
    assert_ok(eg_layers_parse("[relu, residual [tanh, residual [gelu]], flatten]", &list));
    const char *const names[] = {"0", "1", "1.0", "1.1", "1.1.0", "2"};
    const size_t inside[] = {0, 3, 0, 1, 0, 0};
    assert_int_equal(list.n, 6);
    assert_int_equal(list.n_top, 3);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(list.at[i].name, names[i]);
        assert_int_equal(list.at[i].n_inside, inside[i]);
    }
}

/* What is wrong with a list as such: one sentence each. */
static void test_wrong_lists_are_told_in_one_sentence(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"", "layers are a list"},
        {"conv 32 k3, relu", "layers are a list"},
        {"[]", "layer 0 is empty"},
        {"[conv 32 k3, , relu]", "layer 1 is empty"},
        {"[conv 32 k3, relu,]", "layer 2 is empty"},
        {"[conv 32 k3, relu", "a list of layers has no ']' behind layer 1"},
        {"[relu]]", "']' stands behind the list of layers"},
        {"[relu], [tanh]", "', [tanh]' stands behind the list"},
        {"[cnv 32 k3]", "layer 0 ('cnv 32 k3'): there is no layer 'cnv'; there are conv, line"},
        {"[Conv 32]", "there is no layer 'Conv'"},
        {"[relu, 32]", "layer 1 ('32'): there is no layer '32'"},
        {"[conv]", "layer 0 ('conv'): conv needs a number, its channels"},
        {"[conv k3 32]", "conv needs a number, its channels"},
        {"[conv 0 k3]", "channels: 0 is outside [1, 65536]"},
        {"[conv -4]", "channels: -4 is outside [1, 65536]"},
        {"[conv 3.5]", "channels: '3.5' is not a whole number"},
        {"[conv 32x k3]", "channels: '32x' is not a number"},
        {"[linear 0x10]", "units: '0x10' is not a number"},
        {"[linear 1e999]", "units: '1e999' is not a number"},
        {"[conv 32 k0]", "window: 0 is outside [1, 255]"},
        {"[conv 32 k-1]", "window: -1 is outside [1, 255]"},
        {"[conv 32 k3 k5]", "its window is there twice"},
        {"[conv 32 s0]", "stride: 0 is outside [1, 255]"},
        {"[conv 32 k3 p3]", "padding 3 for windows of 3x3; 2 is the most"},
        {"[conv 32 same]", "conv does not know the word 'same'"},
        {"[conv 32 3]", "conv does not know the word '3'"},
        {"[conv 32 no-bias no-bias]", "'no-bias' is there twice"},
        {"[pool 2 k3]", "pool does not know the word 'k3'"},
        {"[conv 8 g2 depthwise]", "its number of groups is there twice"},
        {"[conv 8 g0]", "number of groups: 0 is outside [1, 65536]"},
        {"[transformer 2 h8 h9]", "its number of hidden units is there twice"},
        {"[transformer]", "transformer needs a number, its heads"},
        {"[attention 2 h8]", "attention does not know the word 'h8'"},
        {"[patch 8 s2]", "patch does not know the word 's2'"},
        {"[pool 3 p2]", "padding 2 for windows of 3x3; 1 is the most"},
        {"[dropout 1]", "share: 1 is outside [0, 0.99]"},
        {"[dropout nan]", "dropout needs a number, its share"},
        {"[relu 6]", "relu does not know the word '6'"},
        {"[linear 128 p1]", "linear does not know the word 'p1'"},
        {"[group-norm]", "group-norm needs a number, its groups"},
        {"[: [relu]]", "layer 0 (':'): there is nothing before the colon"},
        {"[residual]", "layer 0 ('residual'): a residual needs a list of layers"},
        {"[residual 3 [relu]]", "residual does not know the word '3'"},
        {"[residual []]", "layer 0.0 is empty"},
        {"[residual [relu]", "a list of layers has no ']' behind layer 0"},
        {"[relu [tanh]]", "layer 0 ('relu'): only a residual has a list"},
        {"[residual [relu, residual [convv 3]]]", "layer 0.1.0 ('convv 3'): there is no layer"},
        {"[residual[residual[residual[residual[residual[residual[residual[residual[relu]]]]]]]]"
         "]",
         "residuals lie more than 7 deep"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_layer_list list;
        assert_fails(eg_layers_parse(rows[i][0], &list), EG_EINVAL, rows[i][1]);
        assert_null(strchr(eg_error(), '\n'));
    }
}

static void test_a_list_that_is_too_long_is_told(void **state)
{
    (void)state;
    char text[8 * EG_MAX_LAYERS], printed[EG_OPT_TEXT_SIZE];
    eg_layer_list list;
    size_t n = 0;
    for (int i = 0; i <= EG_MAX_LAYERS; i++)
        n += (size_t)sprintf(text + n, "%stanh", i ? "," : "[");
    strcpy(text + n, "]");
    assert_fails(eg_layers_parse(text, &list), EG_EINVAL, "more than 256 layers");
    n = 0; /* short as written, long in its one form */
    for (int i = 0; i < EG_MAX_LAYERS; i++)
        n += (size_t)sprintf(text + n, "%sconv 8", i ? "," : "[");
    strcpy(text + n, "]");
    assert_ok(eg_layers_parse(text, &list));
    assert_fails(eg_layers_print(&list, printed), EG_EINVAL, "longer than 2047 characters");
}

static eg_status new_layers(const char *list, eg_net_spec spec, const eg_marks *marks,
                            eg_net **out)
{
    char options[2 * EG_OPT_TEXT_SIZE];
    snprintf(options, sizeof options, "layers=%s", list);
    spec.model = "layers";
    spec.options = options;
    spec.marks = marks;
    return eg_net_new(&spec, out);
}

/* What is wrong with a list for an input: the layer and both shapes. */
static void test_shapes_that_do_not_fit_are_told_with_both(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"[linear 10]", "layer 0 ('linear 10') works on a row of values, and gets 3x8x8"},
        {"[flatten, conv 8]", "layer 1 ('conv 8 k3') works on images, and gets a row of 192"},
        {"[conv 8 g2]",
         "layer 0 ('conv 8 k3 g2') has 2 groups, which do not divide its channels "
         "and those of 3x8x8"},
        {"[conv 8 depthwise]", "has 3 groups, which do not divide its channels"},
        {"[patch 8 k3]", "layer 0 ('patch 8 k3') has patches of 3x3, which do not fill 3x8x8"},
        {"[patch 8 k9]", "has windows of 9x9, padding 0, and gets 3x8x8"},
        {"[position]",
         "layer 0 ('position') works on tokens, and gets 3x8x8: patch makes them"},
        {"[flatten, attention 2]", "works on tokens, and gets a row of 192 values"},
        {"[patch 8, attention 3]",
         "has 3 heads, which do not divide the width of 4 tokens of 8"},
        {"[patch 8, batch-norm]", "works on images and rows, and gets 4 tokens of 8"},
        {"[patch 8, group-norm 2]", "works on images and rows, and gets 4 tokens of 8"},
        {"[patch 8, pool 2]", "works on images, and gets 4 tokens of 8"},
        {"[patch 8]", "layer 0 ('patch 8 k4') is the last and makes 4 tokens of 8"},
        {"[conv 8 k9]", "layer 0 ('conv 8 k9') has windows of 9x9, padding 0, and gets 3x8x8"},
        {"[pool 2, pool 2, pool 2, pool 2]",
         "layer 3 ('pool 2') has windows of 2x2, padding 0, and gets 3x1x1"},
        {"[global-pool, avg-pool 2]", "layer 1 ('avg-pool 2') works on images"},
        {"[flatten, global-pool]", "layer 1 ('global-pool') works on images"},
        {"[flatten, channel-dropout 0.5]", "layer 1 ('channel-dropout 0.5') works on images"},
        {"[conv 8, group-norm 3]", "layer 1 ('group-norm 3') makes 3 groups, which do not "
                                   "divide the channels of 8x6x6"},
        {"[residual [conv 4 p1], flatten]",
         "layer 0 ('residual') makes 4x8x8 of 3x8x8, which cannot be added to it"},
        {"[conv 4, residual [relu, conv 4 k7], flatten]",
         "layer 1.1 ('conv 4 k7') has windows of 7x7, padding 0, and gets 4x6x6"},
        {"[conv 4, relu]", "layer 1 ('relu') is the last and makes 4x6x6, and the head"},
        {"[residual [relu]]", "layer 0 ('residual') is the last and makes 3x8x8"},
    };
    const eg_net_spec spec = {.channels = 3, .height = 8, .width = 8, .classes = 4};
    eg_net *net;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_fails(new_layers(rows[i][0], spec, NULL, &net), EG_ESHAPE, rows[i][1]);
    assert_fails(
        new_layers(
            "[flatten, linear 60000, linear 60000]",
            (eg_net_spec){.channels = 60000, .height = 60000, .width = 60000, .classes = 2},
            NULL, &net),
        EG_ESHAPE, "more elements than memory can hold");
}

static void test_the_place_in_the_file_stands_first(void **state)
{
    (void)state;
    const eg_mark at[] = {{4, 12}, {5, 3}, {6, 7}};
    const eg_marks marks = {.file = "a.yaml", .n = 3, .at = at};
    const eg_net_spec spec = {.channels = 1, .height = 8, .width = 8, .classes = 4};
    eg_net *net;
    assert_fails(new_layers("[relu, residual [conv 4], flatten]", spec, &marks, &net),
                 EG_ESHAPE, "a.yaml:5:3: layer 1 ('residual')");
    assert_ptr_equal(strstr(eg_error(), "a.yaml"), eg_error());
    assert_fails(new_layers("[relu, relu, linear 3]", spec, &marks, &net), EG_ESHAPE,
                 "a.yaml:6:7: layer 2 ('linear 3')");
}

static const training_spec twins[][2] = {
    {{.net = {"cnn", 1, 12, 12, 4}, .batch = 8},
     {.net = {"layers", 1, 12, 12, 4, "layers=" LAYERS_CNN}, .batch = 8}},
    {{.net = {"cnn", 3, 32, 32, 10}, .batch = 3},
     {.net = {"layers", 3, 32, 32, 10, "layers=" LAYERS_CNN}, .batch = 3}},
    {{.net = {"cnn_small", 1, 28, 28, 10}, .batch = 16},
     {.net = {"layers", 1, 28, 28, 10, "layers=" LAYERS_CNN_SMALL}, .batch = 16}},
};

static void open_twin(training *t, training_spec spec)
{
    spec.optimizer = "sgd", spec.rate = "0.05", spec.seed = 7;
    assert_ok(training_open(t, &spec));
}

static void hash_of(const training *t, char out[65])
{
    uint8_t digest[32];
    eg_sha256_of(t->value, t->length * sizeof(float), digest);
    eg_sha256_text(digest, out);
}

static void assert_same_steps(const eg_plan *a, const eg_plan *b)
{
    assert_int_equal(eg_plan_n_steps(a), eg_plan_n_steps(b));
    assert_int_equal(eg_plan_bytes(a), eg_plan_bytes(b));
    for (size_t i = 0; i < eg_plan_n_steps(a); i++) {
        eg_step_info x = eg_plan_step_info(a, i), y = eg_plan_step_info(b, i);
        assert_string_equal(x.op, y.op);
        assert_string_equal(x.kernel, y.kernel);
        assert_string_equal(x.shape, y.shape);
    }
}

static void train_twins(training *a, training *b)
{
    for (int step = 0; step < 5; step++) {
        assert_ok(training_step(a));
        assert_ok(training_step(b));
    }
}

static void test_a_list_has_the_bits_and_the_plan_of_the_network_in_c(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++) {
        training a, b;
        char before[65], hash[2][65];
        open_twin(&a, twins[i][0]);
        open_twin(&b, twins[i][1]);
        assert_same_steps(a.plan, b.plan);
        hash_of(&a, before);
        hash_of(&b, hash[1]);
        assert_string_equal(before, hash[1]);
        train_twins(&a, &b);
        hash_of(&a, hash[0]);
        hash_of(&b, hash[1]);
        assert_string_equal(hash[0], hash[1]);
        assert_string_not_equal(hash[0], before);
        training_close(&a);
        training_close(&b);
    }
}

/* A transformer as a list is the one in C, from the same values, to the bit. */
static void test_a_list_of_tokens_is_the_transformer_in_c(void **state)
{
    (void)state;
    static const char list[] = "layers=[patch 16 k4, class-token, position, transformer 2 h32, "
                               "transformer 2 h32, layer-norm, first-token]";
    const training_spec vit = {
        .net = {"vit", 3, 8, 8, 10, "patch=4 width=16 depth=2 heads=2 ratio=2"}, .batch = 6};
    const training_spec own = {.net = {"layers", 3, 8, 8, 10, list}, .batch = 6};
    training a, b;
    char hash[2][65], before[65];
    open_twin(&a, vit);
    open_twin(&b, own);
    assert_same_steps(a.plan, b.plan);
    assert_int_equal(a.length, b.length);
    memcpy(b.value, a.value, a.length * sizeof *a.value);
    hash_of(&a, before);
    train_twins(&a, &b);
    hash_of(&a, hash[0]);
    hash_of(&b, hash[1]);
    assert_string_equal(hash[0], hash[1]);
    assert_string_not_equal(hash[0], before);
    training_close(&a);
    training_close(&b);
}

/* Groups have weights for their own channels alone, and first values for so many. */
static void test_grouped_convolutions_have_fewer_weights(void **state)
{
    (void)state;
    static const char *const lists[] = {"[conv 8, flatten]", "[conv 8 g2, flatten]",
                                        "[conv 8 depthwise, flatten]"};
    static const size_t sizes[] = {8 * 4 * 9, 8 * 2 * 9, 8 * 1 * 9};
    const eg_net_spec spec = {.channels = 4, .height = 5, .width = 5, .classes = 3};
    for (size_t i = 0; i < 3; i++) {
        eg_net *net;
        assert_ok(new_layers(lists[i], spec, NULL, &net));
        const eg_param_info *w = eg_params_named(eg_net_params(net), "0.weight");
        assert_int_equal(w->size, sizes[i]);
        assert_near(w->init.a, 1 / sqrt((double)sizes[i] / 8), 1e-9);
        eg_net_free(net);
    }
}

static void test_names_and_counts_are_those_of_a_sequential(void **state)
{
    (void)state;
    static const char *const names[] = {"0.weight", "0.bias", "2.weight",  "2.bias",
                                        "7.weight", "7.bias", "10.weight", "10.bias"};
    const eg_net_spec spec = {.channels = 3, .height = 32, .width = 32, .classes = 10};
    eg_net *net;
    assert_ok(new_layers(LAYERS_PFL, spec, NULL, &net));
    const eg_params *p = eg_net_params(net);
    assert_int_equal(eg_params_count(p), 1626442);
    assert_int_equal(eg_params_n(p), 8);
    for (size_t i = 0; i < 8; i++)
        assert_string_equal(eg_params_at(p, i)->name, names[i]);
    eg_net_free(net);
    assert_ok(new_layers("[conv 4 no-bias, residual [batch-norm, group-norm 2], global-pool, "
                         "linear 3 no-bias]",
                         spec, NULL, &net));
    p = eg_net_params(net);
    static const char *const nested[] = {
        "0.weight",   "1.0.weight", "1.0.bias", "1.0.running_mean", "1.0.running_var",
        "1.1.weight", "1.1.bias",   "3.weight", "4.weight",         "4.bias"};
    assert_int_equal(eg_params_n(p), 10);
    for (size_t i = 0; i < 10; i++)
        assert_string_equal(eg_params_at(p, i)->name, nested[i]);
    eg_net_free(net);
}

/* The initialiser of a tensor in a net of 3x8x8 and 4 classes. */
static eg_init first_of(const char *init, size_t tensor)
{
    char options[256];
    snprintf(options, sizeof options, "layers=[conv 8 k3, flatten, linear 6, relu] %s", init);
    eg_net *net;
    assert_ok(eg_net_new(&(eg_net_spec){.model = "layers",
                                        .channels = 3,
                                        .height = 8,
                                        .width = 8,
                                        .classes = 4,
                                        .options = options},
                         &net));
    eg_init first = eg_params_at(eg_net_params(net), tensor)->init;
    eg_net_free(net);
    return first;
}

static void assert_first(eg_init have, eg_init_kind kind, double a)
{
    assert_int_equal(have.kind, kind);
    assert_near(have.a, a, 1e-12);
}

static void test_first_values_are_chosen_for_body_and_head(void **state)
{
    (void)state;
    enum { CONV, CONV_BIAS, LINEAR, LINEAR_BIAS, HEAD, HEAD_BIAS };
    assert_first(first_of("", CONV_BIAS), EG_INIT_UNIFORM, 1 / sqrt(27));
    assert_first(first_of("init=glorot", CONV), EG_INIT_UNIFORM, sqrt(6.0 / (27 + 72)));
    assert_first(first_of("init=glorot", CONV_BIAS), EG_INIT_CONSTANT, 0);
    assert_first(first_of("init=glorot", LINEAR), EG_INIT_UNIFORM, sqrt(6.0 / (288 + 6)));
    assert_first(first_of("init=glorot", HEAD), EG_INIT_UNIFORM, sqrt(6.0 / (6 + 4)));
    assert_first(first_of("init=glorot", HEAD_BIAS), EG_INIT_CONSTANT, 0);
    assert_first(first_of("init=he", CONV), EG_INIT_NORMAL, sqrt(2.0 / 27));
    assert_first(first_of("init=he head_init=torch", LINEAR), EG_INIT_NORMAL, sqrt(2.0 / 288));
    assert_first(first_of("init=he head-init=torch", HEAD), EG_INIT_UNIFORM, 1 / sqrt(6));
    assert_first(first_of("head-init=he", LINEAR_BIAS), EG_INIT_UNIFORM, 1 / sqrt(288));
    assert_first(first_of("head-init=he", HEAD), EG_INIT_NORMAL, sqrt(2.0 / 6));
}

/* Every kind that the parser knows is in the help of the option. */
static void test_the_help_names_every_kind(void **state)
{
    (void)state;
    const eg_opt *o = eg_opts_find(eg_model_find("layers")->component.opts, "layers");
    eg_layer_list list;
    assert_int_equal(eg_layers_parse("[x]", &list), EG_EINVAL);
    char names[512];
    snprintf(names, sizeof names, "%s",
             strstr(eg_error(), "there are ") + strlen("there are "));
    int n = 0;
    char *rest = NULL;
    for (char *w = strtok_r(names, ", ", &rest); w; w = strtok_r(NULL, ", ", &rest), n++)
        if (!strstr(o->help, w))
            fail_msg("the help does not know '%s'", w);
    assert_int_equal(n, EG_LAYER_FIRST_TOKEN + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_list_has_one_form),
        cmocka_unit_test(test_entries_are_numbered_as_in_a_sequential),
        cmocka_unit_test(test_wrong_lists_are_told_in_one_sentence),
        cmocka_unit_test(test_a_list_that_is_too_long_is_told),
        cmocka_unit_test(test_shapes_that_do_not_fit_are_told_with_both),
        cmocka_unit_test(test_the_place_in_the_file_stands_first),
        cmocka_unit_test(test_a_list_has_the_bits_and_the_plan_of_the_network_in_c),
        cmocka_unit_test(test_a_list_of_tokens_is_the_transformer_in_c),
        cmocka_unit_test(test_grouped_convolutions_have_fewer_weights),
        cmocka_unit_test(test_names_and_counts_are_those_of_a_sequential),
        cmocka_unit_test(test_first_values_are_chosen_for_body_and_head),
        cmocka_unit_test(test_the_help_names_every_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
