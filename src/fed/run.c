/* run.c - a whole run: opening, round after round with checkpoints, the summary.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fed/federation.h"

#include "base/sha256.h"
#include "io/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A checkpoint costs a few milliseconds, so one every few seconds is enough: a crash loses
 * those seconds, never the result. Tests ask for more of them. */
static double run_pause(void)
{
    const char *wish = getenv("ENGRAM_CHECKPOINT_SECONDS");
    double seconds = wish ? strtod(wish, NULL) : 5;
    return seconds >= 0 ? seconds : 5;
}

static eg_status run_check_needs(const eg_federation *f)
{
    for (size_t i = 0; i < f->e->n_parts; i++) {
        const eg_part *p = &f->e->parts[i];
        EG_TRY(eg_scenario_require(f->feed.scenario, p->method->name, p->method->needs));
        if (p->method->check)
            EG_TRY(eg_blame(p->method->check(p->options, f->feed.scenario, &f->e->train), "%s",
                            p->method->name));
    }
    return EG_OK;
}

/* Outputs of the second head, if a part wants one. */
static int64_t run_side(const eg_federation *f)
{
    for (size_t i = 0; i < f->e->n_parts; i++)
        if (f->e->parts[i].method->side)
            return f->e->parts[i].method->side(f->e->parts[i].options, f->feed.scenario);
    return 0;
}

static eg_status run_open_model(eg_federation *f)
{
    eg_net_spec spec = eg_feed_net(f->e, &f->feed);
    spec.side = run_side(f);
    EG_TRY(eg_net_new(&spec, &f->net));
    const eg_params *p = eg_net_params(f->net);
    EG_TRY(eg_params_alloc(p, &f->param));
    EG_TRY(eg_state_alloc(p, &f->state));
    eg_params_init(p, f->seed, f->param, f->state);
    EG_TRY(eg_mean_init(&f->mean_param, eg_params_length(p)));
    EG_TRY(eg_mean_init(&f->mean_state, eg_state_length(p)));
    EG_TRY(eg_mean_init(&f->plain_param, eg_params_length(p)));
    EG_TRY(eg_mean_init(&f->plain_state, eg_state_length(p)));
    f->server = (eg_server){.seed = f->seed,
                            .scenario = f->feed.scenario,
                            .net = f->net,
                            .n_params = eg_params_length(p),
                            .n_state = eg_state_length(p),
                            .param = f->param,
                            .state = f->state};
    return EG_OK;
}

static eg_status run_open(eg_federation *f, const eg_experiment *e, const eg_run_how *how)
{
    f->e = e, f->seed = how->seed, f->accuracy = -1;
    EG_TRY(eg_feed_open(e, how->seed, how->data_dir, &f->feed));
    EG_TRY(run_check_needs(f));
    EG_TRY(run_open_model(f));
    EG_TRY(eg_federation_check_batches(f));
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int want = how->workers > 0 ? how->workers : cores > 0 ? (int)cores : 1;
    want = want > EG_MAX_WORKERS ? EG_MAX_WORKERS : want;
    if (how->wire) { /* processes before threads */
        EG_TRY(eg_wires_open(e, &f->feed, f->net, want, f->wires));
        f->n_wires = want;
    }
    for (; f->n_workers < want; f->n_workers++)
        EG_TRY(eg_worker_open(e, &f->feed, f->net, &f->workers[f->n_workers]));
    for (size_t i = 0; i < e->n_parts; i++) {
        const eg_method *m = e->parts[i].method;
        f->personal |= m->personal;
        EG_TRY(eg_alloc(1, m->size + 1, &f->states[i]));
        if (m->size)
            memcpy(f->states[i], e->parts[i].options, m->size);
        if (m->begin)
            EG_TRY(m->begin(f->states[i], &f->server));
    }
    return eg_cursor_new(f->feed.scenario, &f->cursor);
}

