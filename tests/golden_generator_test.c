/* golden_generator_test.c - training steps of generators against PyTorch's: losses, gradients.
 * SPDX-License-Identifier: Apache-2.0
 *
 * tools/golden.py made the fixtures, tools/golden_generators.py says what is in them: every
 * network begins with values of a formula, every step gets inputs of the same. The programs
 * that run here are those of training: its first steps make them.
 */
#include "golden_step.h"

#include <engram/generator.h>
#include <engram/op.h>

#include <stdio.h>
#include <stdlib.h>

/* Rules that a test breaks on purpose, to see that the files would notice. */
static struct {
    bool first_order; /* a slope counts as constant */
    bool scale;       /* attention is not divided by the root of its channels */
    bool slope;       /* negative halves let half as much gradient through as they should */
} broken;

void __real_eg_gradients(eg_graph *g, eg_node *y, size_t n, eg_node *const *wrt, eg_node **out);
void __wrap_eg_gradients(eg_graph *g, eg_node *y, size_t n, eg_node *const *wrt, eg_node **out);

void __wrap_eg_gradients(eg_graph *g, eg_node *y, size_t n, eg_node *const *wrt, eg_node **out)
{
    __real_eg_gradients(g, y, n, wrt, out);
    for (size_t i = 0; broken.first_order && i < n; i++)
        out[i] = eg_stop_gradient(g, out[i]);
}

eg_node *__real_eg_leaky_relu_back(eg_graph *g, eg_node *y, eg_node *dy, double slope);
eg_node *__wrap_eg_leaky_relu_back(eg_graph *g, eg_node *y, eg_node *dy, double slope);

eg_node *__wrap_eg_leaky_relu_back(eg_graph *g, eg_node *y, eg_node *dy, double slope)
{
    return __real_eg_leaky_relu_back(g, y, dy, broken.slope ? slope / 2 : slope);
}

eg_node *__real_eg_softmax(eg_graph *g, eg_node *x);
eg_node *__wrap_eg_softmax(eg_graph *g, eg_node *x);

eg_node *__wrap_eg_softmax(eg_graph *g, eg_node *x)
{
    return __real_eg_softmax(g, broken.scale ? eg_affine(g, x, 4, 0) : x);
}

static void fill_learners(eg_generator *m, const eg_json *file)
{
    for (size_t i = 0; i < m->n_learners; i++)
        golden_fill_learner(m->learners[i], eg_json_at(eg_json_get(file, "learners"), i));
}

/* A machine that has taken a few steps, so that its programs are there. */
static eg_generator *machine_of(const eg_json *file)
{
    const eg_json *shape = eg_json_get(file, "shape");
    int64_t dims[3];
    char options[256];
    for (size_t i = 0; i < 3; i++)
        assert_ok(eg_json_int(eg_json_at(shape, i), &dims[i]));
    snprintf(options, sizeof options, "%s", text_of(file, "options"));
    const eg_generator_spec spec = {.kind = text_of(file, "kind"),
                                    .options = options,
                                    .channels = dims[0],
                                    .height = dims[1],
                                    .width = dims[2],
                                    .classes = int_of(file, "classes")};
    eg_generator *m;
    assert_ok(eg_generator_new(&spec, &m));
    eg_generator_init(m, 1);
    int64_t batch = m->kind->batch(m->self);
    float *x = calloc((size_t)(batch * m->pixels), sizeof *x);
    float *labels = calloc((size_t)batch, sizeof *labels);
    assert_true(x && labels);
    eg_rng rng = eg_rng_at(1, 0, 0, EG_FOR_TEST);
    assert_ok(eg_generator_train(m, &(eg_images){batch, x, labels}, 10, &rng, NULL));
    free(x);
    free(labels);
    return m;
}

/* The largest of what a step is off by: its loss, and every gradient over its norm. */
static double distance_of(eg_generator *m, const eg_json *file, const eg_json *step)
{
    const eg_learner *l = m->learners[int_of(step, "learner")];
    eg_program *program;
    eg_plan *plan;
    fill_learners(m, file);
    assert_ok(eg_generator_program(m, text_of(step, "program"), NULL, NULL, &program));
    assert_ok(eg_program_plan(program, int_of(step, "batch"), &plan));
    golden_fill_inputs(plan, step);
    assert_ok(eg_plan_run(plan));
    return golden_step_off(step, (double)*eg_plan_output(plan, "loss"), l->table, l->grad);
}

