/* fractals.c - generated coloured fractals, one iterated function system a class.
 * SPDX-License-Identifier: Apache-2.0
 *
 * After Anderson and Farrell, "Improving Fractal Pre-training" (2022, arXiv:2110.03091). A
 * class is a system of 2 to 4 affine maps with chosen singular values. An image plays the chaos
 * game with a jittered copy of it, counts points in a random window, colours the counts and
 * lays them over a random cloud (fractals_paint.c). The system is a function of (seed, class),
 * the image of (seed, class, split, number): nothing is remembered between images.
 *
 * The 3x3 stamp is never empty: one picture in 512 would show nothing but its background.
 */
#include "world/data/fractals.h"

#include "base/real.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct fractals {
    eg_fractals_opts image;
    int64_t train, test;
} fractals;

#define FRACTALS_MAPS 4
#define FRACTALS_PI   3.141592653589793

/* The stream of a class's system; image numbers stay below it. */
#define FRACTALS_SYSTEM 0xffffffffu
#define FRACTALS_TEST   0x80000000u

/* x' = m0 x + m1 y + m2, y' = m3 x + m4 y + m5 */
typedef struct fractals_map {
    double m[6];
} fractals_map;

typedef struct fractals_system {
    int n;
    fractals_map map[FRACTALS_MAPS];
} fractals_system;

struct eg_fractals {
    eg_fractals_opts opts;
    uint64_t seed;
    fractals_system *systems; /* [classes] */
};

/* Draws pairs s1 >= s2 in [0, 1] with the sum of s1 + 2 s2 equal to a. */
static void fractals_singular(int n, double a, eg_rng *r, double s[FRACTALS_MAPS][2])
{
    double p = a, q = a - 3 * n + 3;
    for (int i = 0; i < n - 1; i++) {
        s[i][0] = eg_rng_uniform(r, fmax(0, q / 3), fmin(1, p));
        q -= s[i][0];
        p -= s[i][0];
        s[i][1] = eg_rng_uniform(r, fmax(0, q / 2), fmin(s[i][0], p / 2));
        q = q - 2 * s[i][1] + 3;
        p -= 2 * s[i][1];
    }
    s[n - 1][1] = eg_rng_uniform(r, fmax(0, (p - 1) / 2), p / 3);
    s[n - 1][0] = p - 2 * s[n - 1][1];
}

/* A rotation times a diagonal of two random signs: [2, 2] by rows. */
static void fractals_orthogonal(eg_rng *r, double u[4])
{
    double angle = eg_rng_uniform(r, -FRACTALS_PI, FRACTALS_PI);
    double s0 = eg_rng_below(r, 2) ? 1 : -1, s1 = eg_rng_below(r, 2) ? 1 : -1;
    u[0] = eg_real_cos(angle) * s0, u[1] = -eg_real_sin(angle) * s1;
    u[2] = eg_real_sin(angle) * s0, u[3] = eg_real_cos(angle) * s1;
}

static fractals_system fractals_system_draw(eg_rng *r)
{
    fractals_system f = {.n = 2 + (int)eg_rng_below(r, 3)};
    double s[FRACTALS_MAPS][2], u[4], v[4];
    double a = eg_rng_uniform(r, (5 + f.n) / 2.0, (6 + f.n) / 2.0);
    fractals_singular(f.n, a, r, s);
    for (int i = 0; i < f.n; i++) {
        double *m = f.map[i].m;
        fractals_orthogonal(r, u);
        fractals_orthogonal(r, v);
        for (size_t row = 0; row < 2; row++) {
            for (size_t k = 0; k < 2; k++)
                m[3 * row + k] =
                    u[2 * row] * s[i][0] * v[k] + u[2 * row + 1] * s[i][1] * v[2 + k];
            m[3 * row + 2] = eg_rng_uniform(r, -1, 1);
        }
    }
    return f;
}

static double fractals_det(const fractals_map *a)
{
    return a->m[0] * a->m[4] - a->m[1] * a->m[3];
}

/* The largest singular value. */
static double fractals_norm(const fractals_map *a)
{
    const double *m = a->m;
    double sum = m[0] * m[0] + m[1] * m[1] + m[3] * m[3] + m[4] * m[4];
    double det = fractals_det(a);
    return sqrt((sum + sqrt(fmax(0, sum * sum - 4 * det * det))) / 2);
}

