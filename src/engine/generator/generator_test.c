/* generator_test.c - what every kind of generator must keep to, and the sizes of each.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "engine/generator/acgan.h"

#include <engram/generator.h>
#include <engram/op.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 8, PIXELS = SIDE * SIDE, IMAGES = 64 };

static eg_generator *machine(const char *kind, const char *options, int64_t channels,
                             int64_t side, int64_t classes)
{
    const eg_generator_spec spec = {.kind = kind,
                                    .options = options,
                                    .channels = channels,
                                    .height = side,
                                    .width = side,
                                    .classes = classes};
    eg_generator *m;
    assert_ok(eg_generator_new(&spec, &m));
    return m;
}

/* Small enough for tests, of any kind. */
static eg_generator *small_machine(const eg_generator_kind *kind)
{
    eg_generator *m = machine(kind->component.name, "width=8 lr=0.002", 1, SIDE, 10);
    eg_generator_init(m, 3);
    return m;
}

static void fill_labels(int64_t n, float *labels)
{
    for (int64_t i = 0; i < n; i++)
        labels[i] = (float)(i % 10);
}

/* Images that are bright on the left for even classes, on the right for odd ones. */
static eg_images fill_images(float *x, float *labels)
{
    eg_rng rng = eg_rng_at(5, 0, 0, EG_FOR_TEST);
    fill_labels(IMAGES, labels);
    for (int64_t i = 0; i < IMAGES * PIXELS; i++) {
        bool left = i % SIDE < SIDE / 2, even = (int64_t)labels[i / PIXELS] % 2 == 0;
        x[i] = (float)((left == even ? 0.7 : -0.7) + 0.2 * eg_rng_uniform(&rng, -1, 1));
    }
    return (eg_images){IMAGES, x, labels};
}

static eg_rng stream(uint32_t round)
{
    return eg_rng_at(1, 2, round, EG_FOR_TEST);
}

static void draw(eg_generator *m, int64_t n, float *x)
{
    float labels[IMAGES];
    eg_rng rng = stream(9);
    fill_labels(n, labels);
    assert_ok(eg_generator_draw(m, labels, n, &rng, x));
}

static void train(eg_generator *m, int64_t steps, uint32_t round)
{
    static float x[IMAGES * PIXELS], labels[IMAGES];
    eg_images on = fill_images(x, labels);
    eg_rng rng = stream(round);
    assert_ok(eg_generator_train(m, &on, steps, &rng, NULL));
}

static void test_a_drawing_does_not_depend_on_its_neighbours(void **state)
{
    (void)state;
    static float few[5 * PIXELS], many[IMAGES * PIXELS];
    for (size_t k = 0; eg_generator_kinds[k]; k++) {
        eg_generator *m = small_machine(eg_generator_kinds[k]);
        train(m, 3, 0);
        draw(m, 5, few);
        draw(m, IMAGES, many);
        assert_memory_equal(few, many, sizeof few);
        assert_memory_not_equal(many, many + PIXELS, PIXELS * sizeof *many);
        for (size_t i = 0; i < IMAGES * PIXELS; i++)
            assert_true(fabsf(many[i]) <= 1);
        eg_generator_free(m);
    }
}

/* Training that is cut in two by a bundle, in another machine, comes to the same bits. */
static void test_a_kept_generator_goes_on_as_if_it_had_stayed(void **state)
{
    (void)state;
    static float whole[PIXELS * 4], cut[PIXELS * 4];
    for (size_t k = 0; eg_generator_kinds[k]; k++) {
        eg_generator *one = small_machine(eg_generator_kinds[k]);
        eg_generator *two = small_machine(eg_generator_kinds[k]);
        eg_bundle *kept;
        bool found;
        assert_ok(eg_bundle_new(&kept));
        train(one, 7, 0);
        assert_ok(eg_generator_keep(one, "class 3", EG_WHOLE_GENERATOR, kept));
        train(one, 8, 1);
        draw(one, 4, whole);
        train(two, 2, 7);
        assert_ok(eg_generator_recall(two, "class 4", EG_WHOLE_GENERATOR, kept, &found));
        assert_false(found);
        assert_ok(eg_generator_recall(two, "class 3", EG_WHOLE_GENERATOR, kept, &found));
        assert_true(found);
        train(two, 8, 1);
        draw(two, 4, cut);
        assert_memory_equal(whole, cut, sizeof whole);
        eg_bundle_free(kept);
        eg_generator_free(one);
        eg_generator_free(two);
    }
}

