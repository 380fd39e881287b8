/* client.c - what a hook sees of a client, and may ask of it.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "module.h"

#include <stdlib.h>
#include <string.h>

/* A field of a struct by its name. Arrays have as many floats as another field says. */
typedef enum client_type {
    CLIENT_I64,
    CLIENT_SIZE,
    CLIENT_U64,
    CLIENT_REAL,
    CLIENT_BOOL
} client_type;
typedef struct client_field {
    const char *name;
    client_type type;
    size_t offset;
} client_field;

#define CLIENT_FIELD(kind, field)                                                              \
    {                                                                                          \
#field, kind, offsetof(eg_client, field)                                               \
    }
static const client_field client_fields[] = {
    CLIENT_FIELD(CLIENT_I64, id),
    CLIENT_FIELD(CLIENT_I64, round),
    CLIENT_FIELD(CLIENT_I64, epoch),
    CLIENT_FIELD(CLIENT_U64, seed),
    CLIENT_FIELD(CLIENT_U64, step),
    CLIENT_FIELD(CLIENT_BOOL, has_trained),
    CLIENT_FIELD(CLIENT_SIZE, n_params),
    CLIENT_FIELD(CLIENT_SIZE, n_state),
    CLIENT_FIELD(CLIENT_I64, n_samples),
    CLIENT_FIELD(CLIENT_I64, batch),
    CLIENT_FIELD(CLIENT_I64, n_drawn),
    CLIENT_FIELD(CLIENT_I64, n_classes),
    CLIENT_FIELD(CLIENT_REAL, loss),
    CLIENT_FIELD(CLIENT_I64, n_batches),
    CLIENT_FIELD(CLIENT_REAL, lr),
    CLIENT_FIELD(CLIENT_BOOL, told_boundary),
    {"stage", CLIENT_I64, offsetof(eg_client, view.stage)},
    {"task", CLIENT_I64, offsetof(eg_client, view.task)},
    {"left", CLIENT_I64, offsetof(eg_client, view.left)},
    {"first", CLIENT_BOOL, offsetof(eg_client, view.first)},
    {"last", CLIENT_BOOL, offsetof(eg_client, view.last)},
    {NULL, CLIENT_I64, 0},
};
#undef CLIENT_FIELD

static PyObject *client_read(const client_field *fields, const void *of, const char *name)
{
    const client_field *f = fields;
    while (f->name && strcmp(f->name, name) != 0)
        f++;
    const char *at = (const char *)of + f->offset;
    if (!f->name)
        return PyErr_Format(PyExc_AttributeError, "there is no %s", name);
    switch (f->type) {
    case CLIENT_I64:
        return PyLong_FromLongLong(*(const int64_t *)(const void *)at);
    case CLIENT_SIZE:
        return PyLong_FromSize_t(*(const size_t *)(const void *)at);
    case CLIENT_U64:
        return PyLong_FromUnsignedLongLong(*(const uint64_t *)(const void *)at);
    case CLIENT_REAL:
        return PyFloat_FromDouble(*(const double *)(const void *)at);
    case CLIENT_BOOL:
        return PyBool_FromLong(*(const bool *)at);
    }
    return NULL;
}

static eg_client *client_who(PyObject *args)
{
    return eg_py_at(args, 0, "client");
}

static PyObject *client_value(PyObject *m, PyObject *args)
{
    const eg_client *c = client_who(args);
    const char *name = eg_py_text(args, 1);
    (void)m;
    return c && name ? client_read(client_fields, c, name) : NULL;
}

/* An array by its letter: p parameters, g gradient, s state, G and S the received model's, x
 * rows, y labels, l logits. */
