/* region_truth.c - what every anchor of every cell is held to, by the true boxes; no gradient.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The rule of YOLO's second version (Redmon and Farhadi, 2017). A true box is learned by the
 * anchor, of the cell that has its centre, whose shape overlaps its own most; where two want
 * the same one, the first has it. All others are background, unless what they put out overlaps
 * a true box by more than r->ignore. Outputs serve for overlaps alone, as constants.
 *
 * outputs [n, anchors, 5 + classes, rows, columns], boxes [n, width] -> [n, anchors, 9, rows,
 * columns]: x and y within the cell, logarithms of w and h over the anchor's, the overlap with
 * the box as it is put out now, its class; then the weights of the place's four, of the object,
 * and of the class.
 */
#include "engine/op/op.h"
#include "engine/op/view.h"

#include "base/real.h"

#include <engram/box.h>

#include <math.h>
#include <string.h>

enum { PLACE_X, PLACE_Y, PLACE_W, PLACE_H, OVERLAP, CLASS, OF_PLACE, OF_OBJECT, OF_CLASS, ALL };

/* One sample; exactly one of each pair is set. */
typedef struct region_view {
    const eg_region *r;
    const float *out, *boxes;
    const double *out_d, *boxes_d;
    float *to;
    double *to_d;
    int64_t width;
} region_view;

static double region_out(const region_view *v, int64_t anchor, int64_t k, int64_t cell)
{
    int64_t cells = v->r->rows * v->r->columns;
    int64_t at = (anchor * (5 + v->r->classes) + k) * cells + cell;
    return v->out ? (double)v->out[at] : v->out_d[at];
}

static void region_put(const region_view *v, int64_t anchor, int k, int64_t cell, double value)
{
    int64_t at = (anchor * ALL + k) * v->r->rows * v->r->columns + cell;
    if (v->to)
        v->to[at] = (float)value;
    else
        v->to_d[at] = value;
}

/* Box i of the sample; false if there is none, or only a crowd. */
static bool region_true(const region_view *v, int64_t i, eg_box *out)
{
    float f[EG_BOX_SIZE];
    for (int k = 0; k < EG_BOX_SIZE; k++)
        f[k] =
            v->boxes ? v->boxes[i * EG_BOX_SIZE + k] : (float)v->boxes_d[i * EG_BOX_SIZE + k];
    memcpy(out, f, sizeof *out);
    return out->label >= 0 && out->label < (float)v->r->classes && out->w > 0 && out->h > 0 &&
           out->x >= 0 && out->x < 1 && out->y >= 0 && out->y < 1;
}

/* The box that an anchor of a cell puts out. */
static eg_box region_box(const region_view *v, int64_t anchor, int64_t cell)
{
    const eg_region *r = v->r;
    double x = 1 / (1 + eg_real_exp(-region_out(v, anchor, 0, cell)));
    double y = 1 / (1 + eg_real_exp(-region_out(v, anchor, 1, cell)));
    double w = r->anchor[anchor][0] * eg_real_exp(fmin(region_out(v, anchor, 2, cell), 20));
    double h = r->anchor[anchor][1] * eg_real_exp(fmin(region_out(v, anchor, 3, cell), 20));
    int64_t row = cell / r->columns, column = cell % r->columns;
    return (eg_box){.x = (float)(((double)column + x) / (double)r->columns),
                    .y = (float)(((double)row + y) / (double)r->rows),
                    .w = (float)w,
                    .h = (float)h};
}

/* The anchor whose shape is most like the box's. */
static int64_t region_anchor(const eg_region *r, const eg_box *b)
{
    int64_t best = 0;
    double most = -1;
    for (int64_t a = 0; a < r->anchors; a++) {
        const eg_box shape = {.w = (float)r->anchor[a][0], .h = (float)r->anchor[a][1]};
        const eg_box size = {.w = b->w, .h = b->h};
        double overlap = eg_box_overlap(&shape, &size);
        if (overlap > most)
            most = overlap, best = a;
    }
    return best;
}

/* Holds every place to background, but for those that overlap a true box well. */
static void region_background(const region_view *v, const eg_box *truth, int64_t n)
{
    const eg_region *r = v->r;
    for (int64_t i = 0; i < r->anchors * r->rows * r->columns; i++) {
        int64_t a = i / (r->rows * r->columns), cell = i % (r->rows * r->columns);
        eg_box box = region_box(v, a, cell);
        bool background = true;
        for (int64_t k = 0; k < n && background; k++)
            background = eg_box_overlap(&box, &truth[k]) <= r->ignore;
        for (int k = 0; k < ALL; k++)
            region_put(v, a, k, cell, 0);
        region_put(v, a, OF_OBJECT, cell, background ? r->background : 0);
    }
}