static void test_the_drawing_network_alone_draws_the_same(void **state)
{
    (void)state;
    static float first[PIXELS * 4], second[PIXELS * 4];
    for (size_t k = 0; eg_generator_kinds[k]; k++) {
        eg_generator *m = small_machine(eg_generator_kinds[k]);
        eg_bundle *kept;
        bool found;
        assert_ok(eg_bundle_new(&kept));
        train(m, 3, 0);
        draw(m, 4, first);
        assert_ok(eg_generator_keep(m, "g", EG_DRAWING_ALONE, kept));
        eg_generator_init(m, 8);
        assert_ok(eg_generator_recall(m, "g", EG_DRAWING_ALONE, kept, &found));
        assert_true(found);
        draw(m, 4, second);
        assert_memory_equal(first, second, sizeof first);
        assert_int_not_equal(eg_generator_recall(m, "g", EG_WHOLE_GENERATOR, kept, &found),
                             EG_OK); /* what training needs was not kept */
        assert_non_null(strstr(eg_error(), "the kept generator 'g'"));
        eg_bundle_free(kept);
        eg_generator_free(m);
    }
}

static void test_what_cannot_be_drawn_or_learned_is_refused(void **state)
{
    (void)state;
    static float x[IMAGES * PIXELS], labels[IMAGES];
    for (size_t k = 0; eg_generator_kinds[k]; k++) {
        const char *name = eg_generator_kinds[k]->component.name;
        eg_generator_spec spec = {
            .kind = name, .channels = 1, .height = 9, .width = 9, .classes = 10};
        eg_generator *m;
        assert_fails(eg_generator_new(&spec, &m), EG_ESHAPE, name);
        spec.height = spec.width = 8, spec.options = "widht=8";
        assert_fails(eg_generator_new(&spec, &m), EG_ENOENT, "widht");

        m = small_machine(eg_generator_kinds[k]);
        eg_images on = fill_images(x, labels);
        eg_rng rng = stream(0);
        on.n = 3;
        assert_fails(eg_generator_train(m, &on, 1, &rng, NULL), EG_EINVAL,
                     "3 images are fewer than a batch");
        on.n = IMAGES;
        for (size_t i = 0; i < IMAGES * PIXELS; i++)
            x[i] = NAN;
        assert_fails(eg_generator_train(m, &on, 1, &rng, NULL), EG_EINVAL, "not finite");
        eg_generator_free(m);
    }
}

static void test_a_kind_says_what_its_options_cannot_be(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *options;
        eg_status status;
        const char *words;
    } cases[] = {
        {"ddpm", "width=7", EG_EINVAL, "ddpm: width: 7 is odd"},
        {"ddpm", "multipliers=1,1.5", EG_EINVAL, "multipliers: 1.5 is no whole number"},
        {"ddpm", "multipliers=1,2,2,2,2", EG_ESHAPE, "multiples of 16, not 8x8"},
        {"ddpm", "steps=10 sample_steps=11", EG_EINVAL, "11 are more than the 10 steps"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const eg_generator_spec spec = {.kind = cases[i].kind,
                                        .options = cases[i].options,
                                        .channels = 1,
                                        .height = SIDE,
                                        .width = SIDE,
                                        .classes = 10};
        eg_generator *m;
        assert_fails(eg_generator_new(&spec, &m), cases[i].status, cases[i].words);
    }
}

/* What draws step by step cannot be taught through its drawings. */
static void check_refusal(const eg_generator_kind *kind)
{
    float x[PIXELS], label = 0;
    eg_rng rng = stream(0);
    const eg_lesson lesson = {.key = "test"};
    eg_generator *m = small_machine(kind);
    assert_fails(eg_generator_teach(m, &lesson, &label, 1, &rng, NULL), EG_ENOTSUP,
                 "step by step");
    assert_fails(eg_generator_draw_batch(m, &label, 1, &rng, x), EG_ENOTSUP,
                 kind->component.name);
    eg_generator_free(m);
}

static void test_a_lesson_is_for_kinds_that_draw_at_once(void **state)
{
    (void)state;
    for (size_t k = 0; eg_generator_kinds[k]; k++)
        if (eg_generator_kinds[k]->draw)
            check_refusal(eg_generator_kinds[k]);
}

