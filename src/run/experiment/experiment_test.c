/* experiment_test.c - a resolved experiment is an experiment file; a run folder goes on alone.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "files.h"
#include "test.h"

#include <engram/fed.h>
#include <engram/metric.h>

#include "io/file.h"
#include "io/json.h"
#include "run/experiment/settings.h"

#include "own_folder.h"

static const char base[] =
    "name: it's a test\n"
    "data:\n"
    "- {name: blobs, train: 400, test: 80, classes: 4, mean: 0.1}\n"
    "- {name: blobs, train: 200, test: 40, classes: 4, spread: 0.2}\n"
    "model: {name: mlp, depth: 1, width: 16}\n"
    "scenario:\n"
    "  kind: domain-sources\n"
    "  clients: 4\n"
    "  rounds: 2\n"
    "  partition: {kind: dirichlet, alpha: 0.7}\n"
    "memory: {kind: reservoir, size: 20}\n"
    "er: {batch: 5}\n"
    "runs:\n"
    "- {label: \"a 'b'\", method: [er, fedprox], published: {aia: 3}}\n"
    "- {label: plain, method: fedavg, overrides: {optimizer: {lr: 0.2}}}\n";

/* Loads folder/t.yaml with one more setting, which may be NULL. */
static eg_experiment *load(const char *label, const char *set)
{
    char file[FILES_PATH * 2];
    eg_experiment *e;
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    assert_ok(eg_experiment_load(file, label, set ? 1 : 0, &set, &e));
    return e;
}

/* What it resolves to, given as a file, resolves to the same text. */
static void check_settles(const eg_experiment *e)
{
    const char *text = eg_experiment_text(e);
    char file[FILES_PATH * 2];
    eg_experiment *again;
    snprintf(file, sizeof file, "%s/again.yaml", folder);
    files_write(folder, "again.yaml", text, strlen(text));
    assert_ok(eg_experiment_load(file, NULL, 0, NULL, &again));
    assert_string_equal(eg_experiment_text(again), text);
    assert_string_equal(eg_experiment_sha256(again), eg_experiment_sha256(e));
    assert_string_equal(eg_experiment_label(again), eg_experiment_label(e));
    eg_experiment_free(again);
}

static void test_a_resolved_experiment_resolves_to_itself(void **state)
{
    (void)state;
    static const char *const sets[] = {NULL, "model.depth=2", "optimizer.lr=1e-7",
                                       "data.size=8", "server.interval=3"};
    files_write(folder, "t.yaml", base, sizeof base - 1);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        eg_experiment *e = load("a 'b'", sets[i]), *other = load("plain", sets[i]);
        check_settles(e);
        check_settles(other);
        assert_string_not_equal(eg_experiment_sha256(e), eg_experiment_sha256(other));
        eg_experiment_free(e);
        eg_experiment_free(other);
    }
}

static void test_a_file_is_read_once_and_asked_for_every_run(void **state)
{
    (void)state;
    eg_experiment_file *file;
    eg_experiment *e, *same;
    const char *set = "optimizer.lr=0.2";
    size_t n;
    files_write(folder, "t.yaml", base, sizeof base - 1);
    assert_ok(eg_experiment_parse("a text", base, &file));
    assert_string_equal(eg_experiment_file_name(file), "a text");
    assert_string_equal(eg_experiment_file_label(file, 0), "a 'b'");
    assert_string_equal(eg_experiment_file_label(file, 1), "plain");
    assert_null(eg_experiment_file_label(file, 2));
    const eg_published *figure = eg_experiment_file_published(file, &n);
    assert_int_equal(n, 1);
    assert_string_equal(figure->label, "a 'b'");
    assert_string_equal(figure->metric, "aia");
    assert_near(figure->mean, 0.03, 1e-12);
    assert_true(figure->sd < 0);
    for (const char *label; n < 3 && (label = eg_experiment_file_label(file, n - 1)); n++) {
        assert_ok(eg_experiment_file_resolve(file, label, 1, &set, &e));
        same = load(label, set);
        assert_string_equal(eg_experiment_text(e), eg_experiment_text(same));
        eg_experiment_free(e);
        eg_experiment_free(same);
    }
    assert_fails(eg_experiment_file_resolve(file, "c", 0, NULL, &e), EG_ENOENT, "a text: ");
    assert_null(e);
    eg_experiment_file_free(file);
    assert_fails(eg_experiment_parse("a text", "name: t\n", &file), EG_ENOENT, "a text:1:1: ");
    assert_null(file);
}

