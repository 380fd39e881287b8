/* plan.c - compiling a graph: every needed node emits its steps, in order of recording.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/graph/plan_private.h"

#include "engine/graph/dnnl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *eg_plan_alloc(eg_plan *p, size_t bytes)
{
    return eg_arena_alloc(&p->arena, bytes);
}

const eg_kernels *eg_plan_kernels(const eg_plan *p)
{
    return p->k;
}

const uint32_t *eg_plan_key(const eg_plan *p)
{
    return p->key;
}

uint64_t eg_plan_time(const eg_plan *p)
{
    return p->time;
}

size_t eg_layout_size(const eg_kernels *k, eg_shape s, eg_layout layout)
{
    if (layout == EG_BLOCKED)
        s.dim[1] = (int64_t)eg_round_up((size_t)s.dim[1], (size_t)k->width);
    if (layout == EG_BATCHED)
        s.dim[0] = eg_batch_lanes(k, s.dim[0]);
    return (size_t)eg_shape_size(s);
}

int64_t eg_batch_lanes(const eg_kernels *k, int64_t n)
{
    return (int64_t)eg_round_up((size_t)n, (size_t)k->width);
}

bool eg_plan_blockable(const eg_plan *p, eg_shape s)
{
    return s.rank == 4 && s.dim[1] % p->k->width == 0;
}

eg_layout eg_plan_layout(const eg_plan *p, const eg_node *x)
{
    return p->nodes[x->id].home;
}

eg_layout eg_plan_common_layout(const eg_plan *p, const eg_node *y)
{
    for (int i = 0; i < y->n_in; i++)
        if (eg_plan_layout(p, y->in[i]) != EG_ROWMAJOR)
            return eg_plan_layout(p, y->in[i]);
    return EG_ROWMAJOR;
}

bool eg_plan_has(const eg_plan *p, const eg_node *x)
{
    return p->nodes[x->id].skipped || p->nodes[x->id].form[p->nodes[x->id].home] != NULL;
}

void eg_plan_skip(eg_plan *p, const eg_node *x)
{
    p->nodes[x->id].skipped = true;
    p->nodes[x->id].home = eg_plan_layout(p, x->in[x->n_in - 1]);
}

bool eg_plan_skipped(const eg_plan *p, const eg_node *x)
{
    return p->nodes[x->id].skipped;
}

int eg_plan_readers(const eg_plan *p, const eg_node *x, const eg_node *out[2])
{
    const plan_node *n = &p->nodes[x->id];
    out[0] = n->first_reader;
    out[1] = n->reader;
    return n->n_readers;
}

const eg_node *eg_plan_sole_reader(const eg_plan *p, const eg_node *x, const eg_op *op)
{
    const plan_node *n = &p->nodes[x->id];
    return n->n_readers == 1 && n->reader && n->reader->op == op ? n->reader : NULL;
}

static eg_value *plan_value(eg_plan *p, const eg_node *node, eg_layout layout, size_t bytes)
{
    eg_value *v = eg_plan_alloc(p, sizeof *v);
    if (!v || eg_grow(&p->values, p->n_values, &p->cap_values, sizeof v) != EG_OK) {
        p->failed = true;
        return NULL;
    }
    v->node = node;
    v->layout = layout;
    v->bytes = bytes;
    v->first = v->last = -1;
    p->values[p->n_values++] = v;
    return v;
}

eg_value *eg_plan_scratch(eg_plan *p, size_t bytes)
{
    return plan_value(p, NULL, EG_ROWMAJOR, bytes);
}

eg_value *eg_plan_write(eg_plan *p, const eg_node *y, eg_layout layout)
{
    plan_node *n = &p->nodes[y->id];
    size_t bytes = eg_layout_size(p->k, y->shape, layout) * sizeof(float);
    eg_value *v = plan_value(p, y, layout, bytes);
    if (!n->form[n->home])
        n->home = layout;
    if (v && layout == EG_ROWMAJOR) {
        v->pinned = n->pinned;
        if (n->grad_of) {
            v->home = EG_IN_GRADS;
            v->node = n->grad_of;
        }
    }
    n->form[layout] = v;
    return v;
}

void eg_plan_fused(eg_plan *p, const eg_node *y, eg_value *value)
{
    plan_node *n = &p->nodes[y->id];
    n->home = value->layout;
    n->form[value->layout] = value;
    value->pinned |= n->pinned;
}

void eg_plan_leave(eg_plan *p, const eg_node *x, eg_value *value)
{
    p->nodes[x->id].left = value;
}

eg_value *eg_plan_left(const eg_plan *p, const eg_node *x)
{
    return p->nodes[x->id].left;
}

eg_status eg_plan_alias(eg_plan *p, const eg_node *y, const eg_node *x)
{
    eg_value *from = eg_plan_read(p, x, EG_ROWMAJOR);
    eg_value *v = from ? plan_value(p, y, EG_ROWMAJOR, from->bytes) : NULL;
    if (!v)
        return EG_ENOMEM;
    v->within = from;
    v->home = from->home;
    if (from->home != EG_IN_ARENA)
        v->node = from->node;
    p->nodes[y->id].home = EG_ROWMAJOR;
    p->nodes[y->id].form[EG_ROWMAJOR] = v;
    if (p->nodes[y->id].pinned)
        eg_plan_root(v)->pinned = true;
    return EG_OK;
}

eg_value *eg_plan_root(eg_value *v)
{
    while (v->within)
        v = v->within;
    return v;
}

eg_value *eg_plan_read(eg_plan *p, const eg_node *x, eg_layout layout)
{
    plan_node *n = &p->nodes[x->id];
    if (n->form[layout])
        return n->form[layout];
    eg_value *from = n->form[n->home];
    EG_ASSERT(from != NULL || p->failed);
    if (from && from->layout != EG_ROWMAJOR && layout != EG_ROWMAJOR)
        from = eg_plan_read(p, x, EG_ROWMAJOR); /* special to special: by way of it */
    eg_value *to = from ? eg_plan_write(p, x, layout) : NULL;
    if (!to || eg_relayout(p, x, from, to) != EG_OK) {
        p->failed = true;
        return NULL;
    }
    return to;
}