typedef struct size_case {
    const char *kind, *options;
    int64_t channels, side, classes, n_drawing, n_helping;
} size_case;

static eg_node *brightness(void *context, eg_graph *g, eg_node *images, eg_node *labels)
{
    (void)context, (void)labels;
    return eg_mean(g, images, EG_ALL_AXES);
}

/* A step's gradient with a pull is that without, and the pull times the way from the anchor. */
static void test_a_lesson_may_pull_to_an_anchor(void **state)
{
    (void)state;
    enum { ROWS = 8 };
    float labels[ROWS];
    eg_generator *m[2];
    float *begins, *anchor;
    fill_labels(ROWS, labels);
    for (int pulled = 0; pulled < 2; pulled++) {
        m[pulled] = machine("acgan", "width=8 lr=0.002", 1, SIDE, 10);
        eg_generator_init(m[pulled], 3);
        const eg_learner *l = m[pulled]->learners[0];
        begins = malloc(l->n_params * sizeof *begins);
        anchor = malloc(l->n_params * sizeof *anchor);
        assert_true(begins && anchor);
        memcpy(begins, l->param, l->n_params * sizeof *begins);
        for (size_t i = 0; i < l->n_params; i++)
            anchor[i] = 0.5F * begins[i] - 0.25F;
        const eg_lesson lesson = {
            .key = "bright", .loss = brightness, .pull = pulled ? 0.5 : 0, .anchor = anchor};
        eg_rng rng = stream(0);
        assert_ok(eg_generator_teach(m[pulled], &lesson, labels, ROWS, &rng, NULL));
        for (size_t i = 0; pulled && i < l->n_params; i++)
            assert_near((double)l->grad[i],
                        (double)m[0]->learners[0]->grad[i] +
                            0.5 * (double)(begins[i] - anchor[i]),
                        1e-6);
        free(begins);
        free(anchor);
    }
    eg_generator_free(m[0]);
    eg_generator_free(m[1]);
}

static void test_networks_have_the_published_sizes(void **state)
{
    (void)state;
    const size_case cases[] = {
        {"acgan", "", 1, 32, 10, 3664769, 701899},
        {"acgan", "", 1, 32, 26, 3795841, 767451},
        {"acgan", "width=32", 1, 32, 10, 1144257, 187115},
        {"acgan", "form=cifar", 3, 32, 10, 1593888, 1663867},
        {"wgan-gp", "", 1, 28, 10, 143840, 42432},
        {"wgan-gp", "", 3, 32, 10, 1068928, 663296},
        {"wgan-gp", "width=32", 1, 28, 10, 0, 536384},
        {"wgan-gp", "width=128", 3, 32, 10, 0, 6085888},
        {"wgan-gp", "", 3, 64, 10, 0, 6101248},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_case *c = &cases[i];
        eg_generator *m = machine(c->kind, c->options, c->channels, c->side, c->classes);
        int64_t drawing = eg_params_count(m->learners[0]->table);
        int64_t helping = m->n_learners > 1 ? eg_params_count(m->learners[1]->table) : 0;
        if (c->n_drawing) {
            assert_int_equal(drawing, c->n_drawing);
            assert_int_equal(helping, c->n_helping);
        } else { /* the paper tells both together */
            assert_int_equal(drawing + helping, c->n_helping);
        }
        eg_generator_free(m);
    }
}

/* How far drawings of class 0 are from bright on the left and dark on the right: 0 to 2. */
static double distance(eg_generator *m)
{
    static float x[IMAGES * PIXELS], labels[IMAGES];
    eg_rng rng = stream(4);
    memset(labels, 0, sizeof labels);
    assert_ok(eg_generator_draw(m, labels, IMAGES, &rng, x));
    double sum = 0;
    for (int64_t i = 0; i < PIXELS; i++) {
        double mean = 0;
        for (int64_t k = 0; k < IMAGES; k++)
            mean += (double)x[k * PIXELS + i] / IMAGES;
        sum += fabs(mean - (i % SIDE < SIDE / 2 ? 0.7 : -0.7)) / PIXELS;
    }
    return sum;
}

/* --- ReACGAN's head and loss. */

enum { PAIRS = 6, PAIR_CLASSES = 3 };

