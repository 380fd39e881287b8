/* fedspace_test.c - Equations 4, 5, 7, 8 and 9 against the same in double, and their gradient.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "one_client.h"

/* Classes 0 to 3 in two tasks; one client, one batch per round. Features are the hidden
 * layer's.
 */
#define TEXT(method, depth)                                                                    \
    "name: t\n"                                                                                \
    "data: {name: blobs, train: 24, test: 8, classes: 4, dim: 4}\n"                            \
    "model: {name: mlp, depth: " depth ", width: 5}\n"                                         \
    "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 2}\n"                   \
    "optimizer: {lr: 0.5}\n"                                                                   \
    "train: {epochs: 1, batch: 12, temperature: 0.5}\n"                                        \
    "fedspace: {lambda_p: 2, lambda_r: 3}\n"                                                   \
    "runs: [{label: a, method: " method "}]\n"

enum { DIM = 4, WIDTH = 5, CLASSES = 4, ROWS = 12, ALL = 2 * ROWS };

static const double temperature = 0.5, lambda_p = 2, lambda_r = 3, radius = 0.02;

/* Prototypes of all classes, far from each other. */
static const float prototypes[CLASSES][WIDTH] = {
    {1, 0, 0, 0.5f, 0}, {0, 1, 0, 0, 0.5f}, {0, 0.5f, 1, 0, 0}, {0.5f, 0, 0, 1, 1}};

/* What a batch was, and the draws that came with it. */
typedef struct batch {
    const eg_params *table;
    const float *x, *labels; /* [ROWS, DIM], [ROWS] */
    const float *old, *old_labels, *drawn;
    bool current[CLASSES];
    bool release;
} batch;

static double at(const batch *b, const float *param, size_t tensor, int i)
{
    return (double)param[eg_params_at(b->table, tensor)->offset + (size_t)i];
}

static void features(const batch *b, const float *param, int row, double z[WIDTH])
{
    for (int k = 0; k < WIDTH; k++) {
        z[k] = at(b, param, 1, k);
        for (int d = 0; d < DIM; d++)
            z[k] += at(b, param, 0, k * DIM + d) * (double)b->x[row * DIM + d];
        z[k] = z[k] > 0 ? z[k] : 0;
    }
}

static double cross_entropy(const batch *b, const float *param, const double z[WIDTH],
                            int label)
{
    double logits[CLASSES], sum = 0;
    for (int k = 0; k < CLASSES; k++) {
        logits[k] = at(b, param, 3, k);
        for (int j = 0; j < WIDTH; j++)
            logits[k] += at(b, param, 2, k * WIDTH + j) * z[j];
        sum += exp(logits[k] / temperature);
    }
    return log(sum) - logits[label] / temperature;
}

static int nearest(const float *x)
{
    double best = INFINITY;
    int found = -1;
    for (int k = 0; k < CLASSES; k++) {
        double away = 0;
        for (int j = 0; j < WIDTH; j++)
            away += pow((double)x[j] - (double)prototypes[k][j], 2);
        if (away < best)
            best = away, found = k;
    }
    assert_true(sqrt(best) < 8 * radius);
    return found;
}

static double cosine(const double a[WIDTH], const double b[WIDTH])
{
    double ab = 0, aa = 0, bb = 0;
    for (int k = 0; k < WIDTH; k++)
        ab += a[k] * b[k], aa += a[k] * a[k], bb += b[k] * b[k];
    return ab / (sqrt(aa + 1e-24) * sqrt(bb + 1e-24));
}

