/* pretrain.c - `engram pretrain`: makes the encoder that runs of a file start from; probes it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "screen.h"
#include "stop.h"

#include <engram/pretrain.h>

#include <stdio.h>
#include <unistd.h>

typedef struct pretrain_call {
    const char *file, *only, *data_dir;
    const char *probe; /* a data set; NULL: none */
    cli_texts settings;
    bool quiet;
} pretrain_call;

static bool pretrain_show(void *context, const eg_pretraining *p)
{
    screen_pretraining(context, p);
    return !stop_asked();
}

static const cli_option pretrain_rows[] = {
    CLI_FILE("FILE", NULL, pretrain_call, file, NULL, .what = "an experiment file",
             .needed = true, .offer = CLI_OFFERS_EXPERIMENTS),
    CLI_TEXT("--only", "LABEL", pretrain_call, only,
             "of this run (the first that has pre-training)"),
    CLI_MEMBER("--probe", "DATA", pretrain_call, probe, eg_dataset_family,
               "what a linear layer learns of this data set from its features, and from those "
               "of the network as it was drawn"),
    CLI_SETTINGS(pretrain_call, settings, "change a setting: pretrain.images=100000"),
    CLI_DATA_DIR(pretrain_call, data_dir),
    CLI_THREADS,
    CLI_ISA,
    CLI_FLAG("--quiet", pretrain_call, quiet, "show no progress"),
    CLI_END,
};

/* The first run of a label that has pre-training, in place of *out; else its last. A
 * label may stand for a sweep, whose runs mostly share what is learned before them. */
static eg_status pretrain_of_label(const pretrain_call *c, const eg_experiment_file *file,
                                   const char *label, eg_experiment **out)
{
    eg_experiments runs;
    size_t i = 0;
    EG_TRY(eg_experiment_file_sweep(file, label, c->settings.n, c->settings.list, &runs));
    while (i + 1 < runs.n && !eg_experiment_pretrains(runs.list[i]))
        i++;
    eg_experiment_free(*out);
    *out = runs.list[i];
    runs.list[i] = NULL;
    eg_experiments_free(&runs);
    return EG_OK;
}

/* The run of this label, or (NULL) the first that has pre-training. */
static eg_status pretrain_resolve(const pretrain_call *c, eg_experiment **out)
{
    eg_experiment_file *file;
    const char *label;
    *out = NULL;
    EG_TRY(eg_experiment_file_open(c->file, &file));
    eg_status s = EG_OK;
    if (c->only)
        s = pretrain_of_label(c, file, c->only, out);
    for (size_t i = 0; !c->only && (label = eg_experiment_file_label(file, i)); i++) {
        s = pretrain_of_label(c, file, label, out);
        if (s != EG_OK || eg_experiment_pretrains(*out))
            break;
    }
    eg_experiment_file_free(file);
    return s;
}

static eg_status pretrain_carry_out(const pretrain_call *c, const eg_experiment *e)
{
    screen_form form = isatty(STDOUT_FILENO) ? SCREEN_BAR : SCREEN_LINES;
    screen shown = {.form = c->quiet ? SCREEN_QUIET : form};
    const eg_pretrain_how how = {.data_dir = c->data_dir,
                                 .progress = pretrain_show,
                                 .say = screen_say,
                                 .context = &shown};
    eg_pretrained encoder;
    eg_probe probe;
    EG_TRY(eg_pretrain(e, &how, &encoder));
    printf("%s%s\n", encoder.path, encoder.found ? ": was there" : "");
    printf("accuracy on unseen fractals %6.2f %%\n", 100 * encoder.accuracy);
    if (!c->probe)
        return EG_OK;
    fflush(stdout);
    EG_TRY(eg_pretrain_probe(e, &how, &encoder, eg_dataset_find(c->probe), &probe));
    printf("\na linear layer on its features, %s: %lld + %lld images, %lld classes\n", c->probe,
           (long long)probe.n_train, (long long)probe.n_test, (long long)probe.classes);
    printf("pre-trained                 %6.2f %%\n", 100 * probe.pretrained);
    printf("as it was drawn             %6.2f %%\n", 100 * probe.drawn);
    return EG_OK;
}

static int pretrain_run(int argc, char **argv)
{
    pretrain_call c = {0};
    eg_experiment *e = NULL;
    char room[CLI_PATH];
    int code = cli_parse(&eg_verb_pretrain, argc, argv, &c);
    if (code)
        return code;
    if (!(c.file = cli_find_experiment(c.file, room)))
        return eg_cli_failed();
    eg_status s = pretrain_resolve(&c, &e);
    if (s != EG_OK) {
        eg_experiment_free(e);
        return eg_cli_unresolved("pretrain", c.file, c.only, &c.settings, s);
    }
    s = stop_watch(true);
    if (s == EG_OK)
        s = pretrain_carry_out(&c, e);
    eg_experiment_free(e);
    return s == EG_OK ? 0 : eg_cli_failed();
}

const eg_verb eg_verb_pretrain = {
    .name = "pretrain",
    .run = pretrain_run,
    .usage = "FILE|NAME [options]",
    .help = "have a file's network learn from fractals, which its runs start from",
    .details = "The encoder is kept in ENGRAM_CACHE, else ~/.cache/engram, where runs find it; "
               "one that finds none makes it.",
    .options = pretrain_rows,
};
