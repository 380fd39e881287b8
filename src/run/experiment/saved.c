/* saved.c - a model with its notes, to a file and back, and tested.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/saved.h>

#include "engine/model/net.h"
#include "run/experiment/feed.h"
#include "run/experiment/settings.h"

#include <engram/op.h>
#include <engram/program.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAVED_BATCH = 200, SAVED_NAME = 256 }; /* a name: of a bundle, with what is before it */

struct eg_saved {
    eg_tensors *file; /* its notes */
    eg_net *net;
    float *value, *state;
    eg_transform how;
    eg_norm norm;            /* what `how` borrows */
    eg_aim aim;              /* of boxes, if it looks for them; else its kind is NULL */
    int64_t fan;             /* outputs a class has; the first is the upright image's */
    const eg_method *method; /* whose answers count; NULL: the network's outputs do */
    void *options;           /* the method's */
    void *graft;             /* options of the method whose features count, if there is one */
    eg_bundle *known;        /* what its answers know */
    eg_program *program;
};

/* The part whose outputs a run tests in place of the head's; NULL: none. */
static const char *saved_outputs(const eg_experiment *e)
{
    const char *name = NULL;
    for (size_t i = 0; i < e->parts.n; i++)
        if (e->parts.at[i].method->outputs)
            name = e->parts.at[i].method->component.name;
    return name;
}

/* The part that answers tests; NULL: none. */
static const eg_part *saved_answering(const eg_experiment *e)
{
    for (size_t i = 0; i < e->parts.n; i++)
        if (e->parts.at[i].method->answers)
            return &e->parts.at[i];
    return NULL;
}

/* What answers know, as tensors beside the network's. list [EG_MAX_KNOWN] */
static size_t saved_beside(const eg_bundle *known, char names[][SAVED_NAME], eg_stored *list)
{
    size_t n = known ? eg_bundle_n(known) : 0;
    for (size_t i = 0; i < n; i++) {
        eg_bundle_entry e;
        eg_bundle_at(known, i, &e);
        snprintf(names[i], SAVED_NAME, EG_BESIDE "%s", e.name);
        list[i] = (eg_stored){
            .name = names[i], .type = EG_STORED_F32, .rank = e.shape.rank, .bytes = e.values};
        memcpy(list[i].dims, e.shape.dim, sizeof e.shape.dim);
    }
    return n;
}

/* "data_options", of the second data set "data_options_1". */
static void saved_key(size_t i, char out[32])
{
    if (i == 0)
        snprintf(out, 32, "data_options");
    else
        snprintf(out, 32, "data_options_%d", (int)i);
}

/* What a file may have notes of, beside the net's own. */
enum { SAVED_NOTES = 12 };
typedef struct saved_notes {
    size_t n;
    eg_stored_note list[SAVED_NOTES + EG_MAX_SOURCES];
    char keys[EG_MAX_SOURCES][32], options[EG_MAX_SOURCES][EG_OPT_TEXT_SIZE];
} saved_notes;

static void saved_note(saved_notes *to, const char *key, const char *value)
{
    to->list[to->n++] = (eg_stored_note){key, value};
}

/* A data set's options as a text that reads as them; false if they are too long for one, or
 * have a path with a blank in it. */
static bool saved_print(const eg_component *c, const void *options, char out[EG_OPT_TEXT_SIZE])
{
    char again[EG_OPT_TEXT_SIZE];
    void *read;
    if (eg_component_new(c, &read) != EG_OK)
        return false;
    bool fits = eg_opts_print_text(c->opts, options, EG_OPT_TEXT_SIZE, out) == EG_OK &&
                eg_opts_set_text(c->opts, read, out) == EG_OK &&
                eg_opts_print_text(c->opts, read, sizeof again, again) == EG_OK &&
                strcmp(out, again) == 0;
    free(read);
    return fits;
}

