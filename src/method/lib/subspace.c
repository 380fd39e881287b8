/* subspace.c - finds layers, looks at what they are fed, and projects updates off it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "method/lib/subspace.h"

#include "base/base.h"
#include "engine/graph/graph.h"
#include "engine/graph/kernel.h"
#include "engine/model/net.h"
#include "engine/op/op.h"
#include "io/lapack.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUBSPACE_INPUTS = 1024 }; /* that are multiplied at once */

typedef struct subspace_name {
    char text[160];
} subspace_name;

static subspace_name subspace_named(const eg_subspaces *s, const char *prefix, size_t i)
{
    subspace_name name;
    const char *tensor = eg_params_at(eg_net_params(s->net), s->at[i].tensor)->name;
    snprintf(name.text, sizeof name.text, "%s.%s", prefix, tensor);
    return name;
}

static subspace_name subspace_input(size_t i)
{
    subspace_name name;
    snprintf(name.text, sizeof name.text, "input %zu", i);
    return name;
}

/* Whether a node multiplies its input with weights that are trained, as layers do. */
static bool subspace_is_layer(const eg_node *node)
{
    bool multiplies = node->op == &eg_op_linear || node->op == &eg_op_conv2d;
    if (!multiplies || node->in[1]->op != &eg_op_param)
        return false;
    const eg_param_attr *attr = node->in[1]->attr;
    return eg_params_at(attr->table, attr->index)->trained;
}

static size_t subspace_tensor(const eg_node *layer)
{
    const eg_param_attr *attr = layer->in[1]->attr;
    return attr->index;
}

/* Describes layer i by its node. */
static eg_status subspaces_add(eg_subspaces *s, const eg_node *node)
{
    const eg_shape *w = &node->in[1]->shape, *x = &node->in[0]->shape;
    eg_subspace l = {.tensor = subspace_tensor(node),
                     .out = w->dim[0],
                     .d = eg_shape_size(*w) / w->dim[0],
                     .in = eg_shape_of(x->rank - 1, x->dim + 1)};
    if (node->op == &eg_op_conv2d) {
        l.window = *(const eg_window *)node->attr;
        l.window.kernel = w->dim[2]; /* which the node leaves to the weights */
    }
    if (l.window.groups > 1)
        return eg_fail(EG_ENOTSUP, "'%s' is a convolution in groups",
                       eg_params_at(eg_net_params(s->net), l.tensor)->name);
    s->at[s->n++] = l;
    return EG_OK;
}

/* Walks the layers of a graph of one row, and makes room for the largest. */
static eg_status subspaces_find(eg_subspaces *s, const eg_graph *g, bool head)
{
    size_t first, side, most = 0;
    eg_net_heads(s->net, &first, &side);
    for (size_t i = 0; i < g->n_nodes; i++) {
        const eg_node *node = g->nodes[i];
        if (!subspace_is_layer(node) || (!head && subspace_tensor(node) >= first))
            continue;
        EG_TRY(subspaces_add(s, node));
        size_t size = (size_t)(s->at[s->n - 1].out * s->at[s->n - 1].d);
        most = size > most ? size : most;
    }
    return eg_alloc(most, sizeof *s->room, &s->room);
}

static eg_node *subspaces_record(const eg_net *net, eg_graph *g, int64_t batch)
{
    const eg_net_spec *spec = eg_net_spec_of(net);
    eg_graph_set_training(g, false);
    return eg_net_forward(
        net, g, eg_input(g, "x", eg_dims(batch, spec->channels, spec->height, spec->width)));
}

eg_status eg_subspaces_init(eg_subspaces *s, const eg_net *net, bool head)
{
    eg_graph *g;
    *s = (eg_subspaces){.net = net};
    EG_TRY(eg_alloc(eg_params_n(eg_net_params(net)), sizeof *s->at, &s->at));
    EG_TRY(eg_graph_new(&g));
    subspaces_record(net, g, 1);
    eg_status status = eg_graph_status(g);
    if (status == EG_OK)
        status = subspaces_find(s, g, head);
    eg_graph_free(g);
    return status;
}

