/* data.c - engram data: what data sets there are, whether one is sound, and what it looks like.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"
#include "screen.h"

#include <engram/data.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct data_call {
    const char *job, *name, *out, *label;
    eg_origin from;
    cli_texts settings;
    const eg_dataset *set; /* the one that was named, with its options */
    void *self;
} data_call;

static const cli_option data_rows[] = {
    CLI_JOB("list", data_call, job, "every data set; of one: its options"),
    CLI_JOB("counts", data_call, job,
            "published sample counts, with which a scenario is planned without the data: name, "
            "classes, training and test samples (per class, or in all) and natural owners"),
    CLI_JOB("check", data_call, job,
            "size, samples per class, range, images in both splits, checksum"),
    CLI_JOB("show", data_call, job,
            "write a contact sheet, ten images per class, with their boxes; of texts, print "
            "three per "
            "class"),
    CLI_JOB("import", data_call, job,
            "turn own data (CSV, a folder of pictures, NumPy) into files that load at once"),
    CLI_MEMBER("NAME", NULL, data_call, name, eg_dataset_family, NULL, .what = "a data set",
               .with = "list counts check show"),
    CLI_FILE("PATH", NULL, data_call, name, NULL, .what = "own data", .with = "import"),
    CLI_TITLE("Options:"),
    CLI_DATA_DIR(data_call, from.dir),
    CLI_TEXTS("--set", "KEY=VALUE", data_call, settings, 64, "an option of the data set",
              .with = "check show import"),
    CLI_TEXT("--label", "COLUMN", data_call, label,
             "of a CSV file: the column of labels, by name or number", .with = "import"),
    CLI_SEED("--seed", "N", data_call, from.seed, "of a generated data set (0)",
             .with = "check show"),
    CLI_FILE("--out", "FILE|DIR", data_call, out,
             "where the sheet goes (NAME.png), or the folder of what is imported",
             .with = "show import"),
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

static void data_print_counts(int64_t total, const int64_t *counts, int64_t classes)
{
    if (!counts)
        printf(" %lld", (long long)total);
    for (int64_t k = 0; counts && k < classes; k++)
        printf("%s%lld", k == 0 ? " " : ",", (long long)counts[k]);
}

/* One line per name, which scripts read too (tools/scenario_base.py). */
static void data_counts_of(const eg_dataset *d)
{
    for (const eg_label_counts *l = d->counts; l && l->name; l++) {
        printf("%s %lld", l->name, (long long)l->classes);
        data_print_counts(l->n_train, l->train, l->classes);
        data_print_counts(l->n_test, l->test, l->classes);
        printf(" %lld\n", (long long)l->owners);
    }
}

static int data_counts(const data_call *c)
{
    const eg_component *member;
    if (c->set)
        data_counts_of(c->set);
    for (size_t i = 0; !c->set && (member = eg_family_at(&eg_dataset_family, i)) != NULL; i++)
        data_counts_of((const eg_dataset *)member);
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

/* Of texts: how long they are in pieces, and how many reach the longest length that is kept. */
static void data_print_lengths(const eg_table *t)
{
    int64_t sum = 0, full = 0;
    for (int64_t i = 0; i < t->n; i++) {
        int64_t n = 0;
        while (n < t->width && t->f32[i * t->width + n] >= 0)
            n++;
        sum += n;
        full += n == t->width;
    }
    printf(
        "  pieces     %.1f per text, of a vocabulary of %lld; %lld texts have %lld or more\n",
        (double)sum / (double)t->n, (long long)t->ids, (long long)full, (long long)t->width);
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

static void data_print_names(const eg_table *t)
{
    size_t column = 0;
    printf("  called     ");
    for (int64_t k = 0; k < t->classes; k++) {
        bool wraps = column > 0 && column + strlen(t->names[k]) > 80;
        column = (wraps ? 0 : column) + strlen(t->names[k]) + 2;
        printf("%s%s%s", wraps ? "\n             " : "", t->names[k],
               k + 1 < t->classes ? ", " : "\n");
    }
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
    if (t->names)
        data_print_names(t);
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
    if (t->ids)
        data_print_lengths(t);
    else
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

/* What is printed of texts: the first few of each class. */
typedef struct data_texts {
    const eg_table *t;
    int64_t *shown; /* [classes] */
} data_texts;

static void data_show_text(void *context, int64_t row, const char *text)
{
    enum { EACH = 3 };
    const data_texts *d = context;
    int32_t class = d->t->y[row];
    if (d->shown[class]++ < EACH)
        printf("%s\t%s\n", d->t->names ? d->t->names[class] : "", text);
}

static int data_show_texts(const data_call *c, const eg_table *t)
{
    data_texts d = {t, calloc((size_t)t->classes, sizeof *d.shown)};
    int code = !d.shown || c->set->spell(c->self, &c->from, t, data_show_text, &d) != EG_OK
                   ? eg_cli_failed()
                   : 0;
    free(d.shown);
    return code;
}

static bool data_show_loading(void *context, int64_t done, int64_t all)
{
    screen_loading(context, done, all);
    return true;
}

/* One split after the other, so that both are never held. */
static eg_status data_import_split(const data_call *c, const eg_origin *from, eg_split split)
{
    eg_table t;
    EG_TRY(eg_dataset_load(c->set, c->self, from, split, &t));
    bool test = split == EG_TEST;
    eg_status s = eg_table_store(&t, test ? "test" : "train", c->out);
    if (s == EG_OK) {
        printf("%s  %lld samples of %lldx%lldx%lld %s, %lld classes\n",
               test ? "test " : "train", (long long)t.n, (long long)t.channels,
               (long long)t.height, (long long)t.width, t.u8 ? "bytes" : "floats",
               (long long)t.classes);
        if (test && t.names)
            data_print_names(&t);
        if (test)
            printf("\nIn an experiment file:\n\n  data: {name: npy, path: %s%s%s}\n", c->out,
                   t.height * t.width > 1 && t.channels > 1 ? ", layout: chw" : "",
                   t.f32 ? ", normalize: true" : "");
    }
    eg_table_fini(&t);
    return s;
}

static int data_import(const data_call *c)
{
    screen shown = {.form = isatty(STDOUT_FILENO) ? SCREEN_BAR : SCREEN_LINES,
                    .label = c->name};
    eg_origin from = c->from;
    from.show = data_show_loading;
    from.context = &shown;
    if (data_import_split(c, &from, EG_TRAIN) != EG_OK ||
        data_import_split(c, &from, EG_TEST) != EG_OK)
        return eg_cli_failed();
    return 0;
}

static int data_show(const data_call *c)
{
    eg_table t = {0};
    char standard[128];
    snprintf(standard, sizeof standard, "%s.png", c->name);
    const char *out = c->out ? c->out : standard;
    int code = 0;
    eg_status s = eg_dataset_load(c->set, c->self, &c->from, EG_TRAIN, &t);
    bool texts = s == EG_OK && t.ids && c->set->spell;
    bool boxes = c->set->target && strcmp(c->set->target, "detection") == 0;
    if (s == EG_OK && !texts)
        s = boxes ? eg_table_sheet_boxes(&t, 10, out) : eg_table_sheet(&t, 10, out);
    if (s != EG_OK)
        code = eg_cli_failed();
    else if (texts)
        code = data_show_texts(c, &t);
    else
        printf("%s\n", out);
    eg_table_fini(&t);
    return code;
}

/* Which data set reads what is at a path; NULL: none does. */
static const char *data_reader(const char *path)
{
    static const char *const tables[] = {".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz"};
    char arrays[1024];
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (n > strlen(tables[i]) && strcmp(path + n - strlen(tables[i]), tables[i]) == 0)
            return "csv";
    snprintf(arrays, sizeof arrays, "%s/x_train.npy", path);
    bool npz = n > 4 && strcmp(path + n - 4, ".npz") == 0;
    if (npz || access(arrays, F_OK) == 0)
        return "npy";
    snprintf(arrays, sizeof arrays, "%s/.", path);
    return access(arrays, F_OK) == 0 ? "folder" : NULL;
}

/* Finds the reader of own data, and tells it where they are. 0, or the exit code. */
static int data_open_import(data_call *c)
{
    if (!c->out)
        return eg_cli_usage("data", "--out DIR is missing, the folder to write");
    if (access(c->name, F_OK) != 0) {
        eg_fail(EG_ENOENT, "there is no file or folder '%s'", c->name);
        return eg_cli_failed();
    }
    const char *reader = data_reader(c->name);
    if (!reader) {
        eg_fail(
            EG_EINVAL,
            "%s: a table (.csv, .tsv, .txt, also with .gz), arrays (.npz or a folder of .npy) "
            "or a folder of pictures can be imported; texts are read as they are, by "
            "'data: {name: text, train: FILE}'",
            c->name);
        return eg_cli_failed();
    }
    c->set = eg_dataset_find(reader);
    char whole[2048], here[1024];
    bool relative = *c->name != '/' && getcwd(here, sizeof here);
    snprintf(whole, sizeof whole, "%s%s%s", relative ? here : "", relative ? "/" : "", c->name);
    if (!c->set || eg_component_new(&c->set->component, &c->self) != EG_OK ||
        eg_opts_set(c->set->component.opts, c->self, "path", whole) != EG_OK)
        return eg_cli_failed();
    if (c->label && eg_opts_set(c->set->component.opts, c->self, "label", c->label) != EG_OK)
        return eg_cli_usage("data", "--label: %s", eg_error());
    return 0;
}

/* Finds the data set and sets its options; the caller frees c->self. 0, or the exit code. */
static int data_open(data_call *c)
{
    bool import = strcmp(c->job, "import") == 0;
    if (import && c->name) {
        int code = data_open_import(c);
        if (code != 0)
            return code;
    } else if (!c->name)
        return strcmp(c->job, "list") == 0 || strcmp(c->job, "counts") == 0
                   ? 0
                   : eg_cli_usage("data", import ? "the path of own data is missing"
                                                 : "the name of a data set is missing");
    if (!import) {
        c->set = eg_dataset_find(c->name);
        if (!c->set || eg_component_new(&c->set->component, &c->self) != EG_OK)
            return eg_cli_failed();
    }
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
        code = strcmp(c.job, "list") == 0     ? data_list(&c)
               : strcmp(c.job, "counts") == 0 ? data_counts(&c)
               : strcmp(c.job, "check") == 0  ? data_check(&c)
               : strcmp(c.job, "import") == 0 ? data_import(&c)
                                              : data_show(&c);
    free(c.self);
    return code;
}

const eg_verb eg_verb_data = {
    .name = "data",
    .run = data_run,
    .usage = "list [NAME] [--data-dir DIR]\n"
             "counts [NAME]\n"
             "check NAME [options]\n"
             "show NAME [options]\n"
             "import PATH --out DIR [options]",
    .help = "list, check, look at and import data sets",
    .options = data_rows,
};