static PyObject *client_array(PyObject *m, PyObject *args)
{
    eg_client *c = client_who(args);
    const char *which = eg_py_text(args, 1);
    (void)m;
    if (!c || !which)
        return NULL;
    size_t n = c->n_params * sizeof *c->param, n_state = c->n_state * sizeof *c->state;
    size_t rows = (size_t)c->batch * sizeof *c->labels;
    const eg_net_spec *in = eg_net_spec_of(c->net);
    size_t sample = (size_t)(in->channels * in->height * in->width);
    switch (*which) {
    case 'p':
        return eg_py_memory(c->param, n, true);
    case 'g':
        return eg_py_memory(c->grad, n, true);
    case 's':
        return eg_py_memory(n_state ? c->state : NULL, n_state, true);
    case 'G':
        return eg_py_memory(c->global, n, false);
    case 'S':
        return eg_py_memory(n_state ? c->global_state : NULL, n_state, false);
    case 'x':
        return eg_py_memory(c->x, rows * sample, true);
    case 'y':
        return eg_py_memory(c->labels, rows, true);
    case 'l':
        return eg_py_memory(c->logits, rows * (size_t)c->n_classes, false);
    default:
        return PyErr_Format(PyExc_AttributeError, "there is no array '%s'", which);
    }
}

static PyObject *client_net(PyObject *m, PyObject *args)
{
    const eg_client *c = client_who(args);
    (void)m;
    return c ? eg_py_net(c->net) : NULL;
}

static PyObject *client_note(PyObject *m, PyObject *args)
{
    eg_client *c = client_who(args);
    const char *name = eg_py_text(args, 1);
    double value = eg_py_real(args, 2);
    (void)m;
    return PyErr_Occurred() ? NULL : eg_py_done(eg_client_note(c, name, value));
}

/* (client, draw, stage or -1): two words of the part's own stream. */
static PyObject *client_stream(PyObject *m, PyObject *args)
{
    const eg_client *c = client_who(args);
    uint32_t draw = (uint32_t)eg_py_whole(args, 1);
    int64_t stage = eg_py_whole(args, 2);
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    return eg_py_key(stage < 0 ? eg_client_stream(c, draw)
                               : eg_client_stage_stream(c, stage, draw));
}

static PyObject *client_keep(PyObject *m, PyObject *args)
{
    eg_client *c = client_who(args);
    const char *name = eg_py_text(args, 1);
    (void)m;
    eg_bundle *b = PyErr_Occurred() ? NULL : eg_py_bundle(PyTuple_GetItem(args, 2));
    return b ? eg_py_done(eg_client_keep(c, name, b)) : NULL;
}

static PyObject *client_recall(PyObject *m, PyObject *args)
{
    eg_client *c = client_who(args);
    const char *name = eg_py_text(args, 1);
    const eg_bundle *b = NULL;
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    eg_status s = eg_client_recall(c, name, &b);
    return eg_py_lend(s, b);
}

/* What rows a call works on: buffers of x and labels, or a list of (task, id). */
typedef struct client_rows {
    Py_buffer x, labels;
    eg_sample *samples;
    eg_rows rows;
} client_rows;

static void client_rows_fini(client_rows *r)
{
    if (r->x.obj)
        PyBuffer_Release(&r->x);
    if (r->labels.obj)
        PyBuffer_Release(&r->labels);
    free(r->samples);
}

static bool client_rows_samples(PyObject *list, client_rows *out)
{
    Py_ssize_t n = PyList_Size(list);
    out->rows.n = n;
    if (n < 0 || !(out->samples = calloc((size_t)n + 1, sizeof *out->samples)))
        return false;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *pair = PyList_GetItem(list, i);
        out->samples[i] = (eg_sample){eg_py_whole(pair, 0), eg_py_whole(pair, 1)};
    }
    out->rows.samples = out->samples;
    return !PyErr_Occurred();
}

/* From args[i] (x or a list of samples) and args[i + 1] (labels or None). */
static bool client_rows_open(const eg_client *c, PyObject *args, Py_ssize_t i, client_rows *out)
{
    PyObject *x = PyTuple_GetItem(args, i), *labels = PyTuple_GetItem(args, i + 1);
    memset(out, 0, sizeof *out);
    if (!x || !labels)
        return false;
    if (PyList_Check(x)) {
        bool good = client_rows_samples(x, out);
        for (int64_t k = 0; good && k < out->rows.n; k++)
            if (!eg_client_knows(c, &out->samples[k])) {
                PyErr_Format(PyExc_ValueError, "there is no sample (%lld, %lld)",
                             (long long)out->samples[k].task, (long long)out->samples[k].id);
                good = false;
            }
        return good;
    }
    const eg_net_spec *in = eg_net_spec_of(c->net);
    size_t sample = (size_t)(in->channels * in->height * in->width) * sizeof(float);
    if (PyObject_GetBuffer(x, &out->x, PyBUF_SIMPLE) != 0)
        return false;
    out->rows.n = out->x.len / (Py_ssize_t)sample;
    out->rows.x = out->x.buf;
    if (labels != Py_None && PyObject_GetBuffer(labels, &out->labels, PyBUF_SIMPLE) != 0)
        return false;
    out->rows.labels = out->labels.buf;
    if (out->x.len % (Py_ssize_t)sample != 0 ||
        (out->labels.obj && out->labels.len != out->rows.n * (Py_ssize_t)sizeof(float))) {
        PyErr_SetString(PyExc_ValueError, "x and labels are not rows of the network's input");
        return false;
    }
    return true;
}

