/* fedcil_test.c - FedCIL's losses against the same in double, its past, and what its server
 * makes of uploads.
 * SPDX-License-Identifier: Apache-2.0
 */
/* size: cmocka's checks of tensors nest within loops over cases. */
#include "hand_client.h"
#include "one_client.h"

#include "engine/generator/acgan.h"
#include "method/lib/fedcil.h"

extern const eg_method eg_method_fedcil;

/* One client, two tasks of two classes, one batch per round. The network is linear, so that its
 * features are the pixels. */
static const char text[] =
    "name: t\n"
    "data: {name: glyphs, train: 40, test: 8, classes: 4, size: 8, mean: 0.5, std: 0.5}\n"
    "model: {name: mlp, depth: 0}\n"
    "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 2}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {steps: 1, batch: 8}\n"
    "fedcil: {width: 4, consistency: 0.7}\n"
    "runs: [{label: a, method: fedcil}]\n";

enum { PIXELS = 64, CLASSES = 4, ROWS = 8 };

/* What the generator was last taught with. */
static struct {
    float labels[ROWS], anchor[ROWS];
    double pull, loss; /* loss: of all lessons */
    int n;
} taught;

eg_status __real_eg_generator_teach(eg_generator *m, const eg_lesson *lesson,
                                    const float *labels, int64_t n, eg_rng *rng, double *loss);
eg_status __wrap_eg_generator_teach(eg_generator *m, const eg_lesson *lesson,
                                    const float *labels, int64_t n, eg_rng *rng, double *loss);

eg_status __wrap_eg_generator_teach(eg_generator *m, const eg_lesson *lesson,
                                    const float *labels, int64_t n, eg_rng *rng, double *loss)
{
    assert_int_equal(n, ROWS);
    memcpy(taught.labels, labels, sizeof taught.labels);
    memcpy(taught.anchor, lesson->anchor, sizeof taught.anchor);
    taught.pull = lesson->pull;
    taught.n++;
    eg_status s = __real_eg_generator_teach(m, lesson, labels, n, rng, loss);
    taught.loss += *loss;
    return s;
}

static const eg_fedcil options = {.width = 4, .lr = 1e-4, .beta1 = 0.5, .beta2 = 0.99};

/* Puts a generator and the labels that anybody has met into the download of the next round: its
 * first values times a scale; the first labels. */
static void send_generator_with(one_client *o, float scale, int met)
{
    const float known[CLASSES] = {met > 0, met > 1, met > 2, met > 3};
    eg_fedcil_spec spec;
    eg_generator *m;
    eg_fedcil_describe(&options, o->net, true, &spec);
    assert_ok(eg_generator_new(&spec.is, &m));
    eg_generator_init(m, 5);
    for (size_t i = 0; i < m->learners[0]->n_params; i++)
        m->learners[0]->param[i] *= scale;
    assert_ok(eg_learner_keep(m->learners[0], "fedcil.generator", o->down));
    assert_ok(eg_bundle_add_flat(o->down, "fedcil.known", known, CLASSES));
    eg_generator_free(m);
}

static void send_generator_of(one_client *o, float scale)
{
    send_generator_with(o, scale, CLASSES);
}

static void send_generator(one_client *o)
{
    send_generator_of(o, 1);
}

/* Weights and biases of the head and of the second one, in the order of the table. */
typedef struct weights {
    const eg_params *table;
    const float *param;
} weights;

static double weight(const weights *w, size_t tensor, int i)
{
    return (double)w->param[eg_params_at(w->table, tensor)->offset + (size_t)i];
}

static void outputs(const weights *w, const float *x, double logits[CLASSES], double *side)
{
    *side = weight(w, 3, 0);
    for (int d = 0; d < PIXELS; d++)
        *side += weight(w, 2, d) * (double)x[d];
    for (int k = 0; k < CLASSES; k++) {
        logits[k] = weight(w, 1, k);
        for (int d = 0; d < PIXELS; d++)
            logits[k] += weight(w, 0, k * PIXELS + d) * (double)x[d];
    }
}

