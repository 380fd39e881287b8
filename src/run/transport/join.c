/* join.c - a device: one client of a run whose server is elsewhere.
 * SPDX-License-Identifier: Apache-2.0
 *
 * It learns the run from the server, opens its own data, says what it has, and then asks for
 * turns and answers them, one after the other. What a turn left behind is on the device's disk
 * before the answer goes out. While it works, a second thread tells the server every so often
 * that it is still there. A server that is away is asked again and again, for a while.
 */
#include "run/transport/joiner.h"

#include "io/file.h"

#include <engram/remote.h>
#include <engram/safetensors.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { JOIN_BEATS = 4 };

typedef struct eg_joiner join;

void eg_joiner_say(const join *j, const char *sentence)
{
    if (j->how->say)
        j->how->say(j->how->context, sentence);
}

/* What the server said when it would not. */
eg_status eg_joiner_refused(const eg_http_reply *r)
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
    eg_device_moment m = {.n_rounds = j->rig ? eg_scenario_n_rounds(j->rig->feed.scenario) : 0,
                          .n_turns = j->n_turns};
    if (turn && j->rig) {
        m.round = turn->round + 1;
        m.exchange = turn->exchange < j->rig->agreed.n_exchanges
                         ? j->rig->agreed.exchanges[turn->exchange].is.name
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
        eg_joiner_say(j, why);
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
        eg_joiner_say(j, "the server is back");
    j->away = 0;
}

/* The same, again and again while the server is away. */
eg_status eg_joiner_ask(join *j, const eg_line_call *r, eg_http_reply *out)
{
    eg_status s;
    do {
        s = eg_line_ask(&j->server, r, out);
        if (s == EG_OK && out->code >= 500) {
            s = eg_joiner_refused(out);
            free(out->bytes);
        }
    } while (s != EG_OK && join_again(j, s));
    if (s == EG_OK)
        join_is_back(j);
    return s;
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
        s = eg_json_set(json, "session", eg_json_of_int(j->server.session));
    if (s == EG_OK)
        s = eg_json_set(json, "home", eg_json_of_text(j->home.word));
    if (s == EG_OK && j->how->model)
        s = eg_json_set(json, "model", eg_json_of_bool(true));
    if (s == EG_OK)
        s = eg_json_print(json, 0, &text, &n);
    eg_json_free(json);
    if (s == EG_OK)
        s = eg_joiner_ask(j,
                          &(eg_line_call){.method = "POST",
                                          .what = "hello",
                                          .body = text,
                                          .n_body = n,
                                          .max = EG_JOINER_SENTENCE},
                          &reply);
    free(text);
    EG_TRY(s);
    if (reply.code != 200)
        s = eg_joiner_refused(&reply);
    free(reply.bytes);
    eg_bundle_free(j->down);
    j->down = NULL;
    j->met = s == EG_OK;
    return s;
}

static eg_status join_dial(join *j, eg_line *out)
{
    const eg_line_to to = {j->how->url, j->how->ca, j->how->address,
                           j->key,      j->signer,  j->how->calls};
    return eg_line_open(&to, j->home.client, j->server.session, out);
}