/* Equation 9 as it is printed, over the number of its classes; or the release's. */
static double contrast(const batch *b, double v[ALL][WIDTH], const int class[ALL])
{
    double total = 0, n_classes = 0;
    for (int c = 0; c < CLASSES; c++) {
        double sum = 0, members = 0;
        for (int i = 0; i < ALL; i++)
            members += class[i] == c;
        if (!b->current[c] || members < 2)
            continue;
        for (int i = 0; i < ALL; i++) {
            double negatives = 0, positives = 1; /* the release's diagonal: exp(0) */
            for (int k = 0; k < ALL; k++) {
                negatives += class[k] != c ? exp(cosine(v[i], v[k])) : 0;
                positives += class[k] == c && k != i ? exp(cosine(v[i], v[k])) : 0;
            }
            for (int j = 0; j < ALL; j++) {
                if (i == j || class[i] != c || class[j] != c)
                    continue;
                double s = cosine(v[i], v[j]);
                sum -= s - log((b->release ? positives : exp(s)) + negatives);
            }
        }
        total += sum / (members - 1) / (b->release ? 1 : members);
        n_classes++;
    }
    return n_classes > 0 ? total / (b->release ? ALL : n_classes) : 0;
}

/* The whole loss in double. */
static double loss_by_hand(const batch *b, const float *param)
{
    double v[ALL][WIDTH], plain = 0, head = 0;
    int class[ALL];
    for (int i = 0; i < ROWS; i++) {
        double old[WIDTH];
        features(b, param, i, v[i]);
        class[i] = (int)b->labels[i];
        plain += cross_entropy(b, param, v[i], class[i]) / ROWS;
        for (int j = 0; j < WIDTH; j++) {
            old[j] = (double)b->old[i * WIDTH + j];
            v[ROWS + i][j] = (double)b->drawn[i * WIDTH + j];
        }
        class[ROWS + i] = nearest(b->drawn + (ptrdiff_t)i * WIDTH);
        head += cross_entropy(b, param, old, (int)b->old_labels[i]) / ROWS;
    }
    return plain + lambda_p * head + lambda_r * contrast(b, v, class);
}

/* Adds the server's prototypes to the next download. */
static void send(one_client *o, double r)
{
    const float classes[] = {0, 1, 2, 3};
    assert_ok(eg_bundle_add(o->down, "fedspace.classes", eg_dims(CLASSES), classes));
    assert_ok(eg_bundle_add(o->down, "fedspace.prototypes", eg_dims(CLASSES, WIDTH),
                            &prototypes[0][0]));
    assert_ok(eg_bundle_scalar(o->down, "fedspace.radius", r));
}

static batch batch_of(const one_client *o, bool release)
{
    const eg_client *c = o->c;
    batch b = {.table = eg_net_params(o->net),
               .x = c->x,
               .labels = c->labels,
               .old = eg_plan_input(c->plan, "fedspace.old"),
               .old_labels = eg_plan_input(c->plan, "fedspace.old labels"),
               .drawn = eg_plan_input(c->plan, "fedspace.drawn"),
               .release = release};
    for (int i = 0; i < ROWS; i++)
        b.current[(int)c->labels[i]] = true;
    return b;
}

static void check_gradient(const char *set, bool release)
{
    one_client o;
    one_client_open(&o, TEXT("fedspace", "1"), set);
    size_t n = o.c->n_params;
    float *before = malloc(n * sizeof *before), *moved = malloc(n * sizeof *moved);
    assert_true(before && moved);
    memcpy(before, o.c->param, n * sizeof *before);
    send(&o, radius);
    one_client_train(&o);
    batch b = batch_of(&o, release);
    assert_near(o.c->loss, loss_by_hand(&b, before), 2e-5);
    for (size_t t = 0; t < 4; t++)
        for (size_t i = 0; i < eg_params_at(b.table, t)->size; i++) {
            size_t place = eg_params_at(b.table, t)->offset + i;
            double step = 1e-4, up, down;
            memcpy(moved, before, n * sizeof *moved);
            moved[place] = before[place] + (float)step;
            up = loss_by_hand(&b, moved);
            moved[place] = before[place] - (float)step;
            down = loss_by_hand(&b, moved);
            assert_near((double)o.c->grad[place], (up - down) / (2 * step), 4e-3);
        }
    free(before);
    free(moved);
    one_client_close(&o);
}

static void test_the_gradient_is_that_of_the_loss_by_hand(void **state)
{
    (void)state;
    check_gradient(NULL, false);
    check_gradient("fedspace.draws=others", false);
    check_gradient("fedspace.variant=release", true);
}

