/* golden_fedcil_server_test.c - rounds of FedCIL's server against PyTorch's: means, drawings of
 * clients' generators, steps of consolidation.
 * SPDX-License-Identifier: Apache-2.0
 *
 * tools/golden_methods.py says what is in the file. The server is the real one; the test gives
 * it random streams that PyTorch's side has too, and a worker, and takes its notes.
 */
#include "golden_fedcil.h"
#include "hand_client.h"

#include "method/lib/fedcil.h"

static struct {
    eg_worker *worker;        /* that all its work is done on */
    const void *options;      /* the part's */
    double generator, critic; /* the notes on its losses */
} given;

eg_status __wrap_eg_server_share(eg_server *s, const eg_work *work);
eg_rng __wrap_eg_piece_stream(const eg_piece *p, int64_t of, uint32_t draw);
eg_rng __wrap_eg_server_stream(const eg_server *s, int64_t of, uint32_t draw);
eg_status __wrap_eg_server_note(eg_server *s, const char *name, double value);
void __wrap_eg_server_moment(eg_server *s, int64_t done, int64_t of);

/* One piece after the other. */
eg_status __wrap_eg_server_share(eg_server *s, const eg_work *work)
{
    for (int64_t i = 0; i < work->n; i++) {
        eg_bundle *from, *to;
        assert_ok(eg_bundle_new(&from));
        assert_ok(eg_bundle_new(&to));
        assert_ok(work->give(work->context, i, from));
        assert_ok(eg_fedcil_work(given.options,
                                 &(eg_piece){.i = i,
                                             .worker = given.worker,
                                             .net = s->net,
                                             .from = from,
                                             .round = s->round,
                                             .seed = s->seed},
                                 to));
        assert_ok(work->take(work->context, i, to));
        eg_bundle_free(from);
        eg_bundle_free(to);
    }
    return EG_OK;
}

eg_rng __wrap_eg_piece_stream(const eg_piece *p, int64_t of, uint32_t draw)
{
    return eg_rng_at(p->seed, (uint32_t)of, draw, EG_FOR_TEST);
}

eg_rng __wrap_eg_server_stream(const eg_server *s, int64_t of, uint32_t draw)
{
    return eg_rng_at(s->seed, (uint32_t)of, draw, EG_FOR_TEST);
}

/* Nobody waits. */
void __wrap_eg_server_moment(eg_server *s, int64_t done, int64_t of)
{
    (void)s, (void)done, (void)of;
}

eg_status __wrap_eg_server_note(eg_server *s, const char *name, double value)
{
    (void)s;
    if (strcmp(name, "consolidation generator loss") == 0)
        given.generator = value;
    else if (strcmp(name, "consolidation critic loss") == 0)
        given.critic = value;
    else
        fail_msg("'%s' is noted", name);
    return EG_OK;
}

/* The labels of a list as a mask. */
static void add_mask(eg_bundle *to, const char *name, const eg_json *labels)
{
    float mask[GOLDEN_CLASSES] = {0};
    for (size_t i = 0; i < eg_json_count(labels); i++) {
        int64_t label;
        assert_ok(eg_json_int(eg_json_at(labels, i), &label));
        mask[label] = 1;
    }
    assert_ok(eg_bundle_add_flat(to, name, mask, GOLDEN_CLASSES));
}

/* What a client sends, as the file describes it; its model is added to the mean. */
static eg_bundle *upload_of(const eg_json *file, const eg_json *described,
                            const eg_fedcil_server *f, eg_weighted_mean *models)
{
    const eg_learner *l = f->own->learners[0], *critic = f->critic;
    int shift = (int)int_of(described, "shift");
    double samples = real_of(described, "samples");
    eg_bundle *up;
    float *param, *state, *model;
    assert_ok(eg_bundle_new(&up));
    assert_ok(eg_bundle_room(up, "param", eg_dims((int64_t)critic->n_params), &model));
    golden_fill_network(critic->table, golden_fedcil_network(file, GOLDEN_CRITIC), shift, model,
                        NULL);
    assert_ok(eg_mean_add(models, model, samples));
    assert_ok(
        eg_bundle_room(up, "fedcil.generator.param", eg_dims((int64_t)l->n_params), &param));
    assert_ok(
        eg_bundle_room(up, "fedcil.generator.state", eg_dims((int64_t)l->n_state), &state));
    golden_fill_network(l->table, golden_fedcil_network(file, GOLDEN_GENERATOR), shift, param,
                        state);
    assert_ok(eg_bundle_scalar(up, "samples", samples));
    assert_ok(eg_bundle_scalar(up, "fedcil.tasks", real_of(described, "tasks")));
    add_mask(up, "fedcil.now", eg_json_get(described, "now"));
    add_mask(up, "fedcil.before", eg_json_get(described, "past"));
    return up;
}