/* A model of the client's size to stand at; NULL for None, or with an exception. */
static float *client_point(const eg_client *c, PyObject *param, Py_buffer *view)
{
    if (!param || param == Py_None || PyObject_GetBuffer(param, view, PyBUF_WRITABLE) != 0)
        return NULL;
    if ((size_t)view->len != c->n_params * sizeof(float))
        PyErr_Format(PyExc_ValueError, "a model of %zu values was expected", c->n_params);
    return view->buf;
}

/* (client, x or samples, labels, training form, param or None): the mean gradient there. */
static PyObject *client_gradient(PyObject *m, PyObject *args)
{
    eg_client *c = client_who(args);
    client_rows r;
    const float *out = NULL;
    Py_buffer at = {0};
    eg_status s = EG_OK;
    (void)m;
    if (!c)
        return NULL;
    eg_form form = eg_py_whole(args, 3) ? EG_TRAIN_FORM : EG_EVAL_FORM;
    if (client_rows_open(c, args, 1, &r)) {
        eg_point point = {.param = client_point(c, PyTuple_GetItem(args, 4), &at)};
        if (!PyErr_Occurred()) {
            PyThreadState *state = PyEval_SaveThread();
            s = eg_client_gradient(c, &point, form, &r.rows, &out);
            PyEval_RestoreThread(state);
        }
    }
    if (at.obj)
        PyBuffer_Release(&at);
    client_rows_fini(&r);
    if (PyErr_Occurred())
        return NULL;
    return s == EG_OK ? eg_py_memory(out, c->n_params * sizeof *out, false) : eg_py_fail(s);
}

static PyObject *client_replay_gradient(PyObject *m, PyObject *args)
{
    eg_client *c = client_who(args);
    int64_t n = eg_py_whole(args, 1);
    uint32_t draw = (uint32_t)eg_py_whole(args, 2);
    const float *out;
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    PyThreadState *state = PyEval_SaveThread();
    eg_status s = eg_client_replay_gradient(c, n, draw, &out);
    PyEval_RestoreThread(state);
    return s == EG_OK ? eg_py_memory(out, c->n_params * sizeof *out, false) : eg_py_fail(s);
}

static float *client_room(PyObject *args, Py_ssize_t i, Py_buffer *view, Py_ssize_t values)
{
    PyObject *array = PyTuple_GetItem(args, i);
    if (!array || array == Py_None || PyErr_Occurred() ||
        PyObject_GetBuffer(array, view, PyBUF_WRITABLE) != 0)
        return NULL;
    if (view->len != values * (Py_ssize_t)sizeof(float))
        PyErr_SetString(PyExc_ValueError, "the room for what is looked at has another size");
    return view->buf;
}

/* (client, x or samples, labels, norms, losses, logits, features): fills those not None. */
static PyObject *client_look(PyObject *m, PyObject *args)
{
    eg_client *c = client_who(args);
    client_rows r;
    Py_buffer views[4];
    eg_status s = EG_OK;
    (void)m;
    memset(views, 0, sizeof views);
    if (c && client_rows_open(c, args, 1, &r)) {
        Py_ssize_t n = (Py_ssize_t)r.rows.n;
        eg_look look = {.norms = client_room(args, 3, &views[0], n),
                        .losses = client_room(args, 4, &views[1], n),
                        .logits = client_room(args, 5, &views[2], n * (Py_ssize_t)c->n_classes),
                        .features = client_room(args, 6, &views[3],
                                                n * (Py_ssize_t)eg_net_n_features(c->net))};
        if (!PyErr_Occurred()) {
            PyThreadState *state = PyEval_SaveThread();
            s = eg_client_look(c, NULL, &r.rows, &look);
            PyEval_RestoreThread(state);
        }
    }
    for (int i = 0; i < 4; i++)
        if (views[i].obj)
            PyBuffer_Release(&views[i]);
    if (c)
        client_rows_fini(&r);
    return PyErr_Occurred() ? NULL : eg_py_done(s);
}