/* Features of a row of 8x8 pixels. */
static void features_of_pixels(const batch *b, const float *param, const float *x,
                               double z[WIDTH])
{
    enum { PIXELS = 64 };
    for (int k = 0; k < WIDTH; k++) {
        z[k] = at(b, param, 1, k);
        for (int d = 0; d < PIXELS; d++)
            z[k] += at(b, param, 0, k * PIXELS + d) * (double)x[d];
        z[k] = z[k] > 0 ? z[k] : 0;
    }
}

/* With rotations a sample is four rows, and class y has outputs 4 y to 4 y + 3. Equation 8
 * labels a prototype with its class's upright output; Equation 9 compares each sample's upright
 * row alone. What it comes to is the difference that its weight makes. */
static void test_rotations_leave_prototypes_and_contrasts_upright(void **state)
{
    (void)state;
    static const char text[] =
        "name: t\n"
        "data: {name: glyphs, train: 24, test: 8, classes: 4, size: 8}\n"
        "model: {name: mlp, depth: 1, width: 5}\n"
        "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 2}\n"
        "optimizer: {lr: 0.5}\n"
        "train: {epochs: 1, batch: 12, rotations: true}\n"
        "fedspace: {lambda_p: 2}\n"
        "runs: [{label: a, method: fedspace}]\n";
    enum { PIXELS = 64, FAN = 4 };
    double losses[2], v[ALL][WIDTH], upright = 0;
    for (int weight = 0; weight < 2; weight++) {
        one_client o;
        int class[ALL];
        one_client_open(&o, text, weight ? "fedspace.lambda_r=3" : "fedspace.lambda_r=0");
        float *before = malloc(o.c->n_params * sizeof *before);
        assert_non_null(before);
        memcpy(before, o.c->param, o.c->n_params * sizeof *before);
        send(&o, radius);
        one_client_train(&o);
        losses[weight] = o.c->loss;
        batch b = {.table = eg_net_params(o.net)};
        const float *old = eg_plan_input(o.c->plan, "fedspace.old");
        const float *labels = eg_plan_input(o.c->plan, "fedspace.old labels");
        const float *drawn = eg_plan_input(o.c->plan, "fedspace.drawn");
        assert_int_equal(drawn != NULL, weight);
        for (int i = 0; i < ROWS; i++) {
            assert_int_equal((int)labels[i], FAN * nearest(old + (ptrdiff_t)i * WIDTH));
            for (int turn = 0; turn < FAN; turn++) /* of one class, each turn its own output */
                assert_int_equal((int)o.c->labels[FAN * i + turn],
                                 (int)o.c->labels[FAN * i] + turn);
            features_of_pixels(&b, before, o.c->x + (ptrdiff_t)FAN * i * PIXELS, v[i]);
            class[i] = (int)o.c->labels[FAN * i] / FAN;
            b.current[class[i]] = true;
            for (int j = 0; weight && j < WIDTH; j++)
                v[ROWS + i][j] = (double)drawn[i * WIDTH + j];
            class[ROWS + i] = weight ? nearest(drawn + (ptrdiff_t)i * WIDTH) : 0;
        }
        upright = weight ? contrast(&b, v, class) : 0;
        free(before);
        one_client_close(&o);
    }
    assert_near(losses[1] - losses[0], 3 * upright, 1e-4);
}

/* Draws of Equation 8 are of other tasks' classes; those of Equation 9 are not, unless asked.
 */
static void test_which_classes_are_drawn(void **state)
{
    (void)state;
    static const char *const sets[] = {"fedspace.draws=all", "fedspace.draws=others"};
    for (int s = 0; s < 2; s++) {
        one_client o;
        bool met = false;
        one_client_open(&o, TEXT("fedspace", "1"), sets[s]);
        send(&o, 0);
        one_client_train(&o);
        batch b = batch_of(&o, false);
        for (int i = 0; i < ROWS; i++) {
            int old = nearest(b.old + (ptrdiff_t)i * WIDTH);
            assert_false(b.current[old]);
            assert_int_equal((int)b.old_labels[i], old);
            met |= b.current[nearest(b.drawn + (ptrdiff_t)i * WIDTH)];
        }
        assert_int_equal(met, s == 0);
        one_client_close(&o);
    }
}

