/* scenario.c - `engram scenario`: what a scenario file gives to whom, and the proof of it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "scenario.h"
#include "cli.h"

#include <engram/fed.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SCENARIO_MAX_SOURCES = 64 };

typedef struct scenario_options {
    const char *job, *file, *out;
    const char *only;   /* the experiment's run; NULL: its first */
    cli_texts settings; /* of an experiment */
    uint64_t seed;
    bool real; /* labels from the data's own files, not from published counts */
} scenario_options;

/* A scenario with everything it was built from. */
typedef struct scenario_case {
    eg_spec *spec;      /* of a scenario file, else NULL */
    eg_preview preview; /* of an experiment file, for the run it is about */
    char run[128];
    const char *names[SCENARIO_MAX_SOURCES];
    eg_labels labels[SCENARIO_MAX_SOURCES];
    bool published[SCENARIO_MAX_SOURCES]; /* the labels are published counts */
    size_t n;
    eg_scenario *s;
    bool unresolved; /* the experiment, as it was asked for, is none */
} scenario_case;

static void scenario_close(scenario_case *c)
{
    if (c->spec) {
        eg_scenario_free(c->s);
        for (size_t i = 0; i < c->n; i++)
            eg_labels_free(&c->labels[i]);
    }
    eg_spec_free(c->spec);
    eg_preview_fini(&c->preview);
}

/* Published counts where there are any, so that every machine builds the same scenario; the
 * data itself when it is asked for or nothing is published. */
static eg_status scenario_labels(const scenario_options *o, const char *data, eg_labels *out,
                                 bool *published)
{
    *published = !o->real && eg_labels_published(data, out) == EG_OK;
    if (*published)
        return EG_OK;
    const eg_dataset *set = eg_dataset_find(data);
    return set ? eg_labels_load(set, NULL, NULL, 1, out) : EG_ENOENT;
}

static eg_status scenario_open_spec(scenario_case *c, const scenario_options *o)
{
    EG_TRY(eg_spec_load(o->file, &c->spec));
    size_t n = eg_spec_n_data(c->spec);
    if (n > SCENARIO_MAX_SOURCES)
        return eg_fail(EG_EINVAL, "%s: %zu data sources are more than %d", o->file, n,
                       SCENARIO_MAX_SOURCES);
    for (; c->n < n; c->n++) {
        c->names[c->n] = eg_spec_data(c->spec, c->n);
        EG_TRY(
            eg_blame(scenario_labels(o, c->names[c->n], &c->labels[c->n], &c->published[c->n]),
                     "%s", o->file));
    }
    return eg_blame(eg_scenario_new(c->spec, o->seed, c->labels, n, &c->s), "%s", o->file);
}

/* What one of an experiment's runs sees, with the options of its data. */
static eg_status scenario_open_run(scenario_case *c, const scenario_options *o,
                                   const eg_experiment_file *file)
{
    eg_experiment *e;
    eg_status s =
        eg_experiment_file_resolve(file, o->only, o->settings.n, o->settings.list, &e);
    c->unresolved = s != EG_OK;
    EG_TRY(s);
    snprintf(c->run, sizeof c->run, "%s", eg_experiment_label(e));
    s = eg_experiment_preview(e, o->seed, o->real, &c->preview);
    eg_experiment_free(e);
    EG_TRY(eg_blame(s, "%s", o->file));
    for (; c->n < c->preview.n; c->n++) {
        c->names[c->n] = c->preview.names[c->n];
        c->labels[c->n] = c->preview.labels[c->n];
        c->published[c->n] = c->preview.published[c->n];
    }
    c->s = c->preview.scenario;
    return EG_OK;
}

/* A file with runs is an experiment; one without describes a scenario alone. */
static eg_status scenario_open(scenario_case *c, const scenario_options *o)
{
    eg_experiment_file *file;
    eg_status s = eg_experiment_file_open(o->file, &file);
    if (s == EG_ENOENT && !o->only && o->settings.n == 0)
        return scenario_open_spec(c, o);
    EG_TRY(s);
    s = scenario_open_run(c, o, file);
    eg_experiment_file_free(file);
    return s;
}

static void scenario_print_head(const scenario_case *c, const char *file)
{
    static const struct {
        unsigned flag;
        const char *name;
    } offers[] = {{EG_OFFERS_BOUNDARIES, "boundaries"},
                  {EG_OFFERS_TASK_IDS, "task ids"},
                  {EG_OFFERS_COMMON_TASKS, "common tasks"},
                  {EG_OFFERS_TASK_CLASSES, "classes by task"},
                  {EG_OFFERS_TEST_TASKS, "the task at test time"}};
    printf("%s: %s on", file, eg_scenario_name(c->s));
    for (size_t i = 0; i < c->n; i++)
        printf("%s %s%s", i ? "," : "", c->names[i],
               c->published[i] ? " (its published counts)" : "");
    if (*c->run)
        printf(", for its run '%s'", c->run);
    printf("\n  %" PRId64 " clients, %" PRId64 " tasks, %" PRId64 " rounds, %" PRId64
           " classes; offers",
           eg_scenario_n_clients(c->s), eg_scenario_n_tasks(c->s), eg_scenario_n_rounds(c->s),
           eg_scenario_n_classes(c->s));
    const char *comma = "";
    for (size_t i = 0; i < sizeof offers / sizeof *offers; i++)
        if (eg_scenario_offers(c->s) & offers[i].flag) {
            printf("%s %s", comma, offers[i].name);
            comma = ",";
        }
    printf("%s\n", *comma ? "" : " nothing");
}

