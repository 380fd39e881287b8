/* golden_data_free_test.c - what TARGET, MFCL and LANDER minimise, against PyTorch's.
 * SPDX-License-Identifier: Apache-2.0
 *
 * tools/golden_methods.py says what is in the files. The server's programs are those that its
 * work runs; a client's is that of a real turn, whose inputs are filled anew.
 */
#include "golden_step.h"
#include "one_client.h"

#include "method/lib/drawer.h"
#include "method/lib/mfcl.h"
#include "method/lib/synthesis.h"

enum { DRAWER, MODEL, STUDENT, CLASSES = 10, PAST = 5, DRAWN = 2 };

static const char layers[] =
    "layers=[conv 8 k3 p1, batch-norm, relu, conv 8 k3 p1, batch-norm, relu, pool 2, flatten]";

typedef struct golden_file {
    eg_json *json;
    const eg_json *learners, *steps; /* of the server's drawing, then of the client */
} golden_file;

static golden_file open_file(const char *kind)
{
    golden_file f;
    char path[64];
    snprintf(path, sizeof path, "tests/golden/%s-8.json", kind);
    assert_ok(eg_json_load(path, &f.json));
    f.learners = eg_json_get(f.json, "learners");
    f.steps = eg_json_get(f.json, "steps");
    assert_int_equal(eg_json_count(f.steps), 2);
    return f;
}

/* All but the first. */
static void close_classes(int past, float *open)
{
    float mask[CLASSES] = {0};
    for (int y = 0; y < past; y++)
        mask[y] = 1;
    eg_open_classes(mask, CLASSES, open);
}

/* The network of the server's model or student. */
static eg_net *open_net(const golden_file *f, int number, int64_t side, eg_learner **l)
{
    eg_net *net;
    const eg_net_spec spec = {.model = "layers",
                              .options = layers,
                              .channels = 3,
                              .height = 8,
                              .width = 8,
                              .classes = CLASSES,
                              .side = side};
    assert_ok(eg_net_new(&spec, &net));
    assert_ok(eg_learner_new(eg_net_params(net), l));
    golden_fill_learner(*l, eg_json_at(f->learners, (size_t)number));
    return net;
}

/* How far the step of the server's generator is off. */
static double drawing_off(const char *kind, const eg_data_free *is, int64_t anchors)
{
    golden_file f = open_file(kind);
    const eg_json *step = eg_json_at(f.steps, 0);
    bool white = strcmp(kind, "mfcl") == 0;
    eg_learner *model, *student;
    eg_net *net = open_net(&f, MODEL, anchors, &model),
           *other = open_net(&f, STUDENT, anchors, &student);
    eg_drawer d;
    assert_ok(eg_drawer_open(&d, &(eg_drawer_spec){.noise = 6,
                                                   .width = 4,
                                                   .channels = 3,
                                                   .height = 8,
                                                   .width_of_image = 8,
                                                   .end = white}));
    golden_fill_learner(d.own, eg_json_at(f.learners, DRAWER));
    eg_synthesis_step synthesis = {is, &d, net, other, anchors};
    eg_mfcl_step mfcl = {is, &d, net};
    eg_program *p;
    eg_plan *plan;
    assert_ok(white ? eg_program_new(eg_mfcl_record, &mfcl, 1, &p)
                    : eg_program_new(eg_synthesis_record, &synthesis, 1, &p));
    assert_ok(eg_program_bind(p, d.table, d.own->param, d.own->grad, d.own->state));
    assert_ok(eg_program_bind(p, model->table, model->param, NULL, model->state));
    assert_ok(eg_program_bind(p, student->table, student->param, NULL, student->state));
    assert_ok(eg_program_plan(p, int_of(step, "batch"), &plan));
    golden_fill_inputs(plan, step);
    close_classes(DRAWN, eg_plan_input(plan, "open"));
    if (white) {
        eg_mfcl_kernel(eg_plan_input(plan, "kernel"));
        *eg_plan_input(plan, "least") = (float)(1 / log(DRAWN));
    } else {
        *eg_plan_input(plan, "contrast") = (float)is->contrast;
    }
    assert_ok(eg_plan_run(plan));
    double off =
        golden_step_off(step, (double)*eg_plan_output(plan, "loss"), d.table, d.own->grad);
    eg_program_free(p);
    eg_drawer_close(&d);
    eg_learner_free(model);
    eg_learner_free(student);
    eg_net_free(net);
    eg_net_free(other);
    eg_json_free(f.json);
    return off;
}

static const eg_data_free target = {.noise = 6, .statistics = 10, .sure = 0.5, .contrast = 1};
static const eg_data_free lander = {
    .noise = 6, .statistics = 10, .sure = 0.5, .contrast = 1, .anchor = 5, .bound = 0.015};
static const eg_data_free mfcl = {
    .noise = 6, .statistics = 0.5, .sharpness = 2, .even = 3, .smooth = 2};

static void test_what_a_generator_learns_equals_pytorch(void **state)
{
    (void)state;
    assert_near(drawing_off("target", &target, 0), 0, 1e-4);
    assert_near(drawing_off("lander", &lander, 12), 0, 1e-4);
    assert_near(drawing_off("mfcl", &mfcl, 0), 0, 1e-4);
}