static void saved_note_sources(const eg_experiment *e, saved_notes *to)
{
    for (size_t i = 0; i < e->n_sources; i++) {
        saved_key(i, to->keys[i]);
        if (saved_print(&e->sets[i]->component, e->set_options[i], to->options[i]))
            saved_note(to, to->keys[i], to->options[i]);
    }
}

/* "0.5,0.25,...", of the arena; NULL: no memory. */
static const char *saved_numbers(eg_arena *a, const double *values, int64_t n)
{
    enum { NUMBER = 26 };
    char *text = eg_arena_alloc(a, (size_t)n * NUMBER + 1);
    for (int64_t i = 0, at = 0; text && i < n; i++)
        at += snprintf(text + at, NUMBER, "%s%.17g", i ? "," : "", values[i]);
    return text;
}

/* What was measured of the data, if it was. */
static eg_status saved_note_norm(const eg_norm *norm, eg_arena *a, saved_notes *to)
{
    const char *mean = saved_numbers(a, norm->mean, norm->n);
    const char *std = saved_numbers(a, norm->std, norm->n);
    if (!mean || !std)
        return EG_ENOMEM;
    saved_note(to, "measured_mean", mean);
    saved_note(to, "measured_std", std);
    return EG_OK;
}

/* The names of the classes, a line each, if they have some. */
static eg_status saved_note_names(const eg_table *t, eg_arena *a, saved_notes *to)
{
    size_t n = 1, at = 0;
    for (int64_t k = 0; t->names && k < t->classes; k++)
        n += strlen(t->names[k]) + 1;
    char *text = t->names ? eg_arena_alloc(a, n) : NULL;
    if (!t->names || !text)
        return t->names ? EG_ENOMEM : EG_OK;
    for (int64_t k = 0; k < t->classes; k++)
        at += (size_t)snprintf(text + at, n - at, "%s%s", k ? "\n" : "", t->names[k]);
    saved_note(to, "names", text);
    return EG_OK;
}

eg_status eg_saved_write(const eg_experiment *e, const eg_feed *feed, const eg_net *net,
                         uint64_t seed, const char *path, const float *value,
                         const float *state, const eg_bundle *known)
{
    char names[EG_MAX_KNOWN][SAVED_NAME], options[4 * EG_OPT_TEXT_SIZE] = "";
    eg_stored beside[EG_MAX_KNOWN];
    const eg_part *part = saved_answering(e);
    if (part)
        EG_TRY(eg_opts_print_text(part->method->component.opts, part->options, sizeof options,
                                  options));
    char sets[EG_OPT_TEXT_SIZE] = "", number[24], fan[24], share[32];
    char mean[EG_OPT_TEXT_SIZE], std[EG_OPT_TEXT_SIZE];
    const char *outputs = saved_outputs(e);
    saved_notes *notes;
    eg_opt_print(eg_opts_find(eg_settings_of_data, "mean"), &e->data, mean);
    eg_opt_print(eg_opts_find(eg_settings_of_data, "std"), &e->data, std);
    for (size_t i = 0, used = 0; i < e->n_sources && used < sizeof sets; i++)
        used += (size_t)snprintf(sets + used, sizeof sets - used, "%s%s", i ? " " : "",
                                 e->sets[i]->component.name);
    snprintf(number, sizeof number, "%" PRIu64, seed);
    snprintf(fan, sizeof fan, "%" PRId64, eg_train_fan(&e->train));
    snprintf(share, sizeof share, "%.17g", e->scale * e->data.share);
    EG_TRY(eg_alloc(1, sizeof *notes, &notes));
    saved_note(notes, "mean", mean);
    saved_note(notes, "std", std);
    saved_note(notes, "data", sets);
    saved_note(notes, "seed", number);
    saved_note(notes, "fan", fan);
    saved_note(notes, "share", share);
    if (outputs)
        saved_note(notes, "outputs", outputs);
    if (part) {
        saved_note(notes, "answers", part->method->component.name);
        saved_note(notes, "answers_options", options);
    }
    saved_note_sources(e, notes);
    eg_arena arena = {0};
    eg_status s = feed->norm.n ? saved_note_norm(&feed->norm, &arena, notes) : EG_OK;
    if (s == EG_OK)
        s = saved_note_names(&feed->train[0], &arena, notes);
    if (s == EG_OK)
        s = eg_net_save_beside(net, path, value, state, beside,
                               saved_beside(known, names, beside), notes->list, notes->n);
    eg_arena_fini(&arena);
    free(notes);
    return s;
}

