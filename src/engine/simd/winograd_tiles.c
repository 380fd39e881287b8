/* winograd_tiles.c - the transforms of tiles in Winograd's convolutions.
 * SPDX-License-Identifier: Apache-2.0
 *
 * y = A^T [(G w G^T) * (B^T x B)] A on tiles of 4 x 4 results, which read windows of 5 x 5, 6
 * x 6 or 8 x 8 places (Lavin and Gray, 2016, arXiv:1509.09308). The gradient for w is G^T [(A
 * dy A^T)
 * * (B^T x B)] G. All lanes are channels. `taps` and `across` are constants where a function is
 * called, so that each size is compiled apart.
 */
#include "engine/simd/panel.h"
#include "engine/simd/winograd_matrices.h"

/* Calls up the places of the tile below this one, which follows some tiles later: such jumps
 * from row to row are not foreseen by the machine. */
WINOGRAD_INLINE void winograd_call(const eg_vec *below, int64_t pitch)
{
    for (int i = 0; i < TILE; i++)
        for (int j = 0; j < TILE; j++)
            __builtin_prefetch(below + i * pitch + j, 0, 2);
}

/* Where a tile stands; places of images are counted in vectors. */
typedef struct winograd_place {
    int64_t image, row, col;
} winograd_place;

static winograd_place winograd_first(const eg_winograd_tiles *t)
{
    int64_t area = t->rows * t->cols;
    return (winograd_place){t->from / area, t->from % area / t->cols, t->from % t->cols};
}

/* The first block of channels that is not meant any more. */
static int64_t winograd_end(const eg_winograd_tiles *t)
{
    return t->end ? t->end : t->c / EG_V;
}

static void winograd_next(winograd_place *p, const eg_winograd_tiles *t)
{
    if (++p->col < t->cols)
        return;
    p->col = 0;
    if (++p->row < t->rows)
        return;
    p->row = 0;
    p->image++;
}

/* A square of places of which some may lie outside the image, where zeros are read: its rows,
 * from its first column on, and the columns [left, right) inside. */
typedef struct winograd_square {
    const eg_vec *row[MOST_WINDOW];
    int64_t left, right;
} winograd_square;

static const eg_vec winograd_zeros[MOST_STRIDE * MOST_WINDOW];

WINOGRAD_INLINE winograd_square winograd_find(const eg_vec *image, int64_t row, int64_t col,
                                              const eg_winograd_tiles *t, int rows, int cols,
                                              int stride)
{
    int64_t right = (t->w - col + stride - 1) / stride;
    winograd_square q = {.left = col < 0 ? (stride - 1 - col) / stride : 0,
                         .right = right < cols ? right : cols};
    for (int64_t i = 0; i < rows; i++) {
        int64_t at = row + i * stride;
        q.row[i] = at >= 0 && at < t->h ? image + at * t->w + col : winograd_zeros;
    }
    return q;
}

WINOGRAD_INLINE void winograd_column(eg_vec *to, const winograd_square *q, int j, int size,
                                     int stride)
{
    bool inside = j >= q->left && j < q->right;
    for (int i = 0; i < size; i++)
        to[i] = inside ? q->row[i][j * stride] : (eg_vec){0};
}

/* True when a tile's last place is inside the image, too. */
static bool winograd_within(int64_t row, int64_t col, int64_t stride,
                            const eg_winograd_tiles *t)
{
    int64_t last = (TILE - 1) * stride;
    return row + last < t->h && col + last < t->w;
}

/* B^T x B of one window, to the matrices. */
WINOGRAD_INLINE void winograd_input_tile(eg_vec *v, int64_t step, const winograd_square *x,
                                         int taps, int across, int stride)
{
    const int rows = winograd_window(taps), cols = winograd_window(across);
    _Alignas(64) eg_vec half[MOST_WINDOW * MOST_WINDOW];
    for (int j = 0; j < cols; j++) {
        eg_vec column[MOST_WINDOW];
        winograd_column(column, x, j, rows, stride);
        winograd_bt(half + j, cols, column, 1, taps);
    }
    for (int i = 0; i < rows; i++)
        winograd_bt(v + i * winograd_pitch(across) * step, step, half + i * cols, 1, across);
}