/* Every name that is known from elsewhere is of a setting that there is. */
static void test_names_from_elsewhere_mean_settings(void **state)
{
    (void)state;
    eg_experiment *e;
    assert_ok(eg_experiment_new(&e));
    assert_ok(eg_experiment_set(e, "data", "glyphs"));
    assert_ok(eg_experiment_set(e, "model", "mlp"));
    assert_ok(eg_experiment_set(e, "scenario.kind", "class-incremental"));
    assert_ok(eg_experiment_set(e, "scenario.partition", "dirichlet"));
    for (const eg_known_word *k = eg_known_words; k->word; k++) {
        eg_status s = eg_experiment_set(e, k->setting, "?");
        bool family = !strchr(k->setting, '.'); /* of which "?" is no member */
        if (family ? s != EG_ENOENT : s != EG_EINVAL)
            fail_msg("%s for %s: %s", k->setting, k->word, eg_error());
    }
    assert_fails(eg_experiment_set(e, "train.learning_rate", "1"), EG_ENOENT,
                 "train has no option 'learning_rate' (here it is 'optimizer.lr')");
    assert_fails(eg_experiment_set(e, "data.batch-size", "1"), EG_ENOENT,
                 "glyphs has no option 'batch-size' (here it is 'train.batch')");
    assert_fails(eg_experiment_set(e, "num_clients", "1"), EG_ENOENT,
                 "'num_clients' (here it is 'scenario.clients')");
    assert_fails(eg_experiment_set(e, "server.speed", "1"), EG_ENOENT,
                 "server has no option 'speed'");
    eg_experiment_free(e);
    eg_experiment_file *file;
    assert_ok(
        eg_experiment_parse("t", "buffer_size: 3\nruns: [{label: a, method: er}]", &file));
    assert_fails(eg_experiment_file_resolve(file, "a", 0, NULL, &e), EG_EINVAL,
                 "t:1:14: there is no key 'buffer_size' (here it is 'memory.size')");
    eg_experiment_file_free(file);
}

/* A paper may have a figure of any metric: in percent, unless the metric is counted. */
static void test_figures_of_every_metric_are_read(void **state)
{
    (void)state;
    static const char *const more[] = {"acc_task_il", "aia_task_il", "forgetting_task_il",
                                       "bwt_task_il", "fwt_task_il"};
    const size_t n_more = sizeof more / sizeof *more;
    for (size_t i = 0; i < n_more || eg_metrics[i - n_more]; i++) {
        char text[512];
        size_t n;
        eg_experiment_file *file;
        const char *name = i < n_more ? more[i] : eg_metrics[i - n_more]->component.name;
        bool counted = strcmp(name, "rounds_to_best") == 0;
        snprintf(text, sizeof text,
                 "name: t\nruns: [{label: a, method: er, published: {%s: [50, 2]}}]\n", name);
        assert_ok(eg_experiment_parse("t.yaml", text, &file));
        const eg_published *figure = eg_experiment_file_published(file, &n);
        assert_int_equal(n, 1);
        assert_string_equal(figure->metric, name);
        assert_near(figure->mean, counted ? 50 : 0.5, 1e-12);
        assert_near(figure->sd, counted ? 2 : 0.02, 1e-12);
        eg_experiment_file_free(file);
    }
}

static void test_a_bound_is_in_the_text_of_a_run_that_has_one(void **state)
{
    (void)state;
    static const char text[] = "name: t\ndata: blobs\n"
                               "scenario: {kind: class-incremental, clients: 2, tasks: 2}\n"
                               "runs:\n- label: a\n  method: fedprox\n"
                               "  overrides: {bound: 'the best, one'}\n"
                               "- {label: b, method: fedavg}\n";
    eg_experiment_file *file;
    eg_experiment *e;
    assert_ok(eg_experiment_parse("t.yaml", text, &file));
    assert_ok(eg_experiment_file_resolve(file, "a", 0, NULL, &e));
    assert_non_null(strstr(eg_experiment_text(e), "\nbound: 'the best, one'\n"));
    check_settles(e);
    eg_experiment_free(e);
    assert_ok(eg_experiment_file_resolve(file, "b", 0, NULL, &e));
    assert_null(strstr(eg_experiment_text(e), "bound"));
    eg_experiment_free(e);
    assert_ok(eg_experiment_file_resolve(file, "b", 1, (const char *[]){"bound=x, y"}, &e));
    assert_non_null(strstr(eg_experiment_text(e), "\nbound: 'x, y'\n"));
    eg_experiment_free(e);
    eg_experiment_file_free(file);
}

