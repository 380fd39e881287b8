/* model_test.c - the contract of every model: counts, first values, shapes, both forms, and
 * that it can learn eight examples by heart.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "isa.h"
#include "test.h"

#include "engine/op/op.h"
#include "training.h"

static const char *const listed[] = {
#define X(name) #name,
#include "engine/model/list.inc"
#undef X
    NULL,
};

/* The smallest input each model is tested with: pooling and strides must fit. */
static eg_net_spec small_spec(const char *model)
{
    if (training_texts(model)) {
        eg_net_spec texts = training_images(model, 12);
        texts.classes = 4;
        return texts;
    }
    bool resnet = strncmp(model, "resnet", 6) == 0, acgan = strcmp(model, "acgan") == 0;
    if (strcmp(model, "tiny_yolo") == 0)
        return (eg_net_spec){.model = model,
                             .channels = 3,
                             .height = 32,
                             .width = 32,
                             .classes = 4,
                             .options = "width=1"};
    int64_t side = resnet || acgan ? 8 : strcmp(model, "cnn_small") == 0 ? 28 : 12;
    return (eg_net_spec){.model = model,
                         .channels = resnet ? 3 : 1,
                         .height = side,
                         .width = side,
                         .classes = 4};
}

static eg_net *open_net(eg_net_spec spec)
{
    eg_net *net = NULL;
    assert_ok(eg_net_new(&spec, &net));
    return net;
}

static void test_descriptors_are_named_as_listed(void **state)
{
    (void)state;
    size_t n = 0;
    for (; eg_models[n]; n++) {
        assert_string_equal(eg_models[n]->component.name, listed[n]);
        assert_true(strlen(eg_models[n]->component.help) > 5);
        assert_non_null(eg_models[n]->features);
        assert_non_null(eg_models[n]->head);
        assert_ptr_equal(eg_model_find(listed[n]), eg_models[n]);
    }
    assert_null(listed[n]);
    assert_ptr_equal(eg_model_find("resnet18-thin"), eg_model_find("resnet18_thin"));
    assert_null(eg_model_find("resnet"));
}

static void test_parameters_are_counted(void **state)
{
    (void)state;
    static const struct {
        eg_net_spec spec;
        int64_t count;
    } rows[] = {
        {{"tiny_yolo", 3, 32, 32, 125, NULL, 0, NULL, NULL}, 15861773},
        {{"mlp", 1, 28, 28, 10, NULL, 0, NULL, NULL},
         784 * 100 + 100 + 100 * 100 + 100 + 100 * 10 + 10},
        {{"mlp", 1, 28, 28, 10, "depth=0", 0, NULL, NULL}, 7850},
        {{"mlp", 3, 4, 5, 7, "depth=1 width=9", 0, NULL, NULL}, 60 * 9 + 9 + 9 * 7 + 7},
        {{"cnn-small", 1, 28, 28, 10, NULL, 0, NULL, NULL}, 21840},
        {{"cnn", 1, 28, 28, 10, NULL, 0, NULL, NULL}, 1663370},
        {{"cnn", 3, 32, 32, 10, NULL, 0, NULL, NULL}, 2156490},
        {{"cnn", 1, 8, 8, 3, "width=2 hidden=5", 0, NULL, NULL},
         52 + 204 + 16 * 5 + 5 + 15 + 3},
        {{"cnn-small", 1, 28, 28, 3, "width=2 hidden=5", 0, NULL, NULL},
         52 + 204 + 64 * 5 + 5 + 15 + 3},
        {{"resnet18", 3, 32, 32, 10, NULL, 0, NULL, NULL}, 11173962},
        {{"resnet18", 3, 32, 32, 100, NULL, 0, NULL, NULL}, 11220132},
        {{"resnet18", 3, 32, 32, 400, NULL, 0, NULL, NULL}, 11374032},
        {{"resnet18-thin", 3, 32, 32, 10, NULL, 0, NULL, NULL}, 701466},
        {{"resnet18-thin", 1, 32, 32, 10, NULL, 0, NULL, NULL}, 701178},
        /* as torchvision's resnet18 */
        {{"resnet18", 3, 224, 224, 1000, "stem=imagenet", 0, NULL, NULL}, 11689512},
        {{"vit", 3, 32, 32, 1000, "preset=deit-tiny", 0, NULL, NULL}, 5717416},
        {{"vit", 3, 224, 224, 1000, "preset=vit-b16", 0, NULL, NULL}, 86567656},
        {{"vit", 3, 32, 32, 10, "preset=vit-tiny-32", 0, NULL, NULL},
         (48 + 1) * 192 + 66 * 192 + 9 * (4 * 192 * 192 + 2 * 192 * 384 + 9 * 192 + 384) +
             2 * 192 + 1930},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        eg_net *net = open_net(rows[i].spec);
        if (eg_params_count(eg_net_params(net)) != rows[i].count)
            fail_msg("%s has %lld parameters, not %lld", rows[i].spec.model,
                     (long long)eg_params_count(eg_net_params(net)), (long long)rows[i].count);
        eg_net_free(net);
    }
}