WINOGRAD_INLINE void winograd_input_all(float *v, const float *x, const eg_winograd_tiles *t,
                                        int taps, int across, int stride)
{
    const int rows = winograd_window(taps), cols = winograd_window(across);
    int64_t blocks = t->c / EG_V;
    for (int64_t b = t->block; b < winograd_end(t); b++) {
        winograd_place p = winograd_first(t);
        for (int64_t i = 0; i < t->n; i++, winograd_next(&p, t)) {
            const eg_vec *image = (const eg_vec *)x + (p.image * blocks + b) * t->h * t->w;
            int64_t row = p.row * TILE * stride + t->row, left = p.col * TILE * stride;
            eg_vec *to = (eg_vec *)v + b * t->n + i;
            winograd_call(image + (row + rows * stride) * t->w + left, t->w);
            winograd_square q = winograd_find(image, row, left + t->col, t, rows, cols, stride);
            winograd_input_tile(to, t->step / EG_V, &q, taps, across, stride);
        }
    }
}

void EG_KERNEL(winograd_input)(float *v, const float *x, const eg_winograd_tiles *t)
{
    if (t->taps == 3)
        winograd_input_all(v, x, t, 3, 3, 1);
    else if (t->taps == 5)
        winograd_input_all(v, x, t, 5, 5, 1);
    else if (t->stride == 1)
        winograd_input_all(v, x, t, 2, 2, 1);
    else if (t->taps == 2 && t->across == 2)
        winograd_input_all(v, x, t, 2, 2, 2);
    else if (t->taps == 2)
        winograd_input_all(v, x, t, 2, 1, 2);
    else if (t->across == 2)
        winograd_input_all(v, x, t, 1, 2, 2);
    else
        winograd_input_all(v, x, t, 1, 1, 2);
}

/* A dy A^T of one tile, to the matrices. */
WINOGRAD_INLINE void winograd_back_tile(eg_vec *dm, int64_t step, const winograd_square *dy,
                                        int taps)
{
    const int window = taps + TILE - 1;
    _Alignas(64) eg_vec half[MOST_WINDOW * TILE];
    for (int j = 0; j < TILE; j++) {
        eg_vec column[TILE];
        winograd_column(column, dy, j, TILE, 1);
        winograd_a(half + j, TILE, column, 1, taps);
    }
    for (int i = 0; i < window; i++)
        winograd_a(dm + i * window * step, step, half + i * TILE, 1, taps);
}

WINOGRAD_INLINE void winograd_back_all(float *dm, const float *dy, const eg_winograd_tiles *t,
                                       int taps)
{
    int64_t blocks = t->c / EG_V;
    for (int64_t b = t->block; b < winograd_end(t); b++) {
        winograd_place p = winograd_first(t);
        panel_column column = panel_find(b, blocks, t->n);
        for (int64_t i = 0; i < t->n; i++, winograd_next(&p, t)) {
            const eg_vec *image = (const eg_vec *)dy + (p.image * blocks + b) * t->h * t->w;
            int64_t row = p.row * TILE, col = p.col * TILE;
            eg_vec *to = (eg_vec *)dm + column.at + i * column.step;
            winograd_call(image + (row + TILE) * t->w + col, t->w);
            winograd_square q = winograd_find(image, row, col, t, TILE, TILE, 1);
            winograd_back_tile(to, t->step / EG_V, &q, taps);
        }
    }
}

void EG_KERNEL(winograd_output_back)(float *dm, const float *dy, const eg_winograd_tiles *t)
{
    if (t->taps == 3)
        winograd_back_all(dm, dy, t, 3);
    else if (t->taps == 5)
        winograd_back_all(dm, dy, t, 5);
    else
        winograd_back_all(dm, dy, t, 2);
}

