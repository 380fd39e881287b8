/* feed.c - a run's data: loaded, a share of it kept, a recipe per task, and a checksum of all.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What a scenario counts in samples shrinks with the rows, so that a split that was possible
 * stays so: a stream has as many takes as before, each smaller.
 */
#include "run/experiment/feed.h"

#include "base/base.h"
#include "base/checksum.h"
#include "run/experiment/settings.h"

#include <engram/op.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many of the first i rows of a class stay. The tiny part makes 20 rows of 0.05 one row,
 * although neither number is exact. */
static int64_t scale_rows(int64_t i, double share)
{
    return (int64_t)ceil((double)i * share - 1e-9);
}

static void scale_move(eg_table *t, int64_t from, int64_t to)
{
    size_t n = eg_table_sample(t);
    if (t->u8)
        memmove(t->u8 + (size_t)to * n, t->u8 + (size_t)from * n, n);
    if (t->f32)
        memmove(t->f32 + (size_t)to * n, t->f32 + (size_t)from * n, n * sizeof *t->f32);
    if (t->group)
        t->group[to] = t->group[from];
    if (t->target)
        memmove(t->target + to * t->target_width, t->target + from * t->target_width,
                (size_t)t->target_width * sizeof *t->target);
    t->y[to] = t->y[from];
}

eg_status eg_scale_table(eg_table *t, double share)
{
    if (share >= 1)
        return EG_OK;
    int64_t *met, kept = 0; /* met: [classes], rows so far */
    EG_TRY(eg_table_own(t));
    EG_TRY(eg_alloc((size_t)t->classes, sizeof *met, &met));
    for (int64_t i = 0; i < t->n; i++) {
        int64_t k = met[t->y[i]]++;
        if (scale_rows(k + 1, share) > scale_rows(k, share))
            scale_move(t, i, kept++);
    }
    t->n = kept;
    free(met);
    return EG_OK;
}

typedef struct scale_copy {
    eg_spec *to;
    double share;
    bool by_data; /* the rounds follow from the data */
    eg_status status;
} scale_copy;

static void scale_row(void *to, const char *name, const char *value)
{
    static const char *const counts[] = {"rounds", "take", "samples", "test", "partition.min"};
    scale_copy *c = to;
    char scaled[64];
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (strcmp(name, counts[i]) == 0) {
            double n = strtod(value, NULL), less = floor(n * c->share + 1e-9);
            c->by_data |= i == 0 && n == 0;
            /* 0 has a meaning of its own. */
            snprintf(scaled, sizeof scaled, "%.0f", n == 0 ? 0 : fmax(less, 1));
            value = scaled;
        }
    if (c->status == EG_OK)
        c->status = eg_spec_set(c->to, name, value);
}

/* Rounds that follow from the data are known once the scenario is there. */
static eg_status scale_rounds(const scale_copy *c, const eg_labels *sources, size_t n_sources)
{
    eg_scenario *s;
    char rounds[64];
    EG_TRY(eg_scenario_new(c->to, 0, sources, n_sources, &s));
    double less = floor((double)eg_scenario_n_rounds(s) * c->share + 1e-9);
    snprintf(rounds, sizeof rounds, "%.0f", fmax(less, 1));
    eg_scenario_free(s);
    return eg_spec_set(c->to, "rounds", rounds);
}

eg_status eg_scale_spec(const eg_spec *spec, double share, const eg_labels *sources,
                        size_t n_sources, eg_spec **out)
{
    scale_copy c = {.share = share};
    *out = NULL;
    EG_TRY(eg_spec_new(&c.to));
    eg_spec_each(spec, scale_row, &c);
    if (c.status == EG_OK)
        c.status = eg_spec_hold_out(c.to, eg_spec_validation(spec));
    if (c.status == EG_OK && c.by_data)
        c.status = scale_rounds(&c, sources, n_sources);
    if (c.status == EG_OK)
        *out = c.to;
    else
        eg_spec_free(c.to);
    return c.status;
}

static eg_status feed_prepare(eg_table *t, const eg_data_opts *o)
{
    if (o->channels)
        EG_TRY(eg_table_set_channels(t, o->channels));
    return o->size ? eg_table_resize(t, o->size, o->size) : EG_OK;
}