static void test_logits_are_a_row_of_classes_for_each_sample(void **state)
{
    (void)state;
    for (size_t i = 0; eg_models[i]; i++)
        for (int64_t batch = 1; batch <= 5; batch += 4) {
            eg_net_spec s = small_spec(eg_models[i]->component.name);
            eg_net *net = open_net(s);
            eg_graph *g;
            assert_ok(eg_graph_new(&g));
            eg_graph_set_training(g, false);
            eg_node *x = eg_input(g, "x", eg_dims(batch, s.channels, s.height, s.width));
            eg_node *logits = eg_net_forward(net, g, x);
            assert_ok(eg_graph_status(g));
            assert_true(eg_shape_equal(eg_node_shape(logits), eg_dims(batch, s.classes)));
            eg_graph_free(g);
            eg_net_free(net);
        }
}

static void test_inputs_that_do_not_fit_are_said_with_their_numbers(void **state)
{
    (void)state;
    eg_net *net;
    assert_fails(
        eg_net_new(&(eg_net_spec){"cnn-small", 1, 9, 9, 10, NULL, 0, NULL, NULL}, &net),
        EG_ESHAPE, "cnn_small for 1x9x9");
    assert_null(net);
    assert_fails(eg_net_new(&(eg_net_spec){"mlp", 1, 0, 9, 10, NULL, 0, NULL, NULL}, &net),
                 EG_ESHAPE, "1x0x9");
    assert_fails(
        eg_net_new(&(eg_net_spec){"mlp", 3000000000, 3000000000, 9, 10, NULL, 0, NULL, NULL},
                   &net),
        EG_ESHAPE, "more elements than memory can hold");
    assert_fails(eg_net_new(&(eg_net_spec){"vgg", 1, 9, 9, 10, NULL, 0, NULL, NULL}, &net),
                 EG_ENOENT, "vgg");
    assert_fails(
        eg_net_new(&(eg_net_spec){"mlp", 1, 9, 9, 10, "depth=-1", 0, NULL, NULL}, &net),
        EG_EINVAL, "mlp: depth: -1 is outside [0, 64]");
    assert_fails(eg_net_new(&(eg_net_spec){"mlp", 1, 9, 9, 10, "width", 0, NULL, NULL}, &net),
                 EG_EINVAL, "'width' is not name=value");
    assert_fails(eg_net_new(&(eg_net_spec){"cnn", 1, 9, 9, 10, "depth=3", 0, NULL, NULL}, &net),
                 EG_ENOENT, "cnn: there is no option 'depth'");
}