static void saved_record(void *context, eg_graph *g, int64_t batch)
{
    const eg_saved *s = context;
    const eg_net_spec *made = eg_net_spec_of(s->net);
    eg_graph_set_training(g, false);
    eg_node *x = eg_input(g, "x", eg_dims(batch, made->channels, made->height, made->width));
    eg_asked asked = {.x = x, .features = eg_net_features(s->net, g, x)};
    asked.outputs = eg_net_head(s->net, g, asked.features);
    eg_node *answers =
        s->method ? eg_answers_record(s->method, s->options, s->net, s->known, g, asked)
                  : asked.outputs;
    eg_output(g, "logits", eg_feed_upright(g, answers, s->fan));
}

/* Numbers of a note, one for each channel. */
static eg_status saved_read_numbers(const eg_saved *s, const char *key, double *out)
{
    const char *at = eg_tensors_note(s->file, key);
    int64_t i = 0, n = s->norm.n;
    for (char *end; at && i < n; i++, at = *end == ',' ? end + 1 : NULL) {
        out[i] = strtod(at, &end);
        if (end == at || (*end != 0) != (i + 1 < n))
            break;
    }
    return i == n
               ? EG_OK
               : eg_fail(EG_EFORMAT, "its note '%s' does not hold %" PRId64 " numbers", key, n);
}

/* What a run measured in place of data.mean and data.std. */
static eg_status saved_measured(eg_saved *s)
{
    s->norm.n = eg_net_spec_of(s->net)->channels;
    EG_TRY(eg_alloc((size_t)s->norm.n, sizeof *s->norm.mean, &s->norm.mean));
    EG_TRY(eg_alloc((size_t)s->norm.n, sizeof *s->norm.std, &s->norm.std));
    EG_TRY(saved_read_numbers(s, "measured_mean", s->norm.mean));
    EG_TRY(saved_read_numbers(s, "measured_std", s->norm.std));
    s->how.means = s->norm.mean;
    s->how.stds = s->norm.std;
    return EG_OK;
}

/* Means and deviations; a file of `engram model --save` has none. */
static eg_status saved_norm(eg_saved *s)
{
    eg_data_opts o;
    if (eg_tensors_note(s->file, "measured_mean"))
        return saved_measured(s);
    const char *mean = eg_tensors_note(s->file, "mean"), *std = eg_tensors_note(s->file, "std");
    eg_opts_init(eg_settings_of_data, &o);
    if (mean)
        EG_TRY(eg_opts_set(eg_settings_of_data, &o, "mean", mean));
    if (std)
        EG_TRY(eg_opts_set(eg_settings_of_data, &o, "std", std));
    return eg_experiment_norm(&o, &s->how);
}

/* A class's outputs; a file without the note has one for each. */
static eg_status saved_fan(eg_saved *s)
{
    const char *note = eg_tensors_note(s->file, "fan");
    int64_t outputs = eg_net_spec_of(s->net)->classes;
    char rest;
    s->fan = 1;
    if (note && (sscanf(note, "%" SCNd64 "%c", &s->fan, &rest) != 1 || s->fan < 1 ||
                 outputs % s->fan != 0))
        return eg_fail(EG_EFORMAT,
                       "its note 'fan', '%.40s', does not divide its %" PRId64 " outputs", note,
                       outputs);
    return EG_OK;
}

/* Such a head has learned nothing, so that what it answers says nothing of the model. */
static eg_status saved_head(const eg_saved *s)
{
    const char *part = eg_tensors_note(s->file, "outputs");
    return part ? eg_fail(EG_ENOTSUP,
                          "its answers are those of method '%.40s', which only its run can ask",
                          part)
                : EG_OK;
}