static void test_every_scenario_of_the_papers_resolves_to_itself(void **state)
{
    (void)state;
    DIR *d = opendir("experiments/scenarios");
    int n = 0;
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d));) {
        char path[FILES_PATH], text[8192];
        unsigned char *bytes;
        size_t length;
        if (!strstr(f->d_name, ".yaml"))
            continue;
        snprintf(path, sizeof path, "experiments/scenarios/%.200s", f->d_name);
        assert_ok(eg_file_read(path, sizeof text / 2, &bytes, &length));
        char *data = strstr((char *)bytes, "\ndata:");
        assert_non_null(data);
        data[1] = '#'; /* pictures have no part in this, and may not be there */
        int size =
            snprintf(text, sizeof text, "%s\ndata: blobs\nruns: [{label: x, method: er}]\n",
                     (const char *)bytes);
        free(bytes);
        files_write(folder, "t.yaml", text, (size_t)size);
        eg_experiment *e = load(NULL, "memory.kind=window");
        check_settles(e);
        eg_experiment_free(e);
        n++;
    }
    closedir(d);
    assert_true(n > 50);
}

/* Whether `plain` of the text with these settings holds a piece of text. */
static bool resolves_to(const char *text, size_t n, const char *const *sets, const char *piece)
{
    eg_experiment_file *file;
    eg_experiment *e;
    assert_ok(eg_experiment_parse("t.yaml", text, &file));
    assert_ok(eg_experiment_file_resolve(file, "plain", n, sets, &e));
    bool there = strstr(eg_experiment_text(e), piece) != NULL;
    if (n)
        check_settles(e);
    eg_experiment_free(e);
    eg_experiment_file_free(file);
    return there;
}

static void test_another_model_comes_without_the_options_of_the_last(void **state)
{
    (void)state;
    static const char *const resnet18[] = {"model=resnet18"};
    static const char *const after[] = {"model=mlp", "model.width=8"};
    static const char *const before[] = {"model.width=8", "model.name=mlp"};
    static const char *const wrong[] = {"model.width=8", "model=resnet18"};
    eg_experiment_file *file;
    eg_experiment *e;
    assert_true(resolves_to(base, 1, resnet18,
                            "model:\n  name: resnet18\n  stem: small\n  weights: ''\n"));
    assert_true(resolves_to(base, 0, NULL, "  depth: 1\n  width: 16\n"));
    assert_true(resolves_to(base, 2, after, "  depth: 2\n  width: 8\n"));
    assert_true(resolves_to(base, 2, before, "  depth: 2\n  width: 8\n"));
    assert_ok(eg_experiment_parse("t.yaml", base, &file));
    assert_fails(eg_experiment_file_resolve(file, "plain", 2, wrong, &e), EG_ENOENT,
                 "the model 'resnet18' has no option 'width'");
    eg_experiment_file_free(file);
}

static void test_another_data_set_comes_in_place_of_all(void **state)
{
    (void)state;
    static const char *const sets[] = {
        "data.classes=3", "data=glyphs", "scenario.kind=class-incremental",
        "scenario.partition.alpha=3", "scenario.partition=dirichlet"};
    static const char *const one = "data:\n- name: glyphs\n  classes: 3\n";
    char text[2 * sizeof base];
    assert_true(resolves_to(base, 5, sets, one));
    assert_true(resolves_to(base, 5, sets, "  mean: 0.1\n")); /* how images are prepared */
    assert_true(resolves_to(base, 5, sets, "  partition:\n    kind: dirichlet\n"));
    assert_true(resolves_to(base, 5, sets, "\n    alpha: 3\n"));
    assert_false(resolves_to(base, 5, sets, "blobs"));
    /* As in a run's overrides. */
    snprintf(text, sizeof text, "%.*s{data: {name: glyphs, classes: 3}, model: resnet18}}\n",
             (int)(strstr(base, "{optimizer: {lr") - base), base);
    assert_true(resolves_to(text, 0, NULL, one));
    assert_true(
        resolves_to(text, 0, NULL, "model:\n  name: resnet18\n  stem: small\n  weights: ''\n"));
}

