/* run.c - a whole run: opening, round after round with checkpoints, the summary.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/server/federation.h"

#include "base/checksum.h"
#include "io/json.h"
#include "run/experiment/feed.h"
#include "run/pretrain/encoder.h"
#include "run/privacy/members.h"
#include "run/server/late.h"
#include "run/server/privacy.h"
#include "run/server/script.h"

#include <engram/gallery.h>

#include <inttypes.h>
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

/* Before round 0: the values drawn by the seed or taken from a file, or from pre-training. */
static eg_status run_start_model(eg_federation *f, const eg_run_how *how)
{
    const eg_experiment *e = f->e;
    const eg_pretrain_how make = {.data_dir = how->data_dir,
                                  .progress = how->pretraining,
                                  .say = how->say,
                                  .context = how->context};
    eg_pretrained encoder;
    char left[EG_LEFT_SIZE];
    EG_TRY(eg_start_fill(&e->start, f->net, f->seed, f->param, f->state, left));
    if (*left && how->say)
        how->say(how->context, left);
    if (!eg_experiment_pretrains(e))
        return EG_OK;
    eg_net_spec spec = eg_feed_net(e, &f->feed);
    double begun = eg_seconds();
    bool early = !f->team;
    EG_TRY(eg_federation_gather(f));
    EG_TRY(eg_pretrain_for(e, &spec, &make, &encoder));
    if (early)
        eg_federation_scatter(f);     /* a transport may fork, which it cannot beside threads */
    f->since += eg_seconds() - begun; /* a run takes as long whoever makes its encoder */
    memcpy(f->encoder_sha256, encoder.sha256, sizeof encoder.sha256);
    return eg_net_start(f->net, encoder.path,
                        e->pretrain.head == EG_PRETRAIN_ROWS ? EG_TAKE_ROWS : EG_TAKE_NONE,
                        f->param, f->state);
}

static eg_status run_open_model(eg_federation *f)
{
    const eg_params *p = eg_net_params(f->net);
    EG_TRY(eg_params_alloc(p, &f->param));
    EG_TRY(eg_state_alloc(p, &f->state));
    EG_TRY(eg_params_alloc(p, &f->next_param));
    EG_TRY(eg_state_alloc(p, &f->next_state));
    if (f->e->server.optimizer.rule != EG_SERVER_NONE)
        EG_TRY(eg_server_optimizer_new(&f->e->server.optimizer, eg_params_length(p),
                                       &f->optimizer));
    f->server = (eg_server){.seed = f->seed,
                            .scenario = f->feed.scenario,
                            .train = &f->e->train,
                            .net = f->net,
                            .n_params = eg_params_length(p),
                            .n_state = eg_state_length(p),
                            .param = f->param,
                            .state = f->state,
                            .keeps_statistics = f->e->server.bn == 1,
                            .hides = f->agreed.hides,
                            .run = f};
    return EG_OK;
}

/* What the server would have to look at in a client's records cannot be had of a device. */
static eg_status run_check_apart(const eg_federation *f)
{
    if (!f->transport->apart)
        return EG_OK;
    if (f->agreed.all.personal)
        return eg_fail(
            EG_ENOTSUP,
            "with this method every client has a model of its own, which stays on its "
            "device: a server cannot test it");
    if (f->agreed.hides && f->how->listen && f->how->listen->own_data &&
        f->e->secure.samples == 0 && f->e->server.weights == 0)
        return eg_fail(EG_EINVAL,
                       "devices with data of their own must know for how many samples "
                       "one counts at most: set secure.samples");
    if (f->e->eval.local)
        return eg_fail(EG_ENOTSUP, "eval.local tests what clients keep, which stays on their "
                                   "devices: a server cannot do it");
    return EG_OK;
}

/* Processes before threads: the transport first, then the workers. */
static eg_status run_open_clients(eg_federation *f, const eg_run_how *how)
{
    int want = eg_federation_workers(how);
    const char *usual = how->listen ? "https" : how->cluster ? "mpi" : "threads";
    const eg_transport *t = eg_transport_find(how->transport ? how->transport : usual);
    if (!t)
        return EG_ENOENT;
    f->transport = t;
    EG_TRY(run_check_apart(f)); /* what was not opened is not closed */
    EG_TRY(eg_component_new(&t->component, &f->carrier));
    EG_TRY(t->open(f->carrier, &(eg_site){.e = f->e,
                                          .feed = &f->feed,
                                          .net = f->net,
                                          .agreed = &f->agreed,
                                          .store = f->store,
                                          .seed = f->seed,
                                          .cluster = how->cluster,
                                          .listen = how->listen,
                                          .n_workers = want,
                                          .threads = f->threads,
                                          .workers = f->workers}));
    for (; f->n_workers < want; f->n_workers++)
        EG_TRY(eg_worker_open(f->e, &f->feed, f->net, &f->agreed, f->store,
                              &f->workers[f->n_workers]));
    eg_workers_share(f->workers, want, want, f->threads);
    return eg_federation_gather(f);
}