/* Every weight counts: another one is seen. */
static void test_every_term_of_it_counts(void **state)
{
    (void)state;
    static const size_t of_target[] = {offsetof(eg_data_free, statistics),
                                       offsetof(eg_data_free, sure),
                                       offsetof(eg_data_free, contrast)},
                        of_lander[] = {offsetof(eg_data_free, anchor),
                                       offsetof(eg_data_free, bound)},
                        of_mfcl[] = {offsetof(eg_data_free, statistics),
                                     offsetof(eg_data_free, sharpness),
                                     offsetof(eg_data_free, even),
                                     offsetof(eg_data_free, smooth)};
    for (size_t i = 0; i < 9; i++) {
        eg_data_free other = i < 3 ? target : i < 5 ? lander : mfcl;
        size_t at = i < 3 ? of_target[i] : i < 5 ? of_lander[i - 3] : of_mfcl[i - 5];
        const char *kind = i < 3 ? "target" : i < 5 ? "lander" : "mfcl";
        double *weight = (double *)(void *)((char *)&other + at);
        *weight *= 1.5;
        double off = drawing_off(kind, &other, i == 3 || i == 4 ? 12 : 0);
        print_message("%s, term %zu: %.1e\n", kind, i, off);
        assert_true(off > 5e-4);
    }
}

static const char text[] =
    "name: t\n"
    "data: {name: glyphs, train: 160, test: 10, classes: 10, size: 8, channels: 3, "
    "mean: 0.5, std: 0.5}\n"
    "model: {name: layers, layers: [conv 8 k3 p1, batch-norm, relu, conv 8 k3 p1, "
    "batch-norm, relu, pool 2, flatten]}\n"
    "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 1}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {steps: 1, batch: 8}\n"
    "target: {replay: 6}\n"
    "lander: {replay: 6, dimensions: 12}\n"
    "mfcl: {replay: 6, noise: 6, width: 4}\n"
    "runs: [{label: a, method: %s}]\n";

static void add_tensor(eg_bundle *to, const char *kind, const char *what, int64_t n, int64_t d)
{
    float *room;
    assert_ok(eg_bundle_room(to, eg_data_free_named(kind, what).text, eg_dims(n, d), &room));
}

/* A legacy of zeros, whose past is the first half of the classes: it only has to be there. */
static void bring_legacy(one_client *o, const char *kind)
{
    float open[CLASSES] = {1, 1, 1, 1, 1};
    assert_ok(eg_bundle_scalar(o->down, eg_data_free_named(kind, "drawn.version").text, 1));
    assert_ok(eg_bundle_add_flat(o->down, eg_data_free_named(kind, "drawn.open").text, open,
                                 CLASSES));
    add_tensor(o->down, kind, "drawn.x", 4, 192);
    add_tensor(o->down, kind, "drawn.told", 4, CLASSES);
    add_tensor(o->down, kind, "drawn.side", 4, 12);
    eg_drawer d;
    if (strcmp(kind, "mfcl") != 0)
        return;
    const eg_data_free is = {.noise = 6, .width = 4};
    eg_drawer_spec spec = eg_mfcl_drawer(&is, o->net);
    assert_ok(eg_drawer_open(&d, &spec));
    assert_ok(eg_learner_keep(d.own, "mfcl.drawn.with", o->down));
    assert_ok(eg_bundle_scalar(o->down, "mfcl.drawn.model", 1));
    eg_drawer_close(&d);
}

/* Inputs that the file has, and those that close no class but of the past. */
static void fill_client(one_client *o, const char *kind, const eg_json *step)
{
    eg_client *c = o->c;
    golden_fill_inputs(c->plan, step);
    golden_fill_labels(1011, CLASSES, 8,
                       eg_plan_input(c->plan, eg_data_free_named(kind, "labels").text));
    memset(eg_plan_input(c->plan, eg_data_free_named(kind, "open").text), 0,
           8 * CLASSES * sizeof(float));
    if (strcmp(kind, "mfcl") == 0)
        memset(eg_plan_input(c->plan, "mfcl.all"), 0, CLASSES * sizeof(float));
    else
        close_classes(PAST, eg_plan_input(c->plan, eg_data_free_named(kind, "past").text));
}

static double client_off(const char *kind, const char *set)
{
    golden_file f = open_file(kind);
    const eg_json *step = eg_json_at(f.steps, 1);
    char experiment[1024];
    one_client o;
    snprintf(experiment, sizeof experiment, text, kind);
    one_client_open(&o, experiment, set);
    one_client_train(&o);
    bring_legacy(&o, kind);
    assert_ok(one_client_turn(&o, 0));
    eg_client *c = o.c;
    assert_int_equal(c->batch, 8);
    fill_client(&o, kind, step);
    const eg_params *table = eg_net_params(o.net);
    golden_fill_network(table, eg_json_at(f.learners, MODEL), 0, c->param, c->state);
    assert_ok(eg_plan_run(c->plan));
    double off =
        golden_step_off(step, (double)*eg_plan_output(c->plan, "loss"), table, c->grad);
    one_client_close(&o);
    eg_json_free(f.json);
    return off;
}

static void test_what_a_client_minimises_equals_pytorch(void **state)
{
    (void)state;
    assert_near(client_off("target", NULL), 0, 1e-4);
    assert_near(client_off("lander", NULL), 0, 1e-4);
    assert_near(client_off("mfcl", NULL), 0, 1e-4);
}

static void test_every_term_of_that_counts(void **state)
{
    (void)state;
    static const char *const sets[][2] = {
        {"target", "target.distil=26"}, {"target", "target.temperature=3"},
        {"lander", "lander.new=0.25"},  {"lander", "lander.old=0.5"},
        {"lander", "lander.anchor=6"},  {"mfcl", "mfcl.distil=0.2"},
        {"mfcl", "mfcl.head=1.1"},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        assert_true(client_off(sets[i][0], sets[i][1]) > 5e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_generator_learns_equals_pytorch),
        cmocka_unit_test(test_every_term_of_it_counts),
        cmocka_unit_test(test_what_a_client_minimises_equals_pytorch),
        cmocka_unit_test(test_every_term_of_that_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
