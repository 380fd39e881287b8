/* pretrain_test.c - encoders learned from fractals: made once, kept, doubted, started from.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fixture.h"

#include "io/file.h"
#include "run/experiment/feed.h"
#include "run/pretrain/encoder.h"

#include <sys/wait.h>

static const char text[] =
    "name: t\n"
    "data: {name: fractals, train: 48, test: 16, classes: 4, size: 8,\n"
    "       points: 200, channels: 1, mean: 0.5, std: 0.25}\n"
    "model: {name: layers, layers: [conv 4 k3, batch-norm, relu, flatten]}\n"
    "scenario: {kind: class-incremental, clients: 2, tasks: 2,\n"
    "           rounds: 2, partition: iid}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {batch: 8}\n"
    "pretrain: {epochs: 2, classes: 6, images: 65, points: 200}\n"
    "runs: [{label: a, method: fedavg}]\n";

enum { SETS = 4 };

static char cache[FILES_PATH * 2], said[2048];
static int n_said;

static void hear(void *context, const char *sentence)
{
    (void)context;
    snprintf(said, sizeof said, "%s", sentence);
    n_said++;
}

static const eg_pretrain_how quiet = {.say = hear};

/* The experiment with settings up to the first NULL. */
static eg_experiment *load(const char *const set[SETS])
{
    char file[FILES_PATH * 2];
    eg_experiment *e;
    size_t n = 0;
    while (n < SETS && set[n])
        n++;
    files_write(fixture_folder, "t.yaml", text, strlen(text));
    snprintf(file, sizeof file, "%s/t.yaml", fixture_folder);
    assert_ok(eg_experiment_load(file, "a", n, set, &e));
    return e;
}

static eg_pretrained pretrain(const char *const set[SETS])
{
    eg_experiment *e = load(set);
    eg_pretrained out;
    assert_ok(eg_pretrain(e, &quiet, &out));
    eg_experiment_free(e);
    return out;
}

static const char *const plain[SETS] = {NULL};

static void run(const char *const set[SETS], int workers, int64_t stop, char path[512],
                char hash[65])
{
    eg_experiment *e = load(set);
    assert_ok(runs_run(e, fixture_folder, workers, stop, path));
    eg_experiment_free(e);
    runs_hash(path, hash);
}

/* Both files hold the same tensor, or the first rows of it in the second. */
static bool same_tensor(const char *path, const char *encoder, const char *name)
{
    eg_tensors *a, *b;
    char file[1024];
    snprintf(file, sizeof file, "%s/model.safetensors", path);
    assert_ok(eg_safetensors_load(file, &a));
    assert_ok(eg_safetensors_load(encoder, &b));
    const eg_stored *x = eg_tensors_find(a, name), *y = eg_tensors_find(b, name);
    assert_true(x && y && x->n_bytes <= y->n_bytes);
    bool same = memcmp(x->bytes, y->bytes, x->n_bytes) == 0;
    eg_tensors_free(a);
    eg_tensors_free(b);
    return same;
}

static void test_a_run_starts_from_encoder_statistics_and_first_rows(void **state)
{
    (void)state;
    char path[512], hash[65];
    eg_pretrained made = pretrain(plain);
    run((const char *[SETS]){"optimizer.lr=0", "server.bn=keep"}, 1, 0, path, hash);
    static const char *const names[] = {"0.weight", "1.running_mean", "1.running_var",
                                        "4.weight", "4.bias"};
    for (int i = 0; i < 5; i++)
        assert_true(same_tensor(path, made.path, names[i]));
    run((const char *[SETS]){"optimizer.lr=0", "server.bn=keep", "pretrain.head=fresh"}, 1, 0,
        path, hash);
    for (int i = 0; i < 5; i++)
        assert_int_equal(same_tensor(path, made.path, names[i]), i < 3);
    run((const char *[SETS]){"optimizer.lr=0", "server.bn=keep", "pretrain.epochs=0"}, 1, 0,
        path, hash);
    assert_false(same_tensor(path, made.path, "0.weight"));
}

