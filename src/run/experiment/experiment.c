/* experiment.c - an experiment: its parts, data and network; what excludes what; its one text.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The text is YAML that any reader understands alike: numbers and truth values are plain, what
 * a user wrote as text is quoted, and mappings are nested.
 */
#include "run/experiment/settings.h"

#include "base/checksum.h"
#include "io/file.h"
#include "world/data/find.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_WEIGHTS ((size_t)1 << 42) /* bytes of a file */

eg_status eg_experiment_new(eg_experiment **out)
{
    eg_experiment *e = calloc(1, sizeof *e);
    *out = e;
    if (!e)
        return eg_fail(EG_ENOMEM, "no memory for an experiment");
    for (const eg_section *const *s = eg_sections; *s; s++)
        eg_opts_init((*s)->component.opts, (char *)e + (*s)->offset);
    eg_opts_init(eg_settings_of_data, &e->data);
    eg_opts_init(eg_settings_of_all, e);
    EG_TRY(eg_experiment_set_model(e, "cnn-small"));
    EG_TRY(eg_experiment_set(e, "optimizer", "sgd"));
    return eg_spec_new(&e->spec);
}

void eg_experiment_free(eg_experiment *e)
{
    if (!e)
        return;
    eg_spec_free(e->spec);
    eg_experiment_drop_sources(e);
    free(e->model_options);
    free(e->optimizer.options);
    eg_parts_free(&e->parts);
    free(e->resolved);
    free(e);
}

eg_status eg_experiment_add_part(eg_experiment *e, const char *word)
{
    const eg_method *m = eg_method_find(word);
    if (!m)
        return EG_ENOENT;
    for (const eg_section *const *s = eg_sections; *s; s++)
        if (strcmp((*s)->component.name, m->component.name) == 0)
            return eg_fail(EG_EINVAL,
                           "the method '%s' has the name of a section, so its options cannot "
                           "be set",
                           m->component.name);
    return eg_parts_add(&e->parts, m);
}

eg_status eg_experiment_add_source(eg_experiment *e, const char *word)
{
    const eg_dataset *d = eg_dataset_find(word);
    if (!d)
        return EG_ENOENT;
    if (e->n_sources == EG_MAX_SOURCES)
        return eg_fail(EG_EINVAL, "there are at most %d data sources", EG_MAX_SOURCES);
    EG_TRY(eg_component_new(&d->component, &e->set_options[e->n_sources]));
    e->sets[e->n_sources++] = d;
    return EG_OK;
}

eg_status eg_experiment_set_model(eg_experiment *e, const char *word)
{
    const eg_model *m = eg_model_find(word);
    void *options;
    if (!m)
        return EG_ENOENT;
    EG_TRY(eg_component_new(&m->component, &options));
    eg_opts_init(eg_settings_of_model, &e->start); /* weights are one network's */
    free(e->model_options);
    e->model = m;
    e->model_options = options;
    return EG_OK;
}

void eg_experiment_drop_sources(eg_experiment *e)
{
    while (e->n_sources > 0)
        free(e->set_options[--e->n_sources]);
}

const eg_target *eg_experiment_target(const eg_experiment *e)
{
    return eg_target_find(e->n_sources ? e->sets[0]->target : NULL);
}

eg_setting eg_experiment_setting(const eg_experiment *e, const eg_scenario *scenario)
{
    return (eg_setting){.scenario = scenario,
                        .train = &e->train,
                        .target = eg_experiment_target(e),
                        .interval = e->server.interval,
                        .hides = eg_experiment_hides(e),
                        .late = eg_experiment_waits_late(e),
                        .augments = e->data.crop > 0 || e->data.cutout > 0 || e->data.flip,
                        .other_mean = e->server.mean.rule != EG_MEAN_PLAIN ||
                                      e->server.optimizer.rule != EG_SERVER_NONE};
}

