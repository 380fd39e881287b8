/* run_folder_test.c - the run's folder, its events, and what is made of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "files.h"

#include "io/file.h"
#include "io/json.h"
#include "run/log/events.h"
#include "run/log/run_folder.h"

static const char hash[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/* Compares a file of the run with a text, or gives its text. */
static char *file_text(const char *folder, const char *name)
{
    char path[FILES_PATH * 2];
    unsigned char *bytes;
    size_t n;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(eg_file_read(path, 1 << 20, &bytes, &n));
    return (char *)bytes;
}

/* The same without the checksum of each line. */
static char *bare_text(const char *folder, const char *name)
{
    char *text = file_text(folder, name);
    for (char *at = text; (at = strstr(at, ",\"sum\":"));)
        memmove(at, at + EG_SEAL_SIZE, strlen(at + EG_SEAL_SIZE) + 1);
    return text;
}

static void assert_file(const char *folder, const char *name, const char *text)
{
    char *is = file_text(folder, name);
    assert_string_equal(is, text);
    free(is);
}

static void run_path(const char *dir, char out[FILES_PATH * 2])
{
    char *path;
    assert_ok(eg_run_folder_path(dir, "demo", "der++ / x", 3, hash, &path));
    snprintf(out, (size_t)FILES_PATH * 2, "%s", path);
    free(path);
}

static void test_no_run_goes_into_a_folder_without_a_name(void **state)
{
    (void)state;
    char *path;
    assert_fails(eg_run_folder_path("", "demo", "a", 3, hash, &path), EG_EINVAL, "empty name");
    assert_null(path);
}

static void write_start(eg_run_folder *f, const int64_t *learned)
{
    static const char *const method[] = {"der", "fed-a-gem"};
    assert_ok(eg_run_write_start(f, &(eg_start_event){.name = "demo",
                                                      .label = "der++ / x",
                                                      .seed = 3,
                                                      .method = method,
                                                      .n_method = 2,
                                                      .clients = 5,
                                                      .tasks = 2,
                                                      .rounds = 4,
                                                      .classes = 4,
                                                      .isa = "avx2",
                                                      .config_sha256 = hash,
                                                      .labels = "a1",
                                                      .pixels = "b2",
                                                      .learned = learned}));
}

static void write_round(eg_run_folder *f, int64_t round, double loss, double seconds)
{
    const int64_t clients[] = {4, 1};
    assert_ok(eg_run_write_round(f, &(eg_round_event){.round = round,
                                                      .clients = clients,
                                                      .n_clients = 2,
                                                      .samples = 60,
                                                      .loss = loss,
                                                      .bytes_up = 1000,
                                                      .bytes_down = 2000 * round,
                                                      .seconds = seconds}));
}

/* Ten test samples per task; a count below 0 is none. */
static void write_eval(eg_run_folder *f, int64_t round, int64_t who, bool task_end,
                       const int64_t correct[2])
{
    int64_t right[2], n[2];
    for (int i = 0; i < 2; i++) {
        right[i] = correct[i] < 0 ? 0 : correct[i];
        n[i] = correct[i] < 0 ? 0 : 10;
    }
    assert_ok(eg_run_write_eval(f, &(eg_eval_event){.round = round,
                                                    .who = who,
                                                    .task_end = task_end,
                                                    .full = true,
                                                    .n_tasks = 2,
                                                    .n = n,
                                                    .correct = right,
                                                    .correct_task_il = who < 0 ? n : NULL,
                                                    .met = who < 0 ? -1 : 30}));
}

static void write_run(eg_run_folder *f, double seconds)
{
    write_start(f, (const int64_t[]){1, 2});
    write_eval(f, 0, -1, false, (const int64_t[]){1, 2});
    write_round(f, 1, 0.5, seconds);
    write_eval(f, 1, -1, true, (const int64_t[]){9, 3});
    assert_ok(eg_run_write_left_out(
        f,
        &(eg_loss_event){.round = 2, .client = 1, .why = "tensor 'delta': element 7 is NaN"}));
    write_round(f, 2, NAN, seconds);
    write_eval(f, 2, -1, true, (const int64_t[]){5, 8});
    assert_ok(eg_run_write_skipped(f, 3, "0 of 2 clients are left"));
    assert_ok(eg_run_write_note(f, 2, 4, "drift", 0.5));
    assert_ok(eg_run_write_note(f, 2, -1, "drift", NAN));
    assert_ok(eg_run_write_end(f, &(eg_end_event){.seconds = seconds * 2,
                                                  .peak_rss_bytes = 123456,
                                                  .train_seconds = 0.75,
                                                  .phase_seconds = 0.125,
                                                  .parts = (const char *const[]){"der"},
                                                  .part_seconds = (const double[]){0.25},
                                                  .server_seconds = (const double[]){0.5},
                                                  .n_parts = 1,
                                                  .flops_clients = INT64_C(1) << 60,
                                                  .flops_server = 7}));
}

