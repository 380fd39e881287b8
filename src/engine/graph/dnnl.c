/* dnnl.c - convolutions, products and layout changes by oneDNN, each as steps of a plan.
 * SPDX-License-Identifier: Apache-2.0
 *
 * For a team a convolution is cut into primitives over fewer samples, or for the weights over
 * fewer results: each sum is the same one then. They are made beside the whole one.
 */
/* size: all that uses the library is in here. */
#include "engine/graph/dnnl.h"

#include "engine/graph/dnnl_calls.h"
#include "engine/graph/plan_private.h"

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct eg_dnnl {
    dnnl_stream_t stream;
};

enum { ONEDNN_MAX_ARGS = 6 };

/* One primitive with its memories; memory i shows the data of value i. */
typedef struct onednn_call {
    dnnl_primitive_t primitive;
    dnnl_stream_t stream;
    int n;
    dnnl_exec_arg_t args[ONEDNN_MAX_ARGS];
    eg_value *values[ONEDNN_MAX_ARGS];
    size_t at[ONEDNN_MAX_ARGS];  /* where in a value's data it begins, in floats */
    struct onednn_call **pieces; /* the same for some samples each, for a team; NULL: none */
    int n_pieces;
    size_t
        samples; /* of a piece that has a copy of its own of in[1]'s channels; 0: it has none */
} onednn_call;

static pthread_once_t onednn_once = PTHREAD_ONCE_INIT;
static dnnl_engine_t onednn_cpu_engine; /* made once, then only read */
static dnnl_status_t onednn_engine_status;

/* Holds the library to the instruction set that was chosen, which it lets be done once. */
static dnnl_status_t onednn_cap(void)
{
    if (!eg_isa_wished())
        return dnnl_success;
    const char *isa = eg_isa_name();
    return dnnl_set_max_cpu_isa(strcmp(isa, "avx512") == 0 ? dnnl_cpu_isa_avx512_core
                                : strcmp(isa, "avx2") == 0 ? dnnl_cpu_isa_avx2
                                                           : dnnl_cpu_isa_sse41);
}

static void onednn_make_engine(void)
{
    onednn_engine_status = onednn_cap();
    if (onednn_engine_status == dnnl_success)
        onednn_engine_status = eg_dnnl_engine_create(&onednn_cpu_engine);
}

static eg_status onednn_check(dnnl_status_t s, const char *what)
{
    if (s == dnnl_success)
        return EG_OK;
    return s == dnnl_out_of_memory ? eg_fail(EG_ENOMEM, "oneDNN: no memory for %s", what)
                                   : eg_fail(EG_ENOTSUP, "oneDNN: %s gives status %d", what, s);
}

#define ONEDNN_TRY(call) EG_TRY(onednn_check((call), #call))

void eg_dnnl_enter(void)
{
    omp_set_num_threads(1);
}

eg_status eg_dnnl_open(eg_dnnl **out)
{
    eg_dnnl_enter();
    pthread_once(&onednn_once, onednn_make_engine);
    EG_TRY(onednn_check(onednn_engine_status, "its engine"));
    *out = calloc(1, sizeof **out);
    if (!*out)
        return eg_fail(EG_ENOMEM, "no memory for a oneDNN stream");
    ONEDNN_TRY(eg_dnnl_stream_create(&(*out)->stream, onednn_cpu_engine));
    return EG_OK;
}

void eg_dnnl_close(eg_dnnl *d)
{
    if (d && d->stream)
        dnnl_stream_destroy(d->stream);
    free(d);
}

static eg_status onednn_run(const eg_step *s)
{
    const onednn_call *c = s->args;
    dnnl_status_t status = eg_dnnl_execute(c->primitive, c->stream, c->n, c->args);
    return status == dnnl_success ? EG_OK : onednn_check(status, "dnnl_primitive_execute");
}

static void onednn_bind_call(onednn_call *c)
{
    for (int i = 0; i < c->n; i++)
        eg_dnnl_memory_set(c->args[i].memory, c->values[i]->data + c->at[i]);
}

static void onednn_bind(eg_step *s)
{
    onednn_call *c = s->args;
    onednn_bind_call(c);
    for (int i = 0; i < c->n_pieces; i++)
        onednn_bind_call(c->pieces[i]);
}