/* The largest pixel that drawings are off by. */
static double drawings_off(eg_generator *m, const eg_json *draw)
{
    const eg_json *at = eg_json_get(draw, "at");
    int64_t n = int_of(draw, "n");
    size_t size = (size_t)(n * m->pixels);
    float *x = calloc(size, sizeof *x), labels[8];
    eg_rng rng = eg_rng_at((uint64_t)int_of(draw, "seed"), 0, 0, EG_FOR_NOISE);
    double worst = 0, want;
    assert_true(x && n <= 8);
    for (int64_t i = 0; i < n; i++)
        labels[i] = (float)i;
    assert_ok(eg_generator_draw(m, labels, n, &rng, x));
    assert_int_equal(eg_json_count(at), golden_n_entries(size));
    for (size_t k = 0; k < eg_json_count(at); k++) {
        assert_ok(eg_json_real(eg_json_at(at, k), &want));
        worst = fmax(worst, fabs((double)x[golden_entry(k, size)] - want));
    }
    free(x);
    return worst;
}

static const char *const files[] = {"acgan-8", "acgan-32",  "ddpm-8",
                                    "ddpm-16", "wgan-gp-8", "wgan-gp-28"};
enum { FILES = sizeof files / sizeof *files, MAX_STEPS = 4 };

/* What the steps of a file, and then its drawings, are off by. Returns how many there are. */
static size_t measure(const char *name, double off[MAX_STEPS])
{
    char path[128];
    eg_json *file;
    snprintf(path, sizeof path, "tests/golden/%s.json", name);
    assert_ok(eg_json_load(path, &file));
    eg_generator *m = machine_of(file);
    const eg_json *steps = eg_json_get(file, "steps");
    size_t n = eg_json_count(steps);
    assert_true(n > 0 && n < MAX_STEPS);
    for (size_t i = 0; i < n; i++) {
        off[i] = distance_of(m, file, eg_json_at(steps, i));
        print_message("%s, %s: %.1e\n", name, text_of(eg_json_at(steps, i), "program"), off[i]);
    }
    fill_learners(m, file);
    off[n] = drawings_off(m, eg_json_get(file, "draw"));
    print_message("%s, drawings: %.1e\n", name, off[n]);
    eg_generator_free(m);
    eg_json_free(file);
    return n + 1;
}

static void test_steps_equal_those_of_pytorch(void **state)
{
    (void)state;
    double off[MAX_STEPS];
    for (size_t i = 0; i < FILES; i++)
        for (size_t n = measure(files[i], off); n > 0; n--)
            assert_true(off[n - 1] < 1e-4);
}

static void test_a_first_derivative_in_place_of_the_second_is_seen(void **state)
{
    (void)state;
    double off[MAX_STEPS];
    broken.first_order = true;
    measure("wgan-gp-8", off);
    broken.first_order = false;
    assert_true(off[0] > 1e-2);
    assert_true(off[1] < 1e-4); /* a generator's step has no second derivative */
}

static void test_a_wrong_slope_is_seen(void **state)
{
    (void)state;
    double off[MAX_STEPS];
    broken.slope = true;
    assert_int_equal(measure("wgan-gp-28", off), 3);
    broken.slope = false;
    assert_true(off[0] > 1e-2 && off[1] > 1e-2);
    assert_true(off[2] < 1e-4); /* a drawing has no gradient */
}

static void test_wrong_attention_is_seen(void **state)
{
    (void)state;
    double off[MAX_STEPS];
    broken.scale = true;
    assert_int_equal(measure("ddpm-8", off), 2);
    broken.scale = false;
    assert_true(off[0] > 1e-3 && off[1] > 1e-4);
}

int main(int argc, char **argv)
{
    if (argc > 1 && eg_isa_set(argv[1]) != EG_OK) {
        printf("not tested here: %s\n", eg_error());
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_equal_those_of_pytorch),
        cmocka_unit_test(test_a_first_derivative_in_place_of_the_second_is_seen),
        cmocka_unit_test(test_a_wrong_slope_is_seen),
        cmocka_unit_test(test_wrong_attention_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