static void test_an_mlp_of_depth_0_is_logistic_regression(void **state)
{
    (void)state;
    const training_spec spec = {.net = {"mlp", 1, 2, 3, 4, "depth=0"},
                                .batch = 5,
                                .optimizer = "sgd",
                                .rate = "0.1",
                                .seed = 3};
    training t;
    assert_ok(training_open(&t, &spec));
    const eg_params *p = eg_net_params(t.net);
    assert_int_equal(eg_params_n(p), 2);
    const eg_param_info *w = eg_params_at(p, 0), *b = eg_params_at(p, 1);
    assert_true(eg_shape_equal(w->shape, eg_dims(4, 6)));
    assert_ok(eg_plan_run(t.plan));
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 4; j++) {
            double sum = (double)t.value[b->offset + j];
            for (size_t k = 0; k < 6; k++)
                sum += (double)t.value[w->offset + j * 6 + k] *
                       (double)eg_plan_input(t.plan, "x")[i * 6 + k];
            assert_near((double)eg_plan_output(t.plan, "logits")[i * 4 + j], sum, 1e-6);
        }
    training_close(&t);
}

/* The weights whose fan-in bounds this tensor: "fc1.weight" for "fc1.bias". */
static const eg_param_info *weights_of(const eg_params *p, const eg_param_info *t)
{
    size_t stem = (size_t)(strrchr(t->name, '.') - t->name);
    for (size_t i = 0; i < eg_params_n(p); i++) {
        const eg_param_info *w = eg_params_at(p, i);
        if (strncmp(w->name, t->name, stem) == 0 && strcmp(w->name + stem, ".weight") == 0)
            return w;
    }
    fail_msg("%s has no weights", t->name);
    return NULL;
}

/* PyTorch's default: uniform within 1 / sqrt(fan in), for biases too. */
static void check_uniform(const eg_params *p, const eg_param_info *t, const float *v)
{
    const eg_param_info *w = weights_of(p, t);
    int64_t fan_in = eg_shape_size(w->shape) / w->shape.dim[0];
    double bound = 1 / sqrt((double)fan_in);
    double largest = 0, mean = 0;
    for (size_t j = 0; j < t->size; j++) {
        largest = fmax(largest, fabs((double)v[j]));
        mean += (double)v[j] / (double)t->size;
    }
    if (largest > bound * (1 + 1e-6) || (t->size >= 64 && largest < 0.9 * bound) ||
        fabs(mean) > 5 * bound / sqrt(3 * (double)t->size))
        fail_msg("%s: largest %g and mean %g for a bound of %g", t->name, largest, mean, bound);
}

/* Batch norm begins as the identity. */
static void check_constant(const eg_param_info *t, const float *v)
{
    const char *kind = strrchr(t->name, '.') + 1;
    float want = strcmp(kind, "weight") == 0 || strcmp(kind, "running_var") == 0 ? 1 : 0;
    for (size_t j = 0; j < t->size; j++)
        if (v[j] != want)
            fail_msg("%s begins with %g", t->name, (double)v[j]);
}

/* The only model with values of its own: normal ones of deviation 0.02, and biases of 0. */
static void test_first_values_of_acgan_are_small_and_normal(void **state)
{
    (void)state;
    const eg_net_spec spec = {
        .model = "acgan", .channels = 3, .height = 16, .width = 16, .classes = 4, .side = 1};
    eg_net *net = open_net(spec);
    const eg_params *p = eg_net_params(net);
    float *value = NULL;
    assert_ok(eg_params_alloc(p, &value));
    eg_params_init(p, 1, value, NULL);
    for (size_t k = 0; k < eg_params_n(p); k++) {
        const eg_param_info *t = eg_params_at(p, k);
        double squares = 0;
        for (size_t j = 0; j < t->size; j++)
            squares += (double)value[t->offset + j] * (double)value[t->offset + j];
        double deviation = sqrt(squares / (double)t->size);
        assert_near(deviation, t->shape.rank == 1 ? 0 : 0.02, 0.001);
    }
    free(value);
    eg_net_free(net);
}

/* In form cifar convolutions alone; linear layers have the usual ones, up to one over the root
 * of their inputs. */