static PyObject *client_samples(PyObject *m, PyObject *args)
{
    const eg_client *c = client_who(args);
    PyObject *out = c ? PyList_New(0) : NULL;
    bool of_batch = c && eg_py_whole(args, 1) != 0;
    (void)m;
    for (int64_t i = 0; out && i < (of_batch ? c->n_drawn : c->n_samples); i++) {
        const eg_sample *s = of_batch ? &c->drawn[i] : &c->samples[i];
        PyObject *pair = Py_BuildValue("(LL)", (long long)s->task, (long long)s->id);
        if (!pair || PyList_Append(out, pair) != 0)
            Py_CLEAR(out);
        Py_XDECREF(pair);
    }
    return out;
}

static PyObject *client_add_sample(PyObject *m, PyObject *args)
{
    eg_client *c = client_who(args);
    int64_t task = eg_py_whole(args, 1), id = eg_py_whole(args, 2);
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    if (!eg_client_knows(c, &(eg_sample){task, id}))
        return PyErr_Format(PyExc_ValueError, "there is no sample (%lld, %lld)",
                            (long long)task, (long long)id);
    return eg_py_done(eg_client_add_sample(c, task, id));
}

/* (client, x, labels): rows of the part's own. */
static PyObject *client_add_rows(PyObject *m, PyObject *args)
{
    eg_client *c = client_who(args);
    client_rows r;
    eg_status s = EG_OK;
    (void)m;
    if (c && client_rows_open(c, args, 1, &r))
        s = eg_client_add_rows(c, r.rows.x, r.rows.labels, r.rows.n);
    if (c)
        client_rows_fini(&r);
    return PyErr_Occurred() ? NULL : eg_py_done(s);
}

