/* golden_fedcil_test.c - the losses and gradients of FedCIL's steps against PyTorch's.
 * SPDX-License-Identifier: Apache-2.0
 *
 * tools/golden_methods.py says what is in the file. The client's programs are those of real
 * turns, one for each form of its loss.
 */
#include "golden_fedcil.h"

#include "engine/generator/acgan.h"
#include "method/lib/fedcil.h"

#include <engram/op.h>

enum { ROUNDS = 4, MAX_STEPS = 16 };

/* Rules that a test breaks on purpose, to see that the file would notice. */
static struct {
    bool one_way; /* a divergence has no gradient by its first argument */
    bool turned;  /* its arguments are exchanged */
    bool fakes;   /* drawn rows count as real */
} broken;

eg_node *__real_eg_kl_divergence(eg_graph *g, eg_node *log_q, eg_node *p);
eg_node *__wrap_eg_kl_divergence(eg_graph *g, eg_node *log_q, eg_node *p);

eg_node *__wrap_eg_kl_divergence(eg_graph *g, eg_node *log_q, eg_node *p)
{
    if (broken.turned)
        return __real_eg_kl_divergence(g, eg_log(g, p), eg_exp(g, log_q));
    return __real_eg_kl_divergence(g, log_q, broken.one_way ? eg_stop_gradient(g, p) : p);
}

eg_node *__real_eg_bce_with_logits(eg_graph *g, eg_node *logits, eg_node *targets);
eg_node *__wrap_eg_bce_with_logits(eg_graph *g, eg_node *logits, eg_node *targets);

eg_node *__wrap_eg_bce_with_logits(eg_graph *g, eg_node *logits, eg_node *targets)
{
    eg_node *real = eg_constant(g, eg_node_shape(logits), 1);
    return __real_eg_bce_with_logits(g, logits, broken.fakes ? real : targets);
}

static void send_generator(one_client *o)
{
    const eg_fedcil options = {.width = 8, .lr = 1e-4, .beta1 = 0.5, .beta2 = 0.99};
    float known[GOLDEN_CLASSES];
    eg_fedcil_spec spec;
    eg_generator *m;
    for (int k = 0; k < GOLDEN_CLASSES; k++)
        known[k] = 1;
    eg_fedcil_describe(&options, o->net, true, &spec);
    assert_ok(eg_generator_new(&spec.is, &m));
    eg_generator_init(m, 5);
    assert_ok(eg_learner_keep(m->learners[0], "fedcil.generator", o->down));
    assert_ok(eg_bundle_add_flat(o->down, "fedcil.known", known, GOLDEN_CLASSES));
    eg_generator_free(m);
}

static bool has_input(const eg_json *step, const char *name)
{
    const eg_json *inputs = eg_json_get(step, "inputs");
    for (size_t i = 0; i < eg_json_count(inputs); i++)
        if (strcmp(text_of(eg_json_at(inputs, i), "name"), name) == 0)
            return true;
    return false;
}

/* The round in which a client has this form of loss; -1: it is another program's. */
static int round_of(const eg_json *step)
{
    if (!has_input(step, "x"))
        return -1;
    return (has_input(step, "fedcil.replay") ? 2 : 0) + has_input(step, "fedcil.any");
}

/* What a step of the client's training program is off by. */
static double client_off(one_client *o, const eg_json *file, const eg_json *step)
{
    eg_client *c = o->c;
    const eg_params *table = eg_net_params(o->net);
    golden_fill_network(table, golden_fedcil_network(file, GOLDEN_CRITIC), 0, c->param,
                        c->state);
    golden_fill_inputs(c->plan, step);
    assert_ok(eg_plan_run(c->plan));
    return golden_step_off(step, (double)*eg_plan_output(c->plan, "loss"), table, c->grad);
}

/* What the step of the client's generator is off by. */
static double lesson_off(one_client *o, const eg_json *file, const eg_json *step)
{
    const eg_fedcil_client *f = o->worker.chain.states[0];
    eg_learner *l = f->own->learners[0];
    eg_program *program;
    eg_plan *plan;
    golden_fill_network(eg_net_params(o->net), golden_fedcil_network(file, GOLDEN_CRITIC), 0,
                        o->c->param, o->c->state);
    golden_fill_learner(l, golden_fedcil_network(file, GOLDEN_GENERATOR));
    assert_ok(eg_generator_program(f->own, "fedcil.lesson", NULL, NULL, &program));
    assert_ok(eg_program_plan(program, int_of(step, "batch"), &plan));
    golden_fill_inputs(plan, step);
    assert_ok(eg_plan_run(plan));
    return golden_step_off(step, (double)*eg_plan_output(plan, "loss"), l->table, l->grad);
}