/* What takes targets for classes is refused where they are none. */
static eg_status experiment_check_target(const eg_experiment *e)
{
    const eg_target *target = eg_experiment_target(e);
    if (!target)
        return EG_ENOENT;
    const struct {
        const char *setting;
        bool set;
    } of_classes[] = {
        {"train.classes", e->train.classes != EG_CLASSES_ALL},
        {"eval.classes", e->eval.classes != EG_CLASSES_ALL},
        {"eval.top", e->eval.top > 1},
        {"train.rotations", e->train.rotations},
        {"train.temperature", e->train.temperature < 1 || e->train.temperature > 1},
        {"pretrain", e->pretrain.epochs > 0},
    };
    for (size_t i = 0; i < sizeof of_classes / sizeof *of_classes && !target->classes; i++)
        if (of_classes[i].set)
            return eg_fail(EG_ENOTSUP, "%s is about classes; the targets of %s are %s",
                           of_classes[i].setting, e->sets[0]->component.name, target->things);
    return EG_OK;
}

eg_status eg_experiment_check(const eg_experiment *e)
{
    const eg_setting setting = eg_experiment_setting(e, NULL);
    eg_agreement agreed;
    EG_TRY(experiment_check_target(e));
    EG_TRY(eg_optim_check(e->optimizer.kind, e->optimizer.options));
    if (e->eval.patience > 0 && e->data.validation <= 0)
        return eg_fail(EG_EINVAL, "eval.patience needs data.validation, which it goes by");
    if (e->eval.patience > 0 && e->eval.every == EG_EVERY_TASK)
        return eg_fail(EG_EINVAL, "eval.patience counts points of a curve, but eval.every is "
                                  "task; it wants round or a number of rounds");
    const eg_opt_list *mean = &e->data.mean, *std = &e->data.std;
    bool plain = mean->n == 1 && mean->value[0] == 0 && std->n == 1 && std->value[0] == 1;
    if (e->data.normalize && !plain)
        return eg_fail(EG_EINVAL, "data.normalize measures what data.mean and data.std say: "
                                  "set it, or these");
    if (e->data.normalize && e->pretrain.epochs > 0)
        return eg_fail(EG_EINVAL, "pretrain prepares fractals by data.mean and data.std: set "
                                  "these in place of data.normalize ('engram data check' "
                                  "prints them)");
    if (e->pretrain.epochs > 0 && *e->start.weights)
        return eg_fail(EG_EINVAL, "model.weights and pretrain exclude each other: both say "
                                  "where the run starts from");
    /* Uploads of the rounds between serve the tests, and must leave no trace in the model. */
    if (e->server.interval > 1 && e->server.optimizer.rule != EG_SERVER_NONE)
        return eg_fail(EG_EINVAL, "server.optimizer steps from a model that all clients began "
                                  "with: it needs server.interval 1");
    if (e->server.interval > 1 && e->server.mean.rule == EG_MEAN_NORM_CLIP)
        return eg_fail(EG_EINVAL, "server.mean norm-clip measures changes of a model that all "
                                  "clients began with: it needs server.interval 1");
    EG_TRY(eg_private_check(e));
    EG_TRY(eg_late_check(e));
    return eg_parts_setup(&e->parts, &setting, e->memory.kind != 0, &agreed);
}

/* A count of rounds under `scale`; 0 has a meaning of its own. */
static int64_t experiment_rounds(const eg_experiment *e, int64_t n)
{
    double less = floor((double)n * e->scale + 1e-9);
    return n == 0 ? 0 : (int64_t)fmax(less, 1);
}

double eg_experiment_rate(const eg_experiment *e, int64_t round, int64_t n_rounds)
{
    eg_schedule s = e->schedule;
    s.every = experiment_rounds(e, s.every);
    s.warmup = experiment_rounds(e, s.warmup);
    return eg_schedule_factor(&s, round, n_rounds);
}

const char *eg_experiment_name(const eg_experiment *e)
{
    return e->name;
}