static void test_workers_processes_resuming_and_the_cache_change_nothing(void **state)
{
    (void)state;
    static const struct {
        int64_t stop;
        int workers;
        bool found;
    } ways[] = {{0, 1, false}, {0, 1, true}, {0, 2, true}, {0, -2, true},
                {0, 2, false}, {1, 1, true}, {3, 2, false}};
    char path[512], first[65], hash[65];
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (!ways[i].found)
            files_remove(cache);
        run(plain, ways[i].workers, ways[i].stop, path, hash);
        if (i == 0)
            memcpy(first, hash, sizeof hash);
        assert_string_equal(hash, first);
        eg_events *log = fixture_events(path);
        assert_string_equal(log->start.encoder_sha256, pretrain(plain).sha256);
        eg_events_free(log);
    }
    run((const char *[SETS]){"pretrain.epochs=0"}, 1, 0, path, hash);
    assert_string_not_equal(hash, first);
    eg_events *log = fixture_events(path);
    assert_null(log->start.encoder_sha256);
    eg_events_free(log);
}

/* A run that goes on has its model: the encoder is not made for it. */
static void test_a_run_that_goes_on_needs_no_encoder(void **state)
{
    (void)state;
    char path[512];
    bool stopped;
    int64_t stop = 1;
    eg_experiment *e = load(plain);
    eg_run_how how = {
        .out = fixture_folder, .workers = 1, .progress = runs_goes_on, .context = &stop};
    assert_ok(eg_experiment_run(e, &how, path, &stopped));
    assert_true(stopped);
    files_remove(cache);
    how.resume = true, how.progress = NULL;
    assert_ok(eg_experiment_run(e, &how, path, &stopped));
    assert_int_equal(access(cache, F_OK), -1);
    eg_experiment_free(e);
}