eg_step *eg_plan_step(eg_plan *p, const eg_node *node, eg_status (*run)(const eg_step *),
                      int n_in, eg_value *const *in, int n_out, eg_value *const *out)
{
    for (int i = 0; i < n_in + n_out; i++)
        if (!(i < n_in ? in[i] : out[i - n_in]))
            return NULL;
    eg_value **list = eg_plan_alloc(p, (size_t)(n_in + n_out) * sizeof *list);
    if (!list || eg_grow(&p->steps, p->n_steps, &p->cap_steps, sizeof *p->steps) != EG_OK) {
        p->failed = true;
        return NULL;
    }
    int now = (int)p->n_steps;
    for (int i = 0; i < n_in + n_out; i++) {
        list[i] = i < n_in ? in[i] : out[i - n_in];
        eg_value *root = eg_plan_root(list[i]);
        if (root->first < 0)
            root->first = now;
        root->last = now;
    }
    eg_step *s = &p->steps[p->n_steps++];
    *s = (eg_step){.run = run,
                   .k = p->k,
                   .node = node,
                   .in = list,
                   .out = list + n_in,
                   .n_in = n_in,
                   .n_out = n_out,
                   .plan = p,
                   .kernel = p->k->isa};
    return s;
}

static eg_status plan_run_whole(const eg_step *s)
{
    return s->share(s, &EG_WHOLE);
}

eg_status eg_plan_share(eg_step *s,
                        eg_status (*share)(const eg_step *s, const eg_team_part *part))
{
    if (!s)
        return EG_ENOMEM;
    s->share = share;
    s->run = plan_run_whole;
    return EG_OK;
}

eg_team_part eg_plan_limit(const eg_step *s, const eg_team_part *part)
{
    int rooms = eg_plan_team(s->plan);
    return (eg_team_part){part->team, part->i, part->n < rooms ? part->n : rooms};
}

int eg_plan_team(const eg_plan *p)
{
    return p->team;
}

/* An estimate, which decides nothing but what is worth dividing: 100 GFLOP/s, and 20 GB/s of
 * what is read and written. */
static double plan_work(const eg_step *s)
{
    size_t bytes = 0;
    for (int i = 0; i < s->n_in; i++)
        bytes += s->in[i]->bytes;
    for (int i = 0; i < s->n_out; i++)
        bytes += s->out[i]->bytes;
    return s->flops / 1e11 + (double)bytes / 2e10;
}

void eg_plan_in_place(eg_plan *p, eg_value *out, eg_value *in)
{
    if (!out || !in)
        return;
    if (eg_grow(&p->hints, p->n_hints, &p->cap_hints, sizeof *p->hints) != EG_OK)
        p->failed = true;
    else
        p->hints[p->n_hints++] = (plan_hint){out, in};
}

/* Who needs what: marks the nodes behind outputs and gradients and counts their readers. */
static void plan_count(eg_plan *p, unsigned char *needed)
{
    const eg_graph *g = p->g;
    for (size_t i = 0; i < g->n_outputs; i++) {
        needed[g->outputs[i].node->id] = 1;
        p->nodes[g->outputs[i].node->id].pinned = true;
        p->nodes[g->outputs[i].node->id].n_readers++;
    }
    for (size_t i = 0; i < g->n_grads; i++) {
        plan_node *n = &p->nodes[g->grads[i].grad->id];
        needed[g->grads[i].grad->id] = 1;
        n->n_readers++;
        if (!n->grad_of && g->grads[i].grad->n_in > 0)
            n->grad_of = g->grads[i].param;
    }
    eg_mark_needed(g, needed);
    for (size_t id = 0; id < g->n_nodes; id++)
        for (int k = 0; needed[id] && k < g->nodes[id]->n_in; k++) {
            plan_node *n = &p->nodes[g->nodes[id]->in[k]->id];
            n->n_readers++;
            n->reader = g->nodes[id];
            if (!n->first_reader)
                n->first_reader = g->nodes[id];
        }
}