/* The largest of what a network's tensors are off by, over their norms. */
static double tensors_off(const eg_json *tensors, const eg_params *table, const float *param,
                          const float *state)
{
    double worst = 0;
    assert_int_equal(eg_json_count(tensors), eg_params_n(table));
    for (size_t i = 0; i < eg_json_count(tensors); i++) {
        const eg_json *t = eg_json_at(tensors, i);
        const eg_param_info *info = tensor_of(table, text_of(t, "name"));
        const float *have = (info->trained ? param : state) + info->offset;
        worst = fmax(worst, golden_distance(eg_json_get(t, "at"), have, info->size, 1e-3));
    }
    return worst;
}

/* A round of the server; what its losses and networks are off by. */
static double round_off(hand_server *h, const eg_json *file, const eg_json *round)
{
    eg_fedcil_server *f = h->self;
    const eg_json *uploads = eg_json_get(round, "uploads"),
                  *losses = eg_json_get(round, "losses"),
                  *networks = eg_json_get(round, "networks");
    eg_weighted_mean models;
    float *param;
    double want[2];
    assert_ok(eg_mean_init(&models, h->s.n_params));
    for (size_t i = 0; i < eg_json_count(uploads); i++) {
        const eg_json *described = eg_json_at(uploads, i);
        int64_t client = int_of(described, "client");
        eg_bundle *up = upload_of(file, described, f, &models);
        assert_ok(eg_fedcil_accept(f, &h->s, 0, client, up));
        assert_ok(eg_fedcil_collect(f, &h->s, 0, client, up));
        eg_bundle_free(up);
    }
    assert_ok(eg_alloc(h->s.n_params, sizeof *param, &param));
    assert_ok(eg_mean_get(&models, param));
    assert_ok(eg_fedcil_refine(f, &h->s, param, NULL));
    for (size_t i = 0; i < 2; i++)
        assert_ok(eg_json_real(eg_json_at(losses, i), &want[i]));
    double worst = fmax(fabs(given.generator - want[0]), fabs(given.critic - want[1]));
    const eg_learner *l = f->own->learners[0];
    worst = fmax(worst, tensors_off(eg_json_at(networks, GOLDEN_GENERATOR), l->table, l->param,
                                    l->state));
    worst = fmax(
        worst, tensors_off(eg_json_at(networks, GOLDEN_CRITIC), f->critic->table, param, NULL));
    eg_mean_fini(&models);
    free(param);
    return worst;
}

/* Sets what the file's text "width=8 lr=0.001" says. */
static void set_options(eg_fedcil_server *f, const char *options)
{
    char word[64];
    for (int n; sscanf(options, " %63s%n", word, &n) == 1; options += n) {
        char *value = strchr(word, '=');
        assert_non_null(value);
        *value++ = '\0';
        assert_ok(eg_opts_set(eg_method_find("fedcil")->component.opts, &f->is, word, value));
    }
}

enum { GOLDEN_BATCH = 32 }; /* rows of a step in the file */

/* What the rounds of a server with one more option, whose steps have so many rows, are off by,
 * the worst of them. */
static double rounds_off(const char *option, int64_t batch)
{
    eg_json *file = golden_fedcil_load();
    const eg_json *server = eg_json_get(file, "server"), *rounds;
    double worst = 0;
    one_client o;
    hand_server h;
    one_client_open(&o, golden_fedcil_text, NULL);
    given.worker = &o.worker;
    hand_server_open(&h, eg_method_find("fedcil"), NULL, eg_params_length(eg_net_params(o.net)),
                     NULL);
    eg_fedcil_server *f = h.self;
    given.options = &f->is;
    f->is.steps = int_of(server, "steps");
    set_options(f, text_of(server, "options"));
    set_options(f, option);
    h.s.net = o.net;
    h.part.train.batch = batch;
    h.s.seed = (uint64_t)int_of(server, "seed");
    assert_ok(eg_fedcil_begin(f, &h.s));
    rounds = eg_json_get(server, "rounds");
    assert_int_equal(eg_json_count(rounds), 3);
    for (size_t i = 0; i < eg_json_count(rounds); i++)
        worst = fmax(worst, round_off(&h, file, eg_json_at(rounds, i)));
    print_message("server with '%s': %.1e\n", option, worst);
    hand_server_close(&h);
    one_client_close(&o);
    eg_json_free(file);
    return worst;
}

/* Averaged, consolidated, and Adam goes on from round to round. */
static void test_rounds_of_the_server_equal_those_of_pytorch(void **state)
{
    (void)state;
    assert_true(rounds_off("", GOLDEN_BATCH) < 1e-4);
}

static void test_other_settings_are_seen(void **state)
{
    (void)state;
    static const char *const others[] = {"heads=mean",     "steps=0",   "steps=1",
                                         "weight_decay=0", "beta1=0.9", "lr=0.0005"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_true(rounds_off(others[i], GOLDEN_BATCH) > 3e-4);
    assert_true(rounds_off("", GOLDEN_BATCH / 2) > 3e-4); /* as many as a client's batch has */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds_of_the_server_equal_those_of_pytorch),
        cmocka_unit_test(test_other_settings_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
