/* data.c - engram data: what data sets there are, whether one is sound, and what it looks like.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/data.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct data_call {
    const char *job, *name, *out;
    eg_origin from;
    cli_texts settings;
    const eg_dataset *set; /* the one that was named, with its options */
    void *self;
} data_call;

static const cli_option data_rows[] = {
    CLI_JOB("list", data_call, job, "every data set; of one: its options"),
    CLI_JOB("check", data_call, job,
            "size, samples per class, range, images in both splits, checksum"),
    CLI_JOB("show", data_call, job, "write a contact sheet, ten images per class"),
    CLI_MEMBER("NAME", NULL, data_call, name, eg_dataset_family, NULL, .what = "a data set"),
    CLI_TITLE("Options:"),
    CLI_DATA_DIR(data_call, from.dir),
    CLI_TEXTS("--set", "KEY=VALUE", data_call, settings, 64, "an option of the data set",
              .with = "check show"),
    CLI_SEED("--seed", "N", data_call, from.seed, "of a generated data set (0)",
             .with = "check show"),
    CLI_FILE("--out", "FILE.png", data_call, out, "where the sheet goes (NAME.png)",
             .with = "show"),
    CLI_END,
};

static void data_list_options(const eg_dataset *d)
{
    printf("%s - %s\n", d->component.name, d->component.help);
    for (const eg_opt *o = d->component.opts; o && o->name; o++) {
        char about[EG_OPT_TEXT_SIZE];
        eg_opt_describe(o, about);
        printf("  %-12s %s (%s)\n", o->name, o->help, about);
    }
}

/* What it is, and whether it is here. */
static void data_list_one(const eg_dataset *d, const eg_origin *from)
{
    char folder[1024];
    printf("%-14s %s", d->component.name, d->component.help);
    if (!d->generated)
        printf("; %s", eg_dataset_where(d, from, sizeof folder, folder) ? folder : "not here");
    printf("\n");
}

static int data_list(const data_call *c)
{
    if (c->set)
        data_list_options(c->set);
    for (const eg_dataset *const *d = eg_datasets; !c->set && *d; d++)
        data_list_one(*d, &c->from);
    return 0;
}

static void data_print_range(const eg_table *t)
{
    size_t n = (size_t)t->n * eg_table_sample(t);
    double low = INFINITY, high = -INFINITY, sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        double v = t->u8 ? t->u8[i] : (double)t->f32[i];
        low = v < low ? v : low;
        high = v > high ? v : high;
        sum += v;
        squares += v * v;
    }
    double mean = sum / (double)n;
    printf("  values     %g to %g, mean %.4g, standard deviation %.4g\n", low, high, mean,
           sqrt(fmax(0, squares / (double)n - mean * mean)));
}

/* What data.mean and data.std would take, if pictures have bytes. */
static void data_print_channels(const eg_table *t)
{
    size_t place = (size_t)(t->height * t->width), n = (size_t)(t->n * t->channels);
    double sum[3] = {0}, squares[3] = {0}, count = (double)t->n * (double)place;
    if (!t->u8 || (t->channels != 1 && t->channels != 3))
        return;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < place; k++) {
            double v = t->u8[i * place + k] / 255.0;
            sum[i % (size_t)t->channels] += v;
            squares[i % (size_t)t->channels] += v * v;
        }
    printf("  channels   mean");
    for (int64_t c = 0; c < t->channels; c++)
        printf(" %.4f", sum[c] / count);
    printf(", standard deviation");
    for (int64_t c = 0; c < t->channels; c++)
        printf(" %.4f", sqrt(fmax(0, squares[c] / count - sum[c] * sum[c] / count / count)));
    printf("\n");
}

static int data_print_classes(const eg_table *t)
{
    int64_t *counts = calloc((size_t)t->classes, sizeof *counts);
    if (!counts)
        return 1;
    eg_table_count(t, counts);
    int64_t least = INT64_MAX, most = 0, empty = 0;
    for (int64_t k = 0; k < t->classes; k++) {
        least = counts[k] < least ? counts[k] : least;
        most = counts[k] > most ? counts[k] : most;
        empty += counts[k] == 0;
    }
    printf("  per class  %lld to %lld", (long long)least, (long long)most);
    if (empty)
        printf(", %lld without any", (long long)empty);
    for (int64_t k = 0; k < t->classes; k++)
        printf("%s%lld", k % 10 == 0 ? "\n             " : " ", (long long)counts[k]);
    printf("\n");
    free(counts);
    return 0;
}

