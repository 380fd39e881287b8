/* enrol.c - `engram enrol`: a code with which a new device gets in.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/keys.h>

#include <stdio.h>

typedef struct enrol_call {
    const char *keys;
    int64_t client, count;
    double hours;
} enrol_call;

static const cli_option enrol_rows[] = {
    CLI_FILE("KEYS", NULL, enrol_call, keys, NULL, .what = "the server's file of keys"),
    CLI_TITLE("Options:"),
    CLI_INT("--client", "K", enrol_call, client, 0, 16777215,
            "which client the device is to be (the first of whom nothing is known)",
            .without = "--count", .what = "client"),
    CLI_INT("--count", "N", enrol_call, count, 1, 100000,
            "so many codes, each for another client", .what = "codes"),
    CLI_REAL("--hours", "H", enrol_call, hours, 0.001, 87600, "for how long it is good (24)",
             .what = "hours"),
    CLI_END,
};

static int enrol_run(int argc, char **argv)
{
    enrol_call c = {.keys = "engram-keys.txt", .client = -1, .count = 1, .hours = 24};
    char code[EG_KEY];
    int wrong = cli_parse(&eg_verb_enrol, argc, argv, &c);
    if (wrong)
        return wrong;
    for (int64_t i = 0; i < c.count; i++) {
        if (eg_keys_invite(c.keys, c.client, c.hours * 3600, code) != EG_OK)
            return eg_cli_failed();
        puts(code);
    }
    return 0;
}

const eg_verb eg_verb_enrol = {
    .name = "enrol",
    .run = enrol_run,
    .usage = "[KEYS] [--client K | --count N] [--hours H]",
    .help = "make a code with which a new device gets into a run, once",
    .details =
        "On the device: `engram join URL --enrol CODE --key FILE`. It makes a key of its own "
        "there, of which the server gets the public half. A server that runs reads its "
        "file (engram-keys.txt) again on SIGHUP: kill -HUP, systemctl reload.",
    .options = enrol_rows,
};