/* (client, samples, x, labels): fills both with the rows as the network is fed them. */
static PyObject *client_feed(PyObject *m, PyObject *args)
{
    eg_client *c = client_who(args);
    client_rows r = {0};
    Py_buffer views[2];
    (void)m;
    memset(views, 0, sizeof views);
    if (c && client_rows_open(c, args, 1, &r)) {
        const eg_net_spec *in = eg_net_spec_of(c->net);
        Py_ssize_t n = (Py_ssize_t)r.rows.n;
        float *x = client_room(args, 3, &views[0],
                               n * (Py_ssize_t)(in->channels * in->height * in->width));
        float *y = client_room(args, 4, &views[1], n);
        if (!PyErr_Occurred() && x && y)
            eg_client_feed(c, r.rows.samples, r.rows.n, x, y);
    }
    for (int i = 0; i < 2; i++)
        if (views[i].obj)
            PyBuffer_Release(&views[i]);
    client_rows_fini(&r);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* (rows, rows seen, floats per row, memory of x, of labels); None without a memory. */
static PyObject *client_memory(PyObject *m, PyObject *args)
{
    const eg_client *c = client_who(args);
    (void)m;
    if (!c)
        return NULL;
    if (!c->memory)
        return Py_NewRef(Py_None);
    eg_memory_rows r = eg_memory_get(c->memory);
    return Py_BuildValue("(LLnNN)", (long long)r.n, (long long)r.seen, (Py_ssize_t)r.sample,
                         eg_py_memory(r.x, (size_t)r.n * r.sample * sizeof *r.x, false),
                         eg_py_memory(r.labels, (size_t)r.n * sizeof *r.labels, false));
}

/* (client, name): an input of the batch's plan, and its shape. */
static PyObject *client_input(PyObject *m, PyObject *args)
{
    const eg_client *c = client_who(args);
    const char *name = eg_py_text(args, 1);
    eg_shape shape;
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    float *at = c->plan ? eg_plan_input(c->plan, name) : NULL;
    if (!at || !eg_plan_shape(c->plan, name, &shape))
        return PyErr_Format(PyExc_KeyError, "the loss has recorded no input '%s'", name);
    return Py_BuildValue("(NN)",
                         eg_py_memory(at, (size_t)eg_shape_size(shape) * sizeof *at, true),
                         eg_py_shape(shape));
}

/* (client, graph, which): rows, x, labels and logits of replayed rows that stand apart. */
static PyObject *client_replayed(PyObject *m, PyObject *args)
{
    eg_client *c = client_who(args);
    eg_graph *g = eg_py_at(args, 1, "graph");
    int64_t i = eg_py_whole(args, 2);
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    if (i < 0 || i >= EG_MAX_REPLAYS)
        return PyErr_Format(PyExc_IndexError, "there are %d replays", EG_MAX_REPLAYS);
    eg_replayed r = eg_client_replayed(c, g, (size_t)i);
    PyObject *nodes[3];
    eg_node *const of[3] = {r.x, r.labels, r.logits};
    for (int k = 0; k < 3; k++)
        nodes[k] =
            of[k] ? eg_py_hold_node(PyTuple_GetItem(args, 1), of[k]) : Py_NewRef(Py_None);
    return Py_BuildValue("(LNNN)", (long long)r.n, nodes[0], nodes[1], nodes[2]);
}

/* (client, graph, which, node): outputs 'o' of rows, 'f' of features, logits counted 'c';
 * which 'b': the features of the batch, 'p': its plain cross entropy. */
static PyObject *client_node(PyObject *m, PyObject *args)
{
    eg_client *c = client_who(args);
    eg_graph *g = eg_py_at(args, 1, "graph");
    const char *which = eg_py_text(args, 2);
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    PyObject *graph = PyTuple_GetItem(args, 1);
    eg_node *x = eg_py_node_of(graph, PyTuple_GetItem(args, 3));
    if (PyErr_Occurred())
        return NULL;
    eg_node *out = *which == 'o'   ? eg_client_outputs(c, g, x)
                   : *which == 'f' ? eg_client_outputs_of(c, g, x)
                   : *which == 'c' ? eg_client_counted(c, g, x)
                   : *which == 'b' ? c->features
                                   : c->plain;
    eg_status s = eg_graph_status(g);
    if (s != EG_OK)
        return eg_py_fail(s);
    return out ? eg_py_hold_node(graph, out) : Py_NewRef(Py_None);
}

PyMethodDef eg_py_client_methods[] = {
    {"client_value", client_value, METH_VARARGS, "a number of a client's"},
    {"client_array", client_array, METH_VARARGS, "an array of a client's"},
    {"client_net", client_net, METH_VARARGS, "the network's table and input"},
    {"client_note", client_note, METH_VARARGS, "a number worth seeing"},
    {"client_stream", client_stream, METH_VARARGS, "a key for random numbers"},
    {"client_keep", client_keep, METH_VARARGS, "keeps a record"},
    {"client_recall", client_recall, METH_VARARGS, "a record as it was kept"},
    {"client_gradient", client_gradient, METH_VARARGS, "a gradient of rows"},
    {"client_replay_gradient", client_replay_gradient, METH_VARARGS, "of its memory"},
    {"client_look", client_look, METH_VARARGS, "what the network makes of rows"},
    {"client_samples", client_samples, METH_VARARGS, "what it trains on"},
    {"client_add_sample", client_add_sample, METH_VARARGS, "one more sample"},
    {"client_add_rows", client_add_rows, METH_VARARGS, "rows of the part's own"},
    {"client_feed", client_feed, METH_VARARGS, "samples as the network is fed them"},
    {"client_memory", client_memory, METH_VARARGS, "the rows it keeps"},
    {"client_input", client_input, METH_VARARGS, "an input of the batch's plan"},
    {"client_replayed", client_replayed, METH_VARARGS, "replayed rows, as graph"},
    {"client_node", client_node, METH_VARARGS, "a node of the batch's graph"},
    {NULL, NULL, 0, NULL},
};