static void onednn_fini_call(onednn_call *c)
{
    for (int i = 0; i < c->n; i++)
        dnnl_memory_destroy(c->args[i].memory);
    if (c->primitive)
        dnnl_primitive_destroy(c->primitive);
}

static void onednn_fini(eg_step *s)
{
    onednn_call *c = s->args;
    onednn_fini_call(c);
    for (int i = 0; i < c->n_pieces; i++)
        onednn_fini_call(c->pieces[i]);
}

/* Piece i's channels of dy, one sample after the other: it takes no dy that has gaps. */
static void onednn_slice(const eg_step *s, const onednn_call *c, int i)
{
    const onednn_call *piece = c->pieces[i];
    size_t n = piece->samples;
    size_t all = s->in[1]->bytes / sizeof(float) / n, own = all / (size_t)c->n_pieces;
    float *to = piece->values[1]->data + piece->at[1];
    for (size_t k = 0; k < n; k++)
        memcpy(to + k * own, s->in[1]->data + k * all + (size_t)i * own, own * sizeof *to);
}

static eg_status onednn_share(const eg_step *s, const eg_team_part *part)
{
    const onednn_call *c = s->args;
    for (int i = part->i; i < c->n_pieces; i += part->n) {
        const onednn_call *piece = c->pieces[i];
        if (piece->samples)
            onednn_slice(s, c, i);
        EG_TRY(onednn_check(
            eg_dnnl_execute(piece->primitive, piece->stream, piece->n, piece->args),
            "dnnl_primitive_execute"));
    }
    return EG_OK;
}

/* A described primitive, its arguments and where their data is; inputs first. */
typedef struct onednn_job {
    dnnl_primitive_desc_t desc;
    int n_in, n; /* inputs, all */
    int arg[ONEDNN_MAX_ARGS];
    const dnnl_memory_desc_t *md[ONEDNN_MAX_ARGS];
    eg_value *value[ONEDNN_MAX_ARGS];
} onednn_job;

static void onednn_job_add(onednn_job *j, int arg, dnnl_query_t query, int index,
                           eg_value *value)
{
    j->md[j->n] = dnnl_primitive_desc_query_md(j->desc, query, index);
    j->arg[j->n] = arg;
    j->value[j->n++] = value;
}

/* Makes what a call executes of a described job. */
static eg_status onednn_make(const eg_plan *p, const onednn_job *j, onednn_call *c)
{
    c->stream = p->dnnl->stream;
    ONEDNN_TRY(eg_dnnl_primitive_create(&c->primitive, j->desc));
    for (int i = 0; i < j->n; i++) {
        c->args[i].arg = j->arg[i];
        c->values[i] = j->value[i];
        ONEDNN_TRY(eg_dnnl_memory_create(&c->args[i].memory, j->md[i], onednn_cpu_engine));
        c->n = i + 1;
    }
    return EG_OK;
}

/* Turns a job into a step. The primitive's own scratch memory is laid out with the plan's;
 * extra is one more output of the step, unknown to the primitive and put first, or NULL. */
static eg_status onednn_emit(eg_plan *p, const eg_node *node, onednn_job *j, eg_value *extra,
                             eg_step **out)
{
    const dnnl_memory_desc_t *scratch =
        dnnl_primitive_desc_query_md(j->desc, dnnl_query_scratchpad_md, 0);
    size_t bytes = scratch ? dnnl_memory_desc_get_size(scratch) : 0;
    if (bytes) {
        j->md[j->n] = scratch;
        j->arg[j->n] = DNNL_ARG_SCRATCHPAD;
        j->value[j->n++] = eg_plan_scratch(p, bytes);
    }
    eg_value *outs[ONEDNN_MAX_ARGS + 1] = {extra};
    int n_extra = extra != NULL, n_out = j->n - j->n_in;
    memcpy(outs + n_extra, j->value + j->n_in, (size_t)n_out * sizeof(eg_value *));
    onednn_call *c = eg_plan_alloc(p, sizeof *c);
    eg_step *s = eg_plan_step(p, node, onednn_run, j->n_in, j->value, n_out + n_extra, outs);
    if (!c || !s)
        return EG_ENOMEM;
    s->args = c;
    s->bind = onednn_bind;
    s->fini = onednn_fini;
    dnnl_primitive_desc_query(j->desc, dnnl_query_impl_info_str, 0, (void *)&s->kernel);
    size_t length = strlen(s->kernel) + 1;
    char *kernel = eg_plan_alloc(p, length);
    if (!kernel)
        return EG_ENOMEM;
    memcpy(kernel, s->kernel, length); /* the description dies before the plan */
    s->kernel = kernel;
    EG_TRY(onednn_make(p, j, c));
    if (out)
        *out = s;
    return EG_OK;
}