const char *eg_experiment_label(const eg_experiment *e)
{
    return e->label;
}

bool eg_experiment_has_part(const eg_experiment *e, const char *name)
{
    for (size_t i = 0; i < e->parts.n; i++)
        if (strcmp(eg_parts_name(&e->parts, i), name) == 0)
            return true;
    return false;
}

const char *eg_experiment_text(const eg_experiment *e)
{
    return e->resolved;
}

const char *eg_experiment_sha256(const eg_experiment *e)
{
    return e->sha256;
}

/* Within quotes a quote is written twice. */
static void resolve_quoted(FILE *to, const char *text)
{
    fputc('\'', to);
    for (; *text; text++)
        fprintf(to, *text == '\'' ? "''" : "%c", *text);
    fputc('\'', to);
}

/* A number as eg_opt_print gives it. Many readers take 1e-07 for a text, but 1.0e-07 for what
 * it is. */
static void resolve_number(FILE *to, const char *number)
{
    size_t n = strcspn(number, "e");
    bool point = !number[n] || memchr(number, '.', n);
    fprintf(to, "%.*s%s%s", (int)n, number, point ? "" : ".0", number + n);
}

/* A component's name or a choice: plain, unless a reader would take it for something else. */
static void resolve_word(FILE *to, const char *word)
{
    static const char *const taken[] = {"y",   "n",    "yes",   "no",   "on",
                                        "off", "true", "false", "null", "nan"};
    bool plain = *word >= 'a' && *word <= 'z' &&
                 !word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-")];
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        plain &= strcmp(taken[i], word) != 0;
    if (plain)
        fputs(word, to);
    else
        resolve_quoted(to, word);
}

/* "0.5, 0.4": a list; "0.5": a number. */
static void resolve_numbers(FILE *to, const char *list)
{
    bool several = strchr(list, ',') != NULL;
    fputs(several ? "[" : "", to);
    while (*list) {
        char number[EG_OPT_TEXT_SIZE];
        size_t n = strcspn(list, ",");
        snprintf(number, sizeof number, "%.*s", (int)n, list);
        resolve_number(to, number);
        list += n;
        if (*list) {
            fputs(", ", to);
            list += strspn(list, ", ");
        }
    }
    fputs(several ? "]" : "", to);
}

/* The options of a component or a section, one per line. */
static void resolve_rows(FILE *to, const eg_opt *opts, const void *self)
{
    for (const eg_opt *o = opts; o && o->name; o++) {
        char value[EG_OPT_TEXT_SIZE];
        eg_opt_print(o, self, value);
        fprintf(to, "  %s: ", o->name);
        bool counted = o->type == EG_OPT_IS_COUNT && *value >= '0' && *value <= '9';
        if (o->type == EG_OPT_IS_INT || o->type == EG_OPT_IS_REAL || counted)
            resolve_number(to, value);
        else if (o->type == EG_OPT_IS_BOOL)
            fputs(value, to);
        else if (o->type == EG_OPT_IS_CHOICE || o->type == EG_OPT_IS_COUNT)
            resolve_word(to, value);
        else if (o->type == EG_OPT_IS_LIST)
            resolve_numbers(to, value);
        else
            resolve_quoted(to, value);
        fputc('\n', to);
    }
}

/* Whether all options are as by default. */
static bool resolve_is_usual(const eg_section *s, const eg_experiment *e)
{
    void *usual;
    bool same = true;
    if (eg_component_new(&s->component, &usual) != EG_OK)
        return false;
    for (const eg_opt *o = s->component.opts; o->name; o++) {
        char is[EG_OPT_TEXT_SIZE], was[EG_OPT_TEXT_SIZE];
        eg_opt_print(o, (const char *)e + s->offset, is);
        eg_opt_print(o, usual, was);
        same &= strcmp(is, was) == 0;
    }
    free(usual);
    return same;
}

