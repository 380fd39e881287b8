/* class_replay_draw.c - how many rows of each class, and drawing them with a guide.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/class_replay.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Drawings at a time: one size, so that one plan of every network does. */
enum { DRAW_AT_ONCE = 32 };

void eg_class_amounts(int64_t classes, const float *now, const float *ever, const float *has,
                      int64_t *out)
{
    double scale = 0, most = 0; /* of the class seen least before; of two alike the larger */
    for (int64_t c = 0; c < classes; c++) {
        double here = (double)now[c], ratio = here > 0 ? here / (double)ever[c] : 0;
        if (ratio > scale || (ratio == scale && here > most))
            scale = ratio, most = here;
    }
    for (int64_t c = 0; c < classes; c++) {
        double wanted = fmin(scale * (double)ever[c], most) - (double)now[c];
        out[c] = has[c] != 0 && wanted > 0 ? llround(wanted) : 0;
    }
}

void eg_class_portions(int64_t classes, const float *share, int64_t n, double at, int64_t *out)
{
    double all = 0, sum = 0;
    int64_t before = 0;
    for (int64_t c = 0; c < classes; c++)
        all += (double)share[c];
    for (int64_t c = 0; c < classes; c++) {
        sum += (double)share[c];
        int64_t upto = (int64_t)floor(sum / all * (double)n + at);
        out[c] = upto - before;
        before = upto;
    }
}

void eg_class_drawings_fini(eg_class_drawings *d)
{
    free(d->x);
    free(d->labels);
    free(d->logits);
    free(d->scratch);
    *d = (eg_class_drawings){0};
}

/* Makes room for n more rows; the arrays move together. */
static eg_status draw_reserve(eg_class_drawings *d, int64_t n, size_t pixels, size_t outputs)
{
    size_t cap = (size_t)(d->n + n > 2 * d->cap ? d->n + n : 2 * d->cap);
    if (d->n + n <= d->cap)
        return EG_OK;
    eg_class_drawings larger = {.scratch = NULL};
    eg_status s = eg_alloc(cap * pixels, sizeof *larger.x, &larger.x);
    if (s == EG_OK)
        s = eg_alloc(cap, sizeof *larger.labels, &larger.labels);
    if (s == EG_OK)
        s = eg_alloc(cap * outputs, sizeof *larger.logits, &larger.logits);
    if (s != EG_OK) {
        eg_class_drawings_fini(&larger);
        return s;
    }
    if (d->n > 0) {
        memcpy(larger.x, d->x, (size_t)d->n * pixels * sizeof *d->x);
        memcpy(larger.labels, d->labels, (size_t)d->n * sizeof *d->labels);
        memcpy(larger.logits, d->logits, (size_t)d->n * outputs * sizeof *d->logits);
    }
    larger.n = d->n, larger.cap = (int64_t)cap;
    larger.tried = d->tried, larger.scratch = d->scratch;
    d->scratch = NULL;
    eg_class_drawings_fini(d);
    *d = larger;
    return EG_OK;
}

/* The class of the largest output; EG_ANY_CLASS: one of them is not finite. */
static int64_t draw_class(const eg_class_guide *g, const float *logits)
{
    int64_t best = 0;
    if (!eg_all_finite(logits, (size_t)g->outputs))
        return EG_ANY_CLASS;
    for (int64_t y = 1; y * g->fan < g->outputs; y++)
        if (logits[y * g->fan] > logits[best * g->fan])
            best = y;
    return best;
}

/* DRAW_AT_ONCE drawings, and what the guide makes of them. */
typedef struct draw_sheet {
    float *x, *labels, *logits;
} draw_sheet;

static eg_status draw_sheet_new(const eg_generator *m, const eg_class_guide *g, float **scratch,
                                draw_sheet *out)
{
    size_t pixels = (size_t)m->pixels, outputs = (size_t)g->outputs;
    if (!*scratch)
        EG_TRY(eg_alloc(DRAW_AT_ONCE * (pixels + outputs + 1), sizeof **scratch, &*scratch));
    out->x = *scratch;
    out->logits = out->x + DRAW_AT_ONCE * pixels;
    out->labels = out->logits + DRAW_AT_ONCE * outputs;
    return EG_OK;
}