/* What the network says to the rows of one sample in its training form. */
static eg_status run_try_single(const eg_federation *f)
{
    const eg_net *net = f->net;
    const eg_net_spec *n = eg_net_spec_of(net);
    eg_graph *g;
    EG_TRY(eg_graph_new(&g));
    eg_net_forward(net, g,
                   eg_input(g, "x", eg_dims(f->feed.fan, n->channels, n->height, n->width)));
    eg_status s = eg_graph_status(g);
    eg_graph_free(g);
    return s;
}

/* The first client of the round whose last batch is one sample; -1 if there is none. */
static int64_t run_single_client(const eg_cursor *c, int64_t batch, int64_t *n)
{
    int64_t n_selected;
    const int32_t *selected = eg_cursor_selected(c, &n_selected);
    for (int64_t i = 0; i < n_selected; i++) {
        eg_view view;
        if (eg_cursor_view(c, selected[i], &view) && view.n_padded % batch == 1 % batch) {
            *n = view.n_padded;
            return selected[i];
        }
    }
    return -1;
}

/* Refuses a run in which a client's last batch will be a single sample, if the network cannot
 * be trained on one, as far as it can be known before the first round. */
static eg_status run_check_batches(const eg_federation *f)
{
    int64_t batch = f->e->train.batch, rounds = eg_scenario_n_rounds(f->feed.scenario), n = 0;
    if (!f->agreed.fixed_rows || (f->e->train.steps > 0 && batch > 1)) /* steps are whole */
        return EG_OK;
    eg_status s = run_try_single(f);
    if (s != EG_ESHAPE)
        return s;
    eg_cursor *c;
    EG_TRY(eg_cursor_new(f->feed.scenario, &c));
    int64_t client = -1, round = 0;
    for (; round < rounds && client < 0; round++, eg_cursor_next(c, NULL))
        client = run_single_client(c, batch, &n);
    eg_cursor_free(c);
    if (client < 0)
        return EG_OK;
    EG_TRY(eg_blame(run_try_single(f),
                    "client %lld has %lld samples in round %lld, so its last batch of up to "
                    "%lld has one; change train.batch%s",
                    (long long)client, (long long)n, (long long)round, (long long)batch,
                    batch > 1 ? ", or set scenario.pad to it" : ""));
    return EG_OK;
}

static eg_status run_open(eg_federation *f, const eg_experiment *e, const eg_run_how *how)
{
    f->e = e, f->how = how, f->seed = how->seed;
    f->threads = eg_federation_threads(how);
    f->accuracy = f->validation = f->patience.best = -1;
    const eg_origin from = {
        .dir = how->data_dir, .seed = how->seed, .show = how->loading, .context = how->context};
    EG_TRY(eg_experiment_equip(e, &from, &f->feed, &f->agreed, &f->net));
    eg_fingerprint_take(&f->feed, &f->print);
    EG_TRY(run_open_model(f));
    EG_TRY(run_check_batches(f));
    /* A run that goes on has its model, unless it had not begun, but for what is frozen. */
    if (!how->resume || eg_net_is_frozen(f->net))
        EG_TRY(run_start_model(f, how));
    const eg_features_how encode = {.threads = eg_federation_workers(how),
                                    .value = f->param,
                                    .state = f->state,
                                    .say = how->say,
                                    .context = how->context};
    if (!how->listen) /* devices have the samples themselves, and compute their features */
        EG_TRY(eg_feed_encode(e, &f->agreed, &encode, &f->feed, f->net));
    EG_TRY(run_open_clients(f, how));
    EG_TRY(eg_chain_open(&f->chain, &e->parts, &f->agreed, true));
    return eg_cursor_new(f->feed.scenario, &f->cursor);
}

