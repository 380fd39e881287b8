/* key.c - `engram key`: keys of devices: made, entered, listed and revoked.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/keys.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct key_call {
    const char *job, *file, *public_key;
    int64_t client;
} key_call;

static const cli_option key_rows[] = {
    CLI_JOB("new", key_call, job, "make a device's secret key, and print the public one"),
    CLI_JOB("add", key_call, job, "enter a device's public key in a server's file"),
    CLI_JOB("list", key_call, job, "who has a key, by a server's file; of a device: its own"),
    CLI_JOB("revoke", key_call, job, "nobody is this client any more"),
    CLI_FILE("FILE", NULL, key_call, file, NULL, .what = "a file of keys", .needed = true),
    CLI_TITLE("Options:"),
    CLI_INT("--client", "K", key_call, client, 0, 16777215, "which of the run's clients",
            .with = "new add revoke", .what = "client"),
    CLI_TEXT("--public", "KEY", key_call, public_key, "what `key new` printed on the device",
             .with = "add"),
    CLI_END,
};

static eg_status key_print(void *context, const eg_keys_row *row)
{
    char when[32];
    time_t until = (time_t)row->until;
    struct tm t;
    (void)context;
    printf("%6lld  ", (long long)row->client);
    if (row->kind == EG_KEY_PUBLIC) {
        printf("signs      %s\n", row->public_key);
    } else if (row->kind == EG_KEY_CODE) {
        localtime_r(&until, &t);
        strftime(when, sizeof when, "%Y-%m-%d %H:%M", &t);
        printf("may enrol  %s %s\n", time(NULL) > until ? "no more, since" : "until", when);
    } else {
        puts(row->kind == EG_KEY_REVOKED ? "revoked" : "has a word");
    }
    return EG_OK;
}

static eg_status key_list(const key_call *c)
{
    char key[EG_KEY];
    int64_t client;
    if (eg_key_public(c->file, &client, key) != EG_OK)
        return eg_keys_list(c->file, key_print, NULL);
    if (client >= 0)
        printf("client %lld, ", (long long)client);
    printf("%s\n", key);
    return EG_OK;
}

static int key_run(int argc, char **argv)
{
    key_call c = {.client = -1};
    char key[EG_KEY];
    int wrong = cli_parse(&eg_verb_key, argc, argv, &c);
    if (wrong)
        return wrong;
    bool makes = strcmp(c.job, "new") == 0, adds = strcmp(c.job, "add") == 0;
    if (!makes && strcmp(c.job, "list") != 0 && c.client < 0)
        return eg_cli_usage("key", "--client K is needed");
    if (adds && !c.public_key)
        return eg_cli_usage("key", "--public KEY is needed");
    eg_status s = makes                        ? eg_key_new(c.file, c.client, key)
                  : adds                       ? eg_keys_add(c.file, c.client, c.public_key)
                  : strcmp(c.job, "list") == 0 ? key_list(&c)
                                               : eg_keys_revoke(c.file, c.client);
    if (s != EG_OK)
        return eg_cli_failed();
    if (makes)
        puts(key);
    return 0;
}

const eg_verb eg_verb_key = {
    .name = "key",
    .run = key_run,
    .usage = "new FILE [--client K]\n"
             "key add KEYS --client K --public KEY\n"
             "key list FILE\n"
             "key revoke KEYS --client K",
    .help = "keys of devices: make, enter, list and revoke them",
    .details =
        "A device that has a key signs what it asks, so that nobody else is it, and what "
        "was heard once cannot be said again. The server reads its file again on SIGHUP. "
        "`engram enrol` is the shorter way for devices that are elsewhere.",
    .options = key_rows,
};