/* All data sets have targets of one kind and width. */
static eg_status feed_same_targets(const eg_experiment *e, const eg_feed *f, size_t i)
{
    const char *first = e->sets[0]->target, *target = e->sets[i]->target;
    int64_t width = f->train[0].target_width;
    if ((first && target ? strcmp(first, target) == 0 : first == target) &&
        f->train[i].target_width == width && f->test[i].target_width == width)
        return EG_OK;
    return eg_fail(EG_ESHAPE, "%s and %s do not have the same targets",
                   e->sets[0]->component.name, e->sets[i]->component.name);
}

static eg_status feed_load(const eg_experiment *e, const eg_origin *from, eg_feed *f)
{
    for (size_t i = 0; i < e->n_sources; i++, f->n_sources++) {
        for (int split = EG_TRAIN; split <= EG_TEST; split++) {
            eg_table *t = split == EG_TRAIN ? &f->train[i] : &f->test[i];
            EG_TRY(eg_dataset_load(e->sets[i], e->set_options[i], from, (eg_split)split, t));
            EG_TRY(eg_scale_table(t, e->scale * e->data.share));
            EG_TRY(feed_prepare(t, &e->data));
        }
        EG_TRY(eg_table_same_shape(&f->train[0], e->sets[0]->component.name, &f->train[i],
                                   e->sets[i]->component.name));
        EG_TRY(eg_table_same_shape(&f->train[i], e->sets[i]->component.name, &f->test[i],
                                   "its test set"));
        EG_TRY(feed_same_targets(e, f, i));
        f->labels[i] = (eg_labels){.n_train = f->train[i].n,
                                   .n_test = f->test[i].n,
                                   .classes = f->train[i].classes,
                                   .train = f->train[i].y,
                                   .test = f->test[i].y,
                                   .group = f->train[i].group};
    }
    f->channels = f->train[0].channels;
    f->height = f->train[0].height;
    f->width = f->train[0].width;
    f->sample = (size_t)(f->channels * f->height * f->width);
    f->fan = eg_train_fan(&e->train);
    if (f->fan > 1 && f->height != f->width)
        return eg_fail(EG_EINVAL,
                       "train.rotations turns images by 90 degrees: they must be square, not "
                       "%lldx%lld",
                       (long long)f->height, (long long)f->width);
    return EG_OK;
}

/* The pixels of a permutation task, as a transform wants them. */
static eg_status feed_permutation(const eg_task *task, size_t n, int32_t **out)
{
    int64_t *wide;
    EG_TRY(eg_alloc(n, sizeof *wide, &wide));
    eg_status s = eg_alloc(n, sizeof **out, out);
    if (s == EG_OK) {
        eg_task_permutation(task, n, wide);
        for (size_t i = 0; i < n; i++)
            (*out)[i] = (int32_t)wide[i];
    }
    free(wide);
    return s;
}

/* What changes at random in training. */
static void feed_change(const eg_experiment *e, eg_transform *how)
{
    how->pad = e->data.crop;
    how->flip = e->data.flip;
    how->cutout = e->data.cutout;
    how->four_rotations = e->train.rotations;
}

/* How values are normalised, as the settings say or as it was measured. */
static eg_status feed_norm(const eg_experiment *e, const eg_feed *f, eg_transform *how)
{
    how->means = f->norm.mean;
    how->stds = f->norm.std;
    return eg_experiment_norm(&e->data, how);
}

static eg_status feed_recipe_of_rows(const eg_experiment *e, eg_feed *f)
{
    eg_transform how = {.normalised = true};
    EG_TRY(feed_norm(e, f, &how));
    feed_change(e, &how);
    return eg_recipe_new(&how, &f->train[0], &f->change);
}

static eg_status feed_recipes(const eg_experiment *e, eg_feed *f, int64_t t)
{
    const eg_task *task = eg_scenario_task(f->scenario, t);
    eg_transform how = {0};
    int32_t *permutation = NULL;
    EG_TRY(feed_norm(e, f, &how));
    if (task->warp == EG_WARP_ROTATE)
        how.angle = task->angle;
    if (task->warp == EG_WARP_PERMUTE)
        EG_TRY(feed_permutation(task, (size_t)(f->height * f->width), &permutation));
    how.permutation = permutation;
    eg_status s = eg_recipe_new(&how, &f->test[task->source], &f->judge[t]);
    feed_change(e, &how);
    if (s == EG_OK)
        s = eg_recipe_new(&how, &f->train[task->source], &f->learn[t]);
    free(permutation);
    return s;
}