/* Equation 7: noise of the radius' width around the prototypes. */
static void test_noise_is_as_wide_as_the_radius(void **state)
{
    (void)state;
    one_client o;
    double sum = 0, squares = 0, n = 0;
    one_client_open(&o, TEXT("fedspace", "1"), "train.epochs=40");
    send(&o, radius);
    one_client_train(&o);
    batch b = batch_of(&o, false);
    for (int i = 0; i < ROWS * WIDTH; i++) {
        const float *row = b.drawn + (ptrdiff_t)(i / WIDTH) * WIDTH;
        double noise = (double)row[i % WIDTH] - (double)prototypes[nearest(row)][i % WIDTH];
        sum += noise / radius, squares += pow(noise / radius, 2), n++;
    }
    assert_near(sum / n, 0, 0.5);
    assert_near(squares / n, 1, 0.5);
    one_client_close(&o);
}

/* Without known prototypes there is no term, nor with features that no weight changes. */
static void test_when_there_is_nothing_to_learn_from(void **state)
{
    (void)state;
    const char *avg = TEXT("fedavg", "1"), *space = TEXT("fedspace", "1");
    assert_true(one_client_same(avg, NULL, space, NULL, 2));
    one_client a, b;
    one_client_open(&a, TEXT("fedavg", "0"), NULL);
    one_client_open(&b, TEXT("fedspace", "0"), "fedspace.lambda_p=0");
    assert_ok(eg_bundle_add(b.down, "fedspace.classes", eg_dims(1), (float[]){1}));
    assert_ok(
        eg_bundle_add(b.down, "fedspace.prototypes", eg_dims(1, DIM), (float[]){1, 2, 3, 4}));
    one_client_train(&a);
    one_client_train(&b);
    assert_memory_equal(a.c->param, b.c->param, a.c->n_params * sizeof(float));
    assert_true(b.c->loss > a.c->loss + 0.1);
    one_client_close(&a);
    one_client_close(&b);
}

/* Equations 4 and 5 of the client's first task, at given weights. */
static double measure_by_hand(const one_client *o, const float *param, bool release,
                              double means[CLASSES][WIDTH], int count[CLASSES])
{
    float x[ROWS * DIM], labels[ROWS];
    double z[ROWS][WIDTH], spread = 0, n_classes = 0;
    eg_sample samples[ROWS];
    batch b = {.table = eg_net_params(o->net), .x = x};
    one_client_samples(o, 0, ROWS, samples);
    eg_client_feed(o->c, samples, ROWS, x, labels);
    memset(means, 0, CLASSES * sizeof *means);
    memset(count, 0, CLASSES * sizeof *count);
    for (int i = 0; i < ROWS; i++) {
        features(&b, param, i, z[i]);
        count[(int)labels[i]]++;
    }
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < WIDTH; j++)
            means[(int)labels[i]][j] += z[i][j] / count[(int)labels[i]];
    for (int c = 0; c < CLASSES; c++) {
        double trace = 0;
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < WIDTH; j++)
                trace += (int)labels[i] == c ? pow(z[i][j] - means[c][j], 2) : 0;
        spread += count[c] > 1 ? trace / (count[c] - 1) / WIDTH : 0;
        n_classes += release ? count[c] > 0 : count[c] > 1;
    }
    return sqrt(spread / n_classes);
}