void eg_subspaces_fini(eg_subspaces *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->at[i].u);
        free(s->at[i].projector);
    }
    free(s->at);
    free(s->room);
    *s = (eg_subspaces){0};
}

eg_status eg_subspaces_put(const eg_subspaces *s, const char *prefix, eg_bundle *to)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].m > 0)
            EG_TRY(eg_bundle_add(to, subspace_named(s, prefix, i).text,
                                 eg_dims(s->at[i].d, s->at[i].m), s->at[i].u));
    return EG_OK;
}

eg_status eg_subspaces_take(eg_subspaces *s, const char *prefix, const eg_bundle *from)
{
    for (size_t i = 0; i < s->n; i++) {
        eg_subspace *l = &s->at[i];
        size_t n;
        const float *u = eg_bundle_find(from, subspace_named(s, prefix, i).text, &n);
        if (!u)
            continue;
        if (n == 0 || n % (size_t)l->d || n > (size_t)(l->d * l->d))
            return eg_fail(EG_ESHAPE, "'%s' has %zu values for %lld inputs",
                           subspace_named(s, prefix, i).text, n, (long long)l->d);
        EG_TRY(eg_alloc(n, sizeof *l->u, &l->u));
        memcpy(l->u, u, n * sizeof *u);
        l->m = (int64_t)n / l->d;
    }
    return EG_OK;
}

/* Records the network with the input of every layer as an output; context is the net. */
static void subspaces_record_inputs(void *context, eg_graph *g, int64_t batch)
{
    const eg_net *net = context;
    size_t n = 0;
    subspaces_record(net, g, batch);
    for (size_t i = 0, there = g->n_nodes; i < there; i++)
        if (subspace_is_layer(g->nodes[i]))
            eg_output(g, subspace_input(n++).text, g->nodes[i]->in[0]);
}

/* The patch of x [c, h, w] that a window sees at place (y0, x0): out [c, k, k], in the order of
 * the weights. What lies outside is 0. */
static void subspace_patch(const eg_subspace *l, const float *x, int64_t y0, int64_t x0,
                           double *out)
{
    int64_t k = l->window.kernel, h = l->in.dim[1], w = l->in.dim[2];
    for (int64_t c = 0; c < l->in.dim[0]; c++)
        for (int64_t r = 0; r < k; r++)
            for (int64_t q = 0; q < k; q++, out++) {
                int64_t y = y0 + r, z = x0 + q;
                bool inside = y >= 0 && y < h && z >= 0 && z < w;
                *out = inside ? (double)x[(c * h + y) * w + z] : 0;
            }
}

/* How many inputs one row gives the layer. */
static int64_t subspace_places(const eg_subspace *l, int64_t *across)
{
    const eg_window *win = &l->window;
    *across = 1;
    if (win->kernel == 0)
        return 1;
    *across = (l->in.dim[2] + 2 * win->padding - win->kernel) / win->stride + 1;
    return ((l->in.dim[1] + 2 * win->padding - win->kernel) / win->stride + 1) * *across;
}

/* The inputs that one row gives a layer: out [places, d]. */
static void subspace_unfold(const eg_subspace *l, const float *row, int64_t places,
                            int64_t across, double *out)
{
    const eg_window *win = &l->window;
    for (int64_t j = 0; j < (win->kernel ? 0 : l->d); j++)
        out[j] = (double)row[j];
    for (int64_t p = 0; p < (win->kernel ? places : 0); p++)
        subspace_patch(l, row, p / across * win->stride - win->padding,
                       p % across * win->stride - win->padding, out + p * l->d);
}