eg_status eg_feed_scenario(const eg_experiment *e, uint64_t seed, const eg_labels *labels,
                           size_t n, eg_scenario **out)
{
    eg_spec *less;
    if (e->scale >= 1)
        return eg_scenario_new(e->spec, seed, labels, n, out);
    EG_TRY(eg_blame(eg_scale_spec(e->spec, e->scale, labels, n, &less), "scale %g", e->scale));
    eg_status s = eg_scenario_new(less, seed, labels, n, out);
    eg_spec_free(less);
    return eg_blame(s, "scale %g", e->scale);
}

/* Numbers of pieces are no pixels: nothing may be done to them, and only networks for texts
 * read them; and the other way round. */
static eg_status feed_check_texts(const eg_experiment *e, const eg_feed *f)
{
    const char *data = e->sets[0]->component.name, *model = e->model->component.name;
    const eg_data_opts *o = &e->data;
    if (!f->train[0].ids && !e->model->texts)
        return EG_OK;
    if (!f->train[0].ids || !e->model->texts)
        return eg_fail(EG_EINVAL, "the network %s reads %s, and the data set %s has %s", model,
                       e->model->texts ? "texts" : "images", data,
                       f->train[0].ids ? "texts" : "images");
    bool normed =
        o->mean.n > 1 || o->std.n > 1 || o->mean.value[0] != 0 || o->std.value[0] != 1;
    const char *what = o->size || o->channels            ? "data.size and data.channels scale"
                       : normed                          ? "data.mean and data.std shift"
                       : o->crop || o->flip || o->cutout ? "data.crop, flip and cutout change"
                       : e->train.rotations              ? "train.rotations turns"
                       : e->pretrain.epochs              ? "pretrain draws"
                                                         : NULL;
    for (int64_t t = 0; t < f->n_tasks && !what; t++)
        if (eg_scenario_task(f->scenario, t)->warp)
            what = "the scenario's tasks change";
    return what ? eg_fail(EG_EINVAL, "%s images, and the data set %s has texts", what, data)
                : EG_OK;
}

static eg_status feed_fill(const eg_experiment *e, const eg_origin *from, eg_feed *f)
{
    EG_TRY(feed_load(e, from, f));
    if (e->data.normalize)
        EG_TRY(eg_norm_measure(f->train, f->n_sources, &f->norm));
    EG_TRY(eg_feed_scenario(e, from->seed, f->labels, f->n_sources, &f->scenario));
    f->n_tasks = eg_scenario_n_tasks(f->scenario);
    EG_TRY(feed_check_texts(e, f));
    EG_TRY(eg_alloc((size_t)f->n_tasks, sizeof(eg_recipe *), &f->learn));
    EG_TRY(eg_alloc((size_t)f->n_tasks, sizeof(eg_recipe *), &f->judge));
    for (int64_t t = 0; t < f->n_tasks; t++)
        EG_TRY(feed_recipes(e, f, t));
    const eg_aiming aiming = {.model = e->model,
                              .options = e->model_options,
                              .train = f->train,
                              .n_train = f->n_sources,
                              .fan = f->fan};
    EG_TRY(eg_aim_new(eg_experiment_target(e), &aiming, &f->aim));
    return feed_recipe_of_rows(e, f);
}

eg_status eg_feed_load(const eg_experiment *e, const eg_origin *from, eg_feed *out)
{
    eg_origin beside = *from;
    memset(out, 0, sizeof *out);
    beside.beside = *e->folder ? e->folder : NULL;
    eg_status s = feed_fill(e, &beside, out);
    if (s != EG_OK)
        eg_feed_close(out);
    return s;
}

eg_status eg_feed_open(const eg_experiment *e, uint64_t seed, const char *data_dir,
                       eg_feed *out)
{
    return eg_feed_load(e, &(eg_origin){.dir = data_dir, .seed = seed}, out);
}