static eg_status join_open_pulse(join *j)
{
    eg_line line;
    EG_TRY(join_dial(j, &line));
    return eg_pulse_new(&line, j->patience / JOIN_BEATS, &j->pulse);
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
    EG_TRY(eg_joiner_ask(
        j, &(eg_line_call){.method = "GET", .what = "download", .number = of, .max = j->most},
        &reply));
    *gone = reply.code == 409 || reply.code == 428;
    eg_status s = reply.code == 200 ? join_keep_download(j, of, &reply)
                  : *gone           ? EG_OK
                                    : eg_joiner_refused(&reply);
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
        eg_joiner_say(j,
                      "the server knows of what this client keeps, and its folder is new: it "
                      "begins anew");
    turn->told_boundary =
        turn->told_boundary ||
        (j->new_task && eg_scenario_offers(j->rig->feed.scenario) & EG_OFFERS_BOUNDARIES);
    eg_workers_share(&j->rig->worker, 1, 1, j->how->threads);
    EG_TRY(eg_worker_turn(&j->rig->worker, turn, reply));
    j->new_task = false;
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
    if (turn.kind != EG_TURN_CLIENT || turn.id != j->home.client)
        return eg_fail(EG_EFORMAT, "the server asks for what is no turn of this client");
    if (!join_moment(j, &turn))
        return EG_OK;
    eg_pulse_set(j->pulse, m->head.number);
    eg_status s = join_work(j, &turn, &reply);
    bool failed = s != EG_OK;
    if (failed)
        eg_joiner_say(j, eg_error());
    s = eg_message_answer(m, s, &reply, join_put, &out);
    eg_reply_fini(&reply);
    if (s == EG_OK)
        s = eg_joiner_ask(j,
                          &(eg_line_call){"POST", "reply", m->head.number, out.bytes, out.n,
                                          EG_JOINER_SENTENCE},
                          &heard);
    eg_pulse_set(j->pulse, -1);
    free(out.bytes);
    EG_TRY(s);
    bool gone = heard.code == 409 || heard.code == 428; /* 428: the server has started anew */
    s = heard.code == 200 || gone ? EG_OK : eg_joiner_refused(&heard);
    if (gone)
        eg_joiner_say(j, "the answer came too late and does not count");
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
                                    (size_t)eg_scenario_n_classes(j->rig->feed.scenario), m);
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
    EG_TRY(eg_joiner_ask(j, &(eg_line_call){.method = "GET", .what = "turn", .max = j->most},
                         &reply));
    eg_status s = EG_OK;
    if (reply.code == 200)
        eg_joiner_grow(j);
    if (reply.code == 200)
        s = join_take(j, &reply);
    else if (reply.code == 428)
        j->met = false; /* the server has started anew */
    else if (reply.code == 410)
        j->over = true;
    else if (reply.code != 204)
        s = eg_joiner_refused(&reply);
    free(reply.bytes);
    return s;
}

/* By what the server knows it, and which client it is. One that has a code enrols first. */
static eg_status join_identify(join *j)
{
    const eg_join_how *how = j->how;
    eg_identity who;
    if (how->code)
        EG_TRY(eg_enrol(how, &j->home.client));
    EG_TRY(eg_keys_find(how->key, j->home.client, &j->home.client, j->key));
    if (eg_key_kind_of(j->key) == EG_KEY_PUBLIC)
        return eg_fail(EG_EINVAL, "%s has a public key, and a device needs its secret one",
                       how->key);
    if (!eg_key_read_secret(j->key, &who))
        return EG_OK;
    eg_wipe(j->key, sizeof j->key);
    eg_status s = eg_signer_new(&who, &j->signer);
    eg_wipe(&who, sizeof who);
    return s;
}

/* Finds the server, and is somebody there. */
static eg_status join_begin(join *j)
{
    EG_TRY(join_identify(j));
    if (j->home.client >= EG_MAX_OWNER)
        return eg_fail(EG_EINVAL, "there is no client %lld", (long long)j->home.client);
    eg_random(&j->server.session, sizeof j->server.session);
    j->server.session &= ((int64_t)1 << 52) - 1;
    return join_dial(j, &j->server);
}

/* The global model, as a file. It is looked at before it takes the place of another. */
static eg_status join_get_model(join *j, const char *path)
{
    eg_http_reply reply;
    eg_tensors *tensors;
    EG_TRY(eg_joiner_ask(j, &(eg_line_call){.method = "GET", .what = "model", .max = j->most},
                         &reply));
    eg_status s = reply.code == 200 ? EG_OK : eg_joiner_refused(&reply);
    if (s == EG_OK)
        s = eg_blame(eg_safetensors_parse(reply.bytes, reply.n, &tensors),
                     "the server's model");
    if (s == EG_OK) {
        s = eg_tensors_check_finite(tensors);
        eg_tensors_free(tensors);
    }
    if (s == EG_OK)
        s = eg_file_write(path, &(eg_bytes){reply.bytes, reply.n}, 1);
    free(reply.bytes);
    return s;
}

