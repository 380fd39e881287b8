/* serve.c - `engram serve`: one run whose clients are devices that join over the network.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runner.h"
#include "screen.h"
#include "stop.h"

#include <engram/report.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct serve_options {
    runner_options run;
    eg_listen how;
} serve_options;

static void serve_ready(void *context, const char *url)
{
    const serve_options *o = context;
    if (o->run.json)
        printf("{\"event\":\"listening\",\"url\":\"%s\"}\n", url);
    else
        printf("listening on %s; the keys of devices are in %s\n", url, o->how.keys);
    fflush(stdout); /* a script waits for this line */
}

/* "clients 3, 7 and 12 more" */
static void serve_names(const eg_fleet_event *e, char *out, size_t room)
{
    enum { NAMES = 8 };
    size_t n = (size_t)snprintf(out, room, e->n > 1 ? "clients" : "client");
    for (int64_t i = 0; i < e->n && i < NAMES; i++)
        n += (size_t)snprintf(out + n, room - n, "%s %lld", i ? "," : "",
                              (long long)e->clients[i]);
    if (e->n > NAMES)
        snprintf(out + n, room - n, " and %lld more", (long long)(e->n - NAMES));
}

/* What a person should see of the devices, each thing once or every ten seconds. */
static bool serve_fleet(void *context, const eg_fleet_event *e)
{
    static int64_t there = -1;
    static double next;
    const serve_options *o = context;
    char text[256];
    if (e->kind == EG_FLEET_WAITS && (e->n != there || e->seconds >= next)) {
        there = e->n, next = e->seconds + 10;
        snprintf(text, sizeof text, "%lld of %lld devices are there, for %.0f seconds",
                 (long long)e->n, (long long)e->wanted, e->seconds);
    } else if (e->kind == EG_FLEET_BACK) {
        there = -1, next = 0;
        snprintf(text, sizeof text, "%lld devices are there again: the run goes on",
                 (long long)e->n);
    } else if (e->kind == EG_FLEET_LATE) {
        serve_names(e, text, sizeof text);
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 e->n > 1 ? " have not answered, the first for %.0f seconds"
                          : " has not answered for %.0f seconds",
                 e->seconds);
    } else if (e->kind == EG_FLEET_SAYS) {
        snprintf(text, sizeof text, "%s", e->text);
    } else {
        return !stop_asked();
    }
    if (!o->run.quiet || e->kind == EG_FLEET_SAYS)
        screen_say(NULL, text);
    return !stop_asked();
}

static void serve_desk(void *context, const char *url)
{
    const serve_options *o = context;
    if (o->run.json)
        printf("{\"event\":\"operator\",\"url\":\"%s\"}\n", url);
    else
        printf("the operator's page is at %s\n", url);
    fflush(stdout);
}

static bool serve_reload(void *context)
{
    (void)context;
    return stop_take_reload();
}

static int serve_all(runner_options *o, runner_folders *folders)
{
    size_t n_runs = 0;
    for (size_t i = 0; i < o->n_sources; i++)
        n_runs += o->sources[i].n_runs;
    if (n_runs * o->seeds.n != 1)
        return eg_cli_usage("serve",
                            "one run is served at a time, not %zu: --only LABEL and "
                            "--seed N choose it",
                            n_runs * o->seeds.n);
    if (!o->listen->certificate != !o->listen->secret)
        return eg_cli_usage("serve", "--cert and --cert-key belong together");
    int code = runner_run(o, &o->sources[0], folders);
    if (code == 0)
        code = runner_export(o, folders);
    if (code == 0 && !o->json)
        code = runner_compare(o, folders);
    if (code == 0 && !o->json)
        printf("\n%s\n", folders->paths[0]);
    return code;
}

static const cli_option serve_rows[] = {
    CLI_TITLE("Where devices find it, and who may join:"),
    CLI_TEXT("--listen", "ADDRESS", serve_options, how.address, "host:port (127.0.0.1:8443)"),
    CLI_FILE("--cert", "FILE.pem", serve_options, how.certificate,
             "TLS: the server's certificate; without one only this machine can reach it"),
    CLI_FILE("--cert-key", "FILE.pem", serve_options, how.secret, "the certificate's key"),
    CLI_FILE(
        "--keys", "FILE", serve_options, how.keys,
        "who devices are (engram-keys.txt), read again on SIGHUP; made with a secret word per "
        "client if it is missing; engram key and enrol add to it"),
    CLI_INT("--at-least", "N", serve_options, how.at_least, 1, 100000000,
            "devices that must be there, else the run waits (before the first round all, then "
            "server.min_clients)",
            .what = "devices"),
    CLI_REAL("--give-up", "S", serve_options, how.give_up, 0.1, 1e7,
             "seconds of waiting for devices after which the run stops (any number)",
             .what = "seconds"),
    CLI_REAL("--patience", "S", serve_options, how.patience, 0.1, 1e7,
             "seconds without a word after which a device is gone (60)", .what = "seconds"),
    CLI_REAL("--deadline", "S", serve_options, how.deadline, 0.1, 1e7,
             "seconds that a device has for an answer (ten times what the others take)",
             .what = "seconds"),
    CLI_TEXT("--operator", "ADDRESS", serve_options, how.desk,
             "host:port of a page for the operator, /metrics and /healthz, apart from devices "
             "(none)"),
    CLI_FILE("--audit", "FILE", serve_options, how.audit,
             "add a line of JSON per decision: who joined, was refused or left out, and why"),
    CLI_FILE(
        "--members", "FILE", serve_options, how.members,
        "the public keys of all clients, for runs with `secure: masked` (those of --keys)"),
    CLI_INT("--memory", "MB", serve_options, how.memory, 1, 1 << 20,
            "answers that wait in memory (256); more wait on disk, in $TMPDIR or /var/tmp",
            .what = "megabytes"),
    CLI_FLAG("--own-data", serve_options, how.own_data,
             "devices train on data of their own; the server's are for tests"),
    CLI_FLAG("--mixed", serve_options, how.mixed,
             "take devices of other versions and CPUs, though bits may differ"),
    CLI_TITLE("As of `run`:"),
    CLI_ALSO(runner_rows),
    CLI_ALSO(runner_resume_rows),
    CLI_END,
};

static int serve_run(int argc, char **argv)
{
    serve_options o = {.run = {.out = "runs", .listen = &o.how},
                       .how = {.address = "127.0.0.1:8443",
                               .keys = "engram-keys.txt",
                               .ready = serve_ready,
                               .fleet = serve_fleet,
                               .reload = serve_reload,
                               .desk_ready = serve_desk,
                               .context = &o}};
    char *page = NULL;
    stop_hear_reload();
    umask(077); /* what devices and the run are is its owner's affair */
    if (eg_report_desk(&page) != EG_OK)
        return eg_cli_failed();
    o.how.page = page;
    int code = runner_verb(&eg_verb_serve, &o.run, argc, argv, serve_all);
    free(page);
    return code;
}

const eg_verb eg_verb_serve = {
    .name = "serve",
    .run = serve_run,
    .usage = "FILE|NAME --only LABEL [options]\n"
             "--resume RUN [options]",
    .help = "be the server of one run, whose clients are devices",
    .details = "Devices join with `engram join` and keep their data and their state to "
               "themselves; docs/devices.md says how to set it up. The result is that of "
               "`engram run` as long as no device is lost.",
    .options = serve_rows,
};