static eg_status scenario_check(const scenario_case *c)
{
    eg_proof p;
    char digest[65];
    EG_TRY(eg_scenario_prove(c->s, &p));
    EG_TRY(eg_scenario_digest(c->s, digest));
    printf("  held      %" PRId64 " of %" PRId64 " training samples\n", p.held, p.samples);
    if (p.lost == 0)
        printf("  lost      none\n");
    else
        printf("  unused    %" PRId64 " samples of classes that are in some task: the split "
               "leaves them over\n",
               p.lost);
    if (p.outside > 0)
        printf("  outside   %" PRId64 " samples of classes in no task\n", p.outside);
    if (p.shared == 0)
        printf("  shared    none: no sample is held by two clients\n");
    else
        printf("  shared    %" PRId64 " samples, by up to %" PRId64 " clients: this setting "
               "shares them\n",
               p.shared, p.most);
    if (p.validation > 0)
        printf("  held out  %" PRId64 " samples, to validate with\n", p.validation);
    printf("  samples   %" PRId64 " to %" PRId64 " per client\n", p.smallest, p.largest);
    if (p.strays == 0)
        printf("  test      never trains: every sample handed out is a training sample\n");
    printf("  digest    %s\n", digest);
    if (p.strays + p.twice + p.mislabelled + p.leaked > 0)
        return eg_fail(EG_EINVAL,
                       "the split is wrong: %" PRId64 " strays, %" PRId64
                       " held twice, %" PRId64 " of a wrong class, %" PRId64
                       " held out and trained on",
                       p.strays, p.twice, p.mislabelled, p.leaked);
    return EG_OK;
}

static eg_status scenario_show(const scenario_case *c, const scenario_options *o)
{
    const char *slash = strrchr(o->file, '/');
    scenario_chart chart;
    eg_status status =
        scenario_chart_init(&chart, c->s, c->labels, slash ? slash + 1 : o->file, 30);
    if (status == EG_OK) {
        scenario_chart_print(&chart);
        if (o->out)
            status = scenario_chart_save(&chart, o->out);
        if (status == EG_OK && o->out)
            printf("\nwrote %s\n", o->out);
    }
    scenario_chart_fini(&chart);
    return status;
}

/* 0, or the exit code. */
static int scenario_run(const scenario_options *o)
{
    scenario_case c = {0};
    eg_status status = scenario_open(&c, o);
    if (status == EG_OK && strcmp(o->job, "digest") == 0) {
        char digest[65];
        status = eg_scenario_digest(c.s, digest);
        if (status == EG_OK)
            printf("%s %s\n", digest, o->file);
    } else if (status == EG_OK) {
        scenario_print_head(&c, o->file);
        status = strcmp(o->job, "check") == 0 ? scenario_check(&c) : scenario_show(&c, o);
    }
    scenario_close(&c);
    if (c.unresolved)
        return eg_cli_unresolved("scenario", o->file, o->only, &o->settings, status);
    return status == EG_OK ? 0 : eg_cli_failed();
}

static const cli_option scenario_rows[] = {
    CLI_JOB("check", scenario_options, job,
            "prove that every sample is held at most once, and that tests never train"),
    CLI_JOB("show", scenario_options, job, "who is at which task when, in the terminal"),
    CLI_JOB("digest", scenario_options, job, "a fingerprint of the split"),
    CLI_FILE("FILE", NULL, scenario_options, file, NULL, .what = "a file", .needed = true,
             .offer = CLI_OFFERS_EXPERIMENTS),
    CLI_TITLE("Options:"),
    CLI_TEXT("--only", "LABEL", scenario_options, only,
             "of an experiment: this run's (the first one's)"),
    CLI_SETTINGS(scenario_options, settings,
                 "of an experiment: change a setting: scenario.partition.alpha=0.1"),
    CLI_SEED("--seed", "N", scenario_options, seed, "of the split (0)"),
    CLI_FLAG("--real", scenario_options, real,
             "labels from the data, not the published counts"),
    CLI_FILE("--out", "FILE.svg", scenario_options, out, "of show: a picture too",
             .with = "show"),
    CLI_END,
};

static int scenario_verb(int argc, char **argv)
{
    scenario_options o = {0};
    char room[CLI_PATH];
    int wrong = cli_parse(&eg_verb_scenario, argc, argv, &o);
    if (wrong)
        return wrong;
    o.file = cli_find_experiment(o.file, room);
    return o.file ? scenario_run(&o) : eg_cli_failed();
}

const eg_verb eg_verb_scenario = {
    .name = "scenario",
    .run = scenario_verb,
    .usage = "check|show|digest FILE|NAME [options]",
    .help = "prove, show or fingerprint who sees what when",
    .details =
        "FILE describes a scenario alone or is an experiment, whose settings then apply.",
    .options = scenario_rows,
};
