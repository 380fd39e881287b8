/* glyphs.c - generated characters: nothing to download, and too hard for a linear model.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A character is a few strokes (glyphs_strokes.inc), bent by a smooth random warp, then
 * rotated, sheared, scaled and moved, drawn with a random pen and sprinkled with noise. Image i
 * of a split is a function of (seed, split, i) alone; its class is i mod classes, in the order
 * 0-9 A-Z a-z, from character `first` on.
 */
#include <engram/data.h>
#include <engram/rng.h>

#include "base/base.h"
#include "base/real.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct glyphs {
    int64_t classes, first, train, test;
    double noise;
} glyphs;

#define GLYPHS_SIDE   28
#define GLYPHS_PIXELS 784 /* side times side */
#define GLYPHS_POINTS 96  /* the most points a character's strokes have */
#define GLYPHS_CURVE  8   /* lines that stand for a curve */
#define GLYPHS_TURN   20  /* and for an ellipse */

static const eg_opt glyphs_opts[] = {
    EG_OPT_INT(glyphs, classes, 10, 1, 62,
               "10: digits; 36: and capitals; 62: and small letters"),
    EG_OPT_INT(glyphs, first, 0, 0, 61, "the character of class 0; 10: capitals from A on"),
    EG_OPT_INT(glyphs, train, 60000, 1, 4e9, "training images"),
    EG_OPT_INT(glyphs, test, 10000, 1, 4e9, "test images"),
    EG_OPT_REAL(glyphs, noise, 25, 0, 255, "standard deviation of the noise, of 255"),
    EG_OPT_END,
};

static const char *const glyphs_names[] = {
#define X(character, strokes) (const char[]){character, 0},
#include "world/data/glyphs_strokes.inc"
#undef X
};

static const char *const glyphs_strokes[] = {
#define X(character, strokes) strokes,
#include "world/data/glyphs_strokes.inc"
#undef X
};

/* A character as lines: a point draws to the next one unless it ends its stroke. */
typedef struct glyph {
    int n;
    double x[GLYPHS_POINTS], y[GLYPHS_POINTS]; /* about their middle, capitals 1 high */
    bool ends[GLYPHS_POINTS];
} glyph;

static void glyph_add(glyph *g, double x, double y)
{
    EG_ASSERT(g->n < GLYPHS_POINTS);
    g->x[g->n] = x;
    g->y[g->n++] = y;
}

static void glyph_stroke_end(glyph *g)
{
    if (g->n > 0)
        g->ends[g->n - 1] = true;
}

static void glyph_curve(glyph *g, const double *v)
{
    double x = g->x[g->n - 1], y = g->y[g->n - 1];
    for (int k = 1; k <= GLYPHS_CURVE; k++) {
        double t = (double)k / GLYPHS_CURVE, u = 1 - t;
        glyph_add(g, u * u * x + 2 * u * t * v[0] + t * t * v[2],
                  u * u * y + 2 * u * t * v[1] + t * t * v[3]);
    }
}

static void glyph_ellipse(glyph *g, const double *v)
{
    glyph_stroke_end(g);
    for (int k = 0; k <= GLYPHS_TURN; k++) {
        double angle = 6.283185307179586 * k / GLYPHS_TURN;
        glyph_add(g, v[0] + v[2] * eg_real_cos(angle), v[1] + v[3] * eg_real_sin(angle));
    }
    glyph_stroke_end(g);
}

/* Puts the middle of the bounding box at 0 and makes capitals 1 high. */
static void glyph_centre(glyph *g)
{
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (int i = 0; i < g->n; i++) {
        low[0] = fmin(low[0], g->x[i]), high[0] = fmax(high[0], g->x[i]);
        low[1] = fmin(low[1], g->y[i]), high[1] = fmax(high[1], g->y[i]);
    }
    for (int i = 0; i < g->n; i++) {
        g->x[i] = (g->x[i] - (low[0] + high[0]) / 2) / 20;
        g->y[i] = (g->y[i] - (low[1] + high[1]) / 2) / 20;
    }
}

static void glyph_parse(const char *strokes, glyph *g)
{
    *g = (glyph){0};
    while (*strokes) {
        char command = *strokes++, *end;
        double v[4] = {0};
        int count = command == 'Q' || command == 'E' ? 4 : 2;
        for (int i = 0; i < count; i++, strokes = end)
            v[i] = strtod(strokes, &end);
        while (*strokes == ' ')
            strokes++;
        if (command == 'M')
            glyph_stroke_end(g);
        if (command == 'Q')
            glyph_curve(g, v);
        else if (command == 'E')
            glyph_ellipse(g, v);
        else
            glyph_add(g, v[0], v[1]);
    }
    glyph_stroke_end(g);
    glyph_centre(g);
}