static void test_linear_layers_of_the_cifar_acgan_begin_as_usual(void **state)
{
    (void)state;
    const eg_net_spec spec = {.model = "acgan",
                              .options = "form=cifar",
                              .channels = 3,
                              .height = 32,
                              .width = 32,
                              .classes = 4,
                              .side = 1};
    eg_net *net = open_net(spec);
    const eg_params *p = eg_net_params(net);
    float *value = NULL, *moments = NULL;
    int n_linear = 0;
    assert_ok(eg_params_alloc(p, &value));
    assert_ok(eg_state_alloc(p, &moments));
    eg_params_init(p, 1, value, moments);
    for (size_t k = 0; k < eg_params_n(p); k++) {
        const eg_param_info *t = eg_params_at(p, k);
        double most = 0, bound = 1 / sqrt(8192.0);
        if (t->shape.rank != 2)
            continue;
        for (size_t j = 0; j < t->size; j++)
            most = fmax(most, fabs((double)value[t->offset + j]));
        assert_true(most <= bound && most > 0.95 * bound);
        n_linear++;
    }
    assert_int_equal(n_linear, 2);
    free(value);
    free(moments);
    eg_net_free(net);
}

static void test_first_values_are_those_of_pytorch(void **state)
{
    (void)state;
    for (size_t i = 0; eg_models[i]; i++) {
        if (strcmp(eg_models[i]->component.name, "acgan") == 0 ||
            strcmp(eg_models[i]->component.name, "vit") == 0 || eg_models[i]->texts)
            continue; /* have their own */
        eg_net *net = open_net(small_spec(eg_models[i]->component.name));
        const eg_params *p = eg_net_params(net);
        float *value = NULL, *untrained = NULL;
        assert_ok(eg_params_alloc(p, &value));
        assert_ok(eg_state_alloc(p, &untrained));
        eg_params_init(p, 1, value, untrained);
        for (size_t k = 0; k < eg_params_n(p); k++) {
            const eg_param_info *t = eg_params_at(p, k);
            const float *v = (t->trained ? value : untrained) + t->offset;
            bool norm = !t->trained || weights_of(p, t)->shape.rank == 1;
            if (norm)
                check_constant(t, v);
            else
                check_uniform(p, t, v);
        }
        free(value);
        free(untrained);
        eg_net_free(net);
    }
}

/* x without the masks that multiply it. */
static const eg_node *unmasked(const eg_node *x)
{
    while (x->n_in == 2 && x->in[1]->op == &eg_op_dropout_mask)
        x = x->in[0];
    return x;
}

static bool same_form(const eg_node *train, const eg_node *eval);

/* batch_norm(x, stats(x, mean, var), w, b) against batch_norm_eval(x, mean, var, w, b). */
static bool same_norm(const eg_node *train, const eg_node *eval)
{
    const eg_node *stats = train->in[1];
    return eval->op == &eg_op_batch_norm_eval && stats->op == &eg_op_channel_stats &&
           stats->n_in == 3 && stats->in[0] == train->in[0] &&
           memcmp(train->attr, eval->attr, train->attr_size) == 0 &&
           same_form(train->in[0], eval->in[0]) && same_form(stats->in[1], eval->in[1]) &&
           same_form(stats->in[2], eval->in[2]) && same_form(train->in[2], eval->in[3]) &&
           same_form(train->in[3], eval->in[4]);
}

/* Whether the two forms compute the same but for dropout and batch norm. */
static bool same_form(const eg_node *train, const eg_node *eval)
{
    train = unmasked(train);
    if (train->op == &eg_op_batch_norm)
        return same_norm(train, eval);
    if (train->op == &eg_op_input)
        return eval->op == &eg_op_input;
    if (train->op != eval->op || train->n_in != eval->n_in ||
        train->attr_size != eval->attr_size ||
        (train->attr_size && memcmp(train->attr, eval->attr, train->attr_size) != 0) ||
        !eg_shape_equal(train->shape, eval->shape))
        return false;
    for (int i = 0; i < train->n_in; i++)
        if (!same_form(train->in[i], eval->in[i]))
            return false;
    return true;
}

static eg_graph *record_form(const eg_net *net, bool train, eg_node **logits)
{
    const eg_net_spec *s = eg_net_spec_of(net);
    eg_graph *g = NULL;
    assert_ok(eg_graph_new(&g));
    eg_graph_set_training(g, train);
    eg_node *x = eg_input(g, "x", eg_dims(2, s->channels, s->height, s->width));
    *logits = eg_net_forward(net, g, x);
    return g;
}