static void test_values_have_their_types_in_the_resolved_text(void **state)
{
    (void)state;
    static const char *const sets[] = {"optimizer.lr=1e-7", "data.mean=[0.5,1e-05,2]",
                                       "data.flip=true", "optimizer.weight_decay=0.25"};
    static const char *const pieces[] = {"name: 'it''s a test'\n",
                                         "scale: 1\n",
                                         "  mean: [0.5, 1.0e-05, 2]\n",
                                         "  flip: true\n",
                                         "  lr: 1.0e-07\n",
                                         "  weight_decay: 0.25\n",
                                         "optimizer:\n  name: sgd\n",
                                         "  partition:\n    kind: dirichlet\n    alpha: 0.7\n",
                                         "  announce: true\n",
                                         "- label: 'plain'\n"};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        if (!resolves_to(base, 4, sets, pieces[i]))
            fail_msg("there is no '%s'", pieces[i]);
}

static void test_a_model_option_is_checked_where_it_stands(void **state)
{
    (void)state;
    static const char bad[] = "name: t\n"
                              "data: blobs\n"
                              "model: {name: mlp, depth: -1}\n"
                              "runs: [{label: a, method: fedavg}]\n";
    char file[FILES_PATH * 2];
    eg_experiment *e;
    files_write(folder, "t.yaml", bad, sizeof bad - 1);
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    assert_fails(eg_experiment_load(file, "a", 0, NULL, &e), EG_EINVAL, "t.yaml:3:");
}

static bool stop_at_once(void *context, const eg_progress *p)
{
    (void)context, (void)p;
    return false;
}

static void read_hash(const char *run, char out[65])
{
    char file[FILES_PATH * 2];
    eg_json *summary;
    const char *hash;
    snprintf(file, sizeof file, "%s/summary.json", run);
    assert_ok(eg_json_load(file, &summary));
    assert_ok(eg_json_text(eg_json_get(summary, "params_sha256"), &hash));
    snprintf(out, 65, "%s", hash);
    eg_json_free(summary);
}

/* Begins a run of t.yaml in a folder, and lets it go on for a round only. */
static void begin(const char *out, char path[512])
{
    bool stopped;
    eg_experiment *e = load("plain", NULL);
    assert_ok(eg_experiment_run(
        e, &(eg_run_how){.seed = 7, .workers = 1, .out = out, .progress = stop_at_once}, path,
        &stopped));
    assert_true(stopped);
    eg_experiment_free(e);
}

/* Goes on with what is in a folder alone. */
static void go_on(const char *at, char hash[65])
{
    char path[512];
    bool stopped;
    uint64_t seed;
    eg_experiment *e;
    assert_ok(eg_experiment_of_folder(at, &e, &seed));
    assert_int_equal(seed, 7);
    assert_ok(eg_experiment_run(
        e, &(eg_run_how){.seed = seed, .workers = 1, .resume = true, .folder = at}, path,
        &stopped));
    assert_string_equal(path, at);
    read_hash(at, hash);
    eg_experiment_free(e);
}

static void test_a_run_folder_goes_on_alone_even_renamed(void **state)
{
    (void)state;
    char out[FILES_PATH * 2], path[512], moved[FILES_PATH * 2], hash[65], want[65];
    bool stopped;
    files_write(folder, "t.yaml", base, sizeof base - 1);
    snprintf(out, sizeof out, "%s/whole", folder);
    eg_experiment *e = load("plain", NULL);
    assert_ok(eg_experiment_run(e, &(eg_run_how){.seed = 7, .workers = 1, .out = out}, path,
                                &stopped));
    read_hash(path, want);
    eg_experiment_free(e);
    snprintf(out, sizeof out, "%s/begun", folder);
    begin(out, path);
    go_on(path, hash);
    assert_string_equal(hash, want);
    snprintf(out, sizeof out, "%s/begun-too", folder);
    snprintf(moved, sizeof moved, "%s/moved", folder);
    begin(out, path);
    assert_int_equal(rename(path, moved), 0);
    go_on(moved, hash);
    assert_string_equal(hash, want);
}

