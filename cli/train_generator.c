/* train_generator.c - `engram train --generator`: one that learns to draw alone.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "drawing.h"
#include "screen.h"
#include "train.h"

#include <engram/gallery.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Steps between two looks at the bar: a new pass over the images begins there. */
enum { TRAIN_CHUNK = 25, TRAIN_ROWS = 10, TRAIN_SQUARE = 64 };

typedef struct train_drawing {
    const train_call *call;
    drawing_source source;
} train_drawing;

/* Options that cannot be show before the images are read. */
static eg_status train_drawing_check(const train_call *call)
{
    const eg_generator_kind *kind = eg_generator_find(call->generator);
    void *options = NULL;
    if (!kind)
        return EG_ENOENT;
    eg_status s = eg_component_new(&kind->component, &options);
    if (s == EG_OK)
        s = eg_blame(eg_opts_set_text(kind->component.opts, options, call->sets), "%s",
                     kind->component.name);
    free(options);
    return s;
}

static eg_status train_drawing_steps(const train_drawing *d, eg_generator *m,
                                     const drawing_images *images)
{
    const eg_images on = {images->n, images->x, images->labels};
    eg_rng rng = eg_rng_at(d->source.from.seed, 0, 0, EG_FOR_NOISE);
    screen show = {.form = d->call->quiet          ? SCREEN_QUIET
                           : isatty(STDOUT_FILENO) ? SCREEN_BAR
                                                   : SCREEN_LINES,
                   .label = m->kind->component.name,
                   .seed = d->source.from.seed};
    double start = eg_seconds(), losses[EG_MAX_LEARNERS] = {0};
    for (int64_t done = 0; done < d->call->steps;) {
        int64_t steps =
            d->call->steps - done < TRAIN_CHUNK ? d->call->steps - done : TRAIN_CHUNK;
        EG_TRY(eg_generator_train(m, &on, steps, &rng, losses));
        done += steps;
        screen_progress(&show, &(eg_progress){.round = done,
                                              .n_rounds = d->call->steps,
                                              .loss = losses[m->n_learners - 1],
                                              .accuracy = -1,
                                              .seconds = eg_seconds() - start});
    }
    for (size_t i = 0; i < m->n_learners && !d->call->quiet; i++)
        printf("%s: %lld parameters, loss %.4f at the end\n", m->names[i],
               (long long)eg_params_count(m->learners[i]->table), losses[i]);
    return EG_OK;
}

/* A row for each class it can be told, or all its drawings together. */
static eg_status train_drawing_sheet(const train_drawing *d, eg_generator *m)
{
    bool each = m->kind->labelled && d->source.only < 0;
    int64_t rows = each ? m->classes : 1;
    eg_sheet sheet;
    eg_status s = eg_sheet_init(&sheet, m, rows, each ? TRAIN_ROWS : TRAIN_SQUARE);
    for (int64_t k = 0; k < rows && s == EG_OK; k++)
        s = eg_sheet_draw(&sheet, m, k, each ? k : d->source.only, d->source.from.seed);
    if (s == EG_OK)
        s = eg_sheet_save(&sheet, d->call->sheet);
    eg_sheet_fini(&sheet);
    return s;
}

static eg_status train_drawing_file(const train_drawing *d, const eg_generator *m)
{
    char label[24], steps[24];
    snprintf(label, sizeof label, "%" PRId64, d->source.only);
    snprintf(steps, sizeof steps, "%" PRId64, d->call->steps);
    const eg_stored_note notes[] = {
        {"data", d->source.set->component.name}, {"steps", steps}, {"class", label}};
    eg_gallery *g;
    EG_TRY(eg_gallery_new(d->call->out, &g));
    eg_status s = eg_gallery_add(g, m, (eg_drawer){.client = -1, .label = -1});
    if (s == EG_OK) /* the class comes last: it may be left out */
        s = eg_gallery_save(g, notes, d->source.only >= 0 ? 3 : 2);
    eg_gallery_free(g);
    return s;
}

static eg_status train_drawing_all(const train_drawing *d, drawing_images *images,
                                   eg_generator **m)
{
    EG_TRY(drawing_load(&d->source, images));
    const eg_generator_spec spec = {.kind = d->call->generator,
                                    .options = d->call->sets,
                                    .channels = images->channels,
                                    .height = images->height,
                                    .width = images->width,
                                    .classes = images->classes};
    EG_TRY(eg_generator_new(&spec, m));
    eg_generator_init(*m, d->source.from.seed);
    if (!d->call->quiet) {
        printf("%s: %lld images of %lldx%lldx%lld", d->source.set->component.name,
               (long long)images->n, (long long)images->channels, (long long)images->height,
               (long long)images->width);
        if (d->source.only >= 0)
            printf(", class %lld\n", (long long)d->source.only);
        else
            printf((*m)->kind->labelled ? ", each told its class\n"
                                        : ", all classes together: %s is told none\n",
                   (*m)->kind->component.name);
    }
    EG_TRY(train_drawing_steps(d, *m, images));
    if (d->call->out) /* first: what was learned is worth more than its picture */
        EG_TRY(train_drawing_file(d, *m));
    return d->call->sheet ? train_drawing_sheet(d, *m) : EG_OK;
}

int train_generator(const train_call *call)
{
    train_drawing d = {.call = call,
                       .source = {.set = eg_dataset_find(call->data),
                                  .from = {.dir = call->data_dir, .seed = call->seed},
                                  .side = call->side,
                                  .only = call->only}};
    drawing_images images = {0};
    eg_generator *m = NULL;
    eg_status s = train_drawing_check(call);
    if (s != EG_OK)
        return eg_cli_refused("train", s);
    s = eg_cli_check_output(call->out);
    if (s == EG_OK)
        s = eg_cli_check_output(call->sheet);
    if (s == EG_OK)
        s = train_drawing_all(&d, &images, &m);
    eg_generator_free(m);
    drawing_fini(&images);
    return s == EG_OK ? 0 : eg_cli_failed();
}
