/* scenario.c - `engram scenario`: what a scenario file gives to whom, and the proof of it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "scenario.h"
#include "cli.h"

#include <engram/data.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SCENARIO_MAX_SOURCES = 64 };

typedef struct scenario_options {
    const char *job, *file, *out;
    uint64_t seed;
    bool real; /* labels from the data's own files, not from published counts */
} scenario_options;

/* A scenario with everything it was built from. */
typedef struct scenario_case {
    eg_spec *spec;
    eg_labels labels[SCENARIO_MAX_SOURCES];
    size_t n;
    eg_scenario *s;
} scenario_case;

static void scenario_close(scenario_case *c)
{
    eg_scenario_free(c->s);
    for (size_t i = 0; i < c->n; i++)
        eg_labels_free(&c->labels[i]);
    eg_spec_free(c->spec);
}

/* The labels of a data set's own files or generator. */
static eg_status scenario_real_labels(const char *data, eg_labels *out)
{
    const eg_dataset *set = eg_dataset_find(data);
    eg_table train = {0}, test = {0};
    eg_status s = set ? eg_dataset_load(set, NULL, NULL, EG_TRAIN, &train) : EG_ENOENT;
    if (s == EG_OK)
        s = eg_dataset_load(set, NULL, NULL, EG_TEST, &test);
    if (s == EG_OK) {
        *out = (eg_labels){.n_train = train.n,
                           .n_test = test.n,
                           .classes = train.classes,
                           .train = train.y,
                           .test = test.y,
                           .group = train.group};
        train.y = test.y = train.group = NULL; /* they are the labels' now */
    }
    eg_table_fini(&train);
    eg_table_fini(&test);
    return s;
}

/* Published counts where there are any, so that every machine builds the same scenario; the
 * data itself when it is asked for or nothing is published. */
static eg_status scenario_labels(const scenario_options *o, const char *data, eg_labels *out)
{
    if (!o->real && eg_labels_published(data, out) == EG_OK)
        return EG_OK;
    return scenario_real_labels(data, out);
}

static eg_status scenario_open(scenario_case *c, const scenario_options *o)
{
    EG_TRY(eg_spec_load(o->file, &c->spec));
    size_t n = eg_spec_n_data(c->spec);
    if (n > SCENARIO_MAX_SOURCES)
        return eg_fail(EG_EINVAL, "%s: %zu data sources are more than %d", o->file, n,
                       SCENARIO_MAX_SOURCES);
    for (; c->n < n; c->n++)
        EG_TRY(eg_blame(scenario_labels(o, eg_spec_data(c->spec, c->n), &c->labels[c->n]), "%s",
                        o->file));
    return eg_blame(eg_scenario_new(c->spec, o->seed, c->labels, n, &c->s), "%s", o->file);
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
        printf("%s %s", i ? "," : "", eg_spec_data(c->spec, i));
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
    printf("  a client  %" PRId64 " to %" PRId64 " samples\n", p.smallest, p.largest);
    if (p.strays == 0)
        printf("  test      never trains: every sample handed out is a training sample\n");
    printf("  digest    %s\n", digest);
    if (p.strays + p.twice + p.mislabelled > 0)
        return eg_fail(EG_EINVAL,
                       "the split is wrong: %" PRId64 " strays, %" PRId64
                       " held twice, %" PRId64 " of a wrong class",
                       p.strays, p.twice, p.mislabelled);
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

static eg_status scenario_run(const scenario_options *o)
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
    return status;
}

static int scenario_parse(int argc, char **argv, scenario_options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *value;
        if (strcmp(argv[i], "--out") == 0) {
            if (!(o->out = eg_cli_value("scenario", argc, argv, &i)))
                return 2;
        } else if (strcmp(argv[i], "--seed") == 0) {
            if (!(value = eg_cli_value("scenario", argc, argv, &i)) ||
                eg_cli_seed("scenario", value, &o->seed) != 0)
                return 2;
        } else if (strcmp(argv[i], "--real") == 0) {
            o->real = true;
        } else if (argv[i][0] == '-') {
            return eg_cli_usage("scenario", "there is no option '%s'", argv[i]);
        } else if (!o->job) {
            o->job = argv[i];
        } else if (!o->file) {
            o->file = argv[i];
        } else {
            return eg_cli_usage("scenario", "'%s' is one argument too many", argv[i]);
        }
    }
    if (!o->job || (strcmp(o->job, "check") != 0 && strcmp(o->job, "show") != 0 &&
                    strcmp(o->job, "digest") != 0))
        return eg_cli_usage("scenario", "say check, show or digest");
    if (!o->file)
        return eg_cli_usage("scenario", "%s needs a file", o->job);
    if (o->out && strcmp(o->job, "show") != 0)
        return eg_cli_usage("scenario", "--out belongs to show");
    return 0;
}

int eg_verb_scenario(int argc, char **argv)
{
    scenario_options o = {0};
    int code = scenario_parse(argc, argv, &o);
    if (code != 0 || !o.job || !o.file)
        return 2;
    return scenario_run(&o) == EG_OK ? 0 : eg_cli_failed();
}