/* Adds the inputs that n rows give a layer, about a thousand at once. */
static eg_status subspace_add(const eg_subspace *l, const float *rows, int64_t n, double *sum)
{
    int64_t across, places = subspace_places(l, &across), size = eg_shape_size(l->in);
    int64_t most = 1 + SUBSPACE_INPUTS / places; /* rows at once */
    double *x;                                   /* [most places, d] */
    eg_status s = EG_OK;
    EG_TRY(eg_alloc((size_t)(most * places * l->d), sizeof *x, &x));
    for (int64_t i = 0, some; i < n && s == EG_OK; i += some) {
        some = n - i < most ? n - i : most;
        for (int64_t k = 0; k < some; k++)
            subspace_unfold(l, rows + (i + k) * size, places, across, x + k * places * l->d);
        s = eg_matrix_product(&(eg_gemm){l->d, l->d, some * places, true, false, 1, 1}, x, x,
                              sum);
    }
    free(x);
    return s;
}

static eg_status subspaces_look(const eg_subspaces *s, eg_client *c, const eg_sample *samples,
                                int64_t n, double **sums)
{
    int64_t size = c->train->batch;
    eg_program *program;
    float *labels;
    EG_TRY(eg_worker_program(c->worker, "subspace.inputs", subspaces_record_inputs,
                             (void *)(uintptr_t)s->net, &program));
    EG_TRY(eg_program_bind(program, eg_net_params(s->net), c->param, NULL, c->state));
    EG_TRY(eg_alloc((size_t)(size * c->aim->width), sizeof *labels, &labels));
    eg_status status = EG_OK;
    for (int64_t i = 0; i < n && status == EG_OK; i += size) {
        int64_t rows = n - i < size ? n - i : size;
        eg_plan *plan = NULL;
        status = eg_program_plan(program, rows, &plan);
        if (status == EG_OK) {
            eg_client_feed(c, samples + i, rows, eg_plan_input(plan, "x"), labels);
            status = eg_plan_run(plan);
        }
        for (size_t k = 0; k < s->n && status == EG_OK; k++)
            status = subspace_add(&s->at[k], eg_plan_output(plan, subspace_input(k).text), rows,
                                  sums[k]);
    }
    free(labels);
    return status;
}

void eg_subspaces_free(const eg_subspaces *s, double **sums)
{
    for (size_t k = 0; sums && k < s->n; k++)
        free(sums[k]);
    free(sums);
}

eg_status eg_subspaces_inputs(const eg_subspaces *s, eg_client *c, const eg_sample *samples,
                              int64_t n, double ***sums)
{
    eg_status status = EG_OK;
    EG_TRY(eg_alloc(s->n, sizeof **sums, sums));
    for (size_t k = 0; k < s->n && status == EG_OK; k++)
        status = eg_alloc((size_t)(s->at[k].d * s->at[k].d), sizeof ***sums, &(*sums)[k]);
    if (status == EG_OK)
        status = subspaces_look(s, c, samples, n, *sums);
    if (status != EG_OK) {
        eg_subspaces_free(s, *sums);
        *sums = NULL;
    }
    return status;
}

double eg_subspace_energy(const eg_subspace *l, const double *sum)
{
    double trace = 0;
    for (int64_t i = 0; i < l->d; i++)
        trace += sum[i * l->d + i];
    return trace;
}

/* U in double precision, with room for more columns: [d, columns]. */
static eg_status subspace_wide(const eg_subspace *l, int64_t columns, double **out)
{
    EG_TRY(eg_alloc((size_t)(l->d * columns), sizeof **out, out));
    for (int64_t i = 0; i < l->d; i++)
        for (int64_t j = 0; j < l->m; j++)
            (*out)[i * columns + j] = (double)l->u[i * l->m + j];
    return EG_OK;
}

/* Takes what lies along U from the rows of sum; room [d, m]. */
static eg_status subspace_cut(const eg_subspace *l, const double *u, double *sum, double *room)
{
    EG_TRY(eg_matrix_product(&(eg_gemm){l->d, l->m, l->d, false, false, 1, 0}, sum, u, room));
    return eg_matrix_product(&(eg_gemm){l->d, l->d, l->m, false, true, -1, 1}, room, u, sum);
}