static void resolve_section(FILE *to, const char *name, const eg_opt *opts, const void *self)
{
    if (opts && opts->name)
        fprintf(to, "%s:\n", name);
    resolve_rows(to, opts, self);
}

/* The sources; how images are prepared stands with the first. */
static void resolve_data(FILE *to, const eg_experiment *e)
{
    fputs("data:\n", to);
    for (size_t i = 0; i < e->n_sources; i++) {
        fprintf(to, "- name: %s\n", e->sets[i]->component.name);
        resolve_rows(to, e->sets[i]->component.opts, e->set_options[i]);
        if (i == 0)
            resolve_rows(to, eg_settings_of_data, &e->data);
    }
}

/* A setting of the scenario. A value's form tells its type; its one text, the angles of turns,
 * is a number too if it looks like one. Those of the partition come last, its name first. */
static void resolve_scenario_row(void *context, const char *name, const char *value)
{
    static const char inner[] = "partition.";
    FILE *to = context;
    char *end;
    bool first = strcmp(name, "partition") == 0;
    if (first)
        fputs("  partition:\n    kind: ", to);
    else if (strncmp(name, inner, sizeof inner - 1) == 0)
        fprintf(to, "    %s: ", name + sizeof inner - 1);
    else
        fprintf(to, "  %s: ", name);
    (void)strtod(value, &end);
    if (end != value && !*end)
        resolve_number(to, value);
    else if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
        fputs(value, to);
    else
        resolve_word(to, value);
    fputc('\n', to);
}

static void resolve_scenario(FILE *to, const eg_experiment *e)
{
    fputs("scenario:\n", to);
    eg_spec_each(e->spec, resolve_scenario_row, to);
}

static void resolve_part_name(void *to, const eg_method *m, const void *options)
{
    (void)options;
    fprintf(to, "  - %s\n", m->component.name);
}

static void resolve_part(void *to, const eg_method *m, const void *options)
{
    resolve_section(to, m->component.name, m->component.opts, options);
}

static void resolve_run(FILE *to, const eg_experiment *e)
{
    fputs("runs:\n- label: ", to);
    resolve_quoted(to, e->label);
    fputs("\n  method:\n", to);
    eg_parts_each(&e->parts, resolve_part_name, to);
}

/* The settings in no section. A text is there if it was set, so that a run is named by what
 * it says. */
static void resolve_top(FILE *to, const eg_experiment *e)
{
    for (const eg_opt *o = eg_settings_of_all; o->name; o++) {
        char value[EG_OPT_TEXT_SIZE];
        eg_opt_print(o, e, value);
        if (o->type == EG_OPT_IS_TEXT && strcmp(value, o->text) == 0)
            continue;
        fprintf(to, "%s: ", o->name);
        if (o->type == EG_OPT_IS_TEXT)
            resolve_quoted(to, value);
        else
            resolve_number(to, value);
        fputc('\n', to);
    }
}

/* What a run that goes on must load first. paths: a line each */
static void resolve_plugins(FILE *to, const char *paths)
{
    if (*paths)
        fputs("plugins:\n", to);
    for (const char *at = paths; *at; at += strcspn(at, "\n") + 1) {
        char path[EG_PLUGINS_SIZE];
        snprintf(path, sizeof path, "%.*s", (int)strcspn(at, "\n"), at);
        fputs("- ", to);
        resolve_quoted(to, path);
        fputc('\n', to);
    }
}