static const char expected_events[] =
    "{\"event\":\"start\",\"name\":\"demo\",\"label\":\"der++ / x\",\"seed\":3,"
    "\"method\":[\"der\",\"fed-a-gem\"],\"clients\":5,\"tasks\":2,\"rounds\":4,\"classes\":4,"
    "\"isa\":\"avx2\",\"config_sha256\":"
    "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\",PROGRAM,"
    "\"labels_sum\":\"a1\",\"pixels_sum\":\"b2\",\"learned\":[1,2]}\n"
    "{\"event\":\"eval\",\"round\":0,\"who\":\"server\",\"task_end\":false,\"full\":true,"
    "\"accuracy\":[0.1,0.2],\"accuracy_task_il\":[1.0,1.0],\"n\":[10,10]}\n"
    "{\"event\":\"round\",\"round\":1,\"clients\":[4,1],\"samples\":60,\"loss\":0.5,"
    "\"bytes_up\":1000,\"bytes_down\":2000,\"seconds\":0.25}\n"
    "{\"event\":\"eval\",\"round\":1,\"who\":\"server\",\"task_end\":true,\"full\":true,"
    "\"accuracy\":[0.9,0.3],\"accuracy_task_il\":[1.0,1.0],\"n\":[10,10]}\n"
    "{\"event\":\"left_out\",\"round\":2,\"client\":1,"
    "\"why\":\"tensor 'delta': element 7 is NaN\"}\n"
    "{\"event\":\"round\",\"round\":2,\"clients\":[4,1],\"samples\":60,\"loss\":null,"
    "\"bytes_up\":1000,\"bytes_down\":4000,\"seconds\":0.25}\n"
    "{\"event\":\"eval\",\"round\":2,\"who\":\"server\",\"task_end\":true,\"full\":true,"
    "\"accuracy\":[0.5,0.8],\"accuracy_task_il\":[1.0,1.0],\"n\":[10,10]}\n"
    "{\"event\":\"skipped\",\"round\":3,\"why\":\"0 of 2 clients are left\"}\n"
    "{\"event\":\"note\",\"round\":2,\"who\":4,\"name\":\"drift\",\"value\":0.5}\n"
    "{\"event\":\"note\",\"round\":2,\"who\":\"server\",\"name\":\"drift\",\"value\":null}\n"
    "{\"event\":\"end\",\"seconds\":0.5,\"peak_rss_bytes\":123456,\"train_seconds\":0.75,"
    "\"phase_seconds\":0.125,\"part_seconds\":{\"der\":0.25},"
    "\"server_seconds\":{\"der\":0.5},\"flops_clients\":1152921504606846976,"
    "\"flops_server\":7,PROGRAM}\n";

/* The expected events, with this program's version and commit in place of PROGRAM. */
static void expect_events(char out[4096])
{
    *out = 0;
    for (const char *at = expected_events, *next; at; at = next ? next + 7 : NULL) {
        next = strstr(at, "PROGRAM");
        size_t n = strlen(out);
        snprintf(out + n, 4096 - n, "%.*s", (int)(next ? next - at : (long)strlen(at)), at);
        n = strlen(out);
        if (next)
            snprintf(out + n, 4096 - n, "\"version\":\"%s\",\"commit\":\"%s\"", eg_version(),
                     eg_commit());
    }
}

static void test_folder_is_named_and_made_once(void **state)
{
    (void)state;
    char dir[FILES_PATH], path[FILES_PATH * 2];
    eg_run_folder *f, *none;
    files_folder(dir);
    run_path(dir, path);
    assert_string_equal(path + strlen(dir), "/demo-der++___x-s3-01234567");
    assert_fails(eg_run_folder_open(path, 0, &none), EG_ENOENT, "metrics.jsonl");
    assert_ok(eg_run_folder_new(path, "name: demo\n", &f));
    assert_string_equal(eg_run_folder_name(f), path);
    char config[128];
    snprintf(config, sizeof config, "# engram %s%s%s\nname: demo\n", eg_version(),
             *eg_commit() ? ", commit " : "", eg_commit());
    assert_file(path, "config.yaml", config);
    assert_file(path, "metrics.jsonl", "");
    assert_fails(eg_run_folder_new(path, "", &none), EG_EBUSY, "is there already");
    assert_null(none);
    eg_run_folder_free(f);
    files_remove(dir);
}

