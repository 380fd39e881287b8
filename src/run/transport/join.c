/* join.c - a device: one client of a run whose server is elsewhere.
 * SPDX-License-Identifier: Apache-2.0
 *
 * It learns the run from the server, opens its own data, says what it has, and then asks for
 * turns and answers them, one after the other. What a turn left behind is on the device's disk
 * before the answer goes out. While it works, a second thread tells the server every so often
 * that it is still there. A server that is away is asked again and again, for a while.
 */
#include "run/transport/device.h"

#include "run/experiment/feed.h"

#include <engram/remote.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { JOIN_ROUTE = 128, JOIN_BEATS = 4 };
#define JOIN_MAX_BYTES ((size_t)1 << 36)

typedef struct join {
    const eg_join_how *how;
    eg_http_client *server;
    eg_key key;
    eg_experiment *e;
    uint64_t seed;
    eg_feed feed;
    eg_agreement agreed;
    eg_net *net;
    eg_worker worker;
    bool worker_open;
    eg_home home;
    int64_t session; /* the number of this process */
    eg_hello mine;
    double patience; /* the server's */
    eg_bundle *down;
    int64_t down_of; /* number of its exchange; 0: none */
    int64_t n_turns, n_failed;
    bool met, over, left;
    double away;     /* since when the server is; 0: it is not */
    eg_pulse *pulse; /* says that it is still at work */
} join;

/* What is asked of the server. */
typedef struct join_request {
    const char *method, *what;
    int64_t number; /* of a turn, or of an exchange */
    const void *body;
    size_t n_body;
} join_request;

/* One call; the answer's bytes are *out's, which free() ends. */
static eg_status join_call(join *j, const join_request *r, eg_http_reply *out)
{
    char path[JOIN_ROUTE];
    snprintf(path, sizeof path, EG_HTTPS_ROOT "/%s?client=%lld&session=%lld&number=%lld",
             r->what, (long long)j->how->client, (long long)j->session, (long long)r->number);
    const eg_http_call call = {.method = r->method,
                               .path = path,
                               .body = r->body,
                               .n_body = r->n_body,
                               .max = JOIN_MAX_BYTES};
    return eg_http_client_call(j->server, &call, out);
}

static void join_say(const join *j, const char *sentence)
{
    if (j->how->say)
        j->how->say(j->how->context, sentence);
}

/* What the server said when it would not. */
static eg_status join_refused(const eg_http_reply *r)
{
    char why[400];
    snprintf(why, sizeof why, "%.*s", (int)(r->n < 399 ? r->n : 399), (const char *)r->bytes);
    if (r->code == 401 || r->code == 409)
        return eg_fail(EG_EINVAL, "the server does not take this device: %s", why);
    return eg_fail(r->code >= 500 ? EG_EIO : EG_EINVAL, "the server answered %d: %s", r->code,
                   why);
}

/* Tells whoever looks on; false: the device leaves. */
static bool join_moment(join *j, const eg_turn *turn)
{
    eg_device_moment m = {.n_rounds =
                              j->worker_open ? eg_scenario_n_rounds(j->feed.scenario) : 0,
                          .n_turns = j->n_turns};
    if (turn) {
        m.round = turn->round + 1;
        m.exchange = turn->exchange < j->agreed.n_exchanges
                         ? j->agreed.exchanges[turn->exchange].is.name
                         : "a turn";
    }
    j->left |= j->how->moment && !j->how->moment(j->how->context, &m);
    return !j->left;
}

/* After a call that failed: whether to try again, in a moment. The error text stays if not. */
static bool join_again(join *j, eg_status s)
{
    double now = eg_seconds(), most = j->how->patience > 0 ? j->how->patience : 600;
    char why[512];
    if (s != EG_EIO)
        return false;
    snprintf(why, sizeof why, "%s; trying again", eg_error());
    if (j->away == 0) {
        j->away = now;
        join_say(j, why);
    }
    if (now - j->away > most) {
        eg_blame(s, "the server is away for %.0f seconds", most);
        return false;
    }
    nanosleep(&(struct timespec){.tv_nsec = 500 * 1000 * 1000}, NULL);
    return join_moment(j, NULL);
}

static void join_is_back(join *j)
{
    if (j->away > 0)
        join_say(j, "the server is back");
    j->away = 0;
}

/* The same, again and again while the server is away. */
static eg_status join_ask(join *j, const join_request *r, eg_http_reply *out)
{
    eg_status s;
    do {
        s = join_call(j, r, out);
        if (s == EG_OK && out->code >= 500) {
            s = join_refused(out);
            free(out->bytes);
        }
    } while (s != EG_OK && join_again(j, s));
    if (s == EG_OK)
        join_is_back(j);
    return s;
}