static void run_close(eg_federation *f)
{
    for (size_t i = 0; f->e && i < f->e->n_parts; i++) {
        if (f->states[i] && f->e->parts[i].method->fini)
            f->e->parts[i].method->fini(f->states[i]);
        free(f->states[i]);
    }
    eg_wires_close(f->wires, f->n_wires);
    for (int i = 0; i < f->n_workers; i++)
        eg_worker_close(&f->workers[i]);
    eg_store_free(f->store);
    eg_run_folder_free(f->folder);
    if (f->lock >= 0)
        close(f->lock);
    eg_cursor_free(f->cursor);
    eg_mean_fini(&f->mean_param);
    eg_mean_fini(&f->mean_state);
    eg_mean_fini(&f->plain_param);
    eg_mean_fini(&f->plain_state);
    eg_net_free(f->net);
    eg_feed_close(&f->feed);
    free(f->param);
    free(f->state);
}

eg_status eg_federation_kept(eg_federation *f, int64_t client, eg_bundle **out)
{
    unsigned char *bytes;
    size_t n;
    *out = NULL;
    eg_status s = eg_store_get(f->store, client, &bytes, &n);
    if (s == EG_ENOENT)
        return EG_OK;
    EG_TRY(s);
    s = eg_bundle_unpack(bytes, n, out);
    free(bytes);
    return s;
}

/* Events first, then the states, in one commit that knows how many events there were. */
static eg_status run_commit(eg_federation *f)
{
    int64_t position;
    EG_TRY(eg_run_folder_sync(f->folder, &position));
    eg_json *extra = eg_json_object();
    eg_status s = extra ? eg_json_set(extra, "position", eg_json_of_int(position)) : EG_ENOMEM;
    if (s == EG_OK)
        s = eg_store_commit(f->store, extra);
    eg_json_free(extra);
    return s;
}

/* The global model and the place in the run, so that all of it can go on from here. */
static eg_status run_checkpoint(eg_federation *f)
{
    eg_bundle *b;
    unsigned char *bytes = NULL;
    size_t n = 0;
    EG_TRY(eg_bundle_new(&b));
    eg_status s = eg_bundle_add_flat(b, "param", f->param, f->server.n_params);
    if (s == EG_OK && f->server.n_state)
        s = eg_bundle_add_flat(b, "state", f->state, f->server.n_state);
    if (s == EG_OK)
        s = eg_bundle_scalar(b, "round", (double)eg_cursor_round(f->cursor));
    if (s == EG_OK)
        s = eg_bundle_scalar(b, "bytes_up", f->bytes_up);
    if (s == EG_OK)
        s = eg_bundle_scalar(b, "bytes_down", f->bytes_down);
    if (s == EG_OK)
        s = eg_bundle_scalar(b, "accuracy", f->accuracy);
    if (s == EG_OK)
        s = eg_federation_save_spent(f, b);
    for (size_t i = 0; i < f->e->n_parts && s == EG_OK; i++)
        if (f->e->parts[i].method->save)
            s = f->e->parts[i].method->save(f->states[i], &f->server, b);
    if (s == EG_OK)
        s = eg_bundle_pack(b, &bytes, &n);
    if (s == EG_OK)
        s = eg_store_put(f->store, EG_SERVER, bytes, n);
    if (s == EG_OK)
        s = run_commit(f);
    free(bytes);
    eg_bundle_free(b);
    return s;
}

/* Takes up a checkpoint: the global model, and the cursor at its round. */
static eg_status run_resume(eg_federation *f)
{
    eg_bundle *b;
    double round = 0;
    size_t n;
    EG_TRY(eg_federation_kept(f, EG_SERVER, &b));
    if (!b)
        return EG_OK; /* nothing was committed: from the start */
    const float *param = eg_bundle_find(b, "param", &n);
    eg_status s = param && n == f->server.n_params
                      ? EG_OK
                      : eg_fail(EG_EFORMAT, "the checkpoint's model has another size");
    if (s == EG_OK) {
        memcpy(f->param, param, n * sizeof *param);
        if (f->server.n_state && eg_bundle_find(b, "state", &n))
            memcpy(f->state, eg_bundle_find(b, "state", &n), n * sizeof *f->state);
        eg_bundle_scalar_of(b, "round", &round);
        eg_bundle_scalar_of(b, "bytes_up", &f->bytes_up);
        eg_bundle_scalar_of(b, "bytes_down", &f->bytes_down);
        eg_bundle_scalar_of(b, "accuracy", &f->accuracy);
        eg_federation_load_spent(f, b);
        eg_cursor_seek(f->cursor, (int64_t)round);
    }
    for (size_t i = 0; i < f->e->n_parts && s == EG_OK; i++)
        if (f->e->parts[i].method->load)
            s = f->e->parts[i].method->load(f->states[i], &f->server, b);
    eg_bundle_free(b);
    return s;
}