static void test_events_are_written_as_they_should(void **state)
{
    (void)state;
    char dir[FILES_PATH], path[FILES_PATH * 2];
    eg_run_folder *f;
    files_folder(dir);
    run_path(dir, path);
    assert_ok(eg_run_folder_new(path, "", &f));
    char expected[4096];
    write_run(f, 0.25);
    expect_events(expected);
    char *bare = bare_text(path, "metrics.jsonl");
    assert_string_equal(bare, expected);
    int64_t position;
    assert_ok(eg_run_folder_sync(f, &position));
    assert_int_equal(position, strlen(expected) + 11 * EG_SEAL_SIZE);
    free(bare);
    eg_run_folder_free(f);
    files_remove(dir);
}

static void test_resume_cuts_what_the_checkpoint_does_not_know(void **state)
{
    (void)state;
    char dir[FILES_PATH], path[FILES_PATH * 2];
    eg_run_folder *f;
    int64_t position, end;
    files_folder(dir);
    run_path(dir, path);
    assert_ok(eg_run_folder_new(path, "", &f));
    write_start(f, (const int64_t[]){1, 2});
    assert_ok(eg_run_folder_sync(f, &position));
    char *before = file_text(path, "metrics.jsonl");
    write_round(f, 1, 0.5, 0.25);
    assert_ok(eg_run_folder_sync(f, &end));
    char *after = file_text(path, "metrics.jsonl");
    eg_run_folder_free(f);
    assert_fails(eg_run_folder_open(path, end + 1, &f), EG_EFORMAT, "fewer than");
    assert_ok(eg_run_folder_open(path, position, &f));
    assert_file(path, "metrics.jsonl", before);
    write_round(f, 1, 0.5, 0.25);
    assert_file(path, "metrics.jsonl", after);
    eg_run_folder_free(f);
    free(before);
    free(after);
    files_remove(dir);
}

/* Flips each bit of the events of a run in turn: none is read, none is gone on with. */
static void test_every_flipped_bit_is_found(void **state)
{
    (void)state;
    char dir[FILES_PATH], path[FILES_PATH * 2];
    eg_run_folder *f, *none;
    eg_events *e;
    files_folder(dir);
    run_path(dir, path);
    assert_ok(eg_run_folder_new(path, "", &f));
    write_start(f, (const int64_t[]){1, 2});
    write_round(f, 1, 0.5, 0.25);
    write_eval(f, 1, -1, true, (const int64_t[]){9, 3});
    eg_run_folder_free(f);
    char *text = file_text(path, "metrics.jsonl");
    size_t n = strlen(text);
    for (size_t i = 0; i < 8 * n; i++) {
        text[i / 8] = (char)(text[i / 8] ^ (1 << i % 8));
        if (eg_events_parse("log", text, n, true, &e) == EG_OK)
            fail_msg("bit %zu of byte %zu", i % 8, i / 8);
        text[i / 8] = (char)(text[i / 8] ^ (1 << i % 8));
    }
    strstr(text, "\"seed\":3")[7] = '2';
    files_write(path, "metrics.jsonl", text, n);
    assert_fails(eg_run_folder_open(path, (int64_t)n, &none), EG_EFORMAT,
                 "metrics.jsonl:1: the checksum is another");
    assert_fails(eg_events_load_start(path, &e), EG_EFORMAT, "metrics.jsonl:1: the checksum");
    free(text);
    files_remove(dir);
}

