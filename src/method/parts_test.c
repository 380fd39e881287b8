/* parts_test.c - the parts of a run: their hooks in order, timed and blamed, and their states.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "method/chain.h"

#include <stdio.h>
#include <time.h>

/* A part that notes every call. Its mark, an option, tells which one it is. */
typedef struct probe {
    int64_t mark;
} probe;

typedef struct probe_half {
    probe is;
    int64_t n_calls;
} probe_half;

static struct {
    char text[4096];   /* "a0.download1 ": mark, the part's place, hook, exchange */
    const char *fails; /* this hook, in the part with that mark */
    int64_t mark;
    bool wants, slow;
    int64_t n_ended; /* states of which the last held n_calls */
    int64_t n_calls;
} seen;

static eg_status note(void *self, size_t part, const char *hook, int exchange)
{
    probe_half *p = self;
    size_t at = strlen(seen.text);
    char number[16] = "";
    p->n_calls++;
    if (exchange >= 0)
        snprintf(number, sizeof number, "%d", exchange);
    snprintf(seen.text + at, sizeof seen.text - at, "%c%zu.%s%s ", (int)p->is.mark, part, hook,
             number);
    if (seen.slow)
        nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
    if (seen.fails && strcmp(seen.fails, hook) == 0 && seen.mark == p->is.mark)
        return eg_fail(EG_ENOTSUP, "%s is too hard", hook);
    return EG_OK;
}

static eg_status probe_download(void *self, eg_client *c, int x, const eg_bundle *from)
{
    (void)from;
    return note(self, c->part, "download", x);
}

static eg_status probe_task(void *self, eg_client *c)
{
    return note(self, c->part, "task", -1);
}

static eg_status probe_samples(void *self, eg_client *c)
{
    return note(self, c->part, "samples", -1);
}

static eg_node *probe_loss(void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    (void)g;
    note(self, c->part, "loss", -1);
    return loss;
}

static uint32_t probe_form(void *self, eg_client *c)
{
    note(self, c->part, "form", -1);
    return (uint32_t)((const probe *)self)->mark;
}

static eg_status probe_fill(void *self, eg_client *c)
{
    return note(self, c->part, "fill", -1);
}

static eg_status probe_grad(void *self, eg_client *c)
{
    return note(self, c->part, "grad", -1);
}

static eg_status probe_trained(void *self, eg_client *c)
{
    return note(self, c->part, "trained", -1);
}

static eg_status probe_answer(void *self, eg_client *c, int x, eg_bundle *to)
{
    (void)to;
    return note(self, c->part, "answer", x);
}

static eg_status probe_begin(void *self, eg_server *s)
{
    return note(self, s->part, "begin", -1);
}

static bool probe_wants(void *self, eg_server *s, int x)
{
    note(self, s->part, "wants", x);
    return seen.wants || ((const probe *)self)->mark != seen.mark;
}

static eg_status probe_send(void *self, eg_server *s, int x, eg_bundle *to)
{
    (void)to;
    return note(self, s->part, "send", x);
}

static eg_status probe_send_one(void *self, eg_server *s, int64_t client, eg_bundle *to)
{
    (void)to;
    assert_int_equal(client, 5);
    return note(self, s->part, "send_one", -1);
}

static eg_status probe_accept(void *self, eg_server *s, int x, int64_t client,
                              const eg_bundle *from)
{
    (void)from;
    assert_int_equal(client, 5);
    return note(self, s->part, "accept", x);
}

static double probe_weight(void *self, eg_server *s, int64_t client, const eg_bundle *from)
{
    (void)from;
    assert_int_equal(client, 5);
    note(self, s->part, "weight", -1);
    return ((const probe *)self)->mark == 'a' ? 0.5 : 0.25;
}

static eg_status probe_collect(void *self, eg_server *s, int x, int64_t client,
                               const eg_bundle *from)
{
    (void)from;
    assert_int_equal(client, 5);
    return note(self, s->part, "collect", x);
}

static eg_status probe_refine(void *self, eg_server *s, float *param, float *state)
{
    (void)param, (void)state;
    return note(self, s->part, "refine", -1);
}