/* The run, as the server has it. */
static eg_status join_resolve(join *j, const char *config, const char *run)
{
    const eg_join_how *how = j->how;
    eg_experiment_file *file;
    char client[64];
    const char *settings[64];
    size_t n = 0;
    if (!how->own_data && how->n_settings)
        return eg_fail(EG_EINVAL, "only a device with data of its own has settings of its own");
    if (how->n_settings > 60)
        return eg_fail(EG_EINVAL, "%zu settings are too many", how->n_settings);
    while (n < how->n_settings) {
        settings[n] = how->settings[n];
        n++;
    }
    snprintf(client, sizeof client, "scenario.partition.client=%lld", (long long)how->client);
    if (how->own_data) {
        settings[n++] = "scenario.partition=alone";
        settings[n++] = client;
    }
    EG_TRY(eg_experiment_parse("the server's configuration", config, &file));
    eg_status s = eg_experiment_file_resolve(file, NULL, n, settings, &j->e);
    eg_experiment_file_free(file);
    EG_TRY(s);
    if (!how->own_data && strcmp(j->e->sha256, run) != 0)
        return eg_fail(EG_EINVAL, "the server's configuration means something else here: the "
                                  "server is another version of engram");
    return EG_OK;
}

static eg_status join_read_welcome(join *j, const eg_json *from)
{
    const eg_json *run, *config, *seed, *patience;
    const char *run_text, *config_text;
    int64_t number;
    EG_TRY(eg_json_need(from, "run", EG_JSON_TEXT, &run));
    EG_TRY(eg_json_need(from, "config", EG_JSON_TEXT, &config));
    EG_TRY(eg_json_need(from, "seed", EG_JSON_INT, &seed));
    EG_TRY(eg_json_need(from, "patience", EG_JSON_REAL, &patience));
    EG_TRY(eg_json_text(run, &run_text));
    EG_TRY(eg_json_text(config, &config_text));
    EG_TRY(eg_json_int(seed, &number));
    EG_TRY(eg_json_real(patience, &j->patience));
    if (!(j->patience > 0 && j->patience < 1e9) || strlen(run_text) != 64 ||
        strspn(run_text, "0123456789abcdef") != 64)
        return eg_fail(EG_EFORMAT, "the server's welcome makes no sense");
    j->seed = (uint64_t)number;
    const char *state = j->how->state ? j->how->state : "engram-state";
    int n = snprintf(j->home.store, sizeof j->home.store, "%s/%.16s-s%lld", state, run_text,
                     (long long)number);
    if (n >= (int)sizeof j->home.store - 64)
        return eg_fail(EG_EINVAL, "the path '%.200s...' is too long", state);
    return join_resolve(j, config_text, run_text);
}

static eg_status join_learn(join *j)
{
    eg_http_reply reply;
    eg_json *json;
    EG_TRY(join_ask(j, &(join_request){.method = "GET", .what = "run"}, &reply));
    eg_status s = reply.code == 200 ? EG_OK : join_refused(&reply);
    if (s == EG_OK)
        s = eg_blame(eg_json_parse(reply.bytes, reply.n, &json), "the server's welcome");
    free(reply.bytes);
    EG_TRY(s);
    s = join_read_welcome(j, json);
    eg_json_free(json);
    return s;
}

/* Whether a list with commas names a word. */
static bool join_lists(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; at; at = strchr(at, ','), at += at != NULL)
        if (strncmp(at, word, n) == 0 && (at[n] == ',' || !at[n]))
            return true;
    return false;
}

/* Whether what the parts take away from a client is allowed. */
static eg_status join_check_leaving(const join *j)
{
    const eg_parts *parts = &j->e->parts;
    for (size_t i = 0; j->how->allow && i < parts->n; i++) {
        const eg_method *m = parts->at[i].method;
        if (m->client.answer && !m->leaves)
            return eg_fail(EG_EINVAL, "the run's method %s does not say what leaves a client",
                           m->component.name);
        for (const eg_leaving *l = eg_leavings; l->name; l++)
            if (m->leaves & l->bit && !join_lists(j->how->allow, l->name))
                return eg_fail(EG_EINVAL,
                               "the run's method %s takes %s from a client (%s), and --allow "
                               "does not name them",
                               m->component.name, l->name, l->help);
    }
    return EG_OK;
}

