/* get.c - `engram get`: the model of a run that is served, for a device that may take part.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/remote.h>

#include <stdio.h>
#include <sys/stat.h>

typedef struct get_options {
    eg_join_how how;
    const char *out;
} get_options;

static const cli_option get_rows[] = {
    CLI_TEXT("URL", NULL, get_options, how.url, NULL, .what = "the server's address",
             .needed = true),
    CLI_FILE("--key", "FILE", get_options, how.key, "the device's key, as of `join`",
             .needed = true),
    CLI_INT("--client", "K", get_options, how.client, 0, 100000000,
            "which of the run's clients this is (what FILE says)"),
    CLI_FILE("--ca", "FILE.pem", get_options, how.ca,
             "who vouches for the server (those this system trusts)"),
    CLI_TEXT("--address", "IP", get_options, how.address,
             "where the server is, if its name is not to be looked up; its certificate must be "
             "of the name in URL all the same"),
    CLI_REAL("--patience", "S", get_options, how.patience, 0.1, 1e9,
             "seconds to wait for a server that is away (600)", .what = "seconds"),
    CLI_FILE("--out", "FILE", get_options, out, "where it goes (model.safetensors)"),
    CLI_END,
};

static int get_run(int argc, char **argv)
{
    get_options o = {.how = {.client = -1}, .out = "model.safetensors"};
    int wrong = cli_parse(&eg_verb_get, argc, argv, &o);
    if (wrong)
        return wrong;
    umask(077);
    if (eg_join_get_model(&o.how, o.out) != EG_OK)
        return eg_cli_failed();
    puts(o.out);
    return 0;
}

const eg_verb eg_verb_get = {
    .name = "get",
    .run = get_run,
    .usage = "URL --key FILE [--out model.safetensors] [options]",
    .help = "bring the last global model of a run that is served",
    .details =
        "Who may take part may have the model, while the run goes on. `engram predict` "
        "and `engram eval` use it; `engram join --model FILE` brings it when the run is over.",
    .options = get_rows,
};