/* Bends and places the strokes: out is in pixels. */
static void glyph_pose(const glyph *g, eg_rng *r, glyph *out)
{
    double angle = eg_rng_uniform(r, -0.4, 0.4), shear = eg_rng_uniform(r, -0.3, 0.3);
    double size = eg_rng_uniform(r, 14, 19);
    double sx = size * eg_rng_uniform(r, 0.8, 1.2), sy = size * eg_rng_uniform(r, 0.9, 1.1);
    double cx = GLYPHS_SIDE / 2.0 + eg_rng_uniform(r, -3.5, 3.5);
    double cy = GLYPHS_SIDE / 2.0 + eg_rng_uniform(r, -3.5, 3.5);
    double c = eg_real_cos(angle), s = eg_real_sin(angle), wave[2][4];
    for (int i = 0; i < 2; i++) {
        wave[i][0] = eg_rng_uniform(r, -0.07, 0.07); /* how far */
        wave[i][1] = eg_rng_uniform(r, 2, 7);        /* how often along x */
        wave[i][2] = eg_rng_uniform(r, 2, 7);        /* and along y */
        wave[i][3] = eg_rng_uniform(r, 0, 6.283185307179586);
    }
    double jx = 0, jy = 0; /* each stroke is a little off its place */
    for (int i = 0; i < g->n; i++) {
        if (i == 0 || g->ends[i - 1]) {
            jx = eg_rng_uniform(r, -0.03, 0.03);
            jy = eg_rng_uniform(r, -0.03, 0.03);
        }
        double p[2] = {g->x[i] + jx, g->y[i] + jy}, q[2];
        for (int k = 0; k < 2; k++)
            q[k] = p[k] +
                   wave[k][0] * eg_real_sin(wave[k][1] * p[0] + wave[k][2] * p[1] + wave[k][3]);
        double x = sx * (q[0] + shear * q[1]), y = sy * q[1];
        out->x[i] = cx + c * x - s * y;
        out->y[i] = cy + s * x + c * y;
        out->ends[i] = g->ends[i];
    }
    out->n = g->n;
}

/* Lowers near[] to the squared distance of each pixel's centre from a line, where it is within
 * reach. */
static void glyph_line(const glyph *g, int i, float reach, float near[GLYPHS_PIXELS])
{
    float ax = (float)g->x[i], ay = (float)g->y[i];
    float dx = (float)g->x[i + 1] - ax, dy = (float)g->y[i + 1] - ay;
    float length = dx * dx + dy * dy, scale = length > 0 ? 1 / length : 0;
    int x0 = (int)fmaxf(0, fminf(ax, ax + dx) - reach);
    int y0 = (int)fmaxf(0, fminf(ay, ay + dy) - reach);
    int x1 = (int)fminf(GLYPHS_SIDE, fmaxf(ax, ax + dx) + reach + 1);
    int y1 = (int)fminf(GLYPHS_SIDE, fmaxf(ay, ay + dy) + reach + 1);
    for (int y = y0; y < y1; y++)
        for (int x = x0; x < x1; x++) {
            float px = (float)x + 0.5f - ax, py = (float)y + 0.5f - ay;
            float t = (px * dx + py * dy) * scale;
            t = t < 0 ? 0 : t > 1 ? 1 : t;
            float ex = px - t * dx, ey = py - t * dy, d = ex * ex + ey * ey;
            if (d < near[y * GLYPHS_SIDE + x])
                near[y * GLYPHS_SIDE + x] = d;
        }
}

/* The pen's mark on paper that is not quite black, then noise: the sum of four bytes of a
 * random word is normal enough (standard deviation 147.8). */
static void glyph_ink(const float near[GLYPHS_PIXELS], float pen, double noise, eg_rng *r,
                      uint8_t *out)
{
    float paper = (float)eg_rng_uniform(r, 0, 40), ink = (float)eg_rng_uniform(r, 140, 255);
    float strength = (float)(noise / 147.8);
    for (int i = 0; i < GLYPHS_PIXELS; i++) {
        float cover = near[i] < 1e6f ? pen + 0.5f - sqrtf(near[i]) : 0;
        cover = cover < 0 ? 0 : cover > 1 ? 1 : cover;
        uint32_t w = eg_rng_u32(r);
        int sum = (int)(w & 255) + (int)(w >> 8 & 255) + (int)(w >> 16 & 255) + (int)(w >> 24);
        float v = paper + (ink - paper) * cover + strength * (float)(sum - 510) + 0.5f;
        out[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
    }
}

static void glyph_draw(const glyph *g, double noise, eg_rng *r, uint8_t *out)
{
    glyph posed;
    float near[GLYPHS_PIXELS];
    for (int i = 0; i < GLYPHS_PIXELS; i++)
        near[i] = 1e9f;
    glyph_pose(g, r, &posed);
    float pen = (float)eg_rng_uniform(r, 0.5, 1.4); /* half its width */
    for (int i = 0; i < posed.n; i++)
        if (!posed.ends[i])
            glyph_line(&posed, i, pen + 1, near);
    glyph_ink(near, pen, noise, r, out);
}

static eg_status glyphs_load(const void *self, const eg_origin *from, eg_split split,
                             eg_table *out)
{
    const glyphs *o = self;
    const int64_t there = sizeof glyphs_strokes / sizeof *glyphs_strokes;
    glyph *all;
    if (o->first + o->classes > there)
        return eg_fail(EG_EINVAL,
                       "%lld classes from character %lld on, but there are %lld "
                       "characters",
                       (long long)o->classes, (long long)o->first, (long long)there);
    EG_TRY(eg_table_alloc_u8(out, split == EG_TRAIN ? o->train : o->test, 1, GLYPHS_SIDE,
                             GLYPHS_SIDE, o->classes));
    EG_TRY(eg_alloc((size_t)o->classes, sizeof *all, &all));
    for (int64_t k = 0; k < o->classes; k++)
        glyph_parse(glyphs_strokes[o->first + k], &all[k]);
    for (int64_t i = 0; i < out->n; i++) {
        eg_rng r = eg_rng_at(from->seed, (uint32_t)split, (uint32_t)i, EG_FOR_DATA);
        out->y[i] = (int32_t)(i % o->classes);
        glyph_draw(&all[out->y[i]], o->noise, &r, out->u8 + i * GLYPHS_PIXELS);
    }
    free(all);
    return eg_table_name_classes(out, glyphs_names + o->first);
}

const eg_dataset eg_dataset_glyphs = {
    .component = {"glyphs",
                  "generated: characters drawn from strokes, 28x28 grey, 1 to 62 classes",
                  sizeof(glyphs), glyphs_opts},
    .generated = true,
    .load = glyphs_load,
};