static void test_it_is_made_once(void **state)
{
    (void)state;
    eg_pretrained first = pretrain(plain), again = pretrain(plain);
    assert_true(again.found && again.accuracy == first.accuracy);
    assert_string_equal(again.sha256, first.sha256);
    assert_string_equal(pretrain((const char *[SETS]){"pretrain.head=fresh"}).path, first.path);
    static const char *const others[] = {
        "pretrain.seed=1", "pretrain.lr=0.01", "data.std=0.5",      "data.size=12",
        "scale=0.5",       "data.channels=3",  "pretrain.classes=7"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_string_not_equal(pretrain((const char *[SETS]){others[i]}).path, first.path);
}

static void test_processes_wait_for_each_other(void **state)
{
    (void)state;
    enum { PROCESSES = 3 };
    files_remove(cache);
    pid_t child[PROCESSES];
    int made = 0;
    eg_experiment *e = load((const char *[SETS]){"pretrain.images=2000"});
    for (int i = 0; i < PROCESSES; i++)
        if ((child[i] = fork()) == 0) {
            eg_pretrained out;
            _exit(eg_pretrain(e, &quiet, &out) != EG_OK ? 2 : out.found ? 0 : 1);
        }
    eg_experiment_free(e);
    for (int i = 0; i < PROCESSES; i++) {
        int code;
        assert_int_equal(waitpid(child[i], &code, 0), child[i]);
        assert_true(WIFEXITED(code) && WEXITSTATUS(code) < 2);
        made += WEXITSTATUS(code);
    }
    assert_int_equal(made, 1);
}

/* What is in the cache is no good: it is said in a sentence with these words, and made again.
 */
static void heals(const eg_pretrained *good, const char *words)
{
    n_said = 0;
    eg_pretrained again = pretrain(plain);
    assert_false(again.found);
    assert_string_equal(again.sha256, good->sha256);
    assert_int_equal(n_said, 1);
    assert_non_null(strstr(said, words));
    assert_non_null(strstr(said, good->path));
    assert_non_null(strstr(said, "; it is made again"));
    assert_true(pretrain(plain).found);
    assert_int_equal(n_said, 1);
}

static void test_a_damaged_cache_is_said_and_made_again(void **state)
{
    (void)state;
    eg_pretrained good = pretrain(plain);
    unsigned char *bytes;
    size_t n;
    assert_ok(eg_file_read(good.path, 1 << 20, &bytes, &n));
    char name[128];
    snprintf(name, sizeof name, "cache/%.100s", strrchr(good.path, '/') + 1);
    for (size_t keep = 0; keep < n; keep = keep * 2 + 7) {
        files_write(fixture_folder, name, bytes, keep);
        heals(&good, good.path);
    }
    bytes[n - 1] ^= 1; /* a value that is as good as another */
    files_write(fixture_folder, name, bytes, n);
    heals(&good, "it was changed");
    free(bytes);
    eg_pretrained other = pretrain((const char *[SETS]){"data.size=12"});
    assert_ok(eg_file_read(other.path, 1 << 20, &bytes, &n));
    files_write(fixture_folder, name, bytes, n);
    heals(&good, "it is of another pre-training");
    free(bytes);
}

/* A file that says it is the right one, but has another network's tensors. */
static void test_tensors_of_another_shape_are_made_again(void **state)
{
    (void)state;
    eg_experiment *e = load(plain);
    eg_pretrained good;
    eg_feed f;
    assert_ok(eg_pretrain(e, &quiet, &good));
    assert_ok(eg_feed_open(e, 0, NULL, &f));
    eg_encoder c;
    eg_net_spec spec = eg_feed_net(e, &f);
    assert_ok(eg_encoder_init(e, &spec, &c));
    float value[4096] = {0}, statistics[64] = {0};
    eg_net *right = c.net, *wrong;
    spec.classes = 9;
    assert_ok(eg_net_new(&spec, &wrong));
    c.net = wrong;
    assert_ok(eg_encoder_write(&c, value, statistics, 0.5));
    c.net = right;
    heals(&good, "2 tensors do not fit");
    eg_net_free(wrong);
    eg_encoder_fini(&c);
    eg_feed_close(&f);
    eg_experiment_free(e);
}

static bool stop_after_three(void *context, const eg_pretraining *p)
{
    (void)context;
    return p->batch < 3;
}

static void test_stopping_keeps_nothing(void **state)
{
    (void)state;
    eg_experiment *e = load(plain);
    eg_pretrained out;
    const eg_pretrain_how how = {.progress = stop_after_three};
    files_remove(cache);
    assert_fails(eg_pretrain(e, &how, &out), EG_EINVAL, "pre-training was stopped");
    assert_ok(eg_pretrain(e, &quiet, &out));
    assert_false(out.found);
    eg_experiment_free(e);
}

static void refuses(const char *const set[SETS], const char *words)
{
    char path[512];
    bool stopped;
    eg_experiment *e = load(set);
    eg_run_how how = {.out = fixture_folder, .workers = 1};
    assert_fails(eg_experiment_run(e, &how, path, &stopped), EG_EINVAL, words);
    assert_int_equal(access(path, F_OK), -1); /* no run has begun */
    eg_experiment_free(e);
}

static void test_what_cannot_be_is_said_before_the_first_round(void **state)
{
    (void)state;
    refuses((const char *[SETS]){"pretrain.classes=3"},
            "pretrain.classes is 3, but pretrain.head is rows and the network has 4 outputs");
    refuses((const char *[SETS]){"train.rotations=true"}, "the network has 16 outputs");
    refuses((const char *[SETS]){"model=mlp", "model.depth=16", "pretrain.lr=1000"},
            "pre-training: values are not finite at its end; pretrain.lr is 1000");
    eg_experiment *e;
    char set[FILES_PATH * 3];
    snprintf(set, sizeof set, "model.weights=%s", pretrain(plain).path);
    assert_fails(fixture_load(text, set, &e), EG_EINVAL,
                 "model.weights and pretrain exclude each other");
}

/* Fractals are those of the data set of that name, normalised as the run's images. */
static void test_fractals_are_drawn_as_the_run_sees_images(void **state)
{
    (void)state;
    enum { SIZE = 8, CLASSES = 6, FIRST = 11, N = 3 };
    static float x[N * 3 * SIZE * SIZE], labels[N];
    uint8_t rgb[3 * SIZE * SIZE];
    eg_experiment *e = load((const char *[SETS]){"data.channels=3", "pretrain.seed=5"});
    eg_feed f;
    eg_encoder c;
    eg_drawing d;
    eg_fractals *fractals;
    assert_ok(eg_feed_open(e, 0, NULL, &f));
    eg_net_spec spec = eg_feed_net(e, &f);
    assert_ok(eg_encoder_init(e, &spec, &c));
    assert_ok(eg_drawing_init(&c, EG_TEST, N, &d));
    assert_ok(eg_drawing_fill(&d, FIRST, N, x, labels));
    assert_ok(eg_fractals_new(&(eg_fractals_opts){CLASSES, SIZE, 200}, 5, &fractals));
    for (int i = 0; i < N; i++) {
        assert_ok(eg_fractals_image(fractals, EG_TEST, FIRST + i, rgb));
        assert_true(labels[i] == (float)((FIRST + i) % CLASSES));
        for (int k = 0; k < 3 * SIZE * SIZE; k++)
            assert_near((double)x[i * 3 * SIZE * SIZE + k], (rgb[k] / 255.0 - 0.5) / 0.25,
                        1e-5);
    }
    eg_fractals_free(fractals);
    eg_drawing_fini(&d);
    eg_encoder_fini(&c);
    eg_feed_close(&f);
    eg_experiment_free(e);
}

/* Characters, brought to the size of the network's images; either encoder tells some apart. */
static void test_a_probe_measures_both_encoders(void **state)
{
    (void)state;
    eg_experiment *e = load(
        (const char *[SETS]){"data=glyphs", "data.train=300", "data.classes=4", "data.size=8"});
    eg_pretrained made;
    eg_probe probe, other;
    assert_ok(eg_pretrain(e, &quiet, &made));
    assert_ok(eg_pretrain_probe(e, &quiet, &made, eg_dataset_find("glyphs"), &probe));
    assert_int_equal(probe.n_train, 300);
    assert_int_equal(probe.classes, 4);
    assert_true(probe.drawn > 0.5 && probe.pretrained > 0.5);
    assert_ok(eg_pretrain_probe(e, &quiet, &made, eg_dataset_find("fractals"), &other));
    assert_true(other.classes != 4); /* another data set has its own options */
    eg_experiment_free(e);
}

static int open_cache(void **state)
{
    fixture_open(state);
    snprintf(cache, sizeof cache, "%s/cache", fixture_folder);
    return setenv("ENGRAM_CACHE", cache, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_starts_from_encoder_statistics_and_first_rows),
        cmocka_unit_test(test_workers_processes_resuming_and_the_cache_change_nothing),
        cmocka_unit_test(test_a_run_that_goes_on_needs_no_encoder),
        cmocka_unit_test(test_it_is_made_once),
        cmocka_unit_test(test_processes_wait_for_each_other),
        cmocka_unit_test(test_a_damaged_cache_is_said_and_made_again),
        cmocka_unit_test(test_tensors_of_another_shape_are_made_again),
        cmocka_unit_test(test_stopping_keeps_nothing),
        cmocka_unit_test(test_what_cannot_be_is_said_before_the_first_round),
        cmocka_unit_test(test_fractals_are_drawn_as_the_run_sees_images),
        cmocka_unit_test(test_a_probe_measures_both_encoders),
    };
    return cmocka_run_group_tests(tests, open_cache, fixture_close);
}