/* What the answers knew when the model was saved. */
static eg_status saved_read_known(eg_saved *s, const eg_bundle *declared)
{
    EG_TRY(eg_bundle_new(&s->known));
    for (size_t i = 0; i < eg_bundle_n(declared); i++) {
        eg_bundle_entry e;
        char name[SAVED_NAME];
        float *to;
        eg_bundle_at(declared, i, &e);
        snprintf(name, sizeof name, EG_BESIDE "%s", e.name);
        EG_TRY(eg_bundle_room(s->known, e.name, e.shape, &to));
        EG_TRY(eg_tensors_read(s->file, name, e.shape.rank, e.shape.dim, to));
    }
    return EG_OK;
}

/* The method that answers in place of the network, if one does. */
static eg_status saved_method(eg_saved *s)
{
    const char *name = eg_tensors_note(s->file, "answers");
    const char *options = eg_tensors_note(s->file, "answers_options");
    eg_bundle *declared;
    if (!name)
        return EG_OK;
    s->method = eg_method_find(name);
    if (!s->method || !s->method->answers)
        return eg_fail(EG_ENOTSUP, "its answers are those of method '%.40s', which is not here",
                       name);
    const eg_component *is = &s->method->component;
    EG_TRY(eg_component_new(is, &s->options));
    EG_TRY(eg_opts_set_text(is->opts, s->options, options ? options : ""));
    EG_TRY(eg_answers_know(s->method, s->options, s->net, &declared));
    eg_status status = saved_read_known(s, declared);
    eg_bundle_free(declared);
    return status;
}

/* The net, with the method's part in it that a note names. */
static eg_status saved_net(eg_saved *s)
{
    const char *name = eg_tensors_note(s->file, "graft");
    const char *options = eg_tensors_note(s->file, "graft_options");
    if (!name)
        return eg_net_of_notes(s->file, &s->net);
    const eg_method *m = eg_method_find(name);
    if (!m || !m->features)
        return eg_fail(EG_ENOTSUP,
                       "its features are those of method '%.40s', which is not here", name);
    EG_TRY(eg_component_new(&m->component, &s->graft));
    EG_TRY(eg_opts_set_text(m->component.opts, s->graft, options ? options : ""));
    const eg_graft graft = {&m->component, s->graft, m->features};
    return eg_net_of_notes_grafted(s->file, &graft, &s->net);
}

/* What a network that looks for boxes is held to: its outputs say how many classes. */
static eg_status saved_region(eg_saved *s)
{
    const eg_net_spec *made = eg_net_spec_of(s->net);
    const eg_model *model = eg_net_model(s->net);
    eg_region *r = &s->aim.region;
    if (!model->region)
        return EG_OK;
    model->region(eg_net_options(s->net), made->height, made->width, 1, r);
    int64_t places = r->anchors * r->rows * r->columns;
    r->classes = places > 0 ? made->classes / places - 5 : 0;
    if (r->classes < 1 || (r->classes + 5) * places != made->classes)
        return eg_fail(EG_EFORMAT, "%lld outputs are no boxes on %lldx%lld cells",
                       (long long)made->classes, (long long)r->rows, (long long)r->columns);
    if (!(r->anchor[0][0] > 0))
        return eg_fail(EG_EFORMAT, "its anchors are not told");
    s->aim.kind = eg_target_find("detection");
    s->aim.classes = r->classes, s->aim.outputs = made->classes;
    return EG_OK;
}

const eg_aim *eg_saved_aim(const eg_saved *s)
{
    return s->aim.kind ? &s->aim : NULL;
}