/* What is added to the results of a channel block, and whether they go through the relu. */
typedef struct winograd_finish {
    eg_vec bias;
    bool relu;
} winograd_finish;

/* A^T m A of one tile, + bias, through the relu; places of y are `stride` apart. */
WINOGRAD_INLINE void winograd_output_tile(eg_vec *y, int64_t pitch, const eg_vec *m,
                                          int64_t step, const winograd_finish *f, int taps,
                                          int across, int stride)
{
    const int cols = winograd_window(across), pitch_m = winograd_pitch(across);
    _Alignas(64) eg_vec half[TILE * MOST_WINDOW];
    for (int j = 0; j < cols; j++)
        winograd_at(half + j, cols, m + j * step, pitch_m * step, taps, LAST_TWO);
    for (int i = 0; i < TILE; i++) {
        eg_vec line[TILE];
        winograd_at(line, 1, half + i * cols, 1, across, LAST_TWO);
        for (int j = 0; j < TILE; j++) {
            eg_vec sum = line[j] + f->bias;
            y[i * pitch * stride + j * stride] = f->relu ? eg_where_positive(sum, sum) : sum;
        }
    }
}

/* The part of a tile that lies in the image. */
static void winograd_paste(eg_vec *image, const eg_vec *tile, int64_t row, int64_t col,
                           const eg_winograd_tiles *t)
{
    for (int i = 0; i < TILE && row + i * t->stride < t->h; i++)
        for (int j = 0; j < TILE && col + j * t->stride < t->w; j++)
            image[(row + i * t->stride) * t->w + col + j * t->stride] = tile[i * TILE + j];
}

/* One block of channels, whose column of m is given. */
WINOGRAD_INLINE void winograd_output_block(float *y, const eg_vec *m, int64_t b,
                                           const winograd_finish *f, const eg_winograd_tiles *t,
                                           int taps, int across, int stride)
{
    int64_t blocks = t->c / EG_V, step = t->step / EG_V;
    int64_t next = panel_find(b, blocks, t->n).step;
    winograd_place p = winograd_first(t);
    for (int64_t i = 0; i < t->n; i++, m += next, winograd_next(&p, t)) {
        eg_vec *image = (eg_vec *)y + (p.image * blocks + b) * t->h * t->w;
        int64_t row = p.row * TILE * stride + t->row, col = p.col * TILE * stride + t->col;
        winograd_call(image + (row + TILE * stride) * t->w + col, t->w);
        if (winograd_within(row, col, stride, t)) {
            winograd_output_tile(image + row * t->w + col, t->w, m, step, f, taps, across,
                                 stride);
        } else {
            _Alignas(64) eg_vec tile[TILE * TILE];
            winograd_output_tile(tile, TILE, m, step, f, taps, across, 1);
            winograd_paste(image, tile, row, col, t);
        }
    }
}

void EG_KERNEL(winograd_output)(float *y, const float *m, const float *bias, bool relu,
                                const eg_winograd_tiles *t)
{
    int64_t blocks = t->c / EG_V;
    for (int64_t b = t->block; b < winograd_end(t); b++) {
        const eg_vec *column = (const eg_vec *)m + panel_find(b, blocks, t->n).at;
        winograd_finish f = {.relu = relu};
        if (bias)
            f.bias = *(const eg_vec *)(bias + b * EG_V);
        if (t->taps == 3)
            winograd_output_block(y, column, b, &f, t, 3, 3, 1);
        else if (t->taps == 5)
            winograd_output_block(y, column, b, &f, t, 5, 5, 1);
        else if (t->stride == 1)
            winograd_output_block(y, column, b, &f, t, 2, 2, 1);
        else if (t->taps == 2 && t->across == 2)
            winograd_output_block(y, column, b, &f, t, 2, 2, 2);
        else if (t->taps == 2)
            winograd_output_block(y, column, b, &f, t, 2, 1, 2);
        else if (t->across == 2)
            winograd_output_block(y, column, b, &f, t, 1, 2, 2);
        else
            winograd_output_block(y, column, b, &f, t, 1, 1, 2);
    }
}