/* The recipe of rows that are as they are to be fed, in place of another. */
static eg_status feed_make_plain(const eg_table *t, eg_recipe **recipe)
{
    const eg_transform how = {.normalised = true};
    eg_recipe_free(*recipe);
    return eg_recipe_new(&how, t, recipe);
}

eg_status eg_feed_plain(eg_feed *f)
{
    f->channels = f->train[0].channels;
    f->height = f->train[0].height;
    f->width = f->train[0].width;
    f->sample = (size_t)(f->channels * f->height * f->width);
    for (int64_t t = 0; t < f->n_tasks; t++) {
        EG_TRY(feed_make_plain(&f->train[0], &f->judge[t]));
        EG_TRY(feed_make_plain(&f->train[0], &f->learn[t]));
    }
    return feed_make_plain(&f->train[0], &f->change);
}

void eg_feed_close(eg_feed *f)
{
    for (int64_t t = 0; t < f->n_tasks; t++) {
        if (f->learn)
            eg_recipe_free(f->learn[t]);
        if (f->judge)
            eg_recipe_free(f->judge[t]);
    }
    free(f->learn);
    free(f->judge);
    eg_recipe_free(f->change);
    eg_scenario_free(f->scenario);
    eg_norm_fini(&f->norm);
    for (size_t i = 0; i < EG_MAX_SOURCES; i++) {
        eg_table_fini(&f->train[i]);
        eg_table_fini(&f->test[i]);
    }
    memset(f, 0, sizeof *f);
}

eg_net_spec eg_feed_net(const eg_experiment *e, const eg_feed *f)
{
    return (eg_net_spec){.model = e->model->component.name,
                         .set = e->model_options,
                         .options = f->aim.model,
                         .marks = &e->layers,
                         .channels = f->channels,
                         .height = f->height,
                         .width = f->width,
                         .classes = f->aim.outputs};
}

const char *const *eg_feed_names(const eg_feed *f)
{
    int64_t classes = eg_scenario_n_classes(f->scenario);
    for (size_t i = 0; i < f->n_sources; i++)
        if (f->train[i].names && f->train[i].classes == classes)
            return (const char *const *)f->train[i].names;
    return NULL;
}

eg_node *eg_feed_upright(eg_graph *g, eg_node *logits, int64_t fan)
{
    if (fan == 1 || eg_graph_status(g) != EG_OK)
        return logits;
    int64_t n = eg_node_shape(logits).dim[0], classes = eg_node_shape(logits).dim[1] / fan;
    eg_node *by_class = eg_reshape(g, logits, eg_dims(n, classes, fan));
    return eg_reshape(g, eg_slice(g, by_class, 2, 0, 1), eg_dims(n, classes));
}

eg_status eg_experiment_net(const eg_experiment *e, const char *data_dir,
                            const eg_net_spec *made_for, eg_net **out)
{
    eg_feed f = {0};
    eg_net_spec spec;
    *out = NULL;
    if (made_for) {
        spec = *made_for;
        spec.model = e->model->component.name;
        spec.options = NULL;
        spec.set = e->model_options;
        spec.marks = &e->layers;
    } else {
        EG_TRY(eg_feed_open(e, 0, data_dir, &f));
        spec = eg_feed_net(e, &f);
    }
    eg_status s = eg_net_new(&spec, out);
    eg_feed_close(&f);
    return s;
}

/* The target of row `turn` of those that a sample becomes. */
static void feed_target(const eg_feed *f, const eg_table *t, int64_t id, int64_t turn,
                        float *to)
{
    if (t->target)
        memcpy(to, t->target + id * t->target_width,
               (size_t)t->target_width * sizeof *t->target);
    else
        *to = (float)(f->fan * t->y[id] + turn);
}

/* Samples of one task that follow each other are filled by one call, which can fetch the next
 * while it works on one. */
enum { FEED_RUN = 64 };