/* Scales one map; a system that would no longer contract is drawn again, four times at most. */
static fractals_system fractals_jitter(const fractals_system *f, eg_rng *r)
{
    for (int attempt = 0; attempt < 4; attempt++) {
        fractals_system g = *f;
        uint64_t k = eg_rng_below(r, (uint64_t)f->n);
        double factor = eg_rng_uniform(r, 0.8, 1.1), top = 0;
        for (int i = 0; i < 6; i++)
            g.map[k].m[i] *= factor;
        for (int i = 0; i < g.n; i++)
            top = fmax(top, fractals_norm(&g.map[i]));
        if (top <= 1)
            return g;
    }
    return *f;
}

/* Plays the chaos game: out[2 n] gets the points, box their bounds (low x, low y, high x, y).
 */
static void fractals_points(const fractals_system *f, eg_rng *r, int64_t n, float *out,
                            double box[4])
{
    double sum = 0, part = 0, limit[FRACTALS_MAPS];
    for (int i = 0; i < f->n; i++)
        sum += fabs(fractals_det(&f->map[i]));
    for (int i = 0; i < FRACTALS_MAPS;
         i++) { /* of a 32-bit word; the last one takes the rest */
        part += i < f->n ? fabs(fractals_det(&f->map[i])) : 0;
        limit[i] = i + 1 < f->n && sum > 0 ? part / sum * 0x1p32 : 0x1p32;
    }
    const uint64_t l0 = (uint64_t)limit[0], l1 = (uint64_t)limit[1], l2 = (uint64_t)limit[2];
    const double *m = f->map[0].m; /* its fixed point belongs to the fractal */
    double s = 1 / (1 + fractals_det(&f->map[0]) - m[0] - m[4]);
    double x = s * ((1 - m[4]) * m[2] + m[1] * m[5]);
    double y = s * ((1 - m[0]) * m[5] + m[3] * m[2]);
    box[0] = box[1] = INFINITY;
    box[2] = box[3] = -INFINITY;
    uint32_t word[4];
    for (int64_t i = 0; i < n; i++) {
        if (i % 4 == 0)
            eg_rng_block(r->key, r->block++, word);
        uint64_t w = word[i % 4];
        m = f->map[(w >= l0) + (w >= l1) + (w >= l2)].m;
        double old = x;
        x = m[0] * x + m[1] * y + m[2];
        y = m[3] * old + m[4] * y + m[5];
        out[2 * i] = (float)x;
        out[2 * i + 1] = (float)y;
        box[0] = x < box[0] ? x : box[0];
        box[1] = y < box[1] ? y : box[1];
        box[2] = x > box[2] ? x : box[2];
        box[3] = y > box[3] ? y : box[3];
    }
    r->left = 0;
}

/* Turns the bounds into the window to show. */
static void fractals_window(double box[4], eg_rng *r)
{
    for (int k = 0; k < 2; k++) {
        double extent = box[k + 2] - box[k], centre = (box[k + 2] + box[k]) / 2;
        centre += extent * eg_rng_uniform(r, -0.2, 0.2);
        extent *= eg_rng_uniform(r, 0.5, 2) / 2;
        box[k] = centre - extent;
        box[k + 2] = centre + extent;
    }
}

/* Counts points into hits[side, side], which has a border of one cell all around. */
static void fractals_count(const float *points, int64_t n, const double box[4], int64_t size,
                           uint32_t *hits)
{
    int64_t side = size + 2;
    double wx = box[2] - box[0], wy = box[3] - box[1];
    float fx = (float)((double)(size - 1) / (wx > 0 ? wx : 1));
    float fy = (float)((double)(size - 1) / (wy > 0 ? wy : 1));
    float x0 = (float)box[0], y0 = (float)box[1], most = (float)size + 1;
    for (int64_t i = 0; i < n; i++) {
        float row = (points[2 * i] - x0) * fx, column = (points[2 * i + 1] - y0) * fy;
        if (row > -2 && row < most && column > -2 && column < most) {
            int64_t y = (int64_t)row + 1, x = (int64_t)column + 1; /* cut towards zero */
            if (y >= 0 && y < side && x >= 0 && x < side)
                hits[y * side + x]++;
        }
    }
}

/* Stamps each counted point on the image; bit 3 i + j of stamp is its cell (i, j). */
static void fractals_stamp(const uint32_t *hits, uint32_t stamp, int64_t size, uint32_t *out)
{
    int64_t side = size + 2;
    for (int64_t y = 0; y < size; y++)
        for (int64_t x = 0; x < size; x++) {
            uint32_t sum = 0;
            for (int k = 0; k < 9; k++)
                if (stamp >> k & 1)
                    sum += hits[(y + 2 - k / 3) * side + x + 2 - k % 3];
            out[y * size + x] = sum;
        }
}