static dnnl_format_tag_t onednn_tag(const eg_plan *p, eg_layout layout)
{
    if (layout == EG_ROWMAJOR)
        return dnnl_nchw;
    return p->k->width == 16 ? dnnl_nChw16c : dnnl_nChw8c;
}

static eg_status onednn_describe(dnnl_memory_desc_t *md, int rank, const int64_t *dims,
                                 dnnl_format_tag_t tag)
{
    dnnl_dims_t d = {0};
    memcpy(d, dims, (size_t)rank * sizeof *d);
    ONEDNN_TRY(dnnl_memory_desc_init_by_tag(md, rank, d, dnnl_f32, tag));
    return EG_OK;
}

static eg_status onednn_attr(dnnl_primitive_attr_t *attr, bool relu)
{
    ONEDNN_TRY(eg_dnnl_attr_create(attr));
    ONEDNN_TRY(dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user));
    if (relu)
        ONEDNN_TRY(eg_dnnl_attr_set_relu(*attr));
    return EG_OK;
}

/* Copies between two descriptions of the same tensor. */
static eg_status onednn_reorder(eg_plan *p, const eg_node *node, eg_value *from,
                                const dnnl_memory_desc_t *from_md, eg_value *to,
                                const dnnl_memory_desc_t *to_md)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t desc = NULL;
    eg_step *step = NULL;
    eg_status s = onednn_attr(&attr, false);
    if (s == EG_OK)
        s = onednn_check(
            eg_dnnl_reorder_desc_create(&desc, onednn_cpu_engine, from_md, to_md, attr),
            "reorder");
    if (s == EG_OK) {
        onednn_job j = {.desc = desc,
                        .n_in = 1,
                        .n = 2,
                        .arg = {DNNL_ARG_FROM, DNNL_ARG_TO},
                        .md = {from_md, to_md},
                        .value = {from, to}};
        s = onednn_emit(p, node, &j, NULL, &step);
    }
    if (step)
        step->reorder = true;
    if (desc)
        dnnl_primitive_desc_destroy(desc);
    dnnl_primitive_attr_destroy(attr);
    return s;
}

eg_status eg_dnnl_relayout(eg_plan *p, const eg_node *x, eg_value *from, eg_value *to)
{
    dnnl_memory_desc_t a, b;
    EG_TRY(onednn_describe(&a, 4, x->shape.dim, onednn_tag(p, from->layout)));
    EG_TRY(onednn_describe(&b, 4, x->shape.dim, onednn_tag(p, to->layout)));
    EG_TRY(onednn_reorder(p, x, from, &a, to, &b));
    p->steps[p->n_steps - 1].activation = true;
    return EG_OK;
}

/* Activations stay blocked, if all their channels fill blocks; an image of few channels is read
 * as it is. */
static eg_layout onednn_conv_layout(const eg_plan *p, const eg_conv *c, int64_t channels)
{
    int64_t ic = c->ic / c->groups, oc = c->oc / c->groups, v = p->k->width;
    bool few = ic <= 4 && c->groups == 1;
    return oc % v || (!few && ic % v) || (few && channels == c->ic) ? EG_ROWMAJOR : EG_BLOCKED;
}

/* The descriptions of a convolution's tensors as the plan wants them. */
typedef struct onednn_conv_mds {
    dnnl_memory_desc_t x, w, w_rowmajor, b, y;
    eg_layout x_layout, y_layout;
} onednn_conv_mds;

