/* https_threaded_test.c - a server among devices that are not to be trusted.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two devices are honest and join by eg_join, on threads of this process; the third speaks the
 * protocol by hand and answers its turns with whatever the test has it answer. The run must
 * come to its end, with a line for every answer that does not count.
 */
#include "devices.h"

#include "io/file.h"
#include "io/http_client.h"
#include "run/transport/https.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "own_folder.h"

enum { SESSION = 77, ROGUE = 1, CLIENTS = 3, ROUNDS = 3 };

static const char text[] =
    "name: t\n"
    "data: {name: blobs, train: 120, test: 40, classes: 4}\n"
    "model: {name: mlp, depth: 0}\n"
    "scenario: {kind: class-incremental, clients: 3, tasks: 1, rounds: 3, partition: iid}\n"
    "memory: {kind: reservoir, size: 20}\n"
    "optimizer: {lr: 0.1}\n"
    "train: {epochs: 1, batch: 10}\n"
    "runs: [{label: a, method: er}]\n";

typedef enum mischief {
    JUNK,     /* bytes that are no message */
    CUT,      /* a message that breaks off */
    OTHER,    /* an answer to another turn than it says */
    STRANGER, /* another client's answer */
    NOT_FINITE,
    EMPTY,     /* no bundle at all */
    RECEIPT,   /* a version that cannot be */
    FAILED,    /* it says that its turn failed */
    NO_MEMORY, /* so that the server's own failures are taken for its, */
    NO_TEXT,   /* or in words that no log can hold */
    SILENT,    /* no answer */
    SLOW,      /* no answer either, but it says that it is at work */
    STUCK,     /* nor is there a deadline but the one that the others' answers make */
    N_MISCHIEF
} mischief;

/* What is expected of the answer's code, and in the log. */
static const struct {
    int code;
    const char *why;
} expected[N_MISCHIEF] = {
    [JUNK] = {400, "what is no answer"},
    [CUT] = {400, "what is no answer"},
    [OTHER] = {400, "another turn than it says"},
    [STRANGER] = {200, "not asked"},
    [NOT_FINITE] = {200, "NaN"},
    [EMPTY] = {200, "left something out"},
    [RECEIPT] = {200, "no receipt can say"},
    [FAILED] = {200, "no disk"},
    [NO_MEMORY] = {200, "no memory for a turn"},
    [NO_TEXT] = {200, "no \\\\xff disk \\\\xc3"},
    [SILENT] = {0, "was not heard of"},
    [SLOW] = {409, "did not answer within 0 seconds"},
    [STUCK] = {409, "did not answer within 1 seconds"},
};

typedef struct party {
    devices d;
    mischief does;
    int code; /* of the rogue's last answer */
} party;

static party *now;

static eg_http_reply ask(eg_http_client *c, const char *method, const char *what,
                         int64_t number, const void *body, size_t n)
{
    char path[128];
    eg_http_reply reply = {0};
    snprintf(path, sizeof path, EG_HTTPS_ROOT "/%s?client=%d&session=%d&number=%lld", what,
             ROGUE, SESSION, (long long)number);
    if (eg_http_client_call(
            c,
            &(eg_http_call){
                .method = method, .path = path, .body = body, .n_body = n, .max = 1 << 24},
            &reply) != EG_OK)
        reply.code = 410; /* the server has gone */
    return reply;
}

/* An upload as it should be, but for the mischief. */
static void fill(const eg_message *turn, mischief does, eg_message *m, eg_bundle *up)
{
    float param[4096] = {0};
    size_t n = 64; /* what blobs and a linear network come to is looked at by length alone */
    m->head = turn->head;
    m->head.kind = EG_MESSAGE_REPLY;
    m->head.n_met = m->head.n_numbers = 0;
    m->head.kept = (eg_receipt){.version = does == RECEIPT ? 1000000000000 : 1, .bytes = 10};
    m->head.number += does == OTHER;
    m->head.id += does == STRANGER;
    if (does == FAILED || does == NO_MEMORY || does == NO_TEXT) {
        m->head.status = does == NO_MEMORY ? EG_ENOMEM : EG_EIO;
        snprintf(m->text, sizeof m->text, "%s",
                 does == FAILED      ? "no disk"
                 : does == NO_MEMORY ? "no memory for a turn"
                                     : "no \xff disk \xc3");
    }
    param[3] = does == NOT_FINITE ? NAN : 0;
    assert_ok(eg_bundle_scalar(up, "samples", 10));
    assert_ok(eg_bundle_scalar(up, "loss", 1));
    assert_ok(eg_bundle_add_flat(up, "param", param, n));
}