static eg_status plan_fill_constant(const eg_step *s)
{
    float a = (float)*(const double *)s->node->attr;
    s->k->affine(s->out[0]->data, s->out[0]->data, 0, a, s->out[0]->bytes / sizeof(float));
    return EG_OK;
}

static eg_status plan_emit_leaf(eg_plan *p, const eg_node *x)
{
    eg_value *v = eg_plan_write(p, x, EG_ROWMAJOR);
    if (!v)
        return EG_ENOMEM;
    if (x->op == &eg_op_param) {
        const eg_param_attr *a = x->attr;
        v->home = eg_params_at(a->table, a->index)->trained ? EG_IN_PARAMS : EG_IN_STATE;
        return EG_OK;
    }
    v->pinned = true; /* inputs are filled, constants made, before the first step */
    if (x->op == &eg_op_constant)
        return eg_plan_step(p, x, plan_fill_constant, 0, NULL, 1, &v) ? EG_OK : EG_ENOMEM;
    return EG_OK;
}

static eg_status plan_copy(const eg_step *s)
{
    memcpy(s->out[0]->data, s->in[0]->data, s->out[0]->bytes);
    return EG_OK;
}

/* Outputs end in row-major order; gradients end in the bound array, by a copy if they must. */
static eg_status plan_emit_ends(eg_plan *p)
{
    const eg_graph *g = p->g;
    for (size_t i = 0; i < g->n_outputs; i++) {
        eg_value *v = eg_plan_read(p, g->outputs[i].node, EG_ROWMAJOR);
        if (!v)
            return EG_ENOMEM;
        eg_plan_root(v)->pinned = true;
    }
    for (size_t i = 0; i < g->n_grads; i++) {
        eg_value *v = eg_plan_read(p, g->grads[i].grad, EG_ROWMAJOR);
        if (!v)
            return EG_ENOMEM;
        if (v->home == EG_IN_GRADS && v->node == g->grads[i].param)
            continue;
        eg_value *to = plan_value(p, g->grads[i].param, EG_ROWMAJOR, v->bytes);
        if (!to)
            return EG_ENOMEM;
        to->home = EG_IN_GRADS;
        eg_step *s = eg_plan_step(p, g->grads[i].grad, plan_copy, 1, &v, 1, &to);
        if (!s)
            return EG_ENOMEM;
        s->kernel = "copy";
    }
    return EG_OK;
}

static eg_status plan_emit(eg_plan *p)
{
    const eg_graph *g = p->g;
    unsigned char *needed = calloc(g->n_nodes + 1, 1);
    if (!needed)
        return eg_fail(EG_ENOMEM, "no memory for a plan of %zu nodes", g->n_nodes);
    plan_count(p, needed);
    eg_status s = EG_OK;
    for (size_t id = 0; id < g->n_nodes && s == EG_OK; id++) {
        const eg_node *x = g->nodes[id];
        if (!needed[id] || eg_plan_has(p, x))
            continue;
        s = x->n_in || x->op->emit ? x->op->emit(p, x) : plan_emit_leaf(p, x);
        if (s != EG_OK)
            eg_blame(s, "%s", x->op->name);
        else if (p->failed)
            s = EG_ENOMEM;
    }
    free(needed);
    return s == EG_OK ? plan_emit_ends(p) : s;
}

eg_status eg_compile(eg_graph *g, eg_plan **out)
{
    return eg_compile_in(g, NULL, out);
}

eg_status eg_compile_in(eg_graph *g, eg_room *room, eg_plan **out)
{
    *out = NULL;
    EG_TRY(eg_graph_status(g));
    if (g->n_outputs + g->n_grads == 0)
        return eg_fail(EG_EINVAL, "the graph has no output to compile");
    eg_plan *p = calloc(1, sizeof *p);
    if (!p)
        return eg_fail(EG_ENOMEM, "no memory for a plan");
    p->g = g;
    p->room = room;
    p->k = eg_kernels_get();
    p->team = eg_team_size(eg_team_here());
    p->nodes = calloc(g->n_nodes + 1, sizeof *p->nodes);
    eg_status s = EG_OK;
    if (!p->nodes)
        s = eg_fail(EG_ENOMEM, "no memory for a plan of %zu nodes", g->n_nodes);
    else if (!p->k->own)
        s = eg_dnnl_open(&p->dnnl);
    if (s == EG_OK)
        s = plan_emit(p);
    for (size_t i = 0; s == EG_OK && i < p->n_steps; i++) {
        p->flops += p->steps[i].flops;
        p->steps[i].work = plan_work(&p->steps[i]);
    }
    if (s == EG_OK)
        s = eg_plan_lay_out(p);
    if (s != EG_OK) {
        eg_plan_free(p);
        return s;
    }
    *out = p;
    return EG_OK;
}

void eg_plan_free(eg_plan *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].fini)
            p->steps[i].fini(&p->steps[i]);
    eg_dnnl_close(p->dnnl);
    eg_arena_fini(&p->arena);
    free(p->nodes);
    free(p->values);
    free(p->steps);
    free(p->hints);
    free(p->memory);
    free(p);
}