static eg_status onednn_describe_conv(const eg_plan *p, const eg_conv *c, onednn_conv_mds *m)
{
    const int64_t x[] = {c->n, c->ic, c->h, c->w}, y[] = {c->n, c->oc, c->oh, c->ow};
    const int64_t w[] = {c->groups, c->oc / c->groups, c->ic / c->groups, c->kh, c->kw};
    bool grouped = c->groups > 1;
    m->x_layout = onednn_conv_layout(p, c, c->ic);
    m->y_layout = onednn_conv_layout(p, c, c->oc);
    EG_TRY(onednn_describe(&m->x, 4, x, onednn_tag(p, m->x_layout)));
    EG_TRY(onednn_describe(&m->y, 4, y, onednn_tag(p, m->y_layout)));
    EG_TRY(onednn_describe(&m->w, grouped ? 5 : 4, grouped ? w : w + 1, dnnl_format_tag_any));
    EG_TRY(onednn_describe(&m->w_rowmajor, grouped ? 5 : 4, grouped ? w : w + 1,
                           grouped ? dnnl_goihw : dnnl_oihw));
    return onednn_describe(&m->b, 1, &c->oc, dnnl_a);
}

static eg_status onednn_conv_desc(const eg_conv *c, const onednn_conv_mds *m, eg_conv_pass pass,
                                  bool bias, bool relu, dnnl_primitive_desc_t hint,
                                  dnnl_primitive_desc_t *out)
{
    dnnl_dims_t stride = {c->stride, c->stride}, low = {c->padding, c->padding};
    /* What the last window does not reach needs no padding: right = (o - 1) s + k - size -
     * left. */
    dnnl_dims_t high = {(c->oh - 1) * c->stride + c->kh - c->h - c->padding,
                        (c->ow - 1) * c->stride + c->kw - c->w - c->padding};
    dnnl_convolution_desc_t d;
    dnnl_alg_kind_t alg = dnnl_convolution_direct;
    if (pass == EG_CONV_FORWARD)
        ONEDNN_TRY(dnnl_convolution_forward_desc_init(&d, dnnl_forward_training, alg, &m->x,
                                                      &m->w, bias ? &m->b : NULL, &m->y, stride,
                                                      low, high));
    else if (pass == EG_CONV_BACK_DATA)
        ONEDNN_TRY(dnnl_convolution_backward_data_desc_init(&d, alg, &m->x, &m->w, &m->y,
                                                            stride, low, high));
    else
        ONEDNN_TRY(dnnl_convolution_backward_weights_desc_init(&d, alg, &m->x, &m->w, NULL,
                                                               &m->y, stride, low, high));
    dnnl_primitive_attr_t attr = NULL;
    eg_status s = onednn_attr(&attr, relu);
    if (s == EG_OK)
        s = onednn_check(eg_dnnl_desc_create(out, &d, attr, onednn_cpu_engine, hint),
                         "convolution");
    dnnl_primitive_attr_destroy(attr);
    return s;
}

/* Makes the description of one pass; the backward ones need the forward one as a hint. */
static eg_status onednn_conv_pass(const eg_conv *c, const onednn_conv_mds *m, eg_conv_pass pass,
                                  bool bias, bool relu, dnnl_primitive_desc_t *out)
{
    if (pass == EG_CONV_FORWARD)
        return onednn_conv_desc(c, m, pass, bias, relu, NULL, out);
    dnnl_primitive_desc_t forward = NULL;
    EG_TRY(onednn_conv_desc(c, m, EG_CONV_FORWARD, false, false, NULL, &forward));
    eg_status s = onednn_conv_desc(c, m, pass, false, false, forward, out);
    dnnl_primitive_desc_destroy(forward);
    return s;
}

eg_status eg_dnnl_is_reference(const eg_plan *p, eg_conv_pass pass, const eg_conv *c, bool *out)
{
    onednn_conv_mds m;
    EG_TRY(onednn_describe_conv(p, c, &m));
    dnnl_primitive_desc_t desc = NULL;
    EG_TRY(onednn_conv_pass(c, &m, pass, false, false, &desc));
    const char *name = "";
    dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, (void *)&name);
    *out = strncmp(name, "ref", 3) == 0;
    dnnl_primitive_desc_destroy(desc);
    return EG_OK;
}