static eg_status saved_fill(eg_saved *s, const char *path)
{
    EG_TRY(eg_safetensors_load(path, &s->file));
    EG_TRY(eg_blame(saved_net(s), "%s", path));
    EG_TRY(eg_blame(saved_region(s), "%s", path));
    EG_TRY(eg_blame(saved_norm(s), "%s", path));
    EG_TRY(eg_blame(saved_fan(s), "%s", path));
    EG_TRY(eg_blame(saved_head(s), "%s", path));
    EG_TRY(eg_blame(saved_method(s), "%s", path));
    const eg_params *p = eg_net_params(s->net);
    EG_TRY(eg_params_alloc(p, &s->value));
    EG_TRY(eg_state_alloc(p, &s->state));
    EG_TRY(eg_params_load(p, path, s->value, s->state));
    EG_TRY(eg_program_new(saved_record, s, 2, &s->program));
    return eg_program_bind(s->program, p, s->value, NULL, s->state);
}

eg_status eg_saved_open(const char *path, eg_saved **out)
{
    *out = NULL;
    eg_saved *s;
    EG_TRY(eg_alloc(1, sizeof *s, &s));
    eg_status status = saved_fill(s, path);
    if (status == EG_OK)
        *out = s;
    else
        eg_saved_free(s);
    return status;
}

void eg_saved_free(eg_saved *s)
{
    if (!s)
        return;
    eg_program_free(s->program);
    eg_net_free(s->net);
    eg_tensors_free(s->file);
    eg_bundle_free(s->known);
    eg_norm_fini(&s->norm);
    free(s->options);
    free(s->graft);
    free(s->value);
    free(s->state);
    free(s);
}

const eg_net *eg_saved_net(const eg_saved *s)
{
    return s->net;
}

int64_t eg_saved_n_classes(const eg_saved *s)
{
    return s->aim.kind ? s->aim.classes : eg_net_spec_of(s->net)->classes / s->fan;
}

const char *eg_saved_note(const eg_saved *s, const char *key)
{
    return eg_tensors_note(s->file, key);
}

/* Which of the run's data sets this one is; -1: none. */
static int64_t saved_source(const eg_saved *s, const eg_dataset *set)
{
    const char *at = eg_tensors_note(s->file, "data");
    for (int64_t i = 0; at && *at && i < EG_MAX_SOURCES; i++) {
        size_t n = strcspn(at, " ");
        const char *name = set->component.name;
        if (strlen(name) == n && strncmp(at, name, n) == 0)
            return i;
        at += n + (at[n] == ' ');
    }
    return -1;
}

const eg_dataset *eg_saved_dataset(const eg_saved *s)
{
    const char *name = eg_tensors_note(s->file, "data");
    return name && *name && !strchr(name, ' ') ? eg_dataset_find(name) : NULL;
}

eg_status eg_saved_set(const eg_saved *s, const eg_dataset *set, void *options)
{
    char key[32];
    int64_t i = saved_source(s, set);
    if (i < 0)
        return EG_OK;
    saved_key((size_t)i, key);
    const char *text = eg_tensors_note(s->file, key);
    return text ? eg_blame(eg_opts_set_text(set->component.opts, options, text),
                           "its note '%s'", key)
                : EG_OK;
}

eg_status eg_saved_load(const eg_saved *s, const eg_dataset *set, const void *options,
                        const eg_origin *from, eg_table *out)
{
    const char *note = saved_source(s, set) < 0 ? NULL : eg_tensors_note(s->file, "share");
    char *end;
    double share = note ? strtod(note, &end) : 1;
    if (note && (end == note || *end || !(share > 0 && share <= 1)))
        return eg_fail(EG_EFORMAT, "its note 'share', '%.40s', is no share", note);
    EG_TRY(eg_dataset_load(set, options, from, EG_TEST, out));
    return eg_scale_table(out, share);
}

static bool saved_counts(const int32_t *classes, int64_t n, int32_t label)
{
    bool among = !classes;
    for (int64_t i = 0; i < n && !among; i++)
        among = classes[i] == label;
    return among;
}