static void run_close(eg_federation *f)
{
    eg_late_close(f);
    eg_chain_close(&f->chain);
    if (f->carrier && f->transport->close)
        f->transport->close(f->carrier);
    free(f->carrier);
    eg_federation_scatter(f);
    for (int i = 0; i < f->n_workers; i++)
        eg_worker_close(&f->workers[i]);
    eg_records_free(f->records);
    eg_ledger_free(f->ledger);
    eg_run_folder_free(f->folder);
    if (f->lock >= 0)
        close(f->lock);
    eg_cursor_free(f->cursor);
    eg_server_optimizer_free(f->optimizer);
    eg_federation_mean_close(f);
    eg_privacy_close(f->privacy);
    eg_members_free(f->members);
    eg_net_free(f->net);
    eg_feed_close(&f->feed);
    for (size_t i = 0; i < f->n_vectors; i++)
        free(f->vectors[i].values);
    free(f->vectors);
    free(f->lost);
    free(f->param);
    free(f->state);
    free(f->next_param);
    free(f->next_state);
}

/* Whether the curve has a point after this round. */
static bool run_plots(const eg_federation *f, int64_t round)
{
    int64_t every = f->e->eval.every == EG_EVERY_ROUND ? 1 : f->e->eval.every;
    return every > 0 && (round + 1) % every == 0;
}

static eg_status run_after_round(eg_federation *f, int64_t round, bool *tested)
{
    bool ends = eg_scenario_task_ends(f->feed.scenario, round);
    bool streams = eg_scenario_streams(f->feed.scenario);
    bool tests = ends || run_plots(f, round);
    *tested = tests || streams;
    /* A client's own model in a stream is tested by what the client met, not by whole tasks. */
    if (tests && !(streams && f->agreed.all.personal))
        EG_TRY(eg_federation_evaluate(f, round + 1, ends, ends));
    EG_TRY(eg_federation_evaluate_uploads(f, round + 1));
    if (streams)
        EG_TRY(eg_federation_evaluate_met(f, round + 1, ends));
    /* A stream's rounds validate clients' own models; the server's is validated in its tests.
     */
    bool own = f->agreed.all.personal || f->agreed.has_models;
    return tests || (streams && own) ? eg_federation_wait(f, round + 1) : EG_OK;
}

/* Whether there is a sheet of drawings after this round. */
static bool run_draws(const eg_federation *f, int64_t round)
{
    int64_t every = f->how->sheets;
    bool ends = eg_scenario_task_ends(f->feed.scenario, round);
    return every >= 0 && (ends || (every > 0 && (round + 1) % every == 0));
}

static double run_epsilon(const eg_federation *f)
{
    double spent = f->privacy ? eg_privacy_epsilon(f->privacy) : 0;
    return f->e->dp.noise == 1 ? -spent : spent;
}

/* Whether one round more would spend more privacy than there is. */
static bool run_is_spent(const eg_federation *f)
{
    double most = f->e->dp.epsilon;
    return f->privacy && most > 0 &&
           eg_privacy_epsilon_next(f->privacy, f->agreed.n_exchanges) > most;
}

/* The run ends as it would after its last round, and says so. */
static eg_status run_end_spent(eg_federation *f, int64_t round)
{
    char why[200];
    snprintf(
        why, sizeof why,
        "the run ends: epsilon is %.4g, and another round would bring it past dp.epsilon %g",
        eg_privacy_epsilon(f->privacy), f->e->dp.epsilon);
    EG_TRY(eg_run_write_skipped(f->folder, round + 1, why));
    return round > 0 && !run_plots(f, round - 1) &&
                   !eg_scenario_task_ends(f->feed.scenario, round - 1)
               ? eg_federation_evaluate(f, round, false, true)
               : EG_OK;
}

static eg_status run_rounds(eg_federation *f, const eg_run_how *how, bool *stopped)
{
    int64_t n_rounds = eg_scenario_n_rounds(f->feed.scenario);
    double saved = eg_seconds(), pause = run_pause();
    for (int64_t r = eg_cursor_round(f->cursor);
         r < n_rounds && !*stopped && !f->patience.stops; r++) {
        bool tested, go = true;
        EG_TRY(eg_federation_stand(f));
        if (f->transport->wait)
            EG_TRY(f->transport->wait(f->carrier, &go));
        if (!go) {
            *stopped = true;
            return eg_federation_checkpoint(f);
        }
        if (run_is_spent(f)) {
            EG_TRY(run_end_spent(f, r));
            return eg_federation_checkpoint(f);
        }
        EG_TRY(eg_federation_round(f));
        eg_cursor_next(f->cursor,
                       f->lost); /* the round is over: what it brought has been met */
        EG_TRY(run_after_round(f, r, &tested));
        if (run_draws(f, r))
            EG_TRY(eg_federation_draw(f, r + 1));
        eg_progress p = {.round = r + 1,
                         .n_rounds = n_rounds,
                         .loss = f->round_loss,
                         .accuracy = f->accuracy,
                         .epsilon = run_epsilon(f),
                         .seconds = eg_federation_spent(f).seconds,
                         .evaluated = tested};
        bool last = r + 1 == n_rounds || f->patience.stops;
        *stopped = how->progress && !how->progress(how->context, &p) && !last;
        if (*stopped || last || eg_seconds() - saved > pause) {
            EG_TRY(eg_federation_checkpoint(f));
            saved = eg_seconds();
        }
    }
    return EG_OK;
}