static eg_status probe_finish(void *self, eg_server *s, int x)
{
    return note(self, s->part, "finish", x);
}

static eg_status probe_save(void *self, eg_server *s)
{
    return note(self, s->part, "save", -1);
}

static void probe_fini(void *self)
{
    seen.n_ended++;
    seen.n_calls = ((const probe_half *)self)->n_calls;
}

static eg_status first_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)in;
    assert_int_equal(((const probe *)options)->mark, 'a');
    out->exchanges[0].name = "early";
    return EG_OK;
}

static eg_status last_setup(const void *options, const eg_setting *in, eg_wishes *out)
{
    (void)in;
    assert_int_equal(((const probe *)options)->mark, 'c');
    out->exchanges[0].name = "late";
    out->exchanges[1].name = "later";
    return EG_OK;
}

static const eg_opt first_opts[] = {EG_OPT_INT(probe, mark, 'a', 0, 127, "which"), EG_OPT_END};
static const eg_opt last_opts[] = {EG_OPT_INT(probe, mark, 'c', 0, 127, "which"), EG_OPT_END};

#define PROBE(part, lists, asked)                                                              \
    {                                                                                          \
        .component.name = part, .component.size = sizeof(probe), .component.opts = lists,      \
        .setup = asked, .loss = probe_loss, .form = probe_form, .fill = probe_fill,            \
        .client = {.size = sizeof(probe_half),                                                 \
                   .fini = probe_fini,                                                         \
                   .download = probe_download,                                                 \
                   .task = probe_task,                                                         \
                   .samples = probe_samples,                                                   \
                   .grad = probe_grad,                                                         \
                   .trained = probe_trained,                                                   \
                   .answer = probe_answer},                                                    \
        .server = {                                                                            \
            .size = sizeof(probe_half),                                                        \
            .fini = probe_fini,                                                                \
            .begin = probe_begin,                                                              \
            .wants = probe_wants,                                                              \
            .send = probe_send,                                                                \
            .send_one = probe_send_one,                                                        \
            .accept = probe_accept,                                                            \
            .weight = probe_weight,                                                            \
            .collect = probe_collect,                                                          \
            .refine = probe_refine,                                                            \
            .finish = probe_finish,                                                            \
            .save = probe_save,                                                                \
        },                                                                                     \
    }

static const eg_method first = PROBE("first", first_opts, first_setup);
static const eg_method silent = {
    .component = {"silent", "", 0, NULL},
};
static const eg_method last = PROBE("last", last_opts, last_setup);

/* Both halves of first, silent, last. */
typedef struct fixture {
    eg_parts parts;
    eg_agreement agreed;
    eg_chain client, server;
    eg_client c;
    eg_server s;
} fixture;

static void open_fixture(fixture *f)
{
    *f = (fixture){0};
    memset(&seen, 0, sizeof seen);
    seen.wants = true;
    assert_ok(eg_parts_add(&f->parts, &first));
    assert_ok(eg_parts_add(&f->parts, &silent));
    assert_ok(eg_parts_add(&f->parts, &last));
    assert_ok(eg_parts_setup(&f->parts, &(eg_setting){0}, true, &f->agreed));
    assert_ok(eg_chain_open(&f->client, &f->parts, &f->agreed, false));
    assert_ok(eg_chain_open(&f->server, &f->parts, &f->agreed, true));
}

static void close_fixture(fixture *f)
{
    eg_chain_close(&f->client);
    eg_chain_close(&f->server);
    eg_parts_free(&f->parts);
}

/* Hooks of which each has a share in an exchange, or in training only; whether it may fail. */
static const struct {
    const char *name;
    bool of_server, of_exchange, fails;
} hooks[] = {
    {"download", false, true, true}, {"task", false, false, true},
    {"samples", false, false, true}, {"loss", false, false, false},
    {"form", false, false, false},   {"fill", false, false, true},
    {"grad", false, false, true},    {"trained", false, false, true},
    {"answer", false, true, true},   {"begin", true, false, true},
    {"wants", true, true, false},    {"send", true, true, true},
    {"send_one", true, false, true}, {"accept", true, true, true},
    {"weight", true, false, false},  {"collect", true, true, true},
    {"refine", true, false, true},   {"finish", true, true, true},
    {"save", true, false, true},
};
enum { N_HOOKS = sizeof hooks / sizeof *hooks };