static void misbehave(eg_http_client *c, const eg_message *turn)
{
    static eg_message m;
    eg_bundle *up, *took;
    unsigned char *bytes = NULL;
    size_t n = 0;
    mischief does = now->does;
    bool waits = does == SLOW || does == STUCK;
    for (now->code = 0; waits && now->code != 409;) {
        eg_http_reply r = ask(c, "POST", "alive", turn->head.number, NULL, 0);
        now->code = r.code;
        free(r.bytes);
        nanosleep(&(struct timespec){.tv_nsec = 50 * 1000 * 1000}, NULL);
    }
    if (does == SILENT || waits)
        return;
    m = (eg_message){0};
    assert_ok(eg_bundle_new(&up));
    fill(turn, does, &m, up);
    assert_ok(eg_message_of_reply(&(eg_reply){0}, &took));
    const eg_bundle *const both[2] = {does == EMPTY ? NULL : up, took};
    assert_ok(eg_message_pack(&m, both, &bytes, &n));
    eg_http_reply r = does == JUNK ? ask(c, "POST", "reply", turn->head.number, "junk", 4)
                                   : ask(c, "POST", "reply", turn->head.number, bytes,
                                         does == CUT ? n - 1 : n);
    now->code = r.code;
    free(r.bytes);
    free(bytes);
    eg_bundle_free(up);
    eg_bundle_free(took);
}

/* Asks for a turn and misbehaves in it; false: that was the last. */
static bool take_turn(eg_http_client *c)
{
    static eg_message turn;
    eg_http_reply r = ask(c, "GET", "turn", 0, NULL, 0);
    bool over = r.code == 410 || (r.code == 200 && now->does == SILENT);
    if (r.code == 200) {
        assert_ok(eg_message_unpack(r.bytes, r.n, 4, &turn));
        misbehave(c, &turn);
        eg_message_fini(&turn);
    }
    free(r.bytes);
    return !over;
}

/* What the server told, told back. */
static void greet(eg_http_client *c, const char *home, int code)
{
    eg_json *hello;
    char *said;
    size_t n;
    eg_http_reply r = ask(c, "GET", "run", 0, NULL, 0);
    assert_ok(eg_json_parse(r.bytes, r.n, &hello));
    free(r.bytes);
    assert_ok(eg_json_set(hello, "config", eg_json_of_text("")));
    assert_ok(eg_json_set(hello, "session", eg_json_of_int(SESSION)));
    assert_ok(eg_json_set(hello, "home", eg_json_of_text(home)));
    assert_ok(eg_json_print(hello, 0, &said, &n));
    eg_json_free(hello);
    r = ask(c, "POST", "hello", 0, said, n);
    assert_int_equal(r.code, code);
    free(r.bytes);
    free(said);
}

static void *rogue(void *context)
{
    eg_key key;
    eg_http_client *c;
    (void)context;
    devices_wait(&now->d);
    assert_ok(eg_keys_find(now->d.keys, ROGUE, &(int64_t){0}, key));
    assert_ok(eg_http_client_new(&(eg_http_to){.url = now->d.url, .key = key}, &c));
    greet(c, "a rogue's folder", 200);
    while (take_turn(c))
        continue;
    eg_http_client_free(c);
    return NULL;
}

static char *read_log(const char *run)
{
    char path[1024];
    unsigned char *bytes;
    size_t n;
    snprintf(path, sizeof path, "%s/metrics.jsonl", run);
    assert_ok(eg_file_read(path, 1 << 24, &bytes, &n));
    return (char *)bytes;
}

/* Runs it with two honest devices and the rogue, which are not to be blamed for one another. */
static void run_among(party *p, char run[512])
{
    char file[FILES_PATH * 2];
    eg_experiment *e;
    bool stopped, slow = p->does == SLOW;
    pthread_t rogues;
    devices_one honest[CLIENTS];
    now = p;
    devices_init(&p->d, folder);
    files_write(folder, "t.yaml", text, sizeof text - 1);
    snprintf(file, sizeof file, "%s/t.yaml", folder);
    assert_ok(eg_experiment_load(file, NULL, 0, NULL, &e));
    const eg_listen listen = {.address = "127.0.0.1:0",
                              .keys = p->d.keys,
                              .patience = slow               ? 30
                                          : p->does == STUCK ? 1
                                                             : 3,
                              .deadline = slow ? 0.5 : 0,
                              .ready = devices_ready,
                              .context = &p->d};
    assert_int_equal(pthread_create(&rogues, NULL, rogue, NULL), 0);
    for (int i = 0; i < CLIENTS; i++)
        if (i != ROGUE)
            devices_start(&p->d, &honest[i], i);
    assert_ok(eg_experiment_run(
        e, &(eg_run_how){.seed = 3, .workers = 1, .out = p->d.out, .listen = &listen}, run,
        &stopped));
    pthread_join(rogues, NULL);
    for (int i = 0; i < CLIENTS; i++)
        if (i != ROGUE) {
            pthread_join(honest[i].thread, NULL);
            assert_int_equal(honest[i].status, EG_OK);
        }
    eg_experiment_free(e);
}

static void test_no_mischief_of_a_device_ends_a_run(void **state)
{
    (void)state;
    for (int k = 0; k < N_MISCHIEF; k++) {
        party p = {.does = (mischief)k};
        char run[512];
        run_among(&p, run);
        assert_int_equal(p.code, expected[k].code);
        char *log = read_log(run);
        assert_int_equal(text_count(log, "\"event\":\"round\""), ROUNDS);
        if (!strstr(log, expected[k].why))
            fail_msg("mischief %d: the log does not say '%s'", k, expected[k].why);
        free(log);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_mischief_of_a_device_ends_a_run),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