/* What the parts draw with, written if there is anything. */
static eg_status run_exhibit(eg_federation *f, eg_gallery *g)
{
    char seed[24], options[4 * EG_OPT_TEXT_SIZE] = "";
    EG_TRY(eg_chain_exhibit(&f->chain, &f->server, g));
    if (eg_gallery_n(g) == 0)
        return EG_OK;
    snprintf(seed, sizeof seed, "%" PRIu64, f->seed);
    const eg_component *set = &f->e->sets[0]->component;
    if (eg_opts_print_text(set->opts, f->e->set_options[0], sizeof options, options) != EG_OK)
        options[0] = 0; /* too long a path is no reason to lose a run */
    const eg_stored_note notes[] = {
        {"seed", seed}, {"data", set->name}, {"data_options", options}};
    return eg_gallery_save(g, notes, f->e->n_sources == 1 ? 3 : 1);
}

static eg_status run_save(eg_federation *f, const eg_bundle *known)
{
    char *path = NULL;
    eg_status s = f->agreed.all.personal ? EG_OK : eg_federation_save_model(f, known, &path);
    free(path);
    return s;
}

/* The hash of what was learned, and the model in its file. */
static eg_status run_keep(eg_federation *f, const eg_gallery *g, char hash[65])
{
    eg_bundle *known;
    EG_TRY(eg_bundle_new(&known));
    eg_status s = f->agreed.all.personal ? EG_OK : eg_federation_add_known(f, known);
    if (s == EG_OK)
        s = eg_federation_hash(f, g, known, hash);
    if (s == EG_OK)
        s = run_save(f, known);
    eg_bundle_free(known);
    return s;
}

static eg_status run_finish(eg_federation *f)
{
    char hash[65], generators[EG_RUN_PATH];
    eg_gallery *g;
    EG_TRY(eg_run_file(f->folder_path, EG_RUN_GENERATORS, generators));
    EG_TRY(eg_gallery_new(generators, &g));
    eg_status s = run_exhibit(f, g);
    if (s == EG_OK)
        s = run_keep(f, g, hash);
    eg_gallery_free(g);
    EG_TRY(s);
    EG_TRY(eg_federation_write_end(f));
    EG_TRY(eg_run_finish(f->folder, hash));
    return f->script ? eg_script_compare(f->script, hash) : EG_OK;
}

static eg_status run_write_start(eg_federation *f)
{
    const eg_experiment *e = f->e;
    const eg_scenario *s = f->feed.scenario;
    const char *parts[EG_MAX_PARTS];
    int64_t *learned;
    eg_parts_names(&e->parts, parts);
    EG_TRY(eg_alloc((size_t)f->feed.n_tasks, sizeof *learned, &learned));
    for (int64_t t = 0; t < f->feed.n_tasks; t++)
        learned[t] = eg_scenario_learned(s, t);
    eg_status status = eg_run_write_start(
        f->folder,
        &(eg_start_event){.name = e->name,
                          .label = e->label,
                          .seed = (int64_t)f->seed,
                          .method = parts,
                          .n_method = e->parts.n,
                          .clients = eg_scenario_n_clients(s),
                          .tasks = f->feed.n_tasks,
                          .rounds = eg_scenario_n_rounds(s),
                          .classes = eg_scenario_n_classes(s),
                          .isa = f->print.isa,
                          .labels = f->print.labels,
                          .pixels = f->print.pixels,
                          .names = eg_feed_names(&f->feed),
                          .n_names = (size_t)eg_scenario_n_classes(s),
                          .own_data = f->how->listen && f->how->listen->own_data,
                          .replay = f->script != NULL,
                          .config_sha256 = e->sha256,
                          .encoder_sha256 = *f->encoder_sha256 ? f->encoder_sha256 : NULL,
                          .learned = learned});
    free(learned);
    return status;
}

static eg_status run_open_ledger(eg_federation *f, bool resume)
{
    return f->transport->apart ? eg_ledger_open_apart(f->store, resume, &f->ledger)
                               : eg_ledger_open(f->store, resume, &f->ledger);
}