static void check_upload(const eg_bundle *up, double means[CLASSES][WIDTH],
                         const int count[CLASSES], double r)
{
    size_t n, at = 0;
    double sent;
    const float *classes = eg_bundle_find(up, "fedspace.classes", &n);
    const float *rows = eg_bundle_find(up, "fedspace.prototypes", NULL);
    for (int c = 0; c < CLASSES; c++) {
        if (count[c] == 0)
            continue;
        assert_true(at < n);
        assert_int_equal((int)classes[at], c);
        for (int j = 0; j < WIDTH; j++)
            assert_near((double)rows[at * WIDTH + (size_t)j], means[c][j], 1e-5);
        at++;
    }
    assert_int_equal(at, n);
    assert_true(eg_bundle_scalar_of(up, "fedspace.radius", &sent));
    assert_near(sent, r, 1e-5);
}

/* The paper's at the model received, the release's at the one trained; its radius stays. */
static void test_prototypes_and_radius_by_hand(void **state)
{
    (void)state;
    for (int release = 0; release < 2; release++) {
        one_client o;
        double means[CLASSES][WIDTH], first = 0;
        int count[CLASSES];
        one_client_open(&o, TEXT("fedspace", "1"), release ? "fedspace.variant=release" : NULL);
        float *before = malloc(o.c->n_params * sizeof *before);
        assert_non_null(before);
        for (int round = 0; round < 2; round++) {
            memcpy(before, eg_bundle_find(o.down, "param", NULL),
                   o.c->n_params * sizeof *before);
            one_client_train(&o);
            double r =
                measure_by_hand(&o, release ? o.c->param : before, release == 1, means, count);
            first = round == 0 ? r : first;
            check_upload(o.up, means, count, release ? first : r);
            assert_true(round == 0 || fabs(r - first) > 1e-4);
        }
        free(before);
        one_client_close(&o);
    }
}

/* A client's own prototypes stay with it and go to nobody. */
static void test_local_prototypes_stay(void **state)
{
    (void)state;
    one_client o;
    size_t n;
    one_client_open(&o, TEXT("fedspace", "1"), "fedspace.prototypes=local");
    for (int round = 0; round < 4; round++) {
        one_client_train(&o);
        assert_null(eg_bundle_find(o.up, "fedspace.classes", NULL));
        eg_bundle_find(one_client_kept(&o, "fedspace"), "fedspace.classes", &n);
        assert_int_equal(n, round < 2 ? 2 : 4);
        bool has = o.c->plan && eg_plan_input(o.c->plan, "fedspace.old");
        assert_int_equal(has, round >= 2); /* then there is another task's class */
    }
    one_client_close(&o);
}

/* Three samples of four classes: in one task a class has none. The release's client says so,
 * the paper's does not. */
static void test_the_release_tells_of_classes_without_samples(void **state)
{
    (void)state;
    for (int release = 0; release < 2; release++) {
        one_client o;
        size_t n, n_empty;
        bool met = false;
        one_client_open(&o,
                        "name: t\n"
                        "data: {name: blobs, train: 3, test: 8, classes: 4, dim: 4}\n"
                        "model: {name: mlp, depth: 1, width: 5}\n"
                        "scenario: {kind: class-incremental, clients: 1, tasks: 2, rounds: 2,\n"
                        "           partition: iid}\n"
                        "runs: [{label: a, method: fedspace}]\n",
                        release ? "fedspace.variant=release" : NULL);
        for (int round = 0; round < 4; round++) {
            one_client_train(&o);
            eg_bundle_find(o.up, "fedspace.classes", &n);
            const float *empty = eg_bundle_find(o.up, "fedspace.empty", &n_empty);
            assert_int_equal(n_empty, release ? 2 - n : 0);
            met |= n_empty == 1 && (int)empty[0] == 3;
        }
        assert_int_equal(met, release);
        one_client_close(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_gradient_is_that_of_the_loss_by_hand),
        cmocka_unit_test(test_rotations_leave_prototypes_and_contrasts_upright),
        cmocka_unit_test(test_which_classes_are_drawn),
        cmocka_unit_test(test_noise_is_as_wide_as_the_radius),
        cmocka_unit_test(test_when_there_is_nothing_to_learn_from),
        cmocka_unit_test(test_prototypes_and_radius_by_hand),
        cmocka_unit_test(test_local_prototypes_stay),
        cmocka_unit_test(test_the_release_tells_of_classes_without_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
