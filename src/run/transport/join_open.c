/* join_open.c - a device learns a run, and opens its own data for it, as often as they grow.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/transport/joiner.h"

#include "engine/graph/kernel.h"
#include "io/file.h"
#include "run/privacy/members.h"
#include "run/transport/frozen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct eg_joiner join;

/* The run, as the server has it. */
static eg_status join_resolve(join *j, const char *config, const char *run)
{
    const eg_join_how *how = j->how;
    eg_experiment_file *file;
    char client[64], slot[32];
    const char *settings[64];
    size_t n = 0;
    if (!j->own_data && how->n_settings)
        return eg_fail(EG_EINVAL, "only a device with data of its own has settings of its own");
    if (how->n_settings > 58)
        return eg_fail(EG_EINVAL, "%zu settings are too many", how->n_settings);
    while (n < how->n_settings) {
        settings[n] = how->settings[n];
        n++;
    }
    snprintf(client, sizeof client, "scenario.partition.client=%lld",
             (long long)j->home.client);
    if (j->pushed) {
        snprintf(slot, sizeof slot, "data.slot=%d", eg_pushed_slot(j->pushed));
        settings[n++] = "data=pushed";
        settings[n++] = slot;
    }
    if (j->own_data) {
        settings[n++] = "scenario.partition=alone";
        settings[n++] = client;
    }
    EG_TRY(eg_experiment_parse("the server's configuration", config, &file));
    eg_status s = eg_experiment_file_resolve(file, NULL, n, settings, &j->e);
    eg_experiment_file_free(file);
    EG_TRY(s);
    if (!j->own_data && strcmp(j->e->sha256, run) != 0)
        return eg_fail(EG_EINVAL, "the server's configuration means something else here: the "
                                  "server is another version of engram");
    return EG_OK;
}

/* Computes with the run's instruction set, if nobody chose another for this process. One that
 * this machine lacks is said: the server may take the device all the same. */
static void join_take_isa(const join *j, const eg_json *welcome)
{
    const eg_json *value = eg_json_get(welcome, "isa");
    const char *isa;
    char text[256];
    if (!value || eg_json_text(value, &isa) != EG_OK ||
        strspn(isa, "abcdefghijklmnopqrstuvwxyz_0123456789") != strlen(isa))
        return;
    if (strcmp(isa, eg_isa_name()) == 0 || eg_isa_wished())
        return;
    if (eg_isa_set(isa) == EG_OK)
        snprintf(text, sizeof text, "it computes with %.32s, as the run does", isa);
    else
        snprintf(text, sizeof text,
                 "the run computes with %.32s, which this device lacks: `engram serve --isa "
                 "portable` has the same bits on all",
                 isa);
    eg_joiner_say(j, text);
}

/* The checksum of what is frozen, if the server tells one. */
static eg_status join_read_frozen(join *j, const eg_json *from)
{
    const eg_json *frozen = eg_json_get(from, "frozen");
    const char *text = "";
    if (frozen)
        EG_TRY(eg_json_text(frozen, &text));
    if (*text && (strlen(text) != 64 || strspn(text, "0123456789abcdef") != 64))
        return eg_fail(EG_EFORMAT, "the server's welcome makes no sense");
    snprintf(j->frozen, sizeof j->frozen, "%s", text);
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
    join_take_isa(j, from);
    EG_TRY(join_read_frozen(j, from));
    j->seed = (uint64_t)number;
    memcpy(j->run, run_text, sizeof j->run);
    const char *state = j->how->state ? j->how->state : "engram-state";
    int n = snprintf(j->home.store, sizeof j->home.store, "%s/%.16s-s%lld", state, run_text,
                     (long long)number);
    if (n >= (int)sizeof j->home.store - 64)
        return eg_fail(EG_EINVAL, "the path '%.200s...' is too long", state);
    return join_resolve(j, config_text, run_text);
}