/* The weights in the form a pass wants: packed by a step of their own, unless row-major will
 * do. */
static eg_status onednn_pack(eg_plan *p, const eg_node *weights, dnnl_primitive_desc_t desc,
                             const dnnl_memory_desc_t *rowmajor, eg_value **out)
{
    const dnnl_memory_desc_t *want =
        dnnl_primitive_desc_query_md(desc, dnnl_query_weights_md, 0);
    eg_value *from = eg_plan_read(p, weights, EG_ROWMAJOR);
    *out = from;
    if (!from || dnnl_memory_desc_equal(want, rowmajor))
        return from ? EG_OK : EG_ENOMEM;
    *out = eg_plan_scratch(p, dnnl_memory_desc_get_size(want));
    return *out ? onednn_reorder(p, weights, from, rowmajor, *out, want) : EG_ENOMEM;
}

/* A pass in n pieces: over some of the samples each, or for the weights, whose sums go over all
 * samples, for some of the results each. */
typedef struct onednn_pieces {
    dnnl_primitive_desc_t desc;
    int n;
    bool by_result;
    size_t slice;    /* bytes of a piece's own copy of dy, if it is cut by results */
    size_t samples;  /* that are in it */
    size_t room;     /* bytes that each needs, this copy and scratch memory */
    eg_value *rooms; /* of all; NULL: none are needed */
} onednn_pieces;

/* The most equal pieces, not more than the team has threads. */
static int onednn_count_pieces(int64_t units, int team)
{
    for (int n = team; n > 1; n--)
        if (units % n == 0)
            return n;
    return 1;
}

/* Whether two tensors lie alike, though one may have more results, which are outermost. */
static bool onednn_lie_alike(const dnnl_memory_desc_t *a, const dnnl_memory_desc_t *b)
{
    const dnnl_blocking_desc_t *x = &a->format_desc.blocking, *y = &b->format_desc.blocking;
    size_t axes = (size_t)a->ndims * sizeof(dnnl_dim_t);
    size_t inner = (size_t)x->inner_nblks * sizeof(dnnl_dim_t);
    return a->format_kind == dnnl_blocked && b->format_kind == dnnl_blocked &&
           a->ndims == b->ndims && x->inner_nblks == y->inner_nblks &&
           memcmp(x->strides, y->strides, axes) == 0 &&
           memcmp(x->inner_blks, y->inner_blks, inner) == 0 &&
           memcmp(x->inner_idxs, y->inner_idxs, inner) == 0;
}

/* Whether a piece has the weights as the whole has them; those of a piece's results stand
 * together if this is so. */
static bool onednn_same_weights(dnnl_primitive_desc_t whole, dnnl_primitive_desc_t piece,
                                bool by_result)
{
    dnnl_query_t query = by_result ? dnnl_query_diff_weights_md : dnnl_query_weights_md;
    const dnnl_memory_desc_t *a = dnnl_primitive_desc_query_md(whole, query, 0);
    const dnnl_memory_desc_t *b = dnnl_primitive_desc_query_md(piece, query, 0);
    return by_result ? onednn_lie_alike(a, b) : dnnl_memory_desc_equal(a, b);
}

/* Describes the pieces of a pass; n is 1 if it is left whole. */
static eg_status onednn_cut(eg_plan *p, const eg_conv *c, eg_conv_pass pass, bool bias,
                            bool relu, const onednn_job *j, onednn_pieces *out)
{
    eg_conv some = *c;
    onednn_conv_mds m;
    int team = eg_plan_team(p);
    out->by_result = pass == EG_CONV_BACK_WEIGHTS;
    if (!out->by_result)
        out->n = onednn_count_pieces(c->n, team);
    else if (c->groups == 1 && c->oc % p->k->width == 0)
        out->n = onednn_count_pieces(c->oc / p->k->width, team);
    if (out->n <= 1)
        return EG_OK;
    *(out->by_result ? &some.oc : &some.n) /= out->n;
    EG_TRY(onednn_describe_conv(p, &some, &m));
    EG_TRY(onednn_conv_pass(&some, &m, pass, bias, relu, &out->desc));
    if (!onednn_same_weights(j->desc, out->desc, out->by_result)) {
        out->n = 1;
        return EG_OK;
    }
    const dnnl_memory_desc_t *scratch =
        dnnl_primitive_desc_query_md(out->desc, dnnl_query_scratchpad_md, 0);
    if (out->by_result)
        out->slice = eg_round_up(dnnl_memory_desc_get_size(&m.y), EG_ALIGN);
    out->room = out->slice, out->samples = (size_t)c->n;
    if (scratch)
        out->room += eg_round_up(dnnl_memory_desc_get_size(scratch), EG_ALIGN);
    if (out->room)
        out->rooms = eg_plan_scratch(p, (size_t)out->n * out->room);
    return EG_OK;
}