/* A critic that has run on PAIRS images: its features, logits, loss and gradient. */
typedef struct pairs {
    eg_net *net;
    float *param, *grad, features[PAIRS * 256], logits[PAIRS * PAIR_CLASSES], loss;
    size_t n_features, heads; /* where the vectors of classes begin */
} pairs;

static const float pair_labels[PAIRS] = {0, 1, 0, 2, 1, 0};

static void pairs_open(pairs *p, const char *options)
{
    eg_rng rng = stream(7);
    const eg_net_spec spec = {.model = "acgan",
                              .options = options,
                              .channels = 1,
                              .height = SIDE,
                              .width = SIDE,
                              .classes = PAIR_CLASSES,
                              .side = 1};
    eg_graph *g;
    eg_plan *plan;
    memset(p, 0, sizeof *p);
    assert_ok(eg_net_new(&spec, &p->net));
    const eg_params *table = eg_net_params(p->net);
    assert_ok(eg_params_alloc(table, &p->param));
    assert_ok(eg_params_alloc(table, &p->grad));
    eg_params_init(table, 3, p->param, NULL);
    assert_ok(eg_graph_new(&g));
    eg_node *x = eg_input(g, "x", eg_dims(PAIRS, 1, SIDE, SIDE));
    eg_node *labels = eg_input(g, "labels", eg_dims(PAIRS));
    eg_node *features = eg_net_features(p->net, g, x);
    eg_output(g, "features", features);
    eg_output(g, "logits", eg_net_head(p->net, g, features));
    eg_node *loss = eg_acgan_told(p->net, g, features, labels);
    eg_output(g, "loss", loss);
    p->n_features = (size_t)eg_node_shape(features).dim[1];
    assert_true(p->n_features <= 256);
    eg_net_backward(p->net, g, loss);
    assert_ok(eg_compile(g, &plan));
    assert_ok(eg_plan_bind(plan, table, p->param, p->grad, NULL));
    for (int i = 0; i < PAIRS * PIXELS; i++)
        eg_plan_input(plan, "x")[i] = (float)eg_rng_uniform(&rng, -1, 1);
    memcpy(eg_plan_input(plan, "labels"), pair_labels, sizeof pair_labels);
    assert_ok(eg_plan_run(plan));
    memcpy(p->features, eg_plan_output(plan, "features"),
           PAIRS * p->n_features * sizeof(float));
    memcpy(p->logits, eg_plan_output(plan, "logits"), sizeof p->logits);
    p->loss = *eg_plan_output(plan, "loss");
    for (size_t i = 0; i < eg_params_n(table); i++)
        if (strcmp(eg_params_at(table, i)->name, "classes.weight") == 0)
            p->heads = eg_params_at(table, i)->offset;
    eg_plan_free(plan);
    eg_graph_free(g);
}

static void pairs_close(pairs *p)
{
    eg_net_free(p->net);
    free(p->param);
    free(p->grad);
}

static double pairs_cosine(const float *a, const float *b, size_t n)
{
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < n; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return ab / sqrt(aa * bb);
}

/* Equation 7 of ReACGAN's paper in double, at given vectors of classes. */
static double pairs_by_hand(const pairs *p, const float *vectors, double t, double margin)
{
    double sum = 0;
    size_t n = p->n_features;
    for (int i = 0; i < PAIRS; i++) {
        const float *f = p->features + (size_t)i * n;
        double own = pairs_cosine(f, vectors + (size_t)pair_labels[i] * n, n);
        double top = exp(fmin(own - margin, 0) / t), all = top;
        for (int j = 0; j < PAIRS; j++)
            if ((int)pair_labels[j] != (int)pair_labels[i])
                all += exp(
                    fmax(pairs_cosine(f, p->features + (size_t)j * n, n) - (1 - margin), 0) /
                    t);
        sum -= log(top / all);
    }
    return sum / PAIRS;
}

typedef struct pairs_row {
    const char *options;
    double t, margin;
} pairs_row;

static void pairs_check_logits(const pairs *p, const pairs_row *r)
{
    const float *v = p->param + p->heads;
    for (size_t i = 0; i < PAIRS * PAIR_CLASSES; i++)
        assert_near((double)p->logits[i],
                    pairs_cosine(p->features + i / PAIR_CLASSES * p->n_features,
                                 v + i % PAIR_CLASSES * p->n_features, p->n_features) /
                        r->t,
                    1e-5);
}