/* An experiment file again, with one run and every setting, which resolves to itself. */
static void resolve_write(FILE *to, const eg_experiment *e)
{
    fputs("name: ", to);
    resolve_quoted(to, e->name);
    fputc('\n', to);
    resolve_top(to, e);
    resolve_data(to, e);
    fprintf(to, "model:\n  name: %s\n", e->model->component.name);
    resolve_rows(to, e->model->component.opts, e->model_options);
    resolve_rows(to, eg_settings_of_model, &e->start);
    resolve_scenario(to, e);
    fprintf(to, "optimizer:\n  name: %s\n", e->optimizer.kind->component.name);
    resolve_rows(to, e->optimizer.kind->component.opts, e->optimizer.options);
    for (const eg_section *const *s = eg_sections; *s; s++)
        if (!(*s)->quiet || !resolve_is_usual(*s, e))
            resolve_section(to, (*s)->component.name, (*s)->component.opts,
                            (const char *)e + (*s)->offset);
    eg_parts_each(&e->parts, resolve_part, to);
    resolve_run(to, e);
}

void eg_weights_find(const char *name, char out[EG_WEIGHTS_PATH])
{
    const eg_place place = {"weights", NULL, ""};
    snprintf(out, EG_WEIGHTS_PATH, "%s", name);
    if (name[0] != '/' && access(name, R_OK) != 0 &&
        eg_find(&(eg_origin){0}, &place, (const char *const[]){name, NULL}, out) != EG_OK)
        snprintf(out, EG_WEIGHTS_PATH, "%s", name);
}

/* Enters the hash of the file that the run starts from, which its experiment must hold. */
static eg_status experiment_settle(eg_start_opts *o)
{
    unsigned char *bytes;
    size_t n;
    uint8_t digest[32];
    char text[65], path[EG_WEIGHTS_PATH];
    if (!*o->weights)
        return EG_OK;
    eg_weights_find(o->weights, path);
    EG_TRY(eg_blame(eg_file_read(path, MAX_WEIGHTS, &bytes, &n), "weights"));
    eg_sha256_of(bytes, n, digest);
    free(bytes);
    eg_sha256_text(digest, text);
    if (*o->weights_sha256 && strcmp(o->weights_sha256, text) != 0)
        return eg_fail(EG_EINVAL, "weights: %s has the SHA-256 %.8s..., not %.8s...",
                       o->weights, text, o->weights_sha256);
    return eg_opts_set(eg_settings_of_model, o, "weights_sha256", text);
}

/* Paths of one's own data that are there beside the file or in the working folder become whole,
 * so that a run finds them from anywhere; those below the data folder stay as they are. */
static eg_status experiment_find_data(eg_experiment *e)
{
    static const char *const options[] = {"path", "test_path", "train",
                                          "test", "vocab",     "groups"};
    const size_t n = sizeof options / sizeof *options;
    for (size_t i = 0; i < n * e->n_sources; i++) {
        const eg_component *c = &e->sets[i / n]->component;
        const eg_opt *o = eg_opts_find(c->opts, options[i % n]);
        char path[EG_OPT_TEXT_SIZE], whole[EG_PATH_SIZE];
        if (!o || o->type != EG_OPT_IS_TEXT)
            continue;
        eg_opt_print(o, e->set_options[i / n], path);
        if (eg_find_own(*e->folder ? e->folder : NULL, path, whole))
            EG_TRY(eg_opts_set(c->opts, e->set_options[i / n], o->name, whole));
    }
    return EG_OK;
}

eg_status eg_experiment_resolve(eg_experiment *e)
{
    size_t n = 0;
    uint8_t digest[32];
    EG_TRY(experiment_find_data(e));
    EG_TRY(experiment_settle(&e->start));
    EG_TRY(eg_spec_hold_out(e->spec, e->data.validation));
    FILE *to = open_memstream(&e->resolved, &n);
    if (!to)
        return eg_fail(EG_ENOMEM, "no memory for the resolved experiment");
    resolve_write(to, e);
    fflush(to);
    size_t hashed = n; /* where plugins lie makes no other run */
    resolve_plugins(to, e->plugins);
    bool failed = ferror(to) != 0;
    if (fclose(to) != 0 || failed)
        return eg_fail(EG_ENOMEM, "no memory for the resolved experiment");
    eg_sha256_of(e->resolved, hashed, digest);
    eg_sha256_text(digest, e->sha256);
    return EG_OK;
}
