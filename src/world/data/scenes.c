/* scenes.c - streets drawn by the program, with boxes: a stream of frames that needs no files.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A frame is a sky, houses, a road, and cars, buses, bicycles, traffic lights and signs on it
 * and beside it. A drive has four phases: a clear day; dusk, with more lights and signs; fog,
 * with small things far away; night, with more buses and bicycles; and so on. Samples for
 * training are its frames in their order, those for testing of each phase in turn. `phase`
 * takes one of them alone. A sample's owner is its phase. Sample i is a function of seed, split
 * and i.
 */
#include <engram/box.h>
#include <engram/data.h>
#include <engram/rng.h>

#include "base/base.h"

#include <math.h>
#include <string.h>

enum { SCENES_PHASES = 4, SCENES_MOST = 8, SCENES_CLASSES = 5 };

typedef struct scenes {
    int64_t train, test, each, height, width;
    int phase;
} scenes;

// clang-format off
static const eg_opt scenes_opts[] = {
    EG_OPT_INT(scenes, train, 400, 1, 1e7, "frames for training"),
    EG_OPT_INT(scenes, test, 100, 1, 1e7, "frames for testing"),
    EG_OPT_INT(scenes, each, 100, 1, 1e7, "frames for training from one phase to the next"),
    EG_OPT_INT(scenes, height, 96, 32, 2048, "of a frame"),
    EG_OPT_INT(scenes, width, 160, 32, 2048, "of a frame"),
    EG_OPT_CHOICE(scenes, phase, 0, "all of the drive in its order, or one part of it", "all|day|dusk|fog|night"),
    EG_OPT_END,
};
// clang-format on

static const char *const scenes_names[] = {"car", "bus", "bicycle", "light", "sign"};
enum { CAR, BUS, BICYCLE, LIGHT, SIGN };

/* What a phase is like: how bright, how foggy, how large things are, how often each class. */
typedef struct scenes_weather {
    float bright, fog, scale;
    float often[SCENES_CLASSES]; /* sums, the last is 1 */
    uint8_t sky[3];
} scenes_weather;

static const scenes_weather scenes_phases[SCENES_PHASES] = {
    {1.00F, 0.00F, 1.0F, {0.50F, 0.60F, 0.70F, 0.85F, 1}, {120, 180, 235}},
    {0.65F, 0.00F, 0.9F, {0.30F, 0.35F, 0.40F, 0.75F, 1}, {220, 140, 110}},
    {0.85F, 0.55F, 0.6F, {0.45F, 0.60F, 0.75F, 0.90F, 1}, {190, 190, 195}},
    {0.30F, 0.00F, 1.1F, {0.20F, 0.50F, 0.80F, 0.95F, 1}, {30, 35, 70}},
};

/* A frame that is drawn on. */
typedef struct scenes_frame {
    int64_t h, w;
    uint8_t *rgb; /* [3, h, w] */
    const scenes_weather *is;
    float depth; /* of what is drawn: 0 near, 1 far */
} scenes_frame;

/* A colour in this light, seen through this fog. */
static void scenes_dot(const scenes_frame *f, int64_t y, int64_t x, const uint8_t colour[3],
                       bool shines)
{
    if (y < 0 || y >= f->h || x < 0 || x >= f->w)
        return;
    float fog = f->is->fog * (0.3F + 0.7F * f->depth);
    for (int64_t c = 0; c < 3; c++) {
        float v = (float)colour[c] * (shines ? 1 : f->is->bright);
        v += fog * ((float)f->is->sky[c] - v);
        f->rgb[(c * f->h + y) * f->w + x] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
    }
}

/* A rectangle; sides as shares of a box. */
static void scenes_rect(const scenes_frame *f, const eg_box *b, const float at[4],
                        const uint8_t colour[3], bool shines)
{
    float left = (b->x - b->w / 2) * (float)f->w, top = (b->y - b->h / 2) * (float)f->h;
    float w = b->w * (float)f->w, h = b->h * (float)f->h;
    int64_t x1 = lrintf(left + (at[0] + at[2]) * w), y1 = lrintf(top + (at[1] + at[3]) * h);
    for (int64_t y = lrintf(top + at[1] * h); y < y1; y++)
        for (int64_t x = lrintf(left + at[0] * w); x < x1; x++)
            scenes_dot(f, y, x, colour, shines);
}