/* The description of an argument of a pass. */
static const dnnl_memory_desc_t *onednn_md(dnnl_primitive_desc_t desc, int arg)
{
    dnnl_query_t query = arg == DNNL_ARG_SRC            ? dnnl_query_src_md
                         : arg == DNNL_ARG_DST          ? dnnl_query_dst_md
                         : arg == DNNL_ARG_DIFF_SRC     ? dnnl_query_diff_src_md
                         : arg == DNNL_ARG_DIFF_DST     ? dnnl_query_diff_dst_md
                         : arg == DNNL_ARG_DIFF_WEIGHTS ? dnnl_query_diff_weights_md
                         : arg == DNNL_ARG_SCRATCHPAD   ? dnnl_query_scratchpad_md
                                                        : dnnl_query_weights_md;
    return dnnl_primitive_desc_query_md(desc, query, arg == DNNL_ARG_BIAS);
}

/* Where a piece's part of an argument begins. */
static void onednn_place(const onednn_pieces *k, int i, int arg, eg_value *value,
                         onednn_call *piece, onednn_job *j)
{
    bool shared = arg == DNNL_ARG_WEIGHTS || arg == DNNL_ARG_BIAS ||
                  (k->by_result && arg == DNNL_ARG_SRC);
    bool own = arg == DNNL_ARG_SCRATCHPAD || (k->by_result && arg == DNNL_ARG_DIFF_DST);
    size_t at = 0;
    if (own)
        at = k->room * (size_t)i + (arg == DNNL_ARG_SCRATCHPAD ? k->slice : 0);
    else if (!shared)
        at = value->bytes / (size_t)k->n * (size_t)i;
    piece->at[j->n] = at / sizeof(float);
    j->md[j->n] = onednn_md(k->desc, arg);
    j->arg[j->n] = arg;
    j->value[j->n++] = own ? k->rooms : value;
}

static eg_status onednn_make_piece(eg_plan *p, const onednn_call *whole, const onednn_pieces *k,
                                   int i, onednn_call *piece)
{
    onednn_job j = {.desc = k->desc};
    for (int a = 0; a < whole->n; a++)
        if (whole->args[a].arg != DNNL_ARG_SCRATCHPAD)
            onednn_place(k, i, whole->args[a].arg, whole->values[a], piece, &j);
    if (k->room > k->slice)
        onednn_place(k, i, DNNL_ARG_SCRATCHPAD, k->rooms, piece, &j);
    if (k->by_result)
        piece->samples = k->samples;
    return onednn_make(p, &j, piece);
}

static eg_status onednn_make_pieces(eg_plan *p, eg_step *s, const onednn_pieces *k)
{
    onednn_call *whole = s->args;
    whole->pieces = eg_plan_alloc(p, (size_t)k->n * sizeof *whole->pieces);
    for (int i = 0; whole->pieces && i < k->n; i++) {
        onednn_call *piece = eg_plan_alloc(p, sizeof *piece);
        if (!piece)
            return EG_ENOMEM;
        whole->pieces[i] = piece;
        whole->n_pieces = i + 1;
        EG_TRY(onednn_make_piece(p, whole, k, i, piece));
    }
    s->share = onednn_share;
    return whole->pieces ? EG_OK : EG_ENOMEM;
}