/* A model's values in table order, without the gaps: parameters, then statistics. */
static void run_hash_model(eg_sha256 *h, const eg_params *p, const float *param,
                           const float *state)
{
    for (int trained = 1; trained >= 0; trained--)
        for (size_t i = 0; i < eg_params_n(p); i++) {
            const eg_param_info *t = eg_params_at(p, i);
            if (t->trained == (trained == 1))
                eg_sha256_add(h, (trained ? param : state) + t->offset,
                              t->size * sizeof(float));
        }
}

static eg_status run_hash(eg_federation *f, char out[65])
{
    const eg_params *p = eg_net_params(f->net);
    eg_sha256 h;
    uint8_t digest[32];
    eg_sha256_init(&h);
    if (!f->personal)
        run_hash_model(&h, p, f->param, f->state);
    for (int64_t c = 0; f->personal && c < eg_scenario_n_clients(f->feed.scenario); c++) {
        eg_bundle *kept;
        EG_TRY(eg_federation_kept(f, c, &kept));
        run_hash_model(&h, p, kept ? eg_bundle_find(kept, "own.param", NULL) : f->param,
                       kept ? eg_bundle_find(kept, "own.state", NULL) : f->state);
        eg_bundle_free(kept);
    }
    eg_sha256_end(&h, digest);
    eg_sha256_text(digest, out);
    return EG_OK;
}

static eg_status run_after_round(eg_federation *f, int64_t round, bool *judged)
{
    bool ends = eg_scenario_task_ends(f->feed.scenario, round);
    bool streams = eg_scenario_streams(f->feed.scenario);
    *judged = ends || f->e->eval.every == 1 || streams;
    /* A client's own model in a stream is judged by what the client met, not by whole tasks. */
    if ((ends || f->e->eval.every == 1) && !(streams && f->personal))
        EG_TRY(eg_federation_judge(f, round + 1, ends, ends));
    return streams ? eg_federation_judge_met(f, round + 1, ends) : EG_OK;
}

static eg_status run_rounds(eg_federation *f, const eg_run_how *how, bool *stopped)
{
    int64_t n_rounds = eg_scenario_n_rounds(f->feed.scenario);
    double saved = eg_seconds(), pause = run_pause();
    for (int64_t r = eg_cursor_round(f->cursor); r < n_rounds && !*stopped; r++) {
        bool judged;
        EG_TRY(eg_federation_round(f));
        eg_cursor_next(f->cursor); /* the round is over: what it brought has been met */
        EG_TRY(run_after_round(f, r, &judged));
        eg_progress p = {.round = r + 1,
                         .n_rounds = n_rounds,
                         .loss = f->round_loss,
                         .accuracy = f->accuracy,
                         .seconds = eg_federation_spent(f).seconds,
                         .evaluated = judged};
        *stopped = how->progress && !how->progress(how->context, &p) && r + 1 < n_rounds;
        if (*stopped || r + 1 == n_rounds || eg_seconds() - saved > pause) {
            EG_TRY(run_checkpoint(f));
            saved = eg_seconds();
        }
    }
    return EG_OK;
}

static eg_status run_finish(eg_federation *f)
{
    char hash[65], *path;
    EG_TRY(run_hash(f, hash));
    if (!f->personal) {
        EG_TRY(eg_run_folder_file(f->folder, "model.safetensors", &path));
        eg_status s = eg_params_save(eg_net_params(f->net), path, f->param, f->state);
        free(path);
        EG_TRY(s);
    }
    EG_TRY(eg_federation_write_end(f));
    return eg_run_finish(f->folder, hash);
}