static double log_sum(const double logits[CLASSES])
{
    double sum = 0;
    for (int k = 0; k < CLASSES; k++)
        sum += exp(logits[k]);
    return log(sum);
}

static double cross_entropy(const weights *w, const float *x, const float *labels)
{
    double sum = 0, logits[CLASSES], side;
    for (int i = 0; i < ROWS; i++) {
        outputs(w, x + i * PIXELS, logits, &side);
        sum += log_sum(logits) - logits[(int)labels[i]];
    }
    return sum / ROWS;
}

static double real_or_drawn(const weights *w, const float *x, bool real)
{
    double sum = 0, logits[CLASSES], side;
    for (int i = 0; i < ROWS; i++) {
        outputs(w, x + i * PIXELS, logits, &side);
        sum += log(1 + exp(real ? -side : side));
    }
    return sum / ROWS;
}

/* KL(C(a) || C(b)), mean over rows. */
static double divergence(const weights *w, const float *a, const float *b)
{
    double sum = 0, p[CLASSES], q[CLASSES], side;
    for (int i = 0; i < ROWS; i++) {
        outputs(w, a + i * PIXELS, p, &side);
        outputs(w, b + i * PIXELS, q, &side);
        double lp = log_sum(p), lq = log_sum(q);
        for (int k = 0; k < CLASSES; k++)
            sum += exp(p[k] - lp) * ((p[k] - lp) - (q[k] - lq));
    }
    return sum / ROWS;
}

static const float *input(const one_client *o, const char *name)
{
    const float *x = eg_plan_input(o->c->plan, name);
    assert_non_null(x);
    return x;
}

/* L_c of rows that count as real, with drawn ones beside them. */
static double own_loss(const one_client *o, const weights *w, const float *x,
                       const float *labels, const char *drawn, const char *drawn_labels)
{
    return cross_entropy(w, x, labels) + real_or_drawn(w, x, true) +
           cross_entropy(w, input(o, drawn), input(o, drawn_labels)) +
           real_or_drawn(w, input(o, drawn), false);
}

/* The loss of the last batch, in double; round: 0 to 3. */
static double loss_by_hand(const one_client *o, const weights *w, int round, double consistency)
{
    const eg_client *c = o->c;
    double loss = own_loss(o, w, c->x, c->labels, "fedcil.fakes", "fedcil.fakes labels");
    if (round >= 2)
        loss = 0.5 * loss + 0.5 * own_loss(o, w, input(o, "fedcil.replay"),
                                           input(o, "fedcil.replay labels"), "fedcil.more",
                                           "fedcil.more labels");
    if (round % 2 == 0)
        return loss;
    loss += consistency * divergence(w, c->x, input(o, "fedcil.pair"));
    loss +=
        consistency * cross_entropy(w, input(o, "fedcil.any"), input(o, "fedcil.any labels"));
    if (round >= 2)
        loss +=
            consistency * divergence(w, input(o, "fedcil.replay"), input(o, "fedcil.agree"));
    return loss;
}

static void check_gradient(const one_client *o, const float *param, int round)
{
    float *moved;
    const weights w = {eg_net_params(o->net), param};
    assert_ok(eg_alloc(o->c->n_params, sizeof *moved, &moved));
    for (size_t t = 0; t < eg_params_n(w.table); t++)
        for (size_t i = 0; i < eg_params_at(w.table, t)->size; i += 7) {
            size_t place = eg_params_at(w.table, t)->offset + i;
            const float step = 1.0F / 256;
            const weights at = {w.table, moved};
            memcpy(moved, param, o->c->n_params * sizeof *moved);
            moved[place] = param[place] + step;
            double up = loss_by_hand(o, &at, round, 0.7), width = (double)moved[place];
            moved[place] = param[place] - step;
            double down = loss_by_hand(o, &at, round, 0.7);
            width -= (double)moved[place];
            assert_near((double)o->c->grad[place], (up - down) / width, 1e-4);
        }
    free(moved);
}

