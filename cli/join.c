/* join.c - `engram join`: this machine is a device, one client of a run that is served.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "screen.h"
#include "stop.h"

#include <engram/graph.h>
#include <engram/remote.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct join_options {
    eg_join_how how;
    eg_cli_settings settings;
    bool quiet;
} join_options;

static bool join_show(void *context, const eg_device_moment *m)
{
    const join_options *o = context;
    if (!o->quiet && m->exchange)
        printf("round %lld/%lld: %s\n", (long long)m->round, (long long)m->n_rounds,
               m->exchange);
    fflush(stdout);
    return !stop_asked();
}

static int join_client(const char *value, int64_t *out)
{
    char *end;
    long long n = strtoll(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || n > 100000000)
        return eg_cli_usage("join", "--client: '%s' is no client's number", value);
    *out = n;
    return 0;
}

static int join_value(const char *name, const char *value, join_options *o)
{
    const struct {
        const char *name;
        const char **to;
    } texts[] = {{"--key", &o->how.key},
                 {"--ca", &o->how.ca},
                 {"--state", &o->how.state},
                 {"--data-dir", &o->how.data_dir}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(texts[i].name, name) == 0) {
            *texts[i].to = value;
            return 0;
        }
    if (strcmp(name, "--set") == 0)
        return eg_cli_add_setting("join", &o->settings, value);
    if (strcmp(name, "--isa") == 0) {
        eg_status s = eg_isa_set(value);
        return s == EG_OK ? 0 : eg_cli_refused("join", s);
    }
    if (strcmp(name, "--client") == 0)
        return join_client(value, &o->how.client);
    char *end;
    o->how.patience = strtod(value, &end);
    if (end == value || *end || !(o->how.patience >= 0.1 && o->how.patience <= 1e9))
        return eg_cli_usage("join", "--patience: '%s' is no number of seconds from 0.1 on",
                            value);
    return 0;
}

static int join_parse(int argc, char **argv, join_options *o)
{
    static const char *const values[] = {"--client",   "--key", "--ca",  "--state",
                                         "--data-dir", "--set", "--isa", "--patience"};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--own-data") == 0) {
            o->how.own_data = true;
        } else if (strcmp(argv[i], "--quiet") == 0) {
            o->quiet = true;
        } else if (eg_cli_knows(argv[i], sizeof values / sizeof *values, values)) {
            const char *name = argv[i], *value = eg_cli_value("join", argc, argv, &i);
            int wrong = value ? join_value(name, value, o) : 2;
            if (wrong)
                return wrong;
        } else if (argv[i][0] == '-' || o->how.url) {
            return eg_cli_unknown("join", "server", o->how.url, argv[i]);
        } else {
            o->how.url = argv[i];
        }
    }
    if (!o->how.url || o->how.client < 0 || !o->how.key)
        return eg_cli_usage("join", "%s is needed",
                            !o->how.url         ? "the server's address"
                            : o->how.client < 0 ? "--client"
                                                : "--key");
    if (o->settings.n && !o->how.own_data)
        return eg_cli_usage("join", "--set is for devices with --own-data: the others have the "
                                    "server's settings");
    return 0;
}

int eg_verb_join(int argc, char **argv)
{
    join_options o = {.how = {.client = -1}};
    int64_t n_turns;
    int wrong = join_parse(argc, argv, &o);
    if (wrong)
        return wrong;
    o.how.settings = o.settings.pairs, o.how.n_settings = o.settings.n;
    o.how.moment = join_show, o.how.say = screen_say, o.how.context = &o;
    if (stop_watch(true) != EG_OK || eg_join(&o.how, &n_turns) != EG_OK)
        return eg_cli_failed();
    if (!o.quiet)
        printf(stop_asked() ? "left after %lld turns; the same command goes on\n"
                            : "the run is over: %lld turns taken\n",
               (long long)n_turns);
    return stop_asked();
}