static eg_status join_open(join *j)
{
    const eg_experiment *e = j->e;
    EG_TRY(join_check_leaving(j));
    EG_TRY(eg_home_open(&j->home));
    EG_TRY(eg_home_draw(&j->session, sizeof j->session));
    j->session &= ((int64_t)1 << 52) - 1;
    EG_TRY(eg_experiment_equip(e, j->seed, j->how->data_dir, &j->feed, &j->agreed, &j->net));
    if (j->how->client >= eg_scenario_n_clients(j->feed.scenario))
        return eg_fail(EG_EINVAL, "there is no client %lld: the run has %lld",
                       (long long)j->how->client,
                       (long long)eg_scenario_n_clients(j->feed.scenario));
    j->worker_open = true; /* even half open it is to be closed */
    EG_TRY(eg_worker_open(e, &j->feed, j->net, &j->agreed, j->home.store, &j->worker));
    return eg_hello_fill(&(eg_site){.e = e, .feed = &j->feed, .net = j->net}, j->how->own_data,
                         &j->mine);
}

/* Says what it has; the server takes it or says why not. It may be another process than the one
 * that was asked before, which counts exchanges anew: what is kept of the last is not its. */
static eg_status join_greet(join *j)
{
    eg_http_reply reply;
    char *text = NULL;
    size_t n;
    eg_json *json = eg_json_object();
    if (!json)
        return EG_ENOMEM;
    eg_status s = eg_hello_put(&j->mine, json);
    if (s == EG_OK)
        s = eg_json_set(json, "session", eg_json_of_int(j->session));
    if (s == EG_OK)
        s = eg_json_set(json, "home", eg_json_of_text(j->home.word));
    if (s == EG_OK)
        s = eg_json_print(json, 0, &text, &n);
    eg_json_free(json);
    if (s == EG_OK)
        s = join_ask(
            j, &(join_request){.method = "POST", .what = "hello", .body = text, .n_body = n},
            &reply);
    free(text);
    EG_TRY(s);
    if (reply.code != 200)
        s = join_refused(&reply);
    free(reply.bytes);
    eg_bundle_free(j->down);
    j->down = NULL;
    j->met = s == EG_OK;
    return s;
}

static eg_status join_open_pulse(join *j)
{
    eg_http_client *server;
    EG_TRY(eg_http_client_new(j->how->url, j->key, j->how->ca, &server));
    return eg_pulse_new(server, j->how->client, j->session, j->patience / JOIN_BEATS,
                        &j->pulse);
}

/* Takes a download out of its bytes. */
static eg_status join_keep_download(join *j, int64_t of, const eg_http_reply *from)
{
    eg_message *m;
    EG_TRY(eg_alloc(1, sizeof *m, &m));
    eg_status s = eg_message_unpack(from->bytes, from->n, 0, m);
    if (s == EG_OK && (m->head.kind != EG_MESSAGE_DOWNLOAD || !m->bundles[0]))
        s = eg_fail(EG_EFORMAT, "what the server sends is no download");
    if (s == EG_OK) {
        eg_bundle_free(j->down);
        j->down = m->bundles[0];
        j->down_of = of;
        m->bundles[0] = NULL;
    }
    eg_message_fini(m);
    free(m);
    return s;
}

/* What all clients of the turn's exchange are sent. *gone: the exchange is over. */
static eg_status join_download(join *j, int64_t of, bool *gone)
{
    eg_http_reply reply;
    *gone = false;
    if (j->down && j->down_of == of)
        return EG_OK;
    EG_TRY(join_ask(j, &(join_request){.method = "GET", .what = "download", .number = of},
                    &reply));
    *gone = reply.code == 409 || reply.code == 428;
    eg_status s = reply.code == 200 ? join_keep_download(j, of, &reply)
                  : *gone           ? EG_OK
                                    : join_refused(&reply);
    free(reply.bytes);
    return s;
}

typedef struct join_bytes {
    unsigned char *bytes;
    size_t n;
} join_bytes;

static eg_status join_put(void *context, const eg_message *m, const eg_bundle *const bundles[2])
{
    join_bytes *b = context;
    return eg_message_pack(m, bundles, &b->bytes, &b->n);
}

/* Carries out a turn, and brings what it left to disk. */
static eg_status join_work(join *j, eg_turn *turn, eg_reply *reply)
{
    const eg_receipt told = turn->kept;
    bool lost;
    EG_TRY(eg_home_localise(&j->home, turn, &lost));
    if (lost)
        join_say(j, "the server knows of what this client keeps, and its folder is new: it "
                    "begins anew");
    EG_TRY(eg_worker_turn(&j->worker, turn, reply));
    EG_TRY(eg_records_sync(j->home.store, turn->id, &reply->kept, turn->committed));
    eg_home_globalise(&j->home, &told, &reply->kept);
    return EG_OK;
}