static void test_losses_and_gradients_are_those_by_hand(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, text, NULL);
    float *received;
    assert_ok(eg_alloc(o.c->n_params, sizeof *received, &received));
    const weights w = {eg_net_params(o.net), received};
    for (int round = 0; round < 4; round++) {
        memcpy(received, eg_bundle_find(o.down, "param", NULL),
               o.c->n_params * sizeof *received);
        send_generator(&o);
        one_client_train(&o);
        double by_hand = loss_by_hand(&o, &w, round, 0.7);
        assert_near(o.c->loss, by_hand, 1e-4 * by_hand);
        check_gradient(&o, received, round);
    }
    free(received);
    one_client_close(&o);
}

/* L_c of rows that count as real, with drawn ones beside them, at the network's own losses. */
static eg_node *record_own(const one_client *o, eg_graph *g, const char *const names[4])
{
    eg_node *sum = NULL;
    for (int drawn = 0; drawn < 2; drawn++) {
        eg_node *x = eg_input(g, names[2 * drawn], eg_dims(ROWS, 1, 8, 8));
        eg_node *labels = eg_input(g, names[2 * drawn + 1], eg_dims(ROWS));
        eg_node *f = eg_net_features(o->net, g, x);
        eg_node *judged = eg_acgan_judged(o->net, g, f, labels, !drawn);
        sum = sum ? eg_add(g, sum, judged) : judged;
    }
    return sum;
}

/* With ReACGAN's critic its loss stands in the place of every cross entropy of L_c: of the
 * batch's, of what is replayed, of what is drawn. */
static void test_a_reacgan_takes_the_place_of_the_cross_entropy(void **state)
{
    (void)state;
    static const char *const names[] = {"x",
                                        "labels",
                                        "fedcil.fakes",
                                        "fedcil.fakes labels",
                                        "fedcil.replay",
                                        "fedcil.replay labels",
                                        "fedcil.more",
                                        "fedcil.more labels"};
    char other[sizeof text + 64];
    one_client o;
    const char *rest = strstr(text, "scenario:");
    snprintf(other, sizeof other, "%.*s%s%s", (int)(strstr(text, "model:") - text), text,
             "model: {name: acgan, width: 4, variant: reacgan}\n", rest);
    one_client_open(&o, other, "fedcil.consistency=0");
    for (int round = 0; round < 4; round++) {
        eg_graph *g;
        eg_plan *plan;
        float *received;
        assert_ok(eg_alloc(o.c->n_params, sizeof *received, &received));
        memcpy(received, eg_bundle_find(o.down, "param", NULL),
               o.c->n_params * sizeof *received);
        send_generator(&o);
        one_client_train(&o);
        assert_ok(eg_graph_new(&g));
        eg_node *loss = record_own(&o, g, names);
        if (round >= 2)
            loss = eg_affine(g, eg_add(g, loss, record_own(&o, g, names + 4)), 0.5, 0);
        eg_output(g, "loss", loss);
        assert_ok(eg_compile(g, &plan));
        assert_ok(eg_plan_bind(plan, eg_net_params(o.net), received, NULL, NULL));
        for (int i = 0; i < (round < 2 ? 4 : 8); i++) {
            const float *from = i == 0 ? o.c->x : i == 1 ? o.c->labels : input(&o, names[i]);
            memcpy(eg_plan_input(plan, names[i]), from,
                   (size_t)(ROWS * (i % 2 ? 1 : PIXELS)) * sizeof *from);
        }
        assert_ok(eg_plan_run(plan));
        assert_near(o.c->loss, (double)*eg_plan_output(plan, "loss"), 1e-4);
        eg_plan_free(plan);
        eg_graph_free(g);
        free(received);
    }
    one_client_close(&o);
}