/* Gives a true box its place. Small ones weigh up to twice as much. */
static void region_learn(const region_view *v, const eg_box *b)
{
    const eg_region *r = v->r;
    double x = (double)b->x * (double)r->columns, y = (double)b->y * (double)r->rows;
    int64_t column = (int64_t)x, row = (int64_t)y, a = region_anchor(r, b);
    int64_t cell = row * r->columns + column;
    eg_box now = region_box(v, a, cell);
    region_put(v, a, PLACE_X, cell, x - (double)column);
    region_put(v, a, PLACE_Y, cell, y - (double)row);
    region_put(v, a, PLACE_W, cell, eg_real_log((double)b->w / r->anchor[a][0]));
    region_put(v, a, PLACE_H, cell, eg_real_log((double)b->h / r->anchor[a][1]));
    region_put(v, a, OVERLAP, cell, eg_box_overlap(&now, b));
    region_put(v, a, CLASS, cell, (double)b->label);
    region_put(v, a, OF_PLACE, cell, r->coordinates * (2 - (double)b->w * (double)b->h));
    region_put(v, a, OF_OBJECT, cell, r->object);
    region_put(v, a, OF_CLASS, cell, r->kinds);
}

static void region_fill(const region_view *v)
{
    eg_box truth[EG_MAX_BOXES];
    int64_t n = 0;
    for (int64_t i = 0; (i + 1) * EG_BOX_SIZE <= v->width && n < EG_MAX_BOXES; i++)
        n += region_true(v, i, &truth[n]);
    region_background(v, truth, n);
    while (n-- > 0) /* the first comes last, and so has the place */
        region_learn(v, &truth[n]);
}

static void region_truth_reference(const eg_node *y, const double *const *in, double *out)
{
    int64_t n = y->shape.dim[0], from = eg_shape_size(y->in[0]->shape) / n;
    int64_t to = eg_shape_size(y->shape) / n;
    for (int64_t i = 0; i < n; i++) {
        region_view v = {.r = y->attr, .width = y->in[1]->shape.dim[1]};
        v.out_d = in[0] + i * from, v.boxes_d = in[1] + i * v.width, v.to_d = out + i * to;
        region_fill(&v);
    }
}

static eg_status region_truth_run(const eg_step *s)
{
    const eg_node *y = s->node;
    int64_t n = y->shape.dim[0], from = eg_shape_size(y->in[0]->shape) / n;
    int64_t to = eg_shape_size(y->shape) / n;
    for (int64_t i = 0; i < n; i++) {
        region_view v = {.r = y->attr, .width = y->in[1]->shape.dim[1]};
        v.out = s->in[0]->data + i * from, v.boxes = s->in[1]->data + i * v.width;
        v.to = s->out[0]->data + i * to;
        region_fill(&v);
    }
    return EG_OK;
}

static eg_status region_truth_emit(eg_plan *p, const eg_node *y)
{
    eg_value *in[] = {eg_plan_read(p, y->in[0], EG_ROWMAJOR),
                      eg_plan_read(p, y->in[1], EG_ROWMAJOR)};
    eg_value *out = eg_plan_write(p, y, EG_ROWMAJOR);
    return eg_plan_step(p, y, region_truth_run, 2, in, 1, &out) ? EG_OK : EG_ENOMEM;
}

/* Two anchors, two classes, a grid of 2 by 3. Each row of boxes is drawn from [0, 1): its
 * classes are 0. */
static eg_node *region_truth_sample(eg_graph *g, int i)
{
    static const eg_region r = {.rows = 2,
                                .columns = 3,
                                .anchors = 2,
                                .classes = 2,
                                .anchor = {{0.2, 0.3}, {0.6, 0.4}},
                                .coordinates = 1,
                                .object = 5,
                                .background = 1,
                                .kinds = 1,
                                .ignore = 0.4};
    return i > 0 ? NULL
                 : eg_region_truth(g, eg_sample_input(g, eg_dims(3, 2 * 7 * 6), -1, 1),
                                   eg_sample_input(g, eg_dims(3, 15), 0.05, 0.95), &r);
}

const eg_op eg_op_region_truth = {.name = "region_truth",
                                  .reference = region_truth_reference,
                                  .emit = region_truth_emit,
                                  .sample = region_truth_sample,
                                  .no_vjp = "what is learned is a constant"};

eg_node *eg_region_truth(eg_graph *g, eg_node *outputs, eg_node *boxes, const eg_region *r)
{
    if (eg_is_poison(outputs) || eg_is_poison(boxes))
        return g->poison;
    int64_t n = outputs->shape.dim[0];
    int64_t wanted = n * r->anchors * (5 + r->classes) * r->rows * r->columns;
    if (eg_shape_size(outputs->shape) != wanted || boxes->shape.rank != 2 ||
        boxes->shape.dim[0] != n || boxes->shape.dim[1] % EG_BOX_SIZE != 0)
        return eg_poison(g, EG_ESHAPE,
                         "region_truth: %lld outputs and boxes [%lld, %lld] do not fit %lld "
                         "rows of %lld anchors, %lld classes and %lldx%lld cells",
                         (long long)eg_shape_size(outputs->shape),
                         (long long)boxes->shape.dim[0], (long long)boxes->shape.dim[1],
                         (long long)n, (long long)r->anchors, (long long)r->classes,
                         (long long)r->rows, (long long)r->columns);
    return eg_graph_record(g, &eg_op_region_truth,
                           eg_dims(n, r->anchors, ALL, r->rows, r->columns), r, sizeof *r, 2,
                           (eg_node *[]){outputs, boxes});
}