static eg_status run_write_start(eg_federation *f)
{
    const eg_experiment *e = f->e;
    const eg_scenario *s = f->feed.scenario;
    const char *parts[EG_MAX_PARTS];
    int64_t *learned;
    for (size_t i = 0; i < e->n_parts; i++)
        parts[i] = e->parts[i].method->name;
    EG_TRY(eg_alloc((size_t)f->feed.n_tasks, sizeof *learned, &learned));
    for (int64_t t = 0; t < f->feed.n_tasks; t++)
        learned[t] = eg_scenario_learned(s, t);
    eg_status status =
        eg_run_write_start(f->folder, &(eg_start_event){.name = e->name,
                                                        .label = e->label,
                                                        .seed = (int64_t)f->seed,
                                                        .method = parts,
                                                        .n_method = e->n_parts,
                                                        .clients = eg_scenario_n_clients(s),
                                                        .tasks = f->feed.n_tasks,
                                                        .rounds = eg_scenario_n_rounds(s),
                                                        .classes = eg_scenario_n_classes(s),
                                                        .isa = eg_isa_name(),
                                                        .config_sha256 = e->sha256,
                                                        .learned = learned});
    free(learned);
    return status;
}

/* The store and the folder: new, or cut back to the last commit. */
static eg_status run_open_folder(eg_federation *f, const eg_run_how *how, const char *path)
{
    char store[1024], summary[1024];
    int64_t position = 0;
    snprintf(store, sizeof store, "%s/checkpoint", path);
    if (!how->resume) {
        EG_TRY(eg_run_folder_new(path, f->e->resolved, &f->folder));
        EG_TRY(eg_run_folder_lock(path, &f->lock));
        return eg_store_open(store, false, &f->store);
    }
    if (access(path, F_OK) != 0)
        return eg_fail(EG_ENOENT, "%s is not there: there is nothing to resume", path);
    EG_TRY(eg_run_folder_lock(path, &f->lock));
    snprintf(summary, sizeof summary, "%s/summary.json", path);
    if (access(summary, F_OK) == 0)
        return eg_fail(EG_EINVAL, "%s: the run is finished, there is nothing to resume", path);
    EG_TRY(eg_store_open(store, true, &f->store));
    const eg_json *extra = eg_store_extra(f->store);
    if (extra)
        EG_TRY(eg_json_int(eg_json_get(extra, "position"), &position));
    return eg_run_folder_open(path, position, &f->folder);
}

/* Where the run goes, or is. */
static eg_status run_place(const eg_experiment *e, const eg_run_how *how, char folder[512])
{
    if (!how->folder)
        return eg_experiment_folder(e, how->out ? how->out : "runs", how->seed, folder);
    int n = snprintf(folder, 512, "%s", how->folder);
    return n < 512 ? EG_OK
                   : eg_fail(EG_EINVAL, "the path '%.200s...' is too long", how->folder);
}

static eg_status run_all(eg_federation *f, const eg_experiment *e, const eg_run_how *how,
                         char folder[512], bool *stopped)
{
    EG_TRY(run_open(f, e, how));
    EG_TRY(run_place(e, how, folder));
    EG_TRY(run_open_folder(f, how, folder));
    if (how->resume)
        EG_TRY(run_resume(f));
    if (eg_cursor_round(f->cursor) == 0) {
        EG_TRY(run_write_start(f));
        EG_TRY(eg_federation_judge(f, 0, false, true));
    }
    EG_TRY(run_rounds(f, how, stopped));
    return *stopped ? EG_OK : run_finish(f);
}

eg_status eg_experiment_folder(const eg_experiment *e, const char *out, uint64_t seed,
                               char folder[512])
{
    char *path;
    EG_TRY(eg_run_folder_path(out, e->name, e->label, (int64_t)seed, e->sha256, &path));
    int n = snprintf(folder, 512, "%s", path);
    eg_status s =
        n < 512 ? EG_OK : eg_fail(EG_EINVAL, "the path '%.200s...' is too long", path);
    free(path);
    return s;
}

eg_status eg_experiment_run(const eg_experiment *e, const eg_run_how *how, char folder[512],
                            bool *stopped)
{
    *stopped = false;
    eg_federation *f = calloc(1, sizeof *f);
    if (!f)
        return eg_fail(EG_ENOMEM, "no memory for a run");
    f->since = eg_seconds();
    f->lock = -1;
    eg_status s = run_all(f, e, how, folder, stopped);
    run_close(f);
    free(f);
    return s;
}