/* An ellipse that fills such a rectangle. */
static void scenes_disc(const scenes_frame *f, const eg_box *b, const float at[4],
                        const uint8_t colour[3], bool shines)
{
    float rx = at[2] * b->w * (float)f->w / 2, ry = at[3] * b->h * (float)f->h / 2;
    float cx = (b->x - b->w / 2 + at[0] * b->w) * (float)f->w + rx;
    float cy = (b->y - b->h / 2 + at[1] * b->h) * (float)f->h + ry;
    for (int64_t y = (int64_t)(cy - ry); y <= (int64_t)(cy + ry); y++)
        for (int64_t x = (int64_t)(cx - rx); x <= (int64_t)(cx + rx); x++) {
            float dx = ((float)x + 0.5F - cx) / rx, dy = ((float)y + 0.5F - cy) / ry;
            if (dx * dx + dy * dy <= 1)
                scenes_dot(f, y, x, colour, shines);
        }
}

static const uint8_t scenes_black[3] = {20, 20, 22}, scenes_glass[3] = {150, 190, 210};
static const uint8_t scenes_grey[3] = {120, 120, 122}, scenes_white[3] = {250, 245, 220};

static void scenes_wheels(const scenes_frame *f, const eg_box *b, float size)
{
    float wide = size * b->h * (float)f->h / (b->w * (float)f->w); /* round on the frame */
    const float left[] = {0.08F, 1 - size, wide, size};
    const float right[] = {0.92F - wide, 1 - size, wide, size};
    scenes_disc(f, b, left, scenes_black, false);
    scenes_disc(f, b, right, scenes_black, false);
}

static void scenes_car(const scenes_frame *f, const eg_box *b, const uint8_t colour[3])
{
    static const float body[] = {0, 0.4F, 1, 0.45F}, cabin[] = {0.2F, 0, 0.6F, 0.45F};
    static const float glass[] = {0.26F, 0.08F, 0.48F, 0.27F}, lamp[] = {0, 0.5F, 0.06F, 0.15F};
    scenes_rect(f, b, cabin, colour, false);
    scenes_rect(f, b, glass, scenes_glass, false);
    scenes_rect(f, b, body, colour, false);
    scenes_rect(f, b, lamp, scenes_white, true);
    scenes_wheels(f, b, 0.35F);
}

static void scenes_bus(const scenes_frame *f, const eg_box *b, const uint8_t colour[3])
{
    static const float body[] = {0, 0, 1, 0.9F}, lamp[] = {0, 0.7F, 0.04F, 0.1F};
    scenes_rect(f, b, body, colour, false);
    for (int i = 0; i < 4; i++) {
        const float glass[] = {0.06F + 0.235F * (float)i, 0.15F, 0.18F, 0.3F};
        scenes_rect(f, b, glass, scenes_glass, false);
    }
    scenes_rect(f, b, lamp, scenes_white, true);
    scenes_wheels(f, b, 0.25F);
}

static void scenes_bicycle(const scenes_frame *f, const eg_box *b, const uint8_t colour[3])
{
    static const uint8_t skin[3] = {230, 185, 150};
    static const float frame[] = {0.2F, 0.6F, 0.6F, 0.08F}, body[] = {0.35F, 0.2F, 0.3F, 0.45F};
    static const float head[] = {0.38F, 0, 0.26F, 0.2F};
    static const float left[] = {0, 0.62F, 0.45F, 0.38F},
                       right[] = {0.55F, 0.62F, 0.45F, 0.38F};
    scenes_disc(f, b, left, scenes_black, false);
    scenes_disc(f, b, right, scenes_black, false);
    scenes_rect(f, b, frame, scenes_grey, false);
    scenes_rect(f, b, body, colour, false);
    scenes_disc(f, b, head, skin, false);
}