/* The rows of t that count. rows: [t->n]. */
static eg_status saved_rows(const eg_saved *s, const eg_table *t, const int32_t *classes,
                            int64_t n_classes, int64_t *rows, int64_t *n)
{
    int64_t known = eg_saved_n_classes(s);
    *n = 0;
    for (int64_t i = 0; i < n_classes; i++)
        if (classes[i] < 0 || classes[i] >= known)
            return eg_fail(EG_ESHAPE, "class %d is asked for, the network knows %lld",
                           classes[i], (long long)known);
    for (int64_t i = 0; i < t->n; i++) {
        if (!saved_counts(classes, n_classes, t->y[i]))
            continue;
        if (t->y[i] >= known)
            return eg_fail(EG_ESHAPE, "the data has a class %d, the network knows %lld",
                           t->y[i], (long long)known);
        rows[(*n)++] = i;
    }
    return *n ? EG_OK : eg_fail(EG_ENOENT, "no sample is of these classes");
}

static eg_status saved_prepare(const eg_saved *s, eg_table *t, eg_recipe **out)
{
    const eg_net_spec *made = eg_net_spec_of(s->net);
    if (t->channels != made->channels)
        EG_TRY(eg_table_set_channels(t, made->channels));
    if (t->height != made->height || t->width != made->width)
        EG_TRY(eg_table_resize(t, made->height, made->width));
    return eg_recipe_new(&s->how, t, out);
}

eg_status eg_saved_each(eg_saved *s, eg_table *t, const int64_t *rows, int64_t n,
                        eg_saved_visit visit, void *to)
{
    eg_recipe *recipe;
    int64_t list[SAVED_BATCH];
    int64_t known = s->aim.kind ? s->aim.outputs : eg_saved_n_classes(s);
    EG_TRY(saved_prepare(s, t, &recipe));
    eg_status status = EG_OK;
    for (int64_t at = 0; at < n && status == EG_OK; at += SAVED_BATCH) {
        int64_t batch = n - at < SAVED_BATCH ? n - at : SAVED_BATCH;
        eg_plan *plan;
        for (int64_t i = 0; i < batch; i++)
            list[i] = rows ? rows[at + i] : at + i;
        status = eg_program_plan(s->program, batch, &plan);
        if (status != EG_OK)
            break;
        eg_recipe_fill(recipe, t, list, (size_t)batch, NULL, eg_plan_input(plan, "x"));
        if (s->known)
            status = eg_answers_fill(plan, s->known, NULL);
        status = status == EG_OK ? eg_plan_run(plan) : status;
        const float *logits = eg_plan_output(plan, "logits"); /* [batch, known] */
        for (int64_t i = 0; i < batch && status == EG_OK; i++)
            status = visit(to, list[i], logits + i * known);
    }
    eg_recipe_free(recipe);
    return status;
}

/* A test under way. */
typedef struct saved_exam {
    const eg_table *t;
    const int32_t *classes;
    int64_t n_classes, known;
    eg_confusion *all, *within;
} saved_exam;

static eg_status saved_judge(void *to, int64_t row, const float *logits)
{
    const saved_exam *x = to;
    int32_t truth = x->t->y[row];
    eg_confusion_add(x->all, truth, eg_predict(logits, x->known, NULL, 0));
    if (x->within)
        eg_confusion_add(x->within, truth,
                         eg_predict(logits, x->known, x->classes, x->n_classes));
    return EG_OK;
}

eg_status eg_saved_test(eg_saved *s, eg_table *t, const int32_t *classes, int64_t n_classes,
                        eg_confusion *all, eg_confusion *within)
{
    int64_t *rows, n = 0;
    if (s->aim.kind)
        return eg_fail(EG_ENOTSUP, "%s looks for boxes, and tells no classes of images",
                       eg_net_spec_of(s->net)->model);
    saved_exam x = {t, classes, n_classes, eg_saved_n_classes(s), all, within};
    EG_TRY(eg_alloc((size_t)t->n + 1, sizeof *rows, &rows));
    eg_status status = saved_rows(s, t, classes, n_classes, rows, &n);
    if (status == EG_OK)
        status = eg_saved_each(s, t, rows, n, saved_judge, &x);
    free(rows);
    return status;
}