/* What the server's step on rows of now and past is off by. */
static double twice_off(one_client *o, const eg_json *file, const eg_json *step)
{
    int64_t n = int_of(step, "batch");
    const eg_fedcil options = {.width = 8, .lr = 1e-4, .beta1 = 0.5, .beta2 = 0.99};
    float x[8 * 64] = {0}, labels[8] = {0};
    const eg_images rows = {n, x, labels};
    double losses[EG_MAX_LEARNERS];
    eg_rng rng = eg_rng_at(1, 0, 0, EG_FOR_TEST);
    eg_fedcil_spec spec;
    eg_generator *m;
    eg_learner *critic;
    eg_program *program;
    eg_plan *plan;
    assert_true(n <= 8);
    eg_fedcil_describe(&options, o->net, false, &spec);
    assert_ok(eg_generator_new(&spec.is, &m));
    assert_ok(eg_learner_new(eg_net_params(o->net), &critic));
    assert_ok(eg_learner_optimize(critic, "adam", "lr=0.001"));
    assert_ok(eg_acgan_learn(m, &(eg_acgan_step){o->net, critic, rows, rows, 1, labels}, &rng,
                             losses)); /* makes the programs */
    golden_fill_learner(critic, golden_fedcil_network(file, GOLDEN_CRITIC));
    assert_ok(eg_generator_program(m, "critic twice", NULL, NULL, &program));
    assert_ok(eg_program_plan(program, n, &plan));
    golden_fill_inputs(plan, step);
    assert_ok(eg_plan_run(plan));
    double off = golden_step_off(step, (double)*eg_plan_output(plan, "loss"), critic->table,
                                 critic->grad);
    eg_learner_free(critic);
    eg_generator_free(m);
    return off;
}

/* What every step of the file is off by, through the four rounds of a client. Returns how many
 * there are. */
static size_t measure(const eg_json *file, double off[MAX_STEPS])
{
    const eg_json *steps = eg_json_get(file, "steps");
    size_t n = eg_json_count(steps);
    one_client o;
    assert_true(n <= MAX_STEPS);
    one_client_open(&o, golden_fedcil_text, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        send_generator(&o);
        one_client_train(&o);
        for (size_t i = 0; i < n; i++)
            if (round_of(eg_json_at(steps, i)) == round)
                off[i] = client_off(&o, file, eg_json_at(steps, i));
    }
    for (size_t i = 0; i < n; i++) {
        const eg_json *step = eg_json_at(steps, i);
        const char *name = text_of(step, "program");
        if (strcmp(name, "lesson") == 0)
            off[i] = lesson_off(&o, file, step);
        else if (strcmp(name, "critic twice") == 0)
            off[i] = twice_off(&o, file, step);
        else
            assert_true(round_of(step) >= 0);
        print_message("%s: %.1e\n", name, off[i]);
    }
    one_client_close(&o);
    return n;
}

static void test_steps_equal_those_of_pytorch(void **state)
{
    (void)state;
    eg_json *file = golden_fedcil_load();
    double off[MAX_STEPS];
    size_t n = measure(file, off);
    assert_int_equal(n, 8);
    for (size_t i = 0; i < n; i++)
        assert_true(off[i] < 1e-4);
    eg_json_free(file);
}

static double loss_of(const eg_json *file, const char *program)
{
    const eg_json *steps = eg_json_get(file, "steps");
    for (size_t i = 0; i < eg_json_count(steps); i++)
        if (strcmp(text_of(eg_json_at(steps, i), "program"), program) == 0)
            return real_of(eg_json_at(steps, i), "loss");
    fail_msg("there is no step '%s'", program);
    return NAN;
}

/* The steps that are held to the file differ by one term each: none of them is lost in what
 * the comparison allows. */
static void test_every_term_weighs_more_than_is_allowed(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"first", "replaying"},                                          /* replay */
        {"first", "agreeing but for c2"},                                /* c3 */
        {"agreeing", "agreeing but for c2"},                             /* c2 */
        {"replaying and agreeing", "replaying"},                         /* all three */
        {"replaying and agreeing", "replaying and agreeing but for c1"}, /* c1 */
    };
    eg_json *file = golden_fedcil_load();
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_true(fabs(loss_of(file, pairs[i][0]) - loss_of(file, pairs[i][1])) > 1e-2);
    eg_json_free(file);
}

/* Whether a step is off by more than is allowed, as it should be. */
static void check_seen(bool *rule, const bool wanted[], size_t n_wanted)
{
    eg_json *file = golden_fedcil_load();
    double off[MAX_STEPS];
    *rule = true;
    size_t n = measure(file, off);
    *rule = false;
    assert_int_equal(n, n_wanted);
    for (size_t i = 0; i < n; i++)
        assert_true(wanted[i] ? off[i] > 1e-3 : off[i] < 1e-4);
    eg_json_free(file);
}

static void test_wrong_rules_are_seen_where_they_count(void **state)
{
    (void)state;
    /* first; agreeing, without c2; replaying; with all, without c1; lesson; critic twice */
    check_seen(&broken.one_way, (bool[]){0, 1, 0, 0, 1, 1, 0, 0}, 8);
    check_seen(&broken.turned, (bool[]){0, 1, 0, 0, 1, 1, 0, 0}, 8);
    check_seen(&broken.fakes, (bool[]){1, 1, 1, 1, 1, 1, 0, 1}, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_equal_those_of_pytorch),
        cmocka_unit_test(test_every_term_weighs_more_than_is_allowed),
        cmocka_unit_test(test_wrong_rules_are_seen_where_they_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