eg_status eg_fractals_new(const eg_fractals_opts *opts, uint64_t seed, eg_fractals **out)
{
    *out = NULL;
    if (opts->classes < 1 || opts->classes > 10000000 || opts->size < 2 || opts->size > 8192 ||
        opts->points < 1 || opts->points > 1000000000)
        return eg_fail(EG_EINVAL, "fractals of %lld classes, %lld pixels per side, %lld points",
                       (long long)opts->classes, (long long)opts->size,
                       (long long)opts->points);
    eg_fractals *f;
    EG_TRY(eg_alloc(1, sizeof *f, &f));
    *f = (eg_fractals){*opts, seed, NULL};
    eg_status s = eg_alloc((size_t)opts->classes, sizeof *f->systems, &f->systems);
    if (s != EG_OK) {
        free(f);
        return s;
    }
    for (int64_t k = 0; k < opts->classes; k++) {
        eg_rng r = eg_rng_at(seed, (uint32_t)k, FRACTALS_SYSTEM, EG_FOR_DATA);
        f->systems[k] = fractals_system_draw(&r);
    }
    *out = f;
    return EG_OK;
}

void eg_fractals_free(eg_fractals *f)
{
    if (f)
        free(f->systems);
    free(f);
}

static eg_status fractals_draw(const eg_fractals *f, eg_split split, int64_t index,
                               void (*paint)(eg_fractals_scratch *s, eg_rng *r, uint8_t *out),
                               uint8_t *out)
{
    int64_t size = f->opts.size, n = f->opts.points, k = index % f->opts.classes;
    uint32_t number = (uint32_t)(index / f->opts.classes);
    EG_ASSERT(index >= 0 && index / f->opts.classes < FRACTALS_TEST - 1);
    eg_rng r = eg_rng_at(f->seed, (uint32_t)k, number | (split == EG_TEST ? FRACTALS_TEST : 0),
                         EG_FOR_DATA);
    size_t cells = (size_t)((size + 2) * (size + 2));
    eg_fractals_scratch s = {0};
    float *points;
    EG_TRY(eg_alloc((size_t)n, 2 * sizeof *points, &points));
    eg_status status = eg_fractals_scratch_init(&s, size);
    if (status == EG_OK) {
        double box[4];
        fractals_system g = fractals_jitter(&f->systems[k], &r);
        uint32_t stamp = 1 + (uint32_t)eg_rng_below(&r, 511);
        fractals_points(&g, &r, n, points, box);
        fractals_window(box, &r);
        memset(s.hits, 0, cells * sizeof *s.hits);
        fractals_count(points, n, box, size, s.hits);
        fractals_stamp(s.hits, stamp, size, s.image);
        paint(&s, &r, out);
    }
    eg_fractals_scratch_fini(&s);
    free(points);
    return status;
}

eg_status eg_fractals_image(const eg_fractals *f, eg_split split, int64_t index, uint8_t *rgb)
{
    return fractals_draw(f, split, index, eg_fractals_paint, rgb);
}

eg_status eg_fractals_grey(const eg_fractals *f, eg_split split, int64_t index, uint8_t *grey)
{
    return fractals_draw(f, split, index, eg_fractals_paint_grey, grey);
}

static const eg_opt fractals_opts[] = {
    EG_OPT_INT_AS("classes", fractals, image.classes, 100, 1, 1e7,
                  "how many, each a system of its own"),
    EG_OPT_INT_AS("side", fractals, image.size, 32, 2, 8192, "height and width of an image"),
    EG_OPT_INT_AS("points", fractals, image.points, 10000, 1, 1e9, "points drawn per image"),
    EG_OPT_INT(fractals, train, 10000, 1, 1e9, "training images"),
    EG_OPT_INT(fractals, test, 2000, 1, 1e9, "test images"),
    EG_OPT_END,
};

static eg_status fractals_load(const void *self, const eg_origin *from, eg_split split,
                               eg_table *out)
{
    const fractals *o = self;
    eg_fractals *f;
    EG_TRY(eg_fractals_new(&o->image, from->seed, &f));
    eg_status s = eg_table_alloc_u8(out, split == EG_TRAIN ? o->train : o->test, 3,
                                    o->image.size, o->image.size, o->image.classes);
    for (int64_t i = 0; s == EG_OK && i < out->n; i++) {
        out->y[i] = (int32_t)(i % o->image.classes);
        s = eg_fractals_image(f, split, i, out->u8 + (size_t)i * eg_table_sample(out));
    }
    eg_fractals_free(f);
    return s;
}

const eg_dataset eg_dataset_fractals = {
    .component = {"fractals", "generated: coloured fractals, one system per class, any size",
                  sizeof(fractals), fractals_opts},
    .generated = true,
    .load = fractals_load,
};