static void subspace_turn(int64_t d, double *sum)
{
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < i; j++) {
            double other = sum[i * d + j];
            sum[i * d + j] = sum[j * d + i];
            sum[j * d + i] = other;
        }
}

eg_status eg_subspace_rest(eg_subspace *l, double *sum)
{
    double *u = NULL, *room = NULL;
    if (l->m == 0)
        return EG_OK;
    EG_TRY(subspace_wide(l, l->m, &u));
    eg_status s = eg_alloc((size_t)(l->d * l->m), sizeof *room, &room);
    for (int side = 0; side < 2 && s == EG_OK; side++) {
        s = subspace_cut(l, u, sum, room);
        subspace_turn(l->d, sum);
    }
    free(u);
    free(room);
    return s;
}

/* How many leading ones of the values w [d], rising, have a fraction of their sum. What is not
 * above rounding is none. */
static int64_t subspace_count(const double *w, int64_t d, double fraction)
{
    double all = 0, have = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < d; i++)
        all += fmax(0, w[i]);
    while (n < d && have < fraction * all && w[d - 1 - n] > 1e-12 * all)
        have += w[d - 1 - n++];
    return n;
}

/* Puts the last `more` of the rows v [d, d] beside U and makes all columns orthonormal. */
static eg_status subspace_join(eg_subspace *l, const double *v, int64_t more)
{
    int64_t m = l->m + more;
    double *wide;
    float *u = NULL;
    EG_TRY(subspace_wide(l, m, &wide));
    for (int64_t k = 0; k < more; k++)
        for (int64_t i = 0; i < l->d; i++)
            wide[i * m + l->m + k] = v[(l->d - 1 - k) * l->d + i];
    eg_status s = eg_matrix_qr(l->d, m, wide);
    if (s == EG_OK)
        s = eg_alloc((size_t)(l->d * m), sizeof *u, &u);
    for (int64_t i = 0; s == EG_OK && i < l->d * m; i++)
        u[i] = (float)wide[i];
    free(wide);
    EG_TRY(s);
    free(l->u);
    free(l->projector);
    l->u = u, l->m = m, l->projector = NULL;
    return EG_OK;
}

eg_status eg_subspace_extend(eg_subspace *l, double *rest, double fraction, int64_t less)
{
    double *w; /* [d] */
    if (!(fraction > 0))
        return EG_OK;
    EG_TRY(eg_alloc((size_t)l->d, sizeof *w, &w));
    eg_status s = eg_matrix_eigen(l->d, rest, w, true);
    int64_t more = s == EG_OK ? subspace_count(w, l->d, fraction) - less : 0;
    if (more > l->d - l->m)
        more = l->d - l->m;
    if (more > 0)
        s = subspace_join(l, rest, more);
    free(w);
    return s;
}

static eg_status subspace_project(eg_subspace *l, float *g, float *room)
{
    const eg_kernels *k = eg_kernels_get();
    if (!l->projector) {
        const int64_t square[] = {l->d, l->d, l->m};
        EG_TRY(eg_alloc((size_t)(l->d * l->d), sizeof *l->projector, &l->projector));
        k->linear(l->projector, l->u, l->u, NULL, false, square);
    }
    const int64_t mnk[] = {l->out, l->d, l->d};
    k->linear(room, g, l->projector, NULL, false, mnk);
    k->axpy(g, -1, room, (size_t)(l->out * l->d));
    return EG_OK;
}

eg_status eg_subspaces_project(eg_subspaces *s, float *update)
{
    for (size_t i = 0; i < s->n; i++) {
        const eg_param_info *info = eg_params_at(eg_net_params(s->net), s->at[i].tensor);
        if (s->at[i].m > 0)
            EG_TRY(subspace_project(&s->at[i], update + info->offset, s->room));
    }
    return EG_OK;
}
