/* serve.c - `engram serve`: one run whose clients are devices that join over the network.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runner.h"
#include "screen.h"
#include "stop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is serve's own; the rest is run's. */
static eg_listen serve_how = {.address = "127.0.0.1:8443", .keys = "engram-keys.txt"};

static void serve_ready(void *context, const char *url)
{
    const runner_options *o = context;
    if (o->json)
        printf("{\"event\":\"listening\",\"url\":\"%s\"}\n", url);
    else
        printf("listening on %s; the keys of devices are in %s\n", url, serve_how.keys);
    fflush(stdout); /* a script waits for this line */
}

static bool serve_waits(void *context, int64_t there, int64_t wanted)
{
    const runner_options *o = context;
    static int64_t said = -1;
    if (!o->quiet && !o->json && there != said)
        printf("%lld of %lld devices are there\n", (long long)there, (long long)wanted);
    fflush(stdout);
    said = there;
    return !stop_asked();
}

static bool serve_seconds(const char *value, double *out)
{
    char *end;
    *out = strtod(value, &end);
    return end > value && !*end && *out >= 0.1 && *out <= 1e7;
}

/* Sets an option of serve's own. 0, or the exit code. */
static int serve_value(const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **to;
    } texts[] = {{"--listen", &serve_how.address},
                 {"--cert", &serve_how.certificate},
                 {"--cert-key", &serve_how.secret},
                 {"--keys", &serve_how.keys}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i].name, name) == 0) {
            *texts[i].to = value;
            return 0;
        }
    bool patience = strcmp(name, "--patience") == 0, deadline = strcmp(name, "--deadline") == 0;
    if (patience || deadline)
        return serve_seconds(value, patience ? &serve_how.patience : &serve_how.deadline)
                   ? 0
                   : eg_cli_usage("serve", "%s: '%s' is no number of seconds from 0.1 to 1e7",
                                  name, value);
    char *end;
    long long n = strtoll(value, &end, 10);
    if (n < 1 || n > 100000000 || *end)
        return eg_cli_usage("serve", "--at-least: '%s' is no number of devices from 1 on",
                            value);
    serve_how.at_least = n;
    return 0;
}

/* Takes serve's own options out of argv; 0, or the exit code. */
static int serve_parse(int *argc, char **argv)
{
    static const char *const values[] = {"--listen",   "--cert",     "--cert-key", "--keys",
                                         "--at-least", "--patience", "--deadline"};
    int kept = 1;
    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--own-data") == 0) {
            serve_how.own_data = true;
        } else if (strcmp(argv[i], "--mixed") == 0) {
            serve_how.mixed = true;
        } else if (eg_cli_knows(argv[i], sizeof values / sizeof *values, values)) {
            const char *name = argv[i], *value = eg_cli_value("serve", *argc, argv, &i);
            int wrong = value ? serve_value(name, value) : 2;
            if (wrong)
                return wrong;
        } else {
            argv[kept++] = argv[i];
        }
    }
    *argc = kept;
    if (!serve_how.certificate != !serve_how.secret)
        return eg_cli_usage("serve", "--cert and --cert-key belong together");
    return 0;
}

static int serve_all(runner_options *o, runner_folders *folders)
{
    size_t n_runs = 0;
    for (size_t i = 0; i < o->n_sources; i++)
        n_runs += o->sources[i].n_runs;
    if (n_runs * o->n_seeds != 1)
        return eg_cli_usage("serve",
                            "one run is served at a time, not %zu: --only LABEL and "
                            "--seed N choose it",
                            n_runs * o->n_seeds);
    if (o->transport)
        return eg_cli_usage("serve", "devices come over the network: there is no other "
                                     "transport");
    int code = runner_run(o, &o->sources[0], folders);
    if (code == 0)
        code = runner_export(o, folders);
    if (code == 0 && !o->json)
        code = runner_compare(o, folders);
    if (code == 0 && !o->json)
        printf("\n%s\n", folders->paths[0]);
    return code;
}

int eg_verb_serve(int argc, char **argv)
{
    runner_options o = {.verb = "serve", .out = "runs", .listen = &serve_how};
    int wrong = serve_parse(&argc, argv);
    if (wrong)
        return wrong;
    serve_how.ready = serve_ready;
    serve_how.waits = serve_waits;
    serve_how.context = &o;
    return runner_verb(&o, argc, argv, serve_all);
}