/* The step of a pass, and what a team executes in its place. */
static eg_status onednn_emit_pass(eg_plan *p, const eg_node *y, const eg_conv *c,
                                  eg_conv_pass pass, const eg_conv_nodes *nodes, onednn_job *j)
{
    onednn_pieces k = {.n = 1};
    eg_step *step = NULL;
    eg_status s = onednn_cut(p, c, pass, nodes->bias != NULL, nodes->relu != NULL, j, &k);
    if (s == EG_OK)
        s = onednn_emit(p, y, j, k.rooms, &step);
    if (s == EG_OK && k.n > 1)
        s = onednn_make_pieces(p, step, &k);
    if (k.desc)
        dnnl_primitive_desc_destroy(k.desc);
    return s;
}

static eg_status onednn_conv_forward(eg_plan *p, const eg_node *y, const eg_conv_nodes *nodes,
                                     const onednn_conv_mds *m, onednn_job *j)
{
    eg_value *w = NULL;
    EG_TRY(onednn_pack(p, nodes->weights, j->desc, &m->w_rowmajor, &w));
    eg_value *x = eg_plan_read(p, nodes->x, m->x_layout);
    onednn_job_add(j, DNNL_ARG_SRC, dnnl_query_src_md, 0, x);
    onednn_job_add(j, DNNL_ARG_WEIGHTS, dnnl_query_weights_md, 0, w);
    if (nodes->bias)
        onednn_job_add(j, DNNL_ARG_BIAS, dnnl_query_weights_md, 1,
                       eg_plan_read(p, nodes->bias, EG_ROWMAJOR));
    j->n_in = j->n;
    eg_value *out = eg_plan_write(p, y, m->y_layout);
    if (nodes->relu && out)
        eg_plan_fused(p, nodes->relu, out);
    onednn_job_add(j, DNNL_ARG_DST, dnnl_query_dst_md, 0, out);
    return EG_OK;
}

static eg_status onednn_conv_back_data(eg_plan *p, const eg_node *y, const eg_conv_nodes *nodes,
                                       const onednn_conv_mds *m, onednn_job *j)
{
    eg_value *w = NULL;
    EG_TRY(onednn_pack(p, nodes->weights, j->desc, &m->w_rowmajor, &w));
    onednn_job_add(j, DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md, 0,
                   eg_plan_read(p, nodes->dy, m->y_layout));
    onednn_job_add(j, DNNL_ARG_WEIGHTS, dnnl_query_weights_md, 0, w);
    j->n_in = j->n;
    onednn_job_add(j, DNNL_ARG_DIFF_SRC, dnnl_query_diff_src_md, 0,
                   eg_plan_write(p, y, m->x_layout));
    return EG_OK;
}

/* The gradient of the weights, unpacked into row-major order by a second step if need be. */
static eg_status onednn_conv_back_weights(eg_plan *p, const eg_node *y, const eg_conv *c,
                                          const eg_conv_nodes *nodes, const onednn_conv_mds *m,
                                          onednn_job *j)
{
    const dnnl_memory_desc_t *have =
        dnnl_primitive_desc_query_md(j->desc, dnnl_query_diff_weights_md, 0);
    onednn_job_add(j, DNNL_ARG_SRC, dnnl_query_src_md, 0,
                   eg_plan_read(p, nodes->x, m->x_layout));
    onednn_job_add(j, DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md, 0,
                   eg_plan_read(p, nodes->dy, m->y_layout));
    j->n_in = j->n;
    eg_value *out = eg_plan_write(p, y, EG_ROWMAJOR), *packed = out;
    bool rowmajor = dnnl_memory_desc_equal(have, &m->w_rowmajor);
    if (!rowmajor)
        packed = eg_plan_scratch(p, dnnl_memory_desc_get_size(have));
    onednn_job_add(j, DNNL_ARG_DIFF_WEIGHTS, dnnl_query_diff_weights_md, 0, packed);
    EG_TRY(onednn_emit_pass(p, y, c, EG_CONV_BACK_WEIGHTS, nodes, j));
    return rowmajor ? EG_OK : onednn_reorder(p, y, packed, have, out, &m->w_rowmajor);
}

