/* hide.c - a client's side where the server learns sums alone: its vector, and its steps.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A turn is a step of the exchange. Between them a client is a file of its own, beside its
 * records and never among them: no server can bring back an earlier state of it, and so have it
 * answer twice. It is gone with the last step, or the first that fails.
 */
#include "run/client/hide.h"
#include "io/file.h"
#include "run/privacy/hidden.h"
#include "run/privacy/members.h"
#include "run/privacy/secure.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HIDE_PATH = 640, HIDE_STATE = 1 << 28, HIDE_SENTENCE = 400 };

void eg_hidden_run(const char *sha256, uint64_t seed, unsigned char out[32])
{
    const eg_piece_of pieces[] = {{sha256, strlen(sha256)}, {&seed, sizeof seed}};
    eg_digest("engram run", pieces, 2, out);
}

eg_status eg_hidden_of_run(const eg_experiment *e, const eg_scenario *s, const eg_agreement *a,
                           const eg_net *net, const eg_summed *what, eg_hidden *out,
                           eg_bundle **sums)
{
    const eg_params *p = eg_net_params(net);
    bool trains = what->exchange == EG_TRAINING, private = e->dp.sigma > 0;
    bool alike = private || a->all.plain_mean || e->server.weights != 0;
    int64_t most = e->secure.samples > 0 ? e->secure.samples : eg_scenario_most_samples(s);
    EG_TRY(eg_parts_sums(&e->parts, a, net, what->exchange, sums));
    eg_status status = eg_hidden_init(
        out, &(eg_hidden_spec){.n_summands = what->n,
                               .n_params = trains ? eg_params_length(p) : 0,
                               .n_state = trains && e->server.bn == 0 ? eg_state_length(p) : 0,
                               .sums = *sums,
                               .range = e->secure.range,
                               .statistics = e->secure.statistics,
                               .most_weight = alike ? 1 : (double)most,
                               .is_private = private,
                               .adapts = trains && private && e->dp.adaptive,
                               .clip = what->clip});
    if (status != EG_OK) {
        eg_bundle_free(*sums);
        *sums = NULL;
    }
    return status;
}

bool eg_worker_is_step(const eg_turn *turn)
{
    double step;
    return eg_bundle_scalar_of(turn->down, EG_HIDDEN_STEP, &step) &&
           (int)step != EG_SECURE_MASKED;
}

/* --- The client between its steps. */

static eg_status hide_path(const eg_worker *w, int64_t client, char out[HIDE_PATH])
{
    int n = snprintf(out, HIDE_PATH, "%s/secure-%lld", w->store, (long long)client);
    return n < HIDE_PATH - 8 ? EG_OK : eg_fail(EG_EINVAL, "the path '%.200s' is too long", out);
}

static eg_status hide_load(const eg_worker *w, int64_t client, eg_secure_client **out)
{
    char path[HIDE_PATH];
    unsigned char *bytes;
    size_t n;
    EG_TRY(hide_path(w, client, path));
    if (eg_file_read(path, HIDE_STATE, &bytes, &n) != EG_OK)
        return eg_fail(EG_ENOENT, "this client is in no exchange that hides: it began anew");
    eg_status s = eg_secure_client_unpack(bytes, n, out);
    eg_wipe(bytes, n);
    free(bytes);
    return s;
}

/* For nobody's eyes but its own, and whole or not at all. */
static eg_status hide_save(const eg_worker *w, int64_t client, const eg_secure_client *c)
{
    char path[HIDE_PATH], beside[HIDE_PATH];
    eg_blob bytes;
    EG_TRY(hide_path(w, client, path));
    snprintf(beside, sizeof beside, "%.*s.new", HIDE_PATH - 8, path);
    EG_TRY(eg_secure_client_pack(c, &bytes));
    int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    eg_status s = fd < 0 ? eg_file_fail(beside, "cannot be created")
                         : eg_file_put(fd, beside, (eg_bytes){bytes.bytes, bytes.n});
    if (fd >= 0)
        close(fd);
    if (s == EG_OK && rename(beside, path) != 0)
        s = eg_file_fail(path, "cannot be replaced");
    eg_wipe(bytes.bytes, bytes.n);
    free(bytes.bytes);
    return s;
}