static eg_status call_server(fixture *f, const char *hook, size_t x)
{
    if (strcmp(hook, "begin") == 0)
        return eg_chain_begin(&f->server, &f->s);
    if (strcmp(hook, "wants") == 0)
        eg_chain_wants(&f->server, &f->s, x);
    if (strcmp(hook, "send") == 0)
        return eg_chain_send(&f->server, &f->s, x, NULL);
    if (strcmp(hook, "send_one") == 0)
        return eg_chain_send_one(&f->server, &f->s, 5, NULL);
    if (strcmp(hook, "accept") == 0)
        return eg_chain_accept(&f->server, &f->s, x, 5, NULL);
    if (strcmp(hook, "weight") == 0)
        eg_chain_weight(&f->server, &f->s, 5, NULL);
    if (strcmp(hook, "collect") == 0)
        return eg_chain_collect(&f->server, &f->s, x, 5, NULL);
    if (strcmp(hook, "refine") == 0)
        return eg_chain_refine(&f->server, &f->s, NULL, NULL);
    if (strcmp(hook, "finish") == 0)
        return eg_chain_finish(&f->server, &f->s, x);
    return strcmp(hook, "save") == 0 ? eg_chain_save(&f->server, &f->s) : EG_OK;
}

/* Calls hook h of all parts in exchange x, and forgets what was noted before. */
static eg_status call(fixture *f, int h, size_t x)
{
    const char *hook = hooks[h].name;
    seen.text[0] = 0;
    if (hooks[h].of_server)
        return call_server(f, hook, x);
    if (strcmp(hook, "download") == 0)
        return eg_chain_download(&f->client, &f->c, x, NULL);
    if (strcmp(hook, "task") == 0)
        return eg_chain_task(&f->client, &f->c);
    if (strcmp(hook, "samples") == 0)
        return eg_chain_samples(&f->client, &f->c);
    if (strcmp(hook, "loss") == 0)
        eg_chain_loss(&f->client, &f->c, NULL, NULL);
    if (strcmp(hook, "form") == 0)
        eg_chain_form(&f->client, &f->c, 0);
    if (strcmp(hook, "fill") == 0)
        return eg_chain_fill(&f->client, &f->c);
    if (strcmp(hook, "grad") == 0)
        return eg_chain_grad(&f->client, &f->c);
    if (strcmp(hook, "trained") == 0)
        return eg_chain_trained(&f->client, &f->c);
    return strcmp(hook, "answer") == 0 ? eg_chain_answer(&f->client, &f->c, x, NULL) : EG_OK;
}

static void test_hooks_fire_in_order_and_know_whose_they_are(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f);
    for (int h = 0; h < N_HOOKS; h++) {
        const char *name = hooks[h].name, *x = hooks[h].of_exchange ? "0" : "";
        char expected[64];
        assert_ok(call(&f, h, EG_TRAINING));
        snprintf(expected, sizeof expected, "a0.%s%s c2.%s%s ", name, x, name, x);
        assert_string_equal(seen.text, expected);
    }
    close_fixture(&f);
}

static void test_an_added_exchange_is_its_parts_alone(void **state)
{
    (void)state;
    static const char *const whose[] = {"a0", "c2", "c2"};
    static const int numbers[] = {1, 1, 2}; /* as the part counts */
    fixture f;
    open_fixture(&f);
    for (int h = 0; h < N_HOOKS; h++)
        for (size_t x = 1; x <= 3 && hooks[h].of_exchange; x++) {
            char expected[64];
            assert_ok(call(&f, h, x));
            snprintf(expected, sizeof expected, "%s.%s%d ", whose[x - 1], hooks[h].name,
                     numbers[x - 1]);
            assert_string_equal(seen.text, expected);
        }
    close_fixture(&f);
}

