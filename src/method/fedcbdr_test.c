/* fedcbdr_test.c - leverage, draws by class, and the loss with temperatures, by hand.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "hand_client.h"
#include "hidden_net.h"

#include <float.h>

extern const eg_method eg_method_fedcbdr;

static const eg_method *const method = &eg_method_fedcbdr;

/* One class per task, 8 samples of each. */
#define TEXT                                                                                   \
    "name: t\n"                                                                                \
    "data: {name: blobs, train: 24, test: 6, classes: 3, dim: 4}\n"                            \
    "model: {name: mlp, depth: 1, width: 5}\n"                                                 \
    "scenario: {kind: class-incremental, clients: 1, tasks: 3, rounds: 1,\n"                   \
    "           partition: iid}\n"                                                             \
    "train: {epochs: 1, batch: 12}\n"                                                          \
    "optimizer: {lr: 0.5}\n"                                                                   \
    "fedcbdr: {size: 9, old_temperature: 0.5, new_temperature: 1.5, old_weight: 3,\n"          \
    "          new_weight: 0.8}\n"                                                             \
    "runs: [{label: a, method: fedcbdr}]\n"

enum { PRODUCTS = 1, KEYS, STAGE = 8 };

static void send_least(one_client *o, const float least[CLASSES])
{
    assert_ok(eg_bundle_add_flat(o->down, "fedcbdr.least", least, CLASSES));
}

/* A server of the one client's network. */
static void server_open(hand_server *h, one_client *o)
{
    hand_server_open(h, method, (const char *const[]){"size", "9", "rank", "3", NULL},
                     o->c->n_params, o->c->param);
    h->s.net = o->net;
    h->s.scenario = o->feed.scenario;
    assert_ok(method->server.begin(h->self, &h->s));
}

static void assert_server_wants(hand_server *h, int64_t round, bool products, bool keys)
{
    h->s.round = round;
    assert_int_equal(method->server.wants(h->self, &h->s, PRODUCTS), products);
    assert_int_equal(method->server.wants(h->self, &h->s, KEYS), keys);
    assert_true(method->server.wants(h->self, &h->s, EG_TRAINING));
}

/* diag(4, 0, 1, 25, 9): of rank 3 the axes 3, 4 and 0, over their deviations. */
static void test_the_basis_is_of_the_largest_directions(void **state)
{
    (void)state;
    one_client o;
    hand_server h;
    eg_bundle *b, *down;
    float products[WIDTH * WIDTH] = {0};
    const float energies[WIDTH] = {4, 0, 1, 25, 9};
    size_t n;
    one_client_open(&o, TEXT, NULL);
    server_open(&h, &o);
    assert_server_wants(&h, 0, true, false);
    for (int i = 0; i < WIDTH; i++)
        products[i * WIDTH + i] = energies[i];
    assert_ok(eg_bundle_new(&b));
    assert_ok(eg_bundle_new(&down));
    assert_ok(eg_bundle_add_flat(b, "fedcbdr.products", products, WIDTH * WIDTH));
    assert_ok(method->server.accept(h.self, &h.s, PRODUCTS, 0, b));
    assert_ok(method->server.collect(h.self, &h.s, PRODUCTS, EG_SERVER, b));
    assert_server_wants(&h, 0, true, true);
    assert_server_wants(&h, 2, false, false); /* nothing comes after */
    assert_ok(method->server.send(h.self, &h.s, KEYS, down));
    const float *basis = eg_bundle_find(down, "fedcbdr.basis", &n);
    assert_int_equal(n, WIDTH * 3);
    for (int i = 0; i < WIDTH; i++) {
        double leverage = 0;
        for (int k = 0; k < 3; k++)
            leverage += (double)basis[i * 3 + k] * (double)basis[i * 3 + k];
        bool inside = i == 0 || i > 2;
        assert_near(leverage, inside ? 1 / (double)energies[i] : 0, 1e-6);
    }
    eg_bundle_free(b);
    eg_bundle_free(down);
    hand_server_close(&h);
    one_client_close(&o);
}