eg_status eg_joiner_learn(join *j)
{
    eg_http_reply reply;
    eg_json *json;
    EG_TRY(eg_joiner_ask(
        j, &(eg_line_call){.method = "GET", .what = "run", .max = EG_JOINER_RUN}, &reply));
    eg_status s = reply.code == 200 ? EG_OK : eg_joiner_refused(&reply);
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

/* Who the others are it knows from its own file, or it tells them nothing. */
static eg_status join_open_members(const join *j, eg_rig *rig)
{
    const eg_join_how *how = j->how;
    bool masked = j->e->secure.kind == EG_SUMS_MASKED;
    if (!masked && how->members)
        return eg_fail(EG_EINVAL,
                       "the run does not hide its clients' answers (its secure is not "
                       "masked), and with --members this device tells nothing else");
    if (!masked)
        return EG_OK;
    if (!how->members)
        return eg_fail(EG_EINVAL, "the run masks sums, so this device must know the others' "
                                  "public keys: --members FILE");
    EG_TRY(eg_members_load(how->members, &rig->worker.members));
    EG_TRY(eg_blame(
        eg_members_check(rig->worker.members, eg_scenario_n_clients(rig->feed.scenario)), "%s",
        how->members));
    return eg_members_become_file(rig->worker.members, j->home.client,
                                  how->identity ? how->identity : how->key);
}

/* Whether the run has a client of this number, and the device may take part in it. */
static eg_status join_check(const join *j, eg_rig *rig)
{
    int64_t n = eg_scenario_n_clients(rig->feed.scenario);
    if (j->home.client >= n)
        return eg_fail(EG_EINVAL, "there is no client %lld: the run has %lld",
                       (long long)j->home.client, (long long)n);
    rig->worker.run_sha256 = j->run;
    return join_open_members(j, rig);
}

/* Asks for what is frozen, and keeps it, so that a device that starts anew has it. */
static eg_status join_fetch(join *j, const eg_params *p, const char *path)
{
    enum { HEAD = 1 << 12 };
    eg_http_reply reply;
    size_t most = eg_frozen_length(p) * sizeof(float) + HEAD;
    EG_TRY(eg_joiner_ask(j, &(eg_line_call){.method = "GET", .what = "frozen", .max = most},
                         &reply));
    eg_status s = reply.code == 200 ? EG_OK : eg_joiner_refused(&reply);
    if (s == EG_OK)
        s = eg_blame(eg_frozen_unpack(p, reply.bytes, reply.n, j->frozen), "the server");
    if (s == EG_OK)
        s = eg_file_write(path, &(eg_bytes){reply.bytes, reply.n}, 1);
    free(reply.bytes);
    return s;
}

/* Fills what is frozen: from the device's disk, or from the server. */
static eg_status join_freeze(join *j, const eg_net *net)
{
    const eg_params *p = eg_net_params(net);
    char path[EG_HOME_PATH + 16];
    unsigned char *bytes;
    size_t n, most = eg_frozen_length(p) * sizeof(float) * 2 + 4096;
    if (eg_frozen_length(p) == 0)
        return EG_OK;
    if (!*j->frozen)
        return eg_fail(EG_EFORMAT, "the server does not say what its frozen weights are");
    snprintf(path, sizeof path, "%s/frozen", j->home.store);
    if (eg_file_read(path, most, &bytes, &n) == EG_OK) {
        eg_status s = eg_frozen_unpack(p, bytes, n, j->frozen);
        free(bytes);
        if (s == EG_OK)
            return EG_OK;
    }
    return join_fetch(j, p, path);
}

/* Opens the device's data as they are now, and what computes with them. */
static eg_status join_equip(join *j, eg_rig **out)
{
    const eg_origin from = {.dir = j->how->data_dir, .seed = j->seed};
    *out = NULL;
    if (j->e->data.normalize && j->own_data)
        return eg_fail(EG_EINVAL,
                       "the run measures its data (data.normalize), and your own are "
                       "others: a run of devices with data of their own sets "
                       "data.mean and data.std");
    EG_TRY(eg_rig_new(j->e, &from, j->home.store, out));
    eg_status s = join_check(j, *out);
    if (s == EG_OK)
        s = join_freeze(j, (*out)->net);
    if (s != EG_OK) {
        eg_rig_free(*out);
        *out = NULL;
    }
    return s;
}

static eg_status join_describe(const join *j, const eg_rig *rig, eg_hello *out)
{
    return eg_hello_fill(&(eg_site){.e = j->e, .feed = &rig->feed, .net = rig->net},
                         j->own_data, out);
}

/* Where its files of data are; NULL: it has none that could grow. */
static const char *join_data_path(const join *j)
{
    static const char key[] = "data.path=";
    const char *path = NULL;
    for (size_t i = 0; i < j->how->n_settings; i++)
        if (strncmp(j->how->settings[i], key, sizeof key - 1) == 0)
            path = j->how->settings[i] + sizeof key - 1;
    return path;
}

eg_status eg_joiner_open(join *j)
{
    const char *path = join_data_path(j);
    EG_TRY(join_check_leaving(j));
    EG_TRY(eg_home_open(&j->home));
    if (path) {
        (void)eg_data_stamp(path, &j->stamp);
        j->task = eg_data_task(path);
    }
    j->n_known = j->pushed ? eg_pushed_n(j->pushed) : 0;
    eg_status s = join_equip(j, &j->rig);
    if (s == EG_ENOMEM && j->how->memory)
        return eg_blame(s, "the run's data alone do not fit into %.1f MB",
                        1e-6 * (double)j->how->memory);
    EG_TRY(s);
    EG_TRY(eg_joiner_fits(j));
    j->most = eg_message_most(&(eg_site){
        .e = j->e, .feed = &j->rig->feed, .net = j->rig->net, .agreed = &j->rig->agreed});
    return join_describe(j, j->rig, &j->mine);
}

/* Whether there are samples that the rig does not have, or another task. */
static bool join_has_grown(join *j)
{
    const char *path = join_data_path(j);
    uint64_t stamp, task;
    if (j->pushed)
        return eg_pushed_n(j->pushed) > j->n_known;
    if (!j->own_data || !path || eg_seconds() - j->looked < 1)
        return false;
    j->looked = eg_seconds();
    task = eg_data_task(path);
    j->new_task = j->new_task || task != j->task;
    j->task = task;
    if (!eg_data_stamp(path, &stamp) || stamp == j->stamp)
        return false;
    j->stamp = stamp;
    return true;
}

/* Takes new samples in. What cannot be read is said, and the device goes on with what it had.
 */
void eg_joiner_grow(join *j)
{
    char text[128];
    eg_rig *rig;
    eg_hello is;
    if (!join_has_grown(j))
        return;
    int64_t n = j->pushed ? eg_pushed_n(j->pushed) : 0;
    eg_status s = join_equip(j, &rig);
    if (s == EG_OK)
        s = join_describe(j, rig, &is);
    if (s == EG_OK && (is.classes != j->mine.classes || is.params != j->mine.params))
        s = eg_fail(EG_EINVAL, "they make a network of %lld outputs and %lld weights",
                    (long long)is.classes, (long long)is.params);
    if (s != EG_OK) {
        eg_rig_free(rig);
        eg_blame(s, "the new data are not taken in");
        eg_joiner_say(j, eg_error());
        return;
    }
    snprintf(text, sizeof text, "its data have %lld samples now, %lld before",
             (long long)eg_rig_n_samples(rig), (long long)eg_rig_n_samples(j->rig));
    eg_rig_free(j->rig);
    j->rig = rig;
    j->n_known = n;
    if (!j->pushed)
        eg_joiner_say(j, text);
}