void eg_feed_train(const eg_feed *f, const eg_sample *samples, int64_t n, eg_rng *rng, float *x,
                   float *labels)
{
    for (int64_t i = 0, run; i < n; i += run) {
        int64_t ids[FEED_RUN], task = samples[i].task;
        int64_t most = rng && f->aim.kind->move ? 1 : FEED_RUN; /* each moves in its own way */
        for (run = 0; run < most && i + run < n && samples[i + run].task == task; run++)
            ids[run] = samples[i + run].id;
        const eg_table *t = &f->train[eg_scenario_task(f->scenario, task)->source];
        const eg_recipe *r = rng ? f->learn[task] : f->judge[task];
        int64_t rows = eg_recipe_fan(r);
        eg_box_move how = rng ? eg_recipe_next(r, rng) : (eg_box_move){0};
        eg_recipe_fill(r, t, ids, (size_t)run, rng, x);
        for (int64_t k = 0; k < run * rows; k++, labels += f->aim.width)
            feed_target(f, t, ids[k / rows], k % rows, labels);
        if (most == 1)
            f->aim.kind->move(&f->aim, labels - f->aim.width, &how);
        x += (size_t)(run * rows) * f->sample;
    }
}

void eg_feed_row(const eg_feed *f, const eg_table *rows, int64_t id, eg_rng *rng, float *x,
                 float *labels)
{
    int64_t fan = rng ? f->fan : 1;
    if (rng)
        eg_recipe_fill(f->change, rows, &id, 1, rng, x);
    else
        memcpy(x, rows->f32 + (size_t)id * f->sample, f->sample * sizeof *x);
    for (int64_t k = 0; k < fan; k++)
        labels[k] = (float)(f->fan * rows->y[id] + k);
}

const eg_table *eg_feed_tested(const eg_feed *f, int64_t task, bool held_out)
{
    int32_t source = eg_scenario_task(f->scenario, task)->source;
    return held_out ? &f->train[source] : &f->test[source];
}

void eg_feed_validation(const eg_feed *f, int64_t task, const int64_t *ids, int64_t n, float *x,
                        int32_t *labels)
{
    const eg_table *t = &f->train[eg_scenario_task(f->scenario, task)->source];
    eg_recipe_fill(f->judge[task], t, ids, (size_t)n, NULL, x); /* nothing at random */
    for (int64_t i = 0; i < n; i++)
        labels[i] = t->y[ids[i]];
}

void eg_feed_test(const eg_feed *f, int64_t task, const int64_t *ids, int64_t n, float *x,
                  int32_t *labels)
{
    const eg_table *t = &f->test[eg_scenario_task(f->scenario, task)->source];
    eg_recipe_fill(f->judge[task], t, ids, (size_t)n, NULL, x);
    for (int64_t i = 0; i < n; i++)
        labels[i] = t->y[ids[i]];
}

/* Rounding in mean and std may lead a little beyond. */
static bool feed_is_within(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(x[i] >= -1.001F && x[i] <= 1.001F))
            return false;
    return true;
}

static eg_status feed_check_pixels(const eg_feed *f)
{
    enum { LOOK = 200 };
    float *x;
    bool within = true;
    EG_TRY(eg_alloc(f->sample, sizeof *x, &x));
    for (int64_t task = 0; task < f->n_tasks; task++) {
        const eg_table *t = &f->train[eg_scenario_task(f->scenario, task)->source];
        for (int64_t i = 0; i < LOOK && within; i++) {
            int64_t id = i * t->n / LOOK;
            eg_recipe_fill(f->judge[task], t, &id, 1, NULL, x);
            within = feed_is_within(x, f->sample);
        }
    }
    free(x);
    return within ? EG_OK
                  : eg_fail(EG_EINVAL, "the method draws images with pixels from -1 to 1, and "
                                       "those of data lie outside; set data.mean and data.std "
                                       "to 0.5");
}

/* The part that records features in place of the network's; *out is zero if there is none. */
static eg_status feed_graft(const eg_experiment *e, eg_graft *out)
{
    *out = (eg_graft){0};
    for (size_t i = 0; i < e->parts.n; i++) {
        const eg_part *part = &e->parts.at[i];
        if (!part->method->features)
            continue;
        if (out->of)
            return eg_fail(EG_EINVAL, "%s and %s both make the network's features",
                           out->of->name, part->method->component.name);
        *out = (eg_graft){&part->method->component, part->options, part->method->features};
    }
    return EG_OK;
}