static void hide_remove(const eg_worker *w, int64_t client)
{
    char path[HIDE_PATH];
    if (hide_path(w, client, path) == EG_OK)
        unlink(path);
}

static eg_status hide_how(eg_worker *w, const eg_turn *turn, eg_identity *identity,
                          eg_secure_client_how *out)
{
    if (!w->members)
        EG_TRY(eg_members_simulate(turn->seed, &w->members));
    if (!eg_members_identity(w->members, turn->id, identity))
        return eg_fail(EG_EINVAL, "this device has no identity for sums that hide");
    *out = (eg_secure_client_how){
        .of = {.round = turn->round, .exchange = (uint32_t)turn->exchange},
        .me = turn->id,
        .identity = identity,
        .member = eg_members_find,
        .context = w->members};
    eg_hidden_run(w->run_sha256 ? w->run_sha256 : w->e->sha256, turn->seed, out->of.run);
    return EG_OK;
}

/* Carries out a step; *c is the client as it then is, NULL: it is over. */
static eg_status hide_step(eg_worker *w, const eg_turn *turn, eg_secure_step step,
                           eg_secure_client **c, eg_blob *out)
{
    eg_secure_client_how how;
    eg_identity identity;
    size_t n;
    const void *in = eg_bundle_find_as(turn->down, EG_BUNDLE_U8, EG_HIDDEN_MESSAGE, &n);
    *c = NULL;
    *out = (eg_blob){0};
    if (!in)
        return eg_fail(EG_EFORMAT, "the server says nothing in a step that has a message");
    eg_status s = hide_how(w, turn, &identity, &how);
    if (s == EG_OK && step == EG_SECURE_KEYS) {
        s = eg_secure_client_begin(&how, in, n, c, out);
    } else if (s == EG_OK) {
        s = hide_load(w, turn->id, c);
        if (s == EG_OK)
            s = eg_secure_client_hear(*c, &how, step, in, n, out);
    }
    eg_wipe(&identity, sizeof identity);
    return s;
}

/* What is refused is said, and the client is out. */
static eg_status hide_refuse(eg_worker *w, int64_t client, eg_status s, eg_bundle *up)
{
    char why[HIDE_SENTENCE];
    void *text;
    if (s == EG_ENOMEM || s == EG_EIO)
        return s;
    snprintf(why, sizeof why, "%s", eg_error());
    hide_remove(w, client);
    eg_bundle_clear(up);
    EG_TRY(eg_bundle_room_as(up, EG_BUNDLE_U8, EG_HIDDEN_REFUSED, eg_dims((int64_t)strlen(why)),
                             &text));
    memcpy(text, why, strlen(why));
    return EG_OK;
}

static eg_status hide_answer(eg_worker *w, const eg_turn *turn, eg_bundle *up)
{
    eg_secure_client *c;
    eg_blob out;
    double number;
    void *bytes;
    eg_bundle_scalar_of(turn->down, EG_HIDDEN_STEP, &number);
    bool good = number >= 0 && number < EG_SECURE_N_STEPS;
    eg_secure_step step = good ? (eg_secure_step)number : EG_SECURE_N_STEPS;
    eg_status s = good ? hide_step(w, turn, step, &c, &out)
                       : eg_fail(EG_EFORMAT, "there is no step %g", number);
    if (!good || s != EG_OK) {
        if (good)
            eg_secure_client_free(c);
        return hide_refuse(w, turn->id, s, up);
    }
    if (step == EG_SECURE_UNMASK)
        hide_remove(w, turn->id);
    else
        s = hide_save(w, turn->id, c);
    if (s == EG_OK)
        s = eg_bundle_room_as(up, EG_BUNDLE_U8, EG_HIDDEN_MESSAGE, eg_dims((int64_t)out.n),
                              &bytes);
    if (s == EG_OK && out.n)
        memcpy(bytes, out.bytes, out.n);
    if (out.bytes)
        eg_wipe(out.bytes, out.n);
    free(out.bytes);
    eg_secure_client_free(c);
    return s;
}