/* --- Who drew what: every drawing of a batch once more, by whom and of what it should be. */

/* The part's draws in the order of the client. */
enum { FAKES, MORE, REPLAY, AGREE, PAIR, ANY, TEACH };

/* The stream of a draw in the round's only batch; the generator is taught after its step. */
static eg_rng stream_of(one_client *o, uint32_t draw)
{
    o->c->step = draw == TEACH;
    return eg_client_stream(o->c, draw);
}

/* Labels drawn from a list. Leaves the stream where drawing goes on. */
static eg_rng check_labels(one_client *o, uint32_t draw, const float *labels, const float *list,
                           int64_t n)
{
    float wanted[ROWS];
    eg_rng rng = stream_of(o, draw);
    eg_labels_draw(&rng, list, n, ROWS, wanted);
    assert_memory_equal(labels, wanted, sizeof wanted);
    return rng;
}

/* An input is what this learner's generator draws of these labels. */
static void check_drawing(one_client *o, const eg_bundle *from, const char *prefix,
                          const float *labels, eg_rng rng, const char *name)
{
    float wanted[ROWS * PIXELS];
    eg_fedcil_spec spec;
    eg_generator *m;
    bool found;
    eg_fedcil_describe(&options, o->net, true, &spec);
    assert_ok(eg_generator_new(&spec.is, &m));
    assert_ok(eg_learner_recall(m->learners[0], prefix, from, &found));
    assert_true(found);
    assert_ok(eg_generator_draw(m, labels, ROWS, &rng, wanted));
    assert_memory_equal(input(o, name), wanted, sizeof wanted);
    eg_generator_free(m);
}

/* In the first task the client has classes `now`, in the second the other two. What Equations
 * 12 to 14 hold it to is drawn by the server's generator, of the batch's labels, of those that
 * were replayed, and of any client's; what is replayed by the generator that its last task
 * left, of that task's classes; what the critic must tell apart, and what the generator is
 * taught on, are of all classes that the client has had. */
static void test_who_drew_what(void **state)
{
    (void)state;
    static const float all[CLASSES] = {0, 1, 2, 3};
    one_client o;
    float now[2];
    one_client_open(&o, text, NULL);
    for (int round = 0; round < 4; round++) {
        bool later = round >= 2, agrees = round % 2 == 1;
        send_generator(&o);
        eg_bundle *down = o.down;
        o.down = NULL;
        assert_ok(eg_bundle_new(&o.down));
        assert_ok(eg_bundle_copy(o.down, down, ""));
        one_client_train(&o);
        if (round == 0)
            now[0] = fminf(fminf(o.c->labels[0], o.c->labels[1]), o.c->labels[7]),
            now[1] = fmaxf(fmaxf(o.c->labels[0], o.c->labels[1]), o.c->labels[7]);
        assert_true(now[0] < now[1]);
        check_labels(&o, FAKES, input(&o, "fedcil.fakes labels"), later ? all : now,
                     later ? 4 : 2);
        check_labels(&o, TEACH, taught.labels, later ? all : now, later ? 4 : 2);
        if (later) {
            const float *labels = input(&o, "fedcil.replay labels");
            check_labels(&o, MORE, input(&o, "fedcil.more labels"), all, 4);
            eg_rng rng = check_labels(&o, REPLAY, labels, now, 2);
            check_drawing(&o, one_client_kept(&o, "fedcil.past"), "fedcil.past", labels, rng,
                          "fedcil.replay");
            if (agrees)
                check_drawing(&o, down, "fedcil.generator", labels, stream_of(&o, AGREE),
                              "fedcil.agree");
        }
        if (agrees) {
            const float *labels = input(&o, "fedcil.any labels");
            check_drawing(&o, down, "fedcil.generator", labels,
                          check_labels(&o, ANY, labels, all, 4), "fedcil.any");
            check_drawing(&o, down, "fedcil.generator", o.c->labels, stream_of(&o, PAIR),
                          "fedcil.pair");
        }
        eg_bundle_free(down);
    }
    one_client_close(&o);
}