static void offer(hand_server *h, const float *labels, const float *keys, size_t n)
{
    eg_bundle *b;
    assert_ok(eg_bundle_new(&b));
    assert_ok(eg_bundle_add_flat(b, "fedcbdr.labels", labels, n));
    assert_ok(eg_bundle_add_flat(b, "fedcbdr.keys", keys, n));
    assert_ok(method->server.accept(h->self, &h->s, KEYS, 0, b));
    assert_ok(method->server.collect(h->self, &h->s, KEYS, 0, b));
    eg_bundle_free(b);
}

/* Of 9 samples 9 / 1 are of the first class; of the first two classes 4 each, then 3. */
static void assert_least(hand_server *h, int64_t round, double first, double second)
{
    eg_bundle *down;
    h->s.round = round;
    assert_ok(eg_bundle_new(&down));
    assert_ok(method->server.send(h->self, &h->s, EG_TRAINING, down));
    const float *least = eg_bundle_find(down, "fedcbdr.least", NULL);
    assert_near((double)least[0], first, 1e-6);
    assert_near((double)least[1], second, 1e-6);
    eg_bundle_free(down);
}

static void test_every_class_keeps_its_largest_keys(void **state)
{
    (void)state;
    one_client o;
    hand_server h;
    const float zeros[6] = {0}, ones[5] = {1, 1, 1, 1, 1};
    const float mine[6] = {-1, -2, -3, -4, -5, -6}, yours[2] = {-1.5F, -9};
    const float later[5] = {-0.5F, -0.1F, -0.4F, -0.3F, -0.2F};
    one_client_open(&o, TEXT, NULL);
    server_open(&h, &o);
    offer(&h, zeros, mine, 6);
    offer(&h, zeros, yours, 2);
    h.s.round = 0;
    assert_ok(method->server.finish(h.self, &h.s, KEYS));
    assert_least(&h, 1, -9, -FLT_MAX); /* all 8 stay */
    offer(&h, ones, later, 5);
    h.s.round = 1;
    assert_ok(method->server.finish(h.self, &h.s, KEYS));
    assert_least(&h, 2, -3, -0.4); /* -1, -1.5, -2, -3; -0.1 to -0.4 */
    hand_server_close(&h);
    one_client_close(&o);
}

/* log(u) / tau, u of the client's stream in the order of its samples; the largest are told. */
static void test_keys_are_drawn_by_leverage(void **state)
{
    (void)state;
    one_client o;
    eg_sample samples[STAGE];
    float basis[WIDTH * 2], features[STAGE * WIDTH];
    double keys[STAGE];
    size_t n;
    const float least[CLASSES] = {-FLT_MAX, -FLT_MAX, -FLT_MAX};
    one_client_open(&o, TEXT, "fedcbdr.size=5");
    for (int i = 0; i < WIDTH * 2; i++)
        basis[i] = sinf((float)i + 1);
    send_least(&o, least);
    assert_ok(eg_bundle_add(o.down, "fedcbdr.basis", eg_dims(WIDTH, 2), basis));
    assert_ok(one_client_exchange(&o, 0, KEYS));
    one_client_samples(&o, 0, STAGE, samples);
    assert_ok(eg_client_look(o.c, NULL, &(eg_rows){.n = STAGE, .samples = samples},
                             &(eg_look){.features = features}));
    o.c->part = 0;
    eg_rng rng = eg_client_stream(o.c, 0);
    for (int i = 0; i < STAGE; i++) {
        double tau = 0;
        for (int k = 0; k < 2; k++) {
            double along = 0;
            for (int j = 0; j < WIDTH; j++)
                along += (double)features[i * WIDTH + j] * (double)basis[j * 2 + k];
            tau += along * along;
        }
        keys[i] = log(eg_rng_unit(&rng)) / tau;
    }
    const float *told = eg_bundle_find(o.up, "fedcbdr.keys", &n);
    assert_int_equal(n, 5);
    const eg_bundle *kept = one_client_kept(&o, "fedcbdr");
    const float *ids = eg_bundle_find(kept, "fedcbdr.ids", NULL);
    for (size_t k = 0; k < n; k++) {
        int larger = 0, at = 0;
        while ((float)samples[at].id != ids[k])
            at++;
        for (int i = 0; i < STAGE; i++)
            larger += keys[i] > keys[at];
        assert_int_equal(larger, k);
        assert_near((double)told[k], keys[at], 1e-4 * fabs(keys[at]));
    }
    one_client_close(&o);
}