eg_status eg_dnnl_conv(eg_plan *p, const eg_node *y, eg_conv_pass pass, const eg_conv *c,
                       const eg_conv_nodes *nodes)
{
    onednn_conv_mds m;
    EG_TRY(onednn_describe_conv(p, c, &m));
    onednn_job j = {0};
    EG_TRY(onednn_conv_pass(c, &m, pass, nodes->bias != NULL, nodes->relu != NULL, &j.desc));
    size_t before = p->n_steps;
    eg_status s;
    if (pass == EG_CONV_BACK_WEIGHTS) {
        s = onednn_conv_back_weights(p, y, c, nodes, &m, &j);
    } else {
        s = pass == EG_CONV_FORWARD ? onednn_conv_forward(p, y, nodes, &m, &j)
                                    : onednn_conv_back_data(p, y, nodes, &m, &j);
        if (s == EG_OK)
            s = onednn_emit_pass(p, y, c, pass, nodes, &j);
    }
    dnnl_primitive_desc_destroy(j.desc);
    for (size_t i = before; s == EG_OK && i < p->n_steps; i++)
        if (!p->steps[i].reorder)
            p->steps[i].flops = eg_conv_flops(c);
    return s;
}

/* One sample's weight gradient at a time, in the primitive's own form, and its squared norm. */
static eg_status onednn_sample_norms_run(const eg_step *s)
{
    const onednn_call *c = s->args;
    const eg_value *x = s->in[0], *dy = s->in[1], *packed = s->out[1];
    int64_t n = s->node->shape.dim[0];
    size_t x_size = x->bytes / sizeof(float) / (size_t)n;
    size_t dy_size = dy->bytes / sizeof(float) / (size_t)n;
    for (int64_t i = 0; i < n; i++) {
        ONEDNN_TRY(eg_dnnl_memory_set(c->args[0].memory, x->data + (size_t)i * x_size));
        ONEDNN_TRY(eg_dnnl_memory_set(c->args[1].memory, dy->data + (size_t)i * dy_size));
        ONEDNN_TRY(eg_dnnl_execute(c->primitive, c->stream, c->n, c->args));
        double norm;
        s->k->dot(&norm, packed->data, packed->data, packed->bytes / sizeof(float));
        s->out[0]->data[i] = (float)norm;
    }
    return EG_OK;
}

eg_status eg_dnnl_conv_sample_norms(eg_plan *p, const eg_node *y, const eg_conv *c,
                                    const eg_node *x, const eg_node *dy)
{
    eg_conv one = *c;
    one.n = 1;
    onednn_conv_mds m;
    EG_TRY(onednn_describe_conv(p, &one, &m));
    onednn_job j = {0};
    EG_TRY(onednn_conv_pass(&one, &m, EG_CONV_BACK_WEIGHTS, false, false, &j.desc));
    const dnnl_memory_desc_t *have =
        dnnl_primitive_desc_query_md(j.desc, dnnl_query_diff_weights_md, 0);
    size_t bytes = dnnl_memory_desc_get_size(have);
    onednn_job_add(&j, DNNL_ARG_SRC, dnnl_query_src_md, 0, eg_plan_read(p, x, m.x_layout));
    onednn_job_add(&j, DNNL_ARG_DIFF_DST, dnnl_query_diff_dst_md, 0,
                   eg_plan_read(p, dy, m.y_layout));
    j.n_in = j.n;
    onednn_job_add(&j, DNNL_ARG_DIFF_WEIGHTS, dnnl_query_diff_weights_md, 0,
                   eg_plan_scratch(p, bytes));
    eg_value *norms = eg_plan_write(p, y, EG_ROWMAJOR);
    eg_step *s = NULL;
    eg_status status = norms ? onednn_emit(p, y, &j, norms, &s) : EG_ENOMEM;
    dnnl_primitive_desc_destroy(j.desc);
    EG_TRY(status);
    s->run = onednn_sample_norms_run;
    s->flops = eg_conv_flops(c);
    return EG_OK;
}

eg_status eg_dnnl_product(const eg_product_shape *d, const float *a, const float *b, float *c)
{
    const char transposed[2] = {d->ta ? 'T' : 'N', d->tb ? 'T' : 'N'};
    const dnnl_dim_t mnk[4] = {d->m, d->n, d->k, d->a_row ? d->a_row : d->ta ? d->m : d->k};
    return onednn_check(eg_dnnl_gemm(transposed, mnk, a, b, d->add ? 1 : 0, c), "a product");
}