/* In the round that begins the second task, and in the next. */
static void test_a_past_of_a_single_class_is_replayed(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, text, "scenario.tasks=4");
    for (int round = 0; round < 4; round++) {
        send_generator(&o);
        one_client_train(&o);
        assert_int_equal(eg_plan_input(o.c->plan, "fedcil.replay") != NULL, round >= 2);
    }
    one_client_close(&o);
}

static void test_it_asks_for_boundaries_where_tasks_end_at_them(void **state)
{
    (void)state;
    for (int by_round = 0; by_round < 2; by_round++) {
        eg_wishes wishes = {0};
        const eg_train_opts train = {.epochs = 1, .batch = 1};
        eg_fedcil set = options;
        set.boundary = by_round ? EG_FEDCIL_BY_ROUND : EG_FEDCIL_BY_TASK;
        assert_ok(eg_method_fedcil.setup(&set, &(eg_setting){.train = &train}, &wishes));
        assert_int_equal(wishes.offers, by_round ? 0 : EG_OFFERS_BOUNDARIES);
    }
}

/* Once for each of the critic's steps, behind it; its mean loss is noted. */
static void test_the_generator_is_taught_after_every_step(void **state)
{
    (void)state;
    static const char *const sets[] = {"train.steps=1", "train.steps=2", "train.steps=5"};
    static const int steps[] = {1, 2, 5};
    for (int i = 0; i < 3; i++) {
        one_client o;
        one_client_open(&o, text, sets[i]);
        for (int round = 0; round < 2; round++) {
            taught.n = 0, taught.loss = 0;
            send_generator(&o);
            one_client_train(&o);
            assert_int_equal(o.c->n_batches, steps[i]);
            assert_int_equal(taught.n, steps[i]);
            assert_near(one_client_noted(&o, "generator loss"), taught.loss / steps[i], 1e-9);
        }
        one_client_close(&o);
    }
}

/* FedProx holds the critic; the generator is held by the part's own option, to the one that the
 * client received. */
static void test_the_generator_is_pulled_to_the_one_received(void **state)
{
    (void)state;
    for (int pulled = 0; pulled < 2; pulled++) {
        one_client o;
        one_client_open(&o, text, pulled ? "fedcil.pull=0.125" : NULL);
        for (int round = 0; round < 2; round++) {
            float received[ROWS];
            send_generator_of(&o, (float)(round + 1));
            memcpy(received, eg_bundle_find(o.down, "fedcil.generator.param", NULL),
                   sizeof received);
            one_client_train(&o);
            assert_near(taught.pull, pulled ? 0.125 : 0, 0);
            assert_memory_equal(taught.anchor, received, sizeof received);
        }
        one_client_close(&o);
    }
}

/* Equation 16 has consistency in every round; the published code not in a task's first. */
static void test_consistency_may_count_from_a_tasks_first_round(void **state)
{
    (void)state;
    for (int always = 0; always < 2; always++) {
        one_client o;
        one_client_open(&o, text, always ? "fedcil.agrees=always" : "fedcil.agrees=later");
        for (int round = 0; round < 4; round++) {
            send_generator(&o);
            one_client_train(&o);
            bool agrees = eg_plan_input(o.c->plan, "fedcil.pair") != NULL;
            assert_int_equal(agrees, always || round % 2 == 1);
        }
        one_client_close(&o);
    }
}