/* The ledger and the folder: new, or cut back to the last commit. */
static eg_status run_open_folder(eg_federation *f, const eg_run_how *how)
{
    const char *path = f->folder_path;
    int64_t position = 0;
    if (!how->resume) {
        EG_TRY(eg_run_folder_new(path, f->e->resolved, &f->folder));
        EG_TRY(eg_run_folder_lock(path, &f->lock));
        return run_open_ledger(f, false);
    }
    if (access(path, F_OK) != 0)
        return eg_fail(EG_ENOENT, "%s is not there: there is nothing to resume", path);
    EG_TRY(eg_run_folder_lock(path, &f->lock));
    if (eg_run_is_finished(path))
        return eg_fail(EG_EINVAL, "%s: the run is finished, there is nothing to resume", path);
    EG_TRY(run_open_ledger(f, true));
    const eg_json *extra = eg_ledger_extra(f->ledger);
    if (extra)
        EG_TRY(eg_json_int(eg_json_get(extra, "position"), &position));
    return eg_run_folder_open(path, position, &f->folder);
}

/* The log that says who answers when must be of this run, with the same data and program. */
static eg_status run_check_script(const eg_federation *f)
{
    if (f->e->dp.sigma > 0 && f->e->dp.noise == 0)
        return eg_fail(EG_EINVAL,
                       "the noise of dp is the system's, which nobody can draw again: "
                       "such a run cannot be replayed");
    return eg_blame(eg_federation_compare(f, f->script->folder), "%s", f->script->folder);
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
                         bool *stopped)
{
    bool served = false;
    EG_TRY(run_place(e, how, f->folder_path));
    EG_TRY(eg_run_file(f->folder_path, EG_RUN_CHECKPOINT, f->store));
    if (f->script)
        EG_TRY(eg_script_open(how->replay, f->script));
    eg_status opened = run_open(f, e, how);
    if (how->cluster && eg_cluster_rank(how->cluster) == 0) /* which says it of the others */
        eg_blame(opened, "rank 0 on %s", eg_cluster_host(how->cluster, 0));
    EG_TRY(opened);
    if (f->transport->meet)
        EG_TRY(f->transport->meet(f->carrier, &served));
    if (served)
        return EG_OK;
    if (f->script)
        EG_TRY(run_check_script(f));
    EG_TRY(run_open_folder(f, how));
    EG_TRY(eg_federation_mean_open(f));
    EG_TRY(eg_federation_open_hidden(f));
    EG_TRY(eg_ledger_records(f->ledger, EG_SERVER, &f->records));
    if (how->resume)
        EG_TRY(eg_federation_resume(f, how->force));
    if (how->resume && eg_cursor_round(f->cursor) == 0)
        EG_TRY(run_start_model(f, how));
    EG_TRY(eg_chain_begin(&f->chain, &f->server));
    f->chain.flops = 0; /* a run that was stopped begins more than once */
    if (eg_cursor_round(f->cursor) == 0) {
        EG_TRY(run_write_start(f));
        EG_TRY(eg_federation_evaluate(f, 0, false, true));
    }
    EG_TRY(run_rounds(f, how, stopped));
    if (*stopped)
        return EG_OK;
    EG_TRY(run_finish(f));
    EG_TRY(eg_federation_stand(f));
    if (f->transport->finish)
        f->transport->finish(f->carrier);
    return EG_OK;
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

/* In a replay there is nobody to hide from: sums come without masks, of the same bits. */
static eg_status run_unmask(const eg_experiment *e, const eg_run_how *how, eg_experiment **out)
{
    EG_TRY(eg_alloc(1, sizeof **out, out));
    **out = *e; /* what it points to stays the caller's */
    if (how->replay && e->secure.kind == EG_SUMS_MASKED)
        (*out)->secure.kind = EG_SUMS_PLAIN;
    return EG_OK;
}

eg_status eg_experiment_run(const eg_experiment *given, const eg_run_how *how, char folder[512],
                            bool *stopped)
{
    eg_experiment *e;
    *stopped = false;
    EG_TRY(run_unmask(given, how, &e));
    eg_federation *f = calloc(1, sizeof *f);
    if (!f) {
        free(e);
        return eg_fail(EG_ENOMEM, "no memory for a run");
    }
    eg_script script = {0};
    f->since = eg_seconds();
    f->lock = -1;
    f->script = how->replay ? &script : NULL;
    eg_status s = run_all(f, e, how, stopped);
    memcpy(folder, f->folder_path, sizeof f->folder_path);
    run_close(f);
    eg_script_close(&script);
    free(e);
    free(f);
    return s;
}