/* Opens what it has, once, and then asks for a turn and takes it. */
static eg_status join_step(join *j)
{
    if (!j->rig)
        EG_TRY(eg_joiner_open(j));
    if (!j->pulse)
        EG_TRY(join_open_pulse(j));
    return join_turn(j);
}

static eg_status join_all(join *j)
{
    EG_TRY(join_begin(j));
    EG_TRY(eg_joiner_learn(j));
    EG_TRY(eg_joiner_open(j));
    while (!j->over && join_moment(j, NULL))
        EG_TRY(join_step(j));
    return j->over && j->how->model ? join_get_model(j, j->how->model) : EG_OK;
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
    eg_joiner_say(j, text);
    return EG_OK;
}

static void join_close(join *j)
{
    eg_pulse_free(j->pulse);
    eg_bundle_free(j->down);
    eg_rig_free(j->rig);
    eg_pushed_free(j->pushed);
    eg_experiment_free(j->e);
    eg_line_close(&j->server);
    eg_signer_free(j->signer);
    eg_wipe(j->key, sizeof j->key);
    eg_home_close(&j->home);
}

static eg_status join_make(const eg_join_how *how, join **out)
{
    EG_TRY(eg_alloc(1, sizeof **out, out));
    (*out)->how = how;
    (*out)->own_data = how->own_data;
    (*out)->home = (eg_home){.client = how->client, .lock = -1};
    return EG_OK;
}

eg_status eg_join_get_model(const eg_join_how *how, const char *path)
{
    join *j;
    EG_TRY(join_make(how, &j));
    eg_status s = join_begin(j);
    if (s == EG_OK)
        s = join_get_model(j, path);
    eg_join_free(j);
    return s;
}

eg_status eg_join(const eg_join_how *how, int64_t *n_turns)
{
    join *j;
    *n_turns = 0;
    EG_TRY(join_make(how, &j));
    eg_status s = join_all(j);
    *n_turns = j->n_turns;
    if (j->left)
        s = EG_OK;
    if (s == EG_OK)
        s = join_count_failed(j);
    eg_join_free(j);
    return s;
}

eg_status eg_join_new(const eg_join_how *how, const eg_join_shape *shape, eg_joiner **out)
{
    join *j;
    *out = NULL;
    EG_TRY(join_make(how, &j));
    j->own_data = true;
    eg_status s = eg_pushed_new(shape, &j->pushed);
    if (s == EG_OK)
        s = join_begin(j);
    if (s == EG_OK)
        s = eg_joiner_learn(j);
    if (s == EG_OK)
        *out = j;
    else
        eg_join_free(j);
    return s;
}

void eg_join_free(eg_joiner *j)
{
    if (!j)
        return;
    join_close(j);
    free(j);
}

eg_status eg_join_push(eg_joiner *j, const float *x, const int32_t *y, int64_t n)
{
    return eg_pushed_add(j->pushed, x, y, n);
}

void eg_join_begin_task(eg_joiner *j)
{
    j->new_task = true;
}

eg_status eg_join_step(eg_joiner *j, bool *over)
{
    bool leaves = !j->over && !join_moment(j, NULL);
    if (eg_pushed_n(j->pushed) == 0)
        return eg_fail(EG_EINVAL, "nothing was pushed yet");
    if (!j->over && !leaves) {
        EG_TRY(join_step(j));
        if (j->over && j->how->model)
            EG_TRY(join_get_model(j, j->how->model));
    }
    *over = j->over || leaves;
    return EG_OK;
}

int64_t eg_join_n_turns(const eg_joiner *j)
{
    return j->n_turns;
}