/* Nothing is drawn for it where it has no weight, or where nobody has met a class. */
static void test_without_weight_or_classes_there_is_no_consistency(void **state)
{
    (void)state;
    static const struct {
        char weight[4];
        int met;
        bool agrees;
    } rows[] = {{"0.0", 4, false}, {"0.7", 0, false}, {"0.7", 1, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        one_client o;
        char other[sizeof text];
        memcpy(other, text, sizeof text);
        memcpy(strstr(other, "0.7"), rows[i].weight, 3);
        one_client_open(&o, other, "fedcil.agrees=always");
        for (int round = 0; round < 2; round++) {
            send_generator_with(&o, 1, rows[i].met);
            one_client_train(&o);
            assert_int_equal(eg_plan_input(o.c->plan, "fedcil.pair") != NULL, rows[i].agrees);
        }
        one_client_close(&o);
    }
}

static bool has(const one_client *o, const char *name, int label)
{
    for (int i = 0; i < ROWS; i++)
        if ((int)input(o, name)[i] == label)
            return true;
    return false;
}

static void test_the_past_is_replayed_with_its_own_classes(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, text, NULL);
    for (int round = 0; round < 4; round++) {
        send_generator(&o);
        one_client_train(&o);
        const eg_bundle *past = one_client_kept(&o, "fedcil.past");
        assert_int_equal(past != NULL, round >= 2);
        if (round < 2) {
            assert_null(eg_plan_input(o.c->plan, "fedcil.replay"));
            continue;
        }
        for (int i = 0; i < ROWS; i++) /* the batch's classes are those of now */
            assert_false(has(&o, "fedcil.replay labels", (int)o.c->labels[i]));
        /* What replays is a generator that was trained, not the one received. */
        float received[64];
        send_generator(&o);
        memcpy(received, eg_bundle_find(o.down, "fedcil.generator.param", NULL),
               sizeof received);
        const float *kept = eg_bundle_find(past, "fedcil.past.param", NULL);
        assert_non_null(kept);
        assert_memory_not_equal(kept, received, sizeof received);
        break;
    }
    one_client_close(&o);
}

static void test_a_round_is_a_task_where_it_is_told_so(void **state)
{
    (void)state;
    one_client o;
    one_client_open(&o, text, "fedcil.boundary=round");
    for (int round = 0; round < 3; round++) {
        send_generator(&o);
        one_client_train(&o);
        assert_int_equal(eg_plan_input(o.c->plan, "fedcil.replay") != NULL, round >= 1);
        assert_int_equal(eg_plan_input(o.c->plan, "fedcil.pair") != NULL, round >= 1);
        /* Also where its classes are those of the round before. */
        double tasks;
        assert_true(eg_bundle_scalar_of(o.up, "fedcil.tasks", &tasks));
        assert_near(tasks, round, 0);
    }
    one_client_close(&o);
}

static void test_drawings_that_are_all_alike_are_said(void **state)
{
    (void)state;
    for (int large = 0; large < 2; large++) {
        one_client o;
        one_client_open(&o, text, NULL);
        send_generator_of(&o, large ? 20 : 0);
        one_client_train(&o);
        assert_true(!isnan(one_client_noted(&o, "generator loss")));
        assert_true(isnan(one_client_noted(&o, "classes drawn all alike")) == (large == 1));
        one_client_close(&o);
    }
}

/* --- The server. */

/* An upload of constants: all its weights are `value`, its classes of now are now and now + 1,
 * those before are of the past if tasks have ended. */
static eg_bundle *make_upload(const eg_server *s, const eg_fedcil_server *f, float value,
                              int now, int tasks)
{
    const eg_learner *l = f->own->learners[0];
    float mask[2][CLASSES] = {{0}}, *flat;
    eg_bundle *b;
    size_t most = s->n_params > l->n_params ? s->n_params : l->n_params;
    assert_ok(eg_alloc(most, sizeof *flat, &flat));
    for (size_t i = 0; i < most; i++)
        flat[i] = value;
    mask[0][now] = mask[0][now + 1] = 1;
    for (int k = 0; tasks > 0 && k < now; k++)
        mask[1][k] = 1;
    assert_ok(eg_bundle_new(&b));
    assert_ok(eg_bundle_add_flat(b, "param", flat, s->n_params));
    assert_ok(eg_bundle_scalar(b, "samples", 10));
    assert_ok(eg_bundle_scalar(b, "fedcil.tasks", tasks));
    assert_ok(eg_bundle_add_flat(b, "fedcil.generator.param", flat, l->n_params));
    assert_ok(eg_bundle_add_flat(b, "fedcil.generator.state", flat, l->n_state));
    assert_ok(eg_bundle_add_flat(b, "fedcil.now", mask[0], CLASSES));
    assert_ok(eg_bundle_add_flat(b, "fedcil.before", mask[1], CLASSES));
    free(flat);
    return b;
}