static int data_print(const char *word, const eg_table *t)
{
    char digest[65];
    eg_table_digest(t, digest);
    printf("%s\n  samples    %lld of %lldx%lldx%lld %s, %lld classes\n", word, (long long)t->n,
           (long long)t->channels, (long long)t->height, (long long)t->width,
           t->u8 ? "bytes" : "floats", (long long)t->classes);
    if (*t->note)
        printf("  note       %s\n", t->note);
    if (t->group) {
        int32_t top = 0;
        for (int64_t i = 0; i < t->n; i++)
            top = t->group[i] > top ? t->group[i] : top;
        printf("  groups     %d\n", top + 1);
    }
    data_print_range(t);
    data_print_channels(t);
    int code = data_print_classes(t);
    printf("  sha256     %s\n", digest);
    return code;
}

static int data_check(const data_call *c)
{
    eg_table train = {0}, test = {0};
    int64_t inside = 0, across = 0;
    int code = 1;
    if (eg_dataset_load(c->set, c->self, &c->from, EG_TRAIN, &train) != EG_OK ||
        eg_dataset_load(c->set, c->self, &c->from, EG_TEST, &test) != EG_OK ||
        eg_table_same_shape(&train, c->name, &test, "its test set") != EG_OK ||
        eg_table_overlap(&train, &test, &across) != EG_OK ||
        eg_table_repeats(&train, &inside) != EG_OK) {
        eg_cli_failed();
        goto done;
    }
    printf("%s: %s\n", c->name, c->set->component.help);
    code = data_print("train", &train) | data_print("test", &test);
    printf("repeats\n  in train   %lld samples equal an earlier one\n"
           "  in both    %lld of the %lld test samples are training samples too\n",
           (long long)inside, (long long)across, (long long)test.n);
done:
    eg_table_fini(&train);
    eg_table_fini(&test);
    return code;
}

static int data_show(const data_call *c)
{
    eg_table t = {0};
    char standard[128];
    snprintf(standard, sizeof standard, "%s.png", c->name);
    const char *out = c->out ? c->out : standard;
    int code = 0;
    if (eg_dataset_load(c->set, c->self, &c->from, EG_TRAIN, &t) != EG_OK ||
        eg_table_sheet(&t, 10, out) != EG_OK)
        code = eg_cli_failed();
    else
        printf("%s\n", out);
    eg_table_fini(&t);
    return code;
}

/* Finds the data set and sets its options; the caller frees c->self. 0, or the exit code. */
static int data_open(data_call *c)
{
    if (!c->name)
        return strcmp(c->job, "list") == 0
                   ? 0
                   : eg_cli_usage("data", "the name of a data set is missing");
    c->set = eg_dataset_find(c->name);
    if (!c->set || eg_component_new(&c->set->component, &c->self) != EG_OK)
        return eg_cli_failed();
    for (size_t i = 0; i < c->settings.n; i++)
        if (eg_cli_set_pair(&c->set->component, c->self, c->settings.list[i]) != EG_OK)
            return eg_cli_usage("data", "%s", eg_error());
    return 0;
}

static int data_run(int argc, char **argv)
{
    data_call c = {0};
    int code = cli_parse(&eg_verb_data, argc, argv, &c);
    if (code == 0)
        code = data_open(&c);
    if (code == 0)
        code = strcmp(c.job, "list") == 0    ? data_list(&c)
               : strcmp(c.job, "check") == 0 ? data_check(&c)
                                             : data_show(&c);
    free(c.self);
    return code;
}

const eg_verb eg_verb_data = {
    .name = "data",
    .run = data_run,
    .usage = "list [NAME] [--data-dir DIR]\n"
             "check NAME [options]\n"
             "show NAME [options]",
    .help = "list, check and look at data sets",
    .options = data_rows,
};