/* Lines that are lost, or stand in another order, have right sums each; the chain breaks. */
static void test_lost_lines_and_positions_inside_a_line_are_found(void **state)
{
    (void)state;
    char dir[FILES_PATH], path[FILES_PATH * 2];
    eg_run_folder *f, *none;
    eg_events *e;
    files_folder(dir);
    run_path(dir, path);
    assert_ok(eg_run_folder_new(path, "", &f));
    write_run(f, 0.25);
    char *text = file_text(path, "metrics.jsonl");
    size_t n = strlen(text);
    assert_fails(eg_run_folder_open(path, (int64_t)n - 1, &none), EG_EFORMAT,
                 "metrics.jsonl:11: the line has no end");
    char *second = strchr(text, '\n') + 1, *third = strchr(second, '\n') + 1;
    memmove(second, third, strlen(third) + 1);
    assert_fails(eg_events_parse("log", text, strlen(text), true, &e), EG_EFORMAT,
                 "log:2: the checksum is another");
    eg_run_folder_free(f);
    free(text);
    files_write(path, "summary.json", "{}", 2);
    text = file_text(path, "metrics.jsonl");
    files_write(path, "metrics.jsonl", text, (size_t)(strstr(text, "{\"event\":\"end") - text));
    assert_fails(eg_events_load(path, &e), EG_EFORMAT, "its log has no end");
    free(text);
    files_remove(dir);
}

static void test_finish_makes_tables_and_summary(void **state)
{
    (void)state;
    char dir[FILES_PATH], path[FILES_PATH * 2];
    eg_run_folder *f;
    files_folder(dir);
    run_path(dir, path);
    assert_ok(eg_run_folder_new(path, "", &f));
    write_run(f, 0.25);
    assert_ok(eg_run_finish(f, hash));
    assert_file(path, "rounds.csv",
                "round,clients,samples,loss,bytes_up,bytes_down,seconds\n"
                "1,2,60,0.5,1000,2000,0.25\n"
                "2,2,60,,1000,4000,0.25\n");
    assert_file(path, "accuracy.csv",
                "round,who,task_end,full,task,n,accuracy,accuracy_task_il\n"
                "0,server,false,true,1,10,0.1,1.0\n"
                "0,server,false,true,2,10,0.2,1.0\n"
                "1,server,true,true,1,10,0.9,1.0\n"
                "1,server,true,true,2,10,0.3,1.0\n"
                "2,server,true,true,1,10,0.5,1.0\n"
                "2,server,true,true,2,10,0.8,1.0\n");
    char *text = file_text(path, "summary.json");
    static const char head[] = "{\n  \"name\": \"demo\",\n  \"label\": \"der++ / x\",\n"
                               "  \"seed\": 3,\n  \"method\": [\n    \"der\",\n"
                               "    \"fed-a-gem\"\n  ],\n  \"acc_final\": 0.65,\n"
                               "  \"acc_task_il\": 1.0,\n  \"aia\": 0.775,\n"
                               "  \"forgetting\": 0.4,\n  \"bwt\": -0.4,\n";
    assert_memory_equal(text, head, sizeof head - 1);
    eg_json *s;
    double fwt;
    assert_ok(eg_json_parse(text, strlen(text), &s));
    assert_ok(eg_json_real(eg_json_get(s, "fwt"), &fwt));
    assert_near(fwt, 0.1, 1e-12);
    int64_t x;
    assert_ok(eg_json_int(eg_json_get(s, "bytes_down"), &x));
    assert_int_equal(x, 6000);
    assert_ok(eg_json_int(eg_json_get(s, "rounds"), &x));
    assert_int_equal(x, 3); /* the last was skipped */
    assert_ok(eg_json_int(eg_json_get(s, "peak_rss_bytes"), &x));
    assert_int_equal(x, 123456);
    assert_ok(eg_json_int(eg_json_get(s, "flops_clients"), &x));
    assert_int_equal(x, INT64_C(1) << 60);
    assert_ok(eg_json_int(eg_json_get(s, "flops_server"), &x));
    assert_int_equal(x, 7);
    double server;
    assert_ok(eg_json_real(eg_json_get(s, "server_seconds"), &server));
    assert_near(server, 0.5, 0);
    const char *version;
    assert_ok(eg_json_text(eg_json_get(s, "version"), &version));
    assert_string_equal(version, eg_version());
    assert_non_null(eg_json_get(s, "commit"));
    assert_null(eg_json_get(s, "client_mean")); /* no client was evaluated */
    assert_null(eg_json_get(s, "ar"));          /* needs a second run */
    assert_non_null(eg_json_get(s, "rounds_to_best"));
    eg_json_free(s);
    free(text);
    eg_run_folder_free(f);
    files_remove(dir);
}