/* The client's records are not touched, so their receipt is the one that was told. */
eg_status eg_worker_step(eg_worker *w, const eg_turn *turn, eg_reply *out)
{
    double since = eg_seconds();
    *out = (eg_reply){.kept = turn->kept};
    EG_TRY(eg_bundle_new(&out->up));
    eg_status s = hide_answer(w, turn, out->up);
    if (s != EG_OK)
        eg_reply_fini(out);
    out->seconds = eg_seconds() - since;
    return s;
}

/* --- The third step. */

static eg_status hide_mask(eg_worker *w, size_t n, uint32_t *y, size_t length)
{
    eg_secure_client *c;
    eg_blob none;
    eg_status s = hide_step(w, w->turn, EG_SECURE_MASKED, &c, &none);
    if (s == EG_OK && eg_secure_client_n(c) != n)
        s = eg_fail(EG_EINVAL, "the server sums %zu clients, and the exchange has %zu", n,
                    eg_secure_client_n(c));
    if (s == EG_OK)
        s = eg_secure_client_mask(c, y, length);
    if (s == EG_OK)
        s = hide_save(w, w->turn->id, c);
    eg_secure_client_free(c);
    return s;
}

static double hide_weight(const eg_worker *w, const eg_hidden *h)
{
    double n = (double)w->client.view.n, most = h->is.most_weight;
    return n < most ? n : most;
}

static eg_status hide_fill(eg_worker *w, const eg_hidden *h, uint32_t **y)
{
    const eg_client *c = &w->client;
    double n, step;
    eg_hidden_of of = {.up = w->reply->up,
                       .global = c->global,
                       .global_state = c->global_state,
                       .weight = hide_weight(w, h)};
    eg_bundle_scalar_of(w->reply->up, "loss", &of.loss);
    eg_bundle_scalar_of(w->turn->down, EG_HIDDEN_N, &n);
    EG_TRY(eg_alloc(h->length, sizeof **y, y));
    EG_TRY(eg_hidden_put(h, &of, *y));
    if (w->e->secure.kind != EG_SUMS_MASKED)
        return EG_OK;
    if (!eg_bundle_scalar_of(w->turn->down, EG_HIDDEN_STEP, &step))
        return eg_fail(EG_EINVAL, "the server wants a vector without masks");
    return hide_mask(w, (size_t)n, *y, h->length);
}

/* What is sent in the answer's place. */
static eg_status hide_replace(eg_worker *w, const uint32_t *y, size_t n)
{
    void *sum;
    eg_bundle_clear(w->reply->up);
    EG_TRY(eg_bundle_room_as(w->reply->up, EG_BUNDLE_U32, EG_HIDDEN_SUM, eg_dims((int64_t)n),
                             &sum));
    memcpy(sum, y, n * sizeof *y);
    return EG_OK;
}

eg_status eg_worker_hide(eg_worker *w)
{
    double n, clip = 0;
    eg_hidden h = {0};
    eg_bundle *sums = NULL;
    uint32_t *y = NULL;
    bool private = w->e->dp.sigma > 0;
    if (!eg_bundle_scalar_of(w->turn->down, EG_HIDDEN_N, &n) ||
        !(n >= 1 && n <= EG_SECURE_MOST))
        return eg_fail(EG_EFORMAT, "the server does not say how many it sums");
    if (private && (!eg_bundle_scalar_of(w->turn->down, EG_HIDDEN_CLIP, &clip) || !(clip > 0)))
        return eg_fail(EG_EFORMAT, "the server does not say how long a change may be");
    const eg_summed what = {w->turn->exchange, (size_t)n, clip};
    eg_status s =
        eg_hidden_of_run(w->e, w->client.scenario, w->agreed, w->net, &what, &h, &sums);
    if (s == EG_OK)
        s = hide_fill(w, &h, &y);
    s = s == EG_OK ? hide_replace(w, y, h.length)
                   : hide_refuse(w, w->turn->id, s, w->reply->up);
    free(y);
    eg_hidden_fini(&h);
    eg_bundle_free(sums);
    return s;
}