static void scenes_light(const scenes_frame *f, const eg_box *b, const uint8_t colour[3])
{
    static const uint8_t lamps[3][3] = {{250, 40, 30}, {250, 190, 30}, {40, 230, 90}};
    static const uint8_t off[3] = {50, 50, 50};
    static const float pole[] = {0.4F, 0.5F, 0.2F, 0.5F}, box[] = {0, 0, 1, 0.6F};
    scenes_rect(f, b, pole, scenes_grey, false);
    scenes_rect(f, b, box, scenes_black, false);
    for (int i = 0; i < 3; i++) {
        const float lamp[] = {0.2F, 0.04F + 0.185F * (float)i, 0.6F, 0.15F};
        bool on = colour[0] % 3 == i;
        scenes_disc(f, b, lamp, on ? lamps[i] : off, on);
    }
}

static void scenes_sign(const scenes_frame *f, const eg_box *b, const uint8_t colour[3])
{
    static const uint8_t red[3] = {215, 30, 35}, blue[3] = {30, 80, 200};
    static const float pole[] = {0.42F, 0.4F, 0.16F, 0.6F}, disc[] = {0, 0, 1, 0.5F};
    static const float inside[] = {0.2F, 0.1F, 0.6F, 0.3F};
    scenes_rect(f, b, pole, scenes_grey, false);
    scenes_disc(f, b, disc, colour[1] % 2 ? red : blue, false);
    scenes_disc(f, b, inside, scenes_white, false);
}

/* Sky, houses and the road. */
static void scenes_street(const scenes_frame *f, eg_rng *r)
{
    static const uint8_t road[3] = {85, 85, 88}, grass[3] = {90, 130, 70};
    int64_t horizon = f->h * 2 / 5;
    for (int64_t y = 0; y < f->h; y++)
        for (int64_t x = 0; x < f->w; x++) {
            float half = (float)(y - horizon) / (float)(f->h - horizon) * (float)f->w * 0.55F;
            bool on_road = fabsf((float)x - (float)f->w / 2) < half + 4;
            for (int64_t c = 0; c < 3 && y < horizon; c++)
                f->rgb[(c * f->h + y) * f->w + x] = f->is->sky[c];
            if (y >= horizon)
                scenes_dot(f, y, x, on_road ? road : grass, false);
        }
    for (int i = 0; i < 5; i++) {
        uint8_t colour[3];
        for (int c = 0; c < 3; c++)
            colour[c] = (uint8_t)(90 + eg_rng_below(r, 110));
        float tall = (float)eg_rng_uniform(r, 0.1, 0.35),
              wide = (float)eg_rng_uniform(r, 0.1, 0.25);
        const eg_box house = {0, (float)eg_rng_unit(r), 0.4F - tall / 2, wide, tall};
        static const float all[] = {0, 0, 1, 1};
        scenes_rect(f, &house, all, colour, false);
    }
}

/* A thing somewhere on the street, larger where it is nearer; *depth: 0 near, 1 far. */
static eg_box scenes_thing(const scenes_weather *is, eg_rng *r, float *depth)
{
    static const float sizes[SCENES_CLASSES][2] = {
        {0.30F, 0.30F}, {0.38F, 0.48F}, {0.12F, 0.34F}, {0.06F, 0.40F}, {0.09F, 0.34F}};
    float pick = (float)eg_rng_unit(r);
    int class = 0;
    while (class < SCENES_CLASSES - 1 && pick >= is->often[class])
        class ++;
    *depth = (float)eg_rng_unit(r);
    float size = is->scale * (1 - 0.65F * *depth) * (float)eg_rng_uniform(r, 0.85, 1.15);
    eg_box b = {
        .label = (float)class, .w = sizes[class][0] * size, .h = sizes[class][1] * size};
    float foot = 0.46F + 0.5F * (1 - *depth); /* where it stands */
    b.y = foot - b.h / 2;
    bool aside = class == LIGHT || class == SIGN;
    float side = eg_rng_below(r, 2) ? 1 : -1, away = (float)eg_rng_uniform(r, 0.28, 0.46);
    b.x = aside ? 0.5F + side * away : (float)eg_rng_uniform(r, 0.12, 0.88);
    return b;
}