static void test_events_come_back_as_they_were_written(void **state)
{
    (void)state;
    char dir[FILES_PATH], path[FILES_PATH * 2];
    eg_run_folder *f;
    eg_events *e;
    files_folder(dir);
    run_path(dir, path);
    assert_ok(eg_run_folder_new(path, "", &f));
    write_run(f, 0.25);
    assert_false(eg_run_is_finished(path));
    assert_ok(eg_events_load(path, &e));
    assert_string_equal(e->start.label, "der++ / x");
    assert_string_equal(e->start.version, eg_version());
    assert_int_equal(e->n_round, 2);
    assert_int_equal(e->round[1].bytes_down, 4000);
    assert_int_equal(e->n_eval, 3);
    assert_int_equal(e->eval[2].correct[0], 5);
    assert_int_equal(e->eval[2].correct_task_il[1], 10);
    assert_int_equal(e->eval[2].met, -1);
    assert_int_equal(e->n_note, 2);
    assert_int_equal(e->note[0].who, 4);
    assert_true(isnan(e->note[1].value));
    assert_int_equal(e->n_loss, 2);
    assert_int_equal(e->loss[1].client, -1);
    assert_string_equal(e->end.parts[0], "der");
    assert_near(e->end.part_seconds[0], 0.25, 0);
    assert_string_equal(e->end.commit, eg_commit());
    eg_events_free(e);
    assert_ok(eg_events_load_start(path, &e));
    assert_int_equal(e->start.seed, 3);
    assert_int_equal(e->n_round, 0);
    eg_events_free(e);
    assert_ok(eg_run_finish(f, hash));
    assert_true(eg_run_is_finished(path));
    eg_run_folder_free(f);
    files_remove(dir);
}

static void test_what_cannot_be_read_is_not_written(void **state)
{
    (void)state;
    char dir[FILES_PATH], path[FILES_PATH * 2];
    eg_run_folder *f;
    files_folder(dir);
    run_path(dir, path);
    assert_ok(eg_run_folder_new(path, "", &f));
    assert_fails(eg_run_write_skipped(f, 0, "why"), EG_EFORMAT,
                 "event 'skipped': round: 0 is outside [1, ");
    assert_file(path, "metrics.jsonl", "");
    eg_run_folder_free(f);
    files_remove(dir);
}

static void test_runs_without_server_are_judged_by_their_clients(void **state)
{
    (void)state;
    char dir[FILES_PATH], path[FILES_PATH * 2];
    const int64_t learned[2] = {1, 1};
    eg_run_folder *f;
    double value;
    files_folder(dir);
    run_path(dir, path);
    assert_ok(eg_run_folder_new(path, "", &f));
    write_start(f, learned);
    write_eval(f, 4, 0, false,
               (const int64_t[]){2, 4}); /* the row ends a task: client 3 does */
    write_eval(f, 4, 3, true, (const int64_t[]){10, -1});
    assert_ok(eg_run_finish(f, hash));
    char *text = file_text(path, "summary.json");
    eg_json *s;
    assert_ok(eg_json_parse(text, strlen(text), &s));
    assert_ok(eg_json_real(eg_json_get(s, "acc_final"), &value));
    assert_near(value, (0.3 + 1.0) / 2, 1e-12);
    assert_ok(eg_json_real(eg_json_get(s, "client_worst"), &value));
    assert_near(value, 0.3, 1e-12);
    assert_ok(eg_json_real(eg_json_get(s, "acc_t"), &value));
    assert_near(value, (0.3 + 1.0) / 2, 1e-12);
    assert_int_equal(eg_json_kind_of(eg_json_get(s, "acc_task_il")), EG_JSON_NULL);
    assert_int_equal(eg_json_kind_of(eg_json_get(s, "seconds")), EG_JSON_NULL);
    eg_json_free(s);
    free(text);
    eg_run_folder_free(f);
    files_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_run_goes_into_a_folder_without_a_name),
        cmocka_unit_test(test_folder_is_named_and_made_once),
        cmocka_unit_test(test_events_are_written_as_they_should),
        cmocka_unit_test(test_resume_cuts_what_the_checkpoint_does_not_know),
        cmocka_unit_test(test_every_flipped_bit_is_found),
        cmocka_unit_test(test_lost_lines_and_positions_inside_a_line_are_found),
        cmocka_unit_test(test_finish_makes_tables_and_summary),
        cmocka_unit_test(test_events_come_back_as_they_were_written),
        cmocka_unit_test(test_what_cannot_be_read_is_not_written),
        cmocka_unit_test(test_runs_without_server_are_judged_by_their_clients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
