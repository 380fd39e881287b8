/* data.c - engram data: what data sets there are, whether one is sound, and what it looks like.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/data.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The command line of check and show. */
typedef struct data_call {
    const eg_dataset *set;
    void *self; /* its options */
    eg_origin from;
    const char *out;
} data_call;

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

static int data_list(int argc, char **argv)
{
    eg_origin from = {0};
    bool named = false;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--data-dir") == 0) {
            if (!(from.dir = eg_cli_value("data", argc, argv, &i)))
                return 2;
            continue;
        }
        if (argv[i][0] == '-')
            return eg_cli_usage("data", "list has no option '%s'", argv[i]);
        const eg_dataset *d = eg_dataset_find(argv[i]);
        if (!d)
            return eg_cli_refused("data", EG_ENOENT);
        data_list_options(d);
        named = true;
    }
    for (const eg_dataset *const *d = eg_datasets; !named && *d; d++)
        data_list_one(*d, &from);
    return 0;
}

static int data_flag(data_call *c, const char *flag, const char *value)
{
    if (!value)
        return 2;
    if (strcmp(flag, "--set") == 0)
        return eg_cli_set_option("data", &c->set->component, c->self, value);
    if (strcmp(flag, "--data-dir") == 0) {
        c->from.dir = value;
    } else if (strcmp(flag, "--out") == 0) {
        c->out = value;
    } else {
        return eg_cli_seed("data", value, &c->from.seed);
    }
    return 0;
}

/* Reads NAME and flags; when something is wrong, says so and sets *code. The caller frees
 * c->self either way. */
static bool data_parse(int argc, char **argv, data_call *c, int *code)
{
    *c = (data_call){0};
    *code = 2;
    if (argc < 1) {
        eg_cli_usage("data", "the name of a data set is missing");
        return false;
    }
    c->set = eg_dataset_find(argv[0]);
    if (!c->set) {
        *code = eg_cli_refused("data", EG_ENOENT);
        return false;
    }
    if (eg_component_new(&c->set->component, &c->self) != EG_OK) {
        *code = eg_cli_failed();
        return false;
    }
    static const char *const flags[] = {"--data-dir", "--set", "--seed", "--out", NULL};
    for (int i = 1; i < argc; i++) {
        const char *const *f = flags;
        while (*f && strcmp(*f, argv[i]) != 0)
            f++;
        if (!*f)
            eg_cli_unknown("data", "data set", argv[0], argv[i]);
        if (!*f || data_flag(c, *f, eg_cli_value("data", argc, argv, &i)) != 0)
            return false;
    }
    *code = 0;
    return true;
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

static int data_check(int argc, char **argv)
{
    data_call c;
    eg_table train = {0}, test = {0};
    int64_t inside = 0, across = 0;
    int code;
    if (!data_parse(argc, argv, &c, &code))
        goto done;
    code = 1;
    if (eg_dataset_load(c.set, c.self, &c.from, EG_TRAIN, &train) != EG_OK ||
        eg_dataset_load(c.set, c.self, &c.from, EG_TEST, &test) != EG_OK ||
        eg_table_same_shape(&train, c.set->component.name, &test, "its test set") != EG_OK ||
        eg_table_overlap(&train, &test, &across) != EG_OK ||
        eg_table_repeats(&train, &inside) != EG_OK) {
        eg_cli_failed();
        goto done;
    }
    printf("%s: %s\n", c.set->component.name, c.set->component.help);
    code = data_print("train", &train) | data_print("test", &test);
    printf("repeats\n  in train   %lld samples equal an earlier one\n"
           "  in both    %lld of the %lld test samples are training samples too\n",
           (long long)inside, (long long)across, (long long)test.n);
done:
    free(c.self);
    eg_table_fini(&train);
    eg_table_fini(&test);
    return code;
}

static int data_show(int argc, char **argv)
{
    data_call c;
    eg_table t = {0};
    int code;
    if (data_parse(argc, argv, &c, &code)) {
        char standard[128];
        snprintf(standard, sizeof standard, "%s.png", c.set->component.name);
        const char *out = c.out ? c.out : standard;
        if (eg_dataset_load(c.set, c.self, &c.from, EG_TRAIN, &t) != EG_OK ||
            eg_table_sheet(&t, 10, out) != EG_OK)
            code = eg_cli_failed();
        else
            printf("%s\n", out);
    }
    free(c.self);
    eg_table_fini(&t);
    return code;
}

int eg_verb_data(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word)
        return eg_cli_usage("data", "what to do is missing");
    if (strcmp(word, "list") == 0)
        return data_list(argc - 2, argv + 2);
    if (strcmp(word, "check") == 0)
        return data_check(argc - 2, argv + 2);
    if (strcmp(word, "show") == 0)
        return data_show(argc - 2, argv + 2);
    return eg_cli_usage("data", "there is no '%s'", word);
}