/* Three tasks of one class each: classes 0 and 1 are old. */
static double loss_by_hand(const net *n, const float *param, const void *context)
{
    double sum = 0;
    (void)context;
    for (int row = 0; row < ROWS; row++) {
        int y = (int)n->labels[row];
        double z[WIDTH], logits[CLASSES], all = 0, t = y < 2 ? 0.5 : 1.5;
        features(n, param, row, z);
        outputs(n, param, z, logits);
        for (int k = 0; k < CLASSES; k++) {
            logits[k] /= t * (k < 2 ? 0.5 : 1.5);
            all += exp(logits[k]);
        }
        sum += (y < 2 ? 3 : 0.8) * (log(all) - logits[y]);
    }
    return sum / ROWS;
}

/* In the third task, with two samples each of the classes before that stay, and one that does
 * not. */
static void test_the_gradient_is_that_of_the_loss_by_hand(void **state)
{
    (void)state;
    one_client o;
    eg_sample samples[2][STAGE];
    eg_bundle *record;
    float tasks[5], ids[5], labels[5];
    const float keys[5] = {-1, -2, -1, -2, -7};
    const float least[CLASSES] = {-3, -3, -FLT_MAX};
    one_client_open(&o, TEXT, NULL);
    eg_cursor_next(o.cursor, NULL);
    eg_cursor_next(o.cursor, NULL);
    for (int stage = 0; stage < 2; stage++)
        one_client_samples(&o, stage, STAGE, samples[stage]);
    for (int i = 0; i < 5; i++) {
        const eg_sample *s = &samples[i / 2 % 2][i];
        tasks[i] = (float)s->task, ids[i] = (float)s->id, labels[i] = (float)(i / 2 % 2);
    }
    assert_ok(eg_bundle_new(&record));
    assert_ok(eg_bundle_add_flat(record, "fedcbdr.tasks", tasks, 5));
    assert_ok(eg_bundle_add_flat(record, "fedcbdr.ids", ids, 5));
    assert_ok(eg_bundle_add_flat(record, "fedcbdr.labels", labels, 5));
    assert_ok(eg_bundle_add_flat(record, "fedcbdr.keys", keys, 5));
    one_client_keep(&o, 0, "fedcbdr", record);
    send_least(&o, least);
    size_t n = o.c->n_params;
    float *before;
    assert_ok(eg_alloc(n, sizeof *before, &before));
    memcpy(before, o.c->param, n * sizeof *before);
    assert_ok(one_client_turn(&o, 0));
    assert_int_equal(o.c->n_samples, ROWS);
    net k = {eg_net_params(o.net), o.c->x, o.c->labels};
    assert_gradient(&k, before, o.c->grad, loss_by_hand, NULL);
    assert_near(o.c->loss, loss_by_hand(&k, before, NULL), 1e-4);
    free(before);
    one_client_close(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_basis_is_of_the_largest_directions),
        cmocka_unit_test(test_every_class_keeps_its_largest_keys),
        cmocka_unit_test(test_keys_are_drawn_by_leverage),
        cmocka_unit_test(test_the_gradient_is_that_of_the_loss_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