typedef struct server_case {
    hand_server h;
    eg_net *net;
    eg_fedcil_server *f;
    float *param; /* [n_params]: the mean */
} server_case;

static void server_case_open(server_case *k, const char *heads)
{
    const eg_net_spec spec = {.model = "mlp",
                              .options = "depth=0",
                              .channels = 1,
                              .height = 8,
                              .width = 8,
                              .classes = CLASSES,
                              .side = 1};
    assert_ok(eg_net_new(&spec, &k->net));
    const eg_params *p = eg_net_params(k->net);
    const char *const set[] = {"steps", "0", "width", "4", "heads", heads, NULL};
    hand_server_open(&k->h, eg_method_find("fedcil"), set, eg_params_length(p), NULL);
    k->h.s.net = k->net;
    k->h.s.n_state = eg_state_length(p);
    k->f = k->h.self;
    assert_ok(eg_fedcil_begin(k->f, &k->h.s));
    assert_ok(eg_params_alloc(p, &k->param));
}

static void server_case_close(server_case *k)
{
    hand_server_close(&k->h);
    eg_net_free(k->net);
    free(k->param);
}

static void server_collect(server_case *k, int64_t client, float value, int now, int tasks)
{
    eg_bundle *b = make_upload(&k->h.s, k->f, value, now, tasks);
    assert_ok(eg_fedcil_accept(k->f, &k->h.s, 0, client, b));
    assert_ok(eg_fedcil_collect(k->f, &k->h.s, 0, client, b));
    eg_bundle_free(b);
}

/* What a class's outputs became, if all of the mean was 9. */
static double head_of(server_case *k, int class)
{
    const eg_param_info *t = eg_params_at(eg_net_params(k->net), 0);
    return (double)k->param[t->offset + (size_t) class * PIXELS + 5];
}

static void test_a_classs_outputs_are_of_those_who_have_seen_it(void **state)
{
    (void)state;
    for (int seen = 0; seen < 2; seen++) {
        server_case k;
        server_case_open(&k, seen ? "seen" : "mean");
        server_collect(&k, 0, 1, 0, 0); /* classes 0, 1 */
        server_collect(&k, 1, 4, 1, 0); /* classes 1, 2 */
        for (size_t i = 0; i < k.h.s.n_params; i++)
            k.param[i] = 9;
        assert_ok(eg_fedcil_refine(k.f, &k.h.s, k.param, NULL));
        assert_near(head_of(&k, 0), seen ? 1 : 9, 1e-6);
        assert_near(head_of(&k, 1), seen ? 2.5 : 9, 1e-6);
        assert_near(head_of(&k, 2), seen ? 4 : 9, 1e-6);
        assert_near(head_of(&k, 3), 9, 1e-6);
        assert_near((double)k.f->own->learners[0]->param[0], 2.5, 1e-6);
        assert_near((double)k.f->own->learners[0]->state[0], 2.5, 1e-6);
        assert_int_equal(k.f->known.n, 3);
        server_case_close(&k);
    }
}

static double kept_of(server_case *k, int64_t client, const char *name)
{
    char record[48];
    const eg_bundle *b;
    eg_fedcil_record_name(client, record);
    assert_ok(eg_server_recall(&k->h.s, record, &b));
    const float *values = eg_bundle_find(b, name, NULL);
    return values ? (double)values[0] : -1;
}