static void test_an_error_has_its_parts_name_and_ends_the_walk(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f);
    for (int h = 0; h < N_HOOKS; h++)
        for (int i = 0; i < 2 && hooks[h].fails; i++) {
            char expected[64];
            seen.fails = hooks[h].name, seen.mark = i ? 'c' : 'a';
            assert_int_equal(call(&f, h, EG_TRAINING), EG_ENOTSUP);
            snprintf(expected, sizeof expected, "%s: %s is too hard", i ? "last" : "first",
                     hooks[h].name);
            assert_string_equal(eg_error(), expected);
            assert_int_equal(strstr(seen.text, "c2.") != NULL, i);
        }
    close_fixture(&f);
}

static void test_the_seconds_of_every_hook_count(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f);
    seen.slow = true;
    for (int h = 0; h < N_HOOKS; h++) {
        const double *seconds = hooks[h].of_server ? f.server.seconds : f.client.seconds;
        double was[] = {seconds[0], seconds[2]};
        assert_ok(call(&f, h, EG_TRAINING));
        assert_true(seconds[0] >= was[0] + 0.001);
        assert_true(seconds[2] >= was[1] + 0.001);
        assert_true(seconds[1] == 0);
    }
    close_fixture(&f);
}

static void test_factors_multiply_wishes_must_agree_and_forms_mix(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f);
    assert_near(eg_chain_weight(&f.server, &f.s, 5, NULL), 0.125, 0);
    assert_true(eg_chain_wants(&f.server, &f.s, EG_TRAINING));
    seen.wants = false, seen.mark = 'c';
    assert_false(eg_chain_wants(&f.server, &f.s, EG_TRAINING));
    assert_true(eg_chain_wants(&f.server, &f.s, 1)); /* the other part's own */
    assert_false(eg_chain_wants(&f.server, &f.s, 2));
    assert_int_equal(eg_chain_form(&f.client, &f.c, 0), 'a' * 65537 + 'c');
    assert_int_not_equal(eg_chain_form(&f.client, &f.c, 1), eg_chain_form(&f.client, &f.c, 2));
    close_fixture(&f);
}

static void test_a_state_begins_with_the_options_and_ends_with_fini(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f);
    assert_int_equal(seen.n_ended, 4); /* a state that was never used is ended, too */
    const probe_half *p = f.client.states[2];
    assert_int_equal(p->is.mark, 'c');
    assert_int_equal(p->n_calls, 0);
    assert_ok(eg_chain_grad(&f.client, &f.c));
    assert_ok(eg_chain_grad(&f.client, &f.c));
    assert_int_equal(p->n_calls, 2);
    assert_int_equal(((const probe_half *)f.server.states[2])->n_calls, 0); /* the other half */
    assert_ok(eg_parts_set(&f.parts, "last", "mark", "100"));
    eg_chain_reset(&f.client);
    assert_int_equal(seen.n_ended, 6);
    assert_int_equal(seen.n_calls, 2);
    assert_int_equal(p->n_calls, 0);
    assert_int_equal(p->is.mark, 100);
    close_fixture(&f);
    assert_int_equal(seen.n_ended, 10);
}

/* What is taken from a client is said, so that it can be refused. */
static void test_every_method_with_answers_says_what_leaves_a_client(void **state)
{
    (void)state;
    int n_say = 0;
    for (const eg_method *const *m = eg_methods; *m; m++) {
        if ((*m)->client.answer)
            assert_true((*m)->leaves != 0);
        n_say += (*m)->leaves != 0;
        assert_true((*m)->leaves < 2 * EG_LEAVES_GENERATORS);
    }
    assert_true(n_say >= 9);
    assert_int_equal(eg_method_find("fedcil")->leaves,
                     EG_LEAVES_FIGURES | EG_LEAVES_GENERATORS);
    assert_int_equal(eg_method_find("fedavg")->leaves, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hooks_fire_in_order_and_know_whose_they_are),
        cmocka_unit_test(test_an_added_exchange_is_its_parts_alone),
        cmocka_unit_test(test_an_error_has_its_parts_name_and_ends_the_walk),
        cmocka_unit_test(test_the_seconds_of_every_hook_count),
        cmocka_unit_test(test_factors_multiply_wishes_must_agree_and_forms_mix),
        cmocka_unit_test(test_a_state_begins_with_the_options_and_ends_with_fini),
        cmocka_unit_test(test_every_method_with_answers_says_what_leaves_a_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
