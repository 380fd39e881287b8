/* join_test.c - a device, and a script that stands in for its server.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "files.h"
#include "io/json.h"
#include "run/experiment/experiment.h"
#include "run/transport/line.h"

#include <engram/remote.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    "name: t\n"
    "data: {name: blobs, train: 40, test: 20, classes: 2}\n"
    "model: {name: mlp, depth: 0}\n"
    "scenario: {kind: class-incremental, clients: 2, tasks: 1, rounds: 1, "
    "partition: iid}\n"
    "runs: [{label: a, method: fedavg}]\n";

/* One question that is expected, and its answer. */
typedef struct line_of {
    const char *what; /* "run"; NULL: nothing more is asked */
    int code;         /* 0: the server is away */
    const char *body;
} line_of;

static const line_of *script;
static size_t asked;
static int n_open;

static eg_status script_open(const eg_http_to *to, void **out)
{
    assert_string_equal(to->url, "somewhere");
    assert_int_equal(strlen(to->key), 64);
    n_open++;
    *out = &n_open;
    return EG_OK;
}

static eg_status script_call(void *at, const eg_http_call *call, eg_http_reply *out)
{
    const line_of *l = &script[asked];
    char path[64];
    assert_ptr_equal(at, &n_open);
    assert_non_null(l->what);
    asked++;
    snprintf(path, sizeof path, "/engram/1/%s?client=1&", l->what);
    assert_memory_equal(call->path, path, strlen(path));
    if (l->code == 0)
        return eg_fail(EG_EIO, "nobody is there");
    *out = (eg_http_reply){.code = l->code, .n = strlen(l->body)};
    out->bytes = (unsigned char *)strdup(l->body);
    return EG_OK;
}

static void script_close(void *at)
{
    n_open -= at != NULL;
}

static const eg_line_calls calls = {script_open, script_call, script_close};

/* Joins a server that answers by this script, all of which is asked. */
static eg_status join_by(const line_of *lines, int64_t *n_turns)
{
    char folder[FILES_PATH], keys[FILES_PATH * 2], state[FILES_PATH * 2];
    files_folder(folder);
    snprintf(keys, sizeof keys, "%s/keys.txt", folder);
    snprintf(state, sizeof state, "%s/state", folder);
    assert_ok(eg_keys_make(keys, 2));
    script = lines, asked = 0, n_open = 0;
    eg_status s = eg_join(&(eg_join_how){.url = "somewhere",
                                         .client = 1,
                                         .key = keys,
                                         .state = state,
                                         .patience = 20,
                                         .calls = &calls},
                          n_turns);
    assert_null(script[asked].what);
    assert_int_equal(n_open, 0);
    files_remove(folder);
    return s;
}

/* What a server says of the run in `text`; free() it. */
static char *welcome(void)
{
    char folder[FILES_PATH], file[FILES_PATH * 2], *out = NULL;
    size_t n;
    eg_experiment *e;
    eg_json *json = eg_json_object();
    files_folder(folder);
    files_write(folder, "t.yaml", text, strlen(text));
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    assert_ok(eg_experiment_load(file, NULL, 0, NULL, &e));
    files_remove(folder);
    assert_ok(eg_json_set(json, "run", eg_json_of_text(e->sha256)));
    assert_ok(eg_json_set(json, "config", eg_json_of_text(e->resolved)));
    assert_ok(eg_json_set(json, "seed", eg_json_of_int(3)));
    assert_ok(eg_json_set(json, "patience", eg_json_of_real(60)));
    assert_ok(eg_json_print(json, 0, &out, &n));
    eg_json_free(json);
    eg_experiment_free(e);
    return out;
}

static void test_a_device_greets_again_when_the_server_has_started_anew(void **state)
{
    (void)state;
    char *run = welcome();
    int64_t n = -1;
    const line_of lines[] = {
        {"run", 0, NULL},      {"run", 200, run},  {"hello", 200, ""},    {"turn", 204, ""},
        {"turn", 428, "anew"}, {"hello", 200, ""}, {"turn", 410, "over"}, {0}};
    assert_ok(join_by(lines, &n));
    assert_int_equal(n, 0);
    free(run);
}

static void test_what_makes_no_sense_ends_a_device_with_a_sentence(void **state)
{
    (void)state;
    char *run = welcome();
    int64_t n;
    assert_fails(join_by((const line_of[]){{"run", 200, "{"}, {0}}, &n), EG_EFORMAT,
                 "the server's welcome");
    assert_fails(join_by((const line_of[]){{"run", 200, "{\"run\": \"x\"}"}, {0}}, &n),
                 EG_ENOENT, "config");
    assert_fails(join_by((const line_of[]){{"run", 401, "who are you?"}, {0}}, &n), EG_EINVAL,
                 "the server does not take this device: who are you?");
    assert_fails(join_by((const line_of[]){{"run", 404, "what?"}, {0}}, &n), EG_EINVAL,
                 "the server answered 404: what?");
    assert_fails(
        join_by((const line_of[]){{"run", 200, run}, {"hello", 409, "other data"}, {0}}, &n),
        EG_EINVAL, "the server does not take this device: other data");
    assert_fails(join_by((const line_of[]){{"run", 200, run},
                                           {"hello", 200, ""},
                                           {"turn", 200, "no message"},
                                           {0}},
                         &n),
                 EG_EIO, "the other side is gone");
    free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_device_greets_again_when_the_server_has_started_anew),
        cmocka_unit_test(test_what_makes_no_sense_ends_a_device_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