static void test_the_server_keeps_the_generator_that_a_task_left(void **state)
{
    (void)state;
    server_case k;
    server_case_open(&k, "seen");
    /* The second round was the first task's last; the third task has the classes of the second,
     * and the last upload tells of two tasks that have ended. */
    const int tasks[] = {0, 0, 1, 1, 2, 4};
    const double last[] = {-1, -1, 2, 2, 4, 5};
    for (int round = 0; round < 6; round++) {
        server_collect(&k, 0, (float)(round + 1), round < 2 ? 0 : 2, tasks[round]);
        assert_near(kept_of(&k, 0, "now.param"), round + 1, 0);
        assert_near(kept_of(&k, 0, "last.param"), last[round], 0);
    }
    server_case_close(&k);
}

/* All entries of an upload but one. */
static eg_bundle *copy_without(const eg_bundle *from, const char *name)
{
    eg_bundle *b;
    assert_ok(eg_bundle_new(&b));
    for (size_t i = 0; i < eg_bundle_n(from); i++) {
        eg_bundle_entry e;
        eg_bundle_at(from, i, &e);
        if (strcmp(e.name, name) == 0)
            continue;
        assert_ok(e.is_scalar ? eg_bundle_scalar(b, e.name, e.scalar)
                              : eg_bundle_add_flat(b, e.name, e.values, e.n));
    }
    return b;
}

static void test_uploads_that_lie_are_left_out(void **state)
{
    (void)state;
    server_case k;
    server_case_open(&k, "seen");
    const float half[CLASSES] = {0.5F, 0, 0, 1}, none[CLASSES] = {0}, few[3] = {1, 1, 1};
    const struct {
        const char *name, *says;
        const float *values;
        size_t n;
    } lies[] = {
        {"fedcil.now", "not a whole number from 0 to 1", half, CLASSES},
        {"fedcil.now", "has no class", none, CLASSES},
        {"fedcil.before", "3 values", few, 3},
        {"fedcil.generator.param", "3 values", few, 3},
        {"fedcil.generator.state", "3 values", few, 3},
        {"fedcil.now", "is missing", NULL, 0},
        {"fedcil.tasks", "is missing", NULL, 0},
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        eg_bundle *good = make_upload(&k.h.s, k.f, 1, 0, 0), *bad;
        bad = copy_without(good, lies[i].name);
        if (lies[i].values)
            assert_ok(eg_bundle_add_flat(bad, lies[i].name, lies[i].values, lies[i].n));
        eg_status s = eg_fedcil_accept(k.f, &k.h.s, 0, 0, bad);
        assert_true(s != EG_OK);
        assert_non_null(strstr(eg_error(), lies[i].says));
        eg_bundle_free(good);
        eg_bundle_free(bad);
    }
    server_case_close(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_losses_and_gradients_are_those_by_hand),
        cmocka_unit_test(test_a_reacgan_takes_the_place_of_the_cross_entropy),
        cmocka_unit_test(test_who_drew_what),
        cmocka_unit_test(test_a_past_of_a_single_class_is_replayed),
        cmocka_unit_test(test_it_asks_for_boundaries_where_tasks_end_at_them),
        cmocka_unit_test(test_the_generator_is_taught_after_every_step),
        cmocka_unit_test(test_the_generator_is_pulled_to_the_one_received),
        cmocka_unit_test(test_consistency_may_count_from_a_tasks_first_round),
        cmocka_unit_test(test_without_weight_or_classes_there_is_no_consistency),
        cmocka_unit_test(test_the_past_is_replayed_with_its_own_classes),
        cmocka_unit_test(test_a_round_is_a_task_where_it_is_told_so),
        cmocka_unit_test(test_drawings_that_are_all_alike_are_said),
        cmocka_unit_test(test_a_classs_outputs_are_of_those_who_have_seen_it),
        cmocka_unit_test(test_the_server_keeps_the_generator_that_a_task_left),
        cmocka_unit_test(test_uploads_that_lie_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