static void test_a_folder_without_events_is_known_by_its_name(void **state)
{
    (void)state;
    char out[FILES_PATH * 2], path[512], events[FILES_PATH * 2];
    uint64_t seed;
    eg_experiment *e;
    files_write(folder, "t.yaml", base, sizeof base - 1);
    snprintf(out, sizeof out, "%s/early-s3", folder);
    begin(out, path);
    snprintf(events, sizeof events, "%s/metrics.jsonl", path);
    assert_int_equal(truncate(events, 20), 0); /* half a line */
    assert_ok(eg_experiment_of_folder(path, &e, &seed));
    assert_int_equal(seed, 7);
    eg_experiment_free(e);
    snprintf(out, sizeof out, "%s/nameless", folder);
    assert_int_equal(rename(path, out), 0);
    assert_fails(eg_experiment_of_folder(out, &e, &seed), EG_EFORMAT, "tell the seed");
}

static void test_what_cannot_be_resumed_is_said(void **state)
{
    (void)state;
    static const char damaged[] = "name: [\n", changed[] = "name: other\n"
                                                           "data: blobs\n"
                                                           "scenario: {kind: domain-rotation}\n"
                                                           "runs: [{label: a, method: er}]\n"
                                                           "memory: {kind: window}\n";
    char out[FILES_PATH * 2], path[512];
    uint64_t seed;
    eg_experiment *e;
    files_write(folder, "t.yaml", base, sizeof base - 1);
    snprintf(out, sizeof out, "%s/nowhere", folder);
    assert_fails(eg_experiment_of_folder(out, &e, &seed), EG_ENOENT, "no such run");
    assert_fails(eg_experiment_of_folder(folder, &e, &seed), EG_ENOENT, "no config.yaml");
    snprintf(out, sizeof out, "%s/wrong", folder);
    begin(out, path);
    files_write(path, "config.yaml", damaged, sizeof damaged - 1);
    assert_fails(eg_experiment_of_folder(path, &e, &seed), EG_EFORMAT, "config.yaml:");
    files_write(path, "config.yaml", changed, sizeof changed - 1);
    assert_fails(eg_experiment_of_folder(path, &e, &seed), EG_EFORMAT, "began with");
    files_write(path, "summary.json", "{}", 2);
    assert_fails(eg_experiment_of_folder(path, &e, &seed), EG_EINVAL, "is finished");
}

/* In a file they stand in one section, and a resolved file could not be read again. */
static void expect_other_names(const eg_component *c, const eg_opt *settings)
{
    for (const eg_opt *o = c->opts; o && o->name; o++)
        for (const eg_opt *s = settings; s->name; s++)
            if (strcmp(o->name, s->name) == 0)
                fail_msg("%s has an option '%s', which is a setting of its section", c->name,
                         o->name);
}

static void test_no_option_has_the_name_of_a_setting_beside_it(void **state)
{
    (void)state;
    for (const eg_dataset *const *d = eg_datasets; *d; d++)
        expect_other_names(&(*d)->component, eg_settings_of_data);
    for (const eg_model *const *m = eg_models; *m; m++)
        expect_other_names(&(*m)->component, eg_settings_of_model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_option_has_the_name_of_a_setting_beside_it),
        cmocka_unit_test(test_a_resolved_experiment_resolves_to_itself),
        cmocka_unit_test(test_a_file_is_read_once_and_asked_for_every_run),
        cmocka_unit_test(test_names_from_elsewhere_mean_settings),
        cmocka_unit_test(test_figures_of_every_metric_are_read),
        cmocka_unit_test(test_a_bound_is_in_the_text_of_a_run_that_has_one),
        cmocka_unit_test(test_every_scenario_of_the_papers_resolves_to_itself),
        cmocka_unit_test(test_another_model_comes_without_the_options_of_the_last),
        cmocka_unit_test(test_another_data_set_comes_in_place_of_all),
        cmocka_unit_test(test_values_have_their_types_in_the_resolved_text),
        cmocka_unit_test(test_a_model_option_is_checked_where_it_stands),
        cmocka_unit_test(test_a_run_folder_goes_on_alone_even_renamed),
        cmocka_unit_test(test_a_folder_without_events_is_known_by_its_name),
        cmocka_unit_test(test_what_cannot_be_resumed_is_said),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