static void test_the_eval_form_differs_by_dropout_and_batch_norm_alone(void **state)
{
    (void)state;
    for (size_t i = 0; eg_models[i]; i++) {
        eg_net *net = open_net(small_spec(eg_models[i]->component.name));
        eg_node *trained, *evaluated;
        eg_graph *train = record_form(net, true, &trained);
        eg_graph *eval = record_form(net, false, &evaluated);
        if (!same_form(trained, evaluated))
            fail_msg("%s: its two forms differ by more", eg_models[i]->component.name);
        for (size_t k = 0; k < eval->n_nodes; k++) /* no masks, no moving state */
            assert_true(!eval->nodes[k]->op->impure || eval->nodes[k]->op == &eg_op_input);
        eg_graph_free(train);
        eg_graph_free(eval);
        eg_net_free(net);
    }
}

/* The loss of the eval form with the values of t, which its own plan computes. */
static double eval_loss(training *t, int64_t batch)
{
    eg_graph *g;
    eg_plan *plan;
    assert_ok(eg_graph_new(&g));
    eg_graph_set_training(g, false);
    training_record(t->net, g, batch);
    assert_ok(eg_compile(g, &plan));
    assert_ok(eg_plan_bind(plan, eg_net_params(t->net), t->value, NULL, t->state));
    size_t bytes = (size_t)batch * sizeof(float);
    const eg_net_spec *s = eg_net_spec_of(t->net);
    memcpy(eg_plan_input(plan, "labels"), eg_plan_input(t->plan, "labels"), bytes);
    memcpy(eg_plan_input(plan, "x"), eg_plan_input(t->plan, "x"),
           bytes * (size_t)(s->channels * s->height * s->width));
    assert_ok(eg_plan_run(plan));
    double loss = (double)*eg_plan_output(plan, "loss");
    eg_plan_free(plan);
    eg_graph_free(g);
    return loss;
}

/* In the eval form, so that running statistics and the missing dropout are part of it. */
static void check_learning(const char *model)
{
    enum { STEPS = 600, LOOK = 20 };
    const training_spec spec = {
        .net = small_spec(model), .batch = 8, .optimizer = "adam", .rate = "0.001", .seed = 5};
    training t;
    assert_ok(training_open(&t, &spec));
    double first = eval_loss(&t, 8), loss = first;
    int step = 0;
    for (; step < STEPS && !(loss < 0.1); step += LOOK) {
        for (int k = 0; k < LOOK; k++)
            assert_ok(training_step(&t));
        loss = eval_loss(&t, 8);
    }
    print_message("%s: loss %.3f, after %d steps %.3f\n", model, first, step, loss);
    if (!(loss < 0.1) || !(first > 0.5))
        fail_msg("%s: loss %g, after %d steps %g", model, first, step, loss);
    training_close(&t);
}

static void test_every_model_learns_eight_examples_by_heart(void **state)
{
    (void)state;
    for (size_t i = 0; eg_models[i]; i++)
        check_learning(eg_models[i]->component.name);
}

int main(int argc, char **argv)
{
    if (!isa_from_argument(argc, argv))
        return ISA_SKIPPED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptors_are_named_as_listed),
        cmocka_unit_test(test_parameters_are_counted),
        cmocka_unit_test(test_logits_are_a_row_of_classes_for_each_sample),
        cmocka_unit_test(test_inputs_that_do_not_fit_are_said_with_their_numbers),
        cmocka_unit_test(test_an_mlp_of_depth_0_is_logistic_regression),
        cmocka_unit_test(test_first_values_are_those_of_pytorch),
        cmocka_unit_test(test_first_values_of_acgan_are_small_and_normal),
        cmocka_unit_test(test_linear_layers_of_the_cifar_acgan_begin_as_usual),
        cmocka_unit_test(test_the_eval_form_differs_by_dropout_and_batch_norm_alone),
        cmocka_unit_test(test_every_model_learns_eight_examples_by_heart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