static eg_status draw_sheet_fill(eg_generator *m, int64_t class, const eg_class_guide *g,
                                 eg_rng *rng, draw_sheet *s)
{
    for (int64_t i = 0; i < DRAW_AT_ONCE; i++)
        s->labels[i] = class < 0 ? 0 : (float)class;
    EG_TRY(eg_generator_draw(m, s->labels, DRAW_AT_ONCE, rng, s->x));
    return g->look(g->context, s->x, DRAW_AT_ONCE, s->logits);
}

/* Takes row i of a sheet, if it is wanted. */
static void draw_take(const eg_class_wish *w, const draw_sheet *s, int64_t i,
                      eg_class_drawings *to)
{
    int64_t pixels = w->m->pixels, outputs = w->guide->outputs;
    const float *x = s->x + i * pixels, *logits = s->logits + i * outputs;
    int64_t class = draw_class(w->guide, logits);
    bool fits = class != EG_ANY_CLASS && (w->class == EG_ANY_CLASS || class == w->class);
    if (class != EG_ANY_CLASS && !w->guide->decides)
        class = w->class, fits = true;
    if (!fits || w->left[class] == 0 || !eg_all_finite(x, (size_t)pixels))
        return;
    w->left[class]--;
    memcpy(to->x + to->n * pixels, x, (size_t)pixels * sizeof *x);
    memcpy(to->logits + to->n * outputs, logits, (size_t)outputs * sizeof *logits);
    to->labels[to->n++] = (float)class;
}

int64_t eg_class_n_left(const eg_class_wish *w)
{
    int64_t n = 0;
    for (int64_t c = 0; c < w->classes; c++)
        if (w->class == EG_ANY_CLASS || w->class == c)
            n += w->left[c];
    return n;
}

eg_status eg_class_draw(const eg_class_wish *w, eg_rng *rng, eg_class_drawings *to)
{
    draw_sheet sheet;
    int64_t wanted = eg_class_n_left(w), most = w->tries * wanted, tried = 0;
    EG_TRY(draw_reserve(to, wanted, (size_t)w->m->pixels, (size_t)w->guide->outputs));
    EG_TRY(draw_sheet_new(w->m, w->guide, &to->scratch, &sheet));
    while (tried < most && eg_class_n_left(w) > 0) {
        EG_TRY(draw_sheet_fill(w->m, w->class, w->guide, rng, &sheet));
        for (int64_t i = 0; i < DRAW_AT_ONCE && tried < most && eg_class_n_left(w) > 0; i++) {
            draw_take(w, &sheet, i, to);
            tried++;
        }
    }
    to->tried += tried;
    return EG_OK;
}

eg_status eg_class_trial(eg_generator *m, int64_t class, int64_t n, const eg_class_guide *guide,
                         eg_rng *rng, double *out)
{
    float *scratch = NULL;
    draw_sheet sheet;
    int64_t right = 0;
    eg_status s = draw_sheet_new(m, guide, &scratch, &sheet);
    for (int64_t at = 0; at < n && s == EG_OK; at += DRAW_AT_ONCE) {
        s = draw_sheet_fill(m, class, guide, rng, &sheet);
        for (int64_t i = 0; s == EG_OK && i < DRAW_AT_ONCE && at + i < n; i++)
            right += draw_class(guide, sheet.logits + i * guide->outputs) == class;
    }
    free(scratch);
    *out = (double)right / (double)n;
    return s;
}

eg_generator_spec eg_class_spec(const eg_class_replay_opts *o, const eg_net *net)
{
    const eg_net_spec *n = eg_net_spec_of(net);
    return (eg_generator_spec){.kind = o->generator,
                               .options = o->settings,
                               .channels = n->channels,
                               .height = n->height,
                               .width = n->width,
                               .classes = n->classes};
}

eg_status eg_class_machine(eg_worker *w, const char *part, const eg_class_replay_opts *o,
                           const eg_net *net, eg_generator **out)
{
    eg_generator_spec spec = eg_class_spec(o, net);
    char key[64];
    snprintf(key, sizeof key, "%s.machine", part);
    return eg_worker_generator(w, key, &spec, out);
}