/* The slope along number i of the vectors of classes. */
static double pairs_slope(const pairs *p, const pairs_row *r, size_t i)
{
    float *v = p->param + p->heads, was = v[i];
    v[i] = was + 1.0F / 4096;
    double up = pairs_by_hand(p, v, r->t, r->margin), width = (double)v[i];
    v[i] = was - 1.0F / 4096;
    double down = pairs_by_hand(p, v, r->t, r->margin);
    width -= (double)v[i];
    v[i] = was;
    return (up - down) / width;
}

/* Its logits are cosines over the temperature; the loss, and its slope along the vectors of
 * classes, are those by hand, with pulls and pushes that count and others that do not. */
static void test_reacgans_loss_is_that_by_hand(void **state)
{
    (void)state;
    static const pairs_row rows[] = {
        {"width=4 variant=reacgan", 0.5, 0.98},
        {"width=4 variant=reacgan temperature=0.7 margin=0.5", 0.7, 0.5},
        {"width=4 variant=reacgan temperature=0.2 margin=0.02", 0.2, 0.02}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        pairs p;
        pairs_open(&p, rows[r].options);
        pairs_check_logits(&p, &rows[r]);
        double loss = pairs_by_hand(&p, p.param + p.heads, rows[r].t, rows[r].margin);
        assert_near((double)p.loss, loss, 1e-5);
        for (size_t i = 0; i < PAIR_CLASSES * p.n_features; i += 11)
            assert_near((double)p.grad[p.heads + i], pairs_slope(&p, &rows[r], i), 2e-3);
        pairs_close(&p);
    }
}

/* Of two classes, since images of one kind under several labels are pushed apart. */
static void test_reacgan_learns_to_draw(void **state)
{
    (void)state;
    static float x[IMAGES * PIXELS], labels[IMAGES];
    eg_generator *m = machine("acgan", "width=8 lr=0.002 variant=reacgan", 1, SIDE, 2);
    eg_generator_init(m, 3);
    eg_images on = fill_images(x, labels);
    eg_rng rng = stream(0);
    for (int i = 0; i < IMAGES; i++)
        labels[i] = (float)(i % 2);
    double before = distance(m);
    assert_ok(eg_generator_train(m, &on, 1000, &rng, NULL));
    print_message("acgan, variant=reacgan: %.3f before, %.3f after\n", before, distance(m));
    assert_true(distance(m) < 0.4 && distance(m) < before / 2);
    eg_generator_free(m);
}

static void test_training_brings_drawings_close_to_the_images(void **state)
{
    (void)state;
    static float x[IMAGES * PIXELS], labels[IMAGES], even[IMAGES * PIXELS];
    for (size_t k = 0; eg_generator_kinds[k]; k++) {
        eg_generator *m = small_machine(eg_generator_kinds[k]);
        eg_images on = fill_images(x, labels);
        if (!m->kind->labelled) { /* it can learn one class alone */
            for (int64_t i = 0; i < IMAGES; i++)
                memcpy(even + i * PIXELS, x + i / 2 * 2 * PIXELS, PIXELS * sizeof *x);
            on.x = even;
        }
        eg_rng rng = stream(0);
        double before = distance(m);
        assert_ok(eg_generator_train(m, &on, 1000, &rng, NULL));
        print_message("%s: %.3f before, %.3f after\n", m->kind->component.name, before,
                      distance(m));
        assert_true(distance(m) < 0.4 && distance(m) < before / 2);
        eg_generator_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_drawing_does_not_depend_on_its_neighbours),
        cmocka_unit_test(test_a_kept_generator_goes_on_as_if_it_had_stayed),
        cmocka_unit_test(test_the_drawing_network_alone_draws_the_same),
        cmocka_unit_test(test_what_cannot_be_drawn_or_learned_is_refused),
        cmocka_unit_test(test_a_kind_says_what_its_options_cannot_be),
        cmocka_unit_test(test_a_lesson_is_for_kinds_that_draw_at_once),
        cmocka_unit_test(test_a_lesson_may_pull_to_an_anchor),
        cmocka_unit_test(test_networks_have_the_published_sizes),
        cmocka_unit_test(test_reacgans_loss_is_that_by_hand),
        cmocka_unit_test(test_reacgan_learns_to_draw),
        cmocka_unit_test(test_training_brings_drawings_close_to_the_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