eg_status eg_experiment_equip(const eg_experiment *e, const eg_origin *from, eg_feed *feed,
                              eg_agreement *agreed, eg_net **net)
{
    EG_TRY(eg_feed_load(e, from, feed));
    const eg_setting in = eg_experiment_setting(e, feed->scenario);
    EG_TRY(eg_parts_setup(&e->parts, &in, e->memory.kind != 0, agreed));
    if (agreed->all.images)
        EG_TRY(feed_check_pixels(feed));
    eg_net_spec spec = eg_feed_net(e, feed);
    spec.side = agreed->all.side;
    eg_graft graft;
    EG_TRY(feed_graft(e, &graft));
    EG_TRY(eg_net_new_grafted(&spec, graft.of ? &graft : NULL, net));
    EG_TRY(eg_private_check_scenario(e, feed->scenario, *net));
    bool said = strcmp(e->start.train, "all") != 0;
    return eg_net_freeze(*net, said || !agreed->all.train ? e->start.train : agreed->all.train);
}

eg_status eg_start_fill(const eg_start_opts *o, const eg_net *net, uint64_t seed, float *value,
                        float *state, char left[EG_LEFT_SIZE])
{
    char path[EG_WEIGHTS_PATH];
    left[0] = 0;
    eg_params_init(eg_net_params(net), seed, value, state);
    if (!*o->weights)
        return EG_OK;
    eg_weights_find(o->weights, path);
    if (o->strict)
        return eg_net_start(net, path, (eg_take)o->head, value, state);
    char names[EG_LEFT_SIZE - 64];
    EG_TRY(
        eg_net_start_loosely(net, path, (eg_take)o->head, value, state, sizeof names, names));
    if (*names)
        snprintf(left, EG_LEFT_SIZE, "tensors of the weights are left out: %s", names);
    return EG_OK;
}

static uint64_t fingerprint_labels(uint64_t sum, const eg_table *t)
{
    const int64_t about[] = {t->n, t->classes, t->group ? 1 : 0};
    sum = eg_checksum(sum, about, sizeof about);
    sum = eg_checksum(sum, t->y, (size_t)t->n * sizeof *t->y);
    if (t->target)
        sum = eg_checksum(sum, t->target, (size_t)(t->n * t->target_width) * sizeof *t->target);
    return t->group ? eg_checksum(sum, t->group, (size_t)t->n * sizeof *t->group) : sum;
}

static uint64_t fingerprint_pixels(uint64_t sum, const eg_table *t)
{
    const int64_t shape[] = {t->n, t->channels, t->height, t->width, t->u8 ? 1 : 4};
    size_t values = (size_t)t->n * eg_table_sample(t);
    sum = eg_checksum(sum, shape, sizeof shape);
    return t->u8 ? eg_checksum(sum, t->u8, values)
                 : eg_checksum(sum, t->f32, values * sizeof *t->f32);
}

void eg_fingerprint_take(const eg_feed *f, eg_fingerprint *out)
{
    uint64_t labels = 0, pixels = 0;
    for (size_t i = 0; i < f->n_sources; i++) {
        labels = fingerprint_labels(fingerprint_labels(labels, &f->train[i]), &f->test[i]);
        pixels = fingerprint_pixels(fingerprint_pixels(pixels, &f->train[i]), &f->test[i]);
    }
    *out =
        (eg_fingerprint){.isa = eg_isa_name(), .version = eg_version(), .commit = eg_commit()};
    snprintf(out->labels, sizeof out->labels, "%016llx", (unsigned long long)labels);
    snprintf(out->pixels, sizeof out->pixels, "%016llx", (unsigned long long)pixels);
}

eg_status eg_fingerprint_compare(const eg_fingerprint *then, const eg_fingerprint *now)
{
    const struct {
        const char *what, *then, *now;
    } parts[] = {
        {"the data's labels", then->labels, now->labels},
        {"the data's pixels", then->pixels, now->pixels},
        {"the instruction set", then->isa, now->isa},
        {"the program's version", then->version, now->version},
        {"the program's commit", then->commit, now->commit},
    };
    char text[800] = ""; /* five times at most 120 */
    for (size_t i = 0, n = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!*parts[i].then || !*parts[i].now || strcmp(parts[i].then, parts[i].now) == 0)
            continue;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s (%.40s then, %.40s now)",
                              n ? ", " : "", parts[i].what, parts[i].then, parts[i].now);
    }
    return *text ? eg_fail(EG_EINVAL, "other than when the run began: %s", text) : EG_OK;
}