/* Whether a thing is wholly on the frame, large enough, and apart from the others. */
static bool scenes_fits(const scenes_frame *f, const eg_box *b, const eg_box *others, int n)
{
    bool fits = b->x - b->w / 2 >= 0 && b->x + b->w / 2 <= 1 && b->y - b->h / 2 >= 0 &&
                b->y + b->h / 2 <= 1 && b->w * (float)f->w >= 4 && b->h * (float)f->h >= 6;
    for (int i = 0; i < n && fits; i++)
        fits = eg_box_overlap(b, &others[i]) < 0.1;
    return fits;
}

/* Chooses up to SCENES_MOST things, the farthest first. */
static int scenes_choose(const scenes_frame *f, eg_rng *r, eg_box *things, float *depths)
{
    int n = 0, wanted = 1 + (int)eg_rng_below(r, 5);
    for (int tries = 0; tries < 40 && n < wanted; tries++) {
        float depth;
        eg_box b = scenes_thing(f->is, r, &depth);
        if (!scenes_fits(f, &b, things, n))
            continue;
        int at = n++;
        for (; at > 0 && depths[at - 1] < depth; at--)
            things[at] = things[at - 1], depths[at] = depths[at - 1];
        things[at] = b, depths[at] = depth;
    }
    return n;
}

static void scenes_noise(const scenes_frame *f, eg_rng *r)
{
    for (int64_t i = 0; i < 3 * f->h * f->w; i++) {
        int v = f->rgb[i] + (int)eg_rng_below(r, 17) - 8;
        f->rgb[i] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
    }
}

/* Draws frame i and its boxes. */
static void scenes_draw(eg_table *t, int64_t i, int phase, eg_rng *r)
{
    static void (*const draw[])(const scenes_frame *, const eg_box *, const uint8_t *) = {
        scenes_car, scenes_bus, scenes_bicycle, scenes_light, scenes_sign};
    scenes_frame f = {t->height, t->width, t->u8 + (size_t)i * eg_table_sample(t),
                      &scenes_phases[phase], 1};
    eg_box things[SCENES_MOST];
    float depths[SCENES_MOST];
    scenes_street(&f, r);
    int n = scenes_choose(&f, r, things, depths);
    for (int k = 0; k < SCENES_MOST; k++) {
        const eg_box none = {.label = EG_NO_BOX};
        uint8_t colour[3];
        for (int c = 0; c < 3; c++)
            colour[c] = (uint8_t)(60 + eg_rng_below(r, 190));
        if (k < n) {
            f.depth = depths[k];
            draw[(int)things[k].label](&f, &things[k], colour);
        }
        memcpy(t->target + i * t->target_width + k * EG_BOX_SIZE, k < n ? &things[k] : &none,
               sizeof none);
    }
    scenes_noise(&f, r);
    t->y[i] = n ? (int32_t)things[n - 1].label : 0;
    t->group[i] = phase;
}

static eg_status scenes_load(const void *self, const eg_origin *from, eg_split split,
                             eg_table *out)
{
    const scenes *o = self;
    int64_t n = split == EG_TRAIN ? o->train : o->test;
    EG_TRY(eg_table_alloc_u8(out, n, 3, o->height, o->width, SCENES_CLASSES));
    EG_TRY(eg_table_alloc_targets(out, SCENES_MOST * EG_BOX_SIZE));
    EG_TRY(eg_alloc((size_t)n, sizeof *out->group, &out->group));
    for (int64_t i = 0; i < n; i++) {
        int64_t drive = split == EG_TRAIN ? i / o->each : i;
        int phase = o->phase ? o->phase - 1 : (int)(drive % SCENES_PHASES);
        eg_rng r = eg_rng_at(from->seed, (uint32_t)split + 2 * (uint32_t)phase, (uint32_t)i,
                             EG_FOR_DATA);
        scenes_draw(out, i, phase, &r);
    }
    return eg_table_name_classes(out, scenes_names);
}

const eg_dataset eg_dataset_scenes = {
    .component = {"scenes", "drawn streets with boxes, whose light, weather and traffic change",
                  sizeof(scenes), scenes_opts},
    .generated = true,
    .target = "detection",
    .load = scenes_load,
};