/* Carries out what a message asks for, and sends what it came to. */
static eg_status join_answer(join *j, eg_message *m)
{
    eg_turn turn;
    eg_test none = {0};
    eg_reply reply = {0};
    join_bytes out = {0};
    eg_http_reply heard;
    EG_TRY(eg_message_to_turn(m, j->down, &turn, &none));
    eg_test_fini(&none);
    if (turn.kind != EG_TURN_CLIENT || turn.id != j->how->client)
        return eg_fail(EG_EFORMAT, "the server asks for what is no turn of this client");
    if (!join_moment(j, &turn))
        return EG_OK;
    eg_pulse_set(j->pulse, m->head.number);
    eg_status s = join_work(j, &turn, &reply);
    bool failed = s != EG_OK;
    if (failed)
        join_say(j, eg_error());
    s = eg_message_answer(m, s, &reply, join_put, &out);
    eg_reply_fini(&reply);
    if (s == EG_OK)
        s = join_ask(j, &(join_request){"POST", "reply", m->head.number, out.bytes, out.n},
                     &heard);
    eg_pulse_set(j->pulse, -1);
    free(out.bytes);
    EG_TRY(s);
    bool gone = heard.code == 409 || heard.code == 428; /* 428: the server has started anew */
    s = heard.code == 200 || gone ? EG_OK : join_refused(&heard);
    if (gone)
        join_say(j, "the answer came too late and does not count");
    j->n_turns += heard.code == 200 && !failed;
    j->n_failed += failed;
    free(heard.bytes);
    return s;
}

static eg_status join_take(join *j, const eg_http_reply *reply)
{
    bool gone;
    eg_message *m;
    EG_TRY(eg_alloc(1, sizeof *m, &m));
    eg_status s = eg_message_unpack(reply->bytes, reply->n,
                                    (size_t)eg_scenario_n_classes(j->feed.scenario), m);
    if (s == EG_OK) {
        s = join_download(j, eg_board_exchange_of(m->head.number), &gone);
        if (s == EG_OK && !gone)
            s = join_answer(j, m);
        eg_message_fini(m);
    }
    free(m);
    return s;
}

/* Asks once for a turn, and takes it. */
static eg_status join_turn(join *j)
{
    eg_http_reply reply;
    if (!j->met)
        EG_TRY(join_greet(j));
    EG_TRY(join_ask(j, &(join_request){.method = "GET", .what = "turn"}, &reply));
    eg_status s = EG_OK;
    if (reply.code == 200)
        s = join_take(j, &reply);
    else if (reply.code == 428)
        j->met = false; /* the server has started anew */
    else if (reply.code == 410)
        j->over = true;
    else if (reply.code != 204)
        s = join_refused(&reply);
    free(reply.bytes);
    return s;
}

static eg_status join_all(join *j)
{
    const eg_join_how *how = j->how;
    EG_TRY(eg_keys_find(how->key, how->client, j->key));
    EG_TRY(eg_http_client_new(how->url, j->key, how->ca, &j->server));
    EG_TRY(join_learn(j));
    EG_TRY(join_open(j));
    EG_TRY(join_open_pulse(j));
    while (!j->over && join_moment(j, NULL))
        EG_TRY(join_turn(j));
    return EG_OK;
}

/* A device of which no turn succeeded has not taken part. */
static eg_status join_count_failed(const join *j)
{
    char text[96];
    if (j->n_failed == 0)
        return EG_OK;
    if (j->n_turns == 0)
        return eg_fail(EG_EIO, "all %lld turns failed", (long long)j->n_failed);
    snprintf(text, sizeof text, "%lld of %lld turns failed", (long long)j->n_failed,
             (long long)j->n_failed + (long long)j->n_turns);
    join_say(j, text);
    return EG_OK;
}

static void join_close(join *j)
{
    eg_pulse_free(j->pulse);
    eg_bundle_free(j->down);
    if (j->worker_open)
        eg_worker_close(&j->worker);
    eg_net_free(j->net);
    eg_feed_close(&j->feed);
    eg_experiment_free(j->e);
    eg_http_client_free(j->server);
    eg_home_close(&j->home);
}

eg_status eg_join(const eg_join_how *how, int64_t *n_turns)
{
    join *j;
    *n_turns = 0;
    if (how->client < 0 || how->client >= EG_MAX_OWNER)
        return eg_fail(EG_EINVAL, "there is no client %lld", (long long)how->client);
    EG_TRY(eg_alloc(1, sizeof *j, &j));
    j->how = how;
    j->home = (eg_home){.client = how->client, .lock = -1};
    eg_status s = join_all(j);
    *n_turns = j->n_turns;
    if (j->left)
        s = EG_OK;
    if (s == EG_OK)
        s = join_count_failed(j);
    join_close(j);
    free(j);
    return s;
}
