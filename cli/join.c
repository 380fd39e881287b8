/* join.c - `engram join`: this machine is a device, one client of a run that is served.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "budget.h"
#include "cli.h"
#include "screen.h"
#include "stop.h"

#include <engram/remote.h>

#include <stdio.h>
#include <sys/stat.h>

typedef struct join_options {
    eg_join_how how;
    cli_texts settings;
    int64_t threads;
    budget budget;
    bool quiet;
} join_options;

static bool join_show(void *context, const eg_device_moment *m)
{
    join_options *o = context;
    if (!o->quiet && m->exchange)
        printf("round %lld/%lld: %s\n", (long long)m->round, (long long)m->n_rounds,
               m->exchange);
    fflush(stdout);
    return m->exchange ? !stop_asked() : budget_may(&o->budget);
}

static const cli_option join_rows[] = {
    CLI_TEXT("URL", NULL, join_options, how.url, NULL, .what = "the server's address",
             .needed = true),
    CLI_INT("--client", "K", join_options, how.client, 0, 100000000,
            "which of the run's clients this is, from 0 on (what FILE or CODE says)"),
    CLI_FILE(
        "--key", "FILE", join_options, how.key,
        "its secret key (engram key new), or its word: its line of the server's file, or all "
        "of it",
        .needed = true),
    CLI_TEXT("--enrol", "CODE", join_options, how.code,
             "get in with a code of `engram enrol`; FILE is made if it is missing"),
    CLI_FILE("--ca", "FILE.pem", join_options, how.ca,
             "who vouches for the server (those this system trusts)"),
    CLI_TEXT("--address", "IP", join_options, how.address,
             "where the server is, if its name is not to be looked up; its certificate must be "
             "of the name in URL all the same"),
    CLI_FOLDER("--state", "DIR", join_options, how.state,
               "where it keeps what it remembers (engram-state)"),
    CLI_DATA_DIR(join_options, how.data_dir),
    CLI_FLAG("--own-data", join_options, how.own_data,
             "train on data of its own, which --set names"),
    CLI_TEXT("--allow", "LIST", join_options, how.allow,
             "what may leave this machine beside the model, of vectors,figures,generators "
             "(whatever the method takes; `engram help METHOD` says what); '' is nothing"),
    CLI_FILE("--members", "FILE", join_options, how.members,
             "the public keys of all clients, from a hand you trust: a run must then mask its "
             "sums (`7 ed25519:HEX` per line)"),
    CLI_FILE("--identity", "FILE", join_options, how.identity,
             "its secret key, if --key has none (`ed25519-secret:HEX`)", .with = "--members"),
    CLI_FILE("--model", "FILE", join_options, how.model,
             "bring the global model when the run is over (`engram get` does so at any time)"),
    CLI_SETTINGS(join_options, settings, "data=npy, data.path=/srv/mine.npz",
                 .with = "--own-data"),
    CLI_INT("--threads", "N", join_options, threads, 1, 64,
            "threads that compute together (1); no result changes", .what = "threads"),
    CLI_ISA,
    CLI_REAL("--patience", "S", join_options, how.patience, 0.1, 1e9,
             "seconds to wait for a server that is away (600)", .what = "seconds"),
    CLI_TAKEN(
        "--memory", "SIZE", join_options, budget.memory, int64_t, budget_take_bytes,
        "how much memory it may take, 64M say; a run that does not fit is refused before it "
        "starts, with what it would need"),
    CLI_INT("--niceness", "N", join_options, budget.niceness, 0, 19,
            "how much it steps back for other programs, as of nice(1)"),
    CLI_TEXT(
        "--while", "COMMAND", join_options, budget.command,
        "take turns only while this command of the shell ends with 0 (on power, on Wi-Fi); "
        "it is run before each"),
    CLI_REAL("--every", "S", join_options, budget.every, 0.1, 86400,
             "seconds until a command that ended otherwise is run again (30)",
             .what = "seconds", .with = "--while"),
    CLI_FLAG("--quiet", join_options, quiet, "show no progress"),
    CLI_END,
};

static int join_run(int argc, char **argv)
{
    join_options o = {.how = {.client = -1}, .budget = {.every = 30}};
    int64_t n_turns;
    int wrong = cli_parse(&eg_verb_join, argc, argv, &o);
    if (wrong)
        return wrong;
    umask(077);
    o.how.threads = (int)o.threads;
    o.how.settings = o.settings.list, o.how.n_settings = o.settings.n;
    o.how.moment = join_show, o.how.say = screen_say, o.how.context = &o;
    o.how.memory = o.budget.memory;
    if (budget_begin(&o.budget) != EG_OK || stop_watch(true) != EG_OK ||
        eg_join(&o.how, &n_turns) != EG_OK)
        return eg_cli_failed();
    if (!o.quiet)
        printf(stop_asked() ? "left after %lld turns; the same command goes on\n"
                            : "the run is over: %lld turns taken\n",
               (long long)n_turns);
    return stop_asked();
}

const eg_verb eg_verb_join = {
    .name = "join",
    .run = join_run,
    .usage = "URL --key FILE [--client K | --enrol CODE] [options]",
    .help = "be a device: one client of a run that is served",
    .details = "Ctrl-C leaves after the turn under way; the same command goes on.",
    .options = join_rows,
};
