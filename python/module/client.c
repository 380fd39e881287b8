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
    if (c && name && strcmp(name, "target_width") == 0)
        return PyLong_FromLongLong((long long)c->aim->width);
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
    size_t rows = (size_t)c->batch * sizeof *c->labels, width = (size_t)c->aim->width;
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
        return eg_py_memory(c->labels, rows * width, true);
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
        (out->labels.obj && out->labels.len != out->rows.n * (Py_ssize_t)c->aim->width *
                                                   (Py_ssize_t)sizeof(float))) {
        PyErr_SetString(PyExc_ValueError, "x and labels are not rows of the network's input");
        return false;
    }
    return true;
}

/* Values of the client's model to stand at, or of its statistics; NULL for None, or with an
 * exception. */
static float *client_point(PyObject *values, size_t n, int how, Py_buffer *view)
{
    if (!values || values == Py_None || PyErr_Occurred() ||
        PyObject_GetBuffer(values, view, how) != 0)
        return NULL;
    if ((size_t)view->len != n * sizeof(float))
        PyErr_Format(PyExc_ValueError, "a model of %zu values was expected", n);
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
        eg_point point = {
            .param = client_point(PyTuple_GetItem(args, 4), c->n_params, PyBUF_WRITABLE, &at)};
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

/* (client, x or samples, labels, norms, losses, logits, features, param, state): fills those
 * not None, at the model or at another. */
static PyObject *client_look(PyObject *m, PyObject *args)
{
    eg_client *c = client_who(args);
    client_rows r;
    Py_buffer views[6];
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
        const eg_weights at = {
            client_point(PyTuple_GetItem(args, 7), c->n_params, PyBUF_SIMPLE, &views[4]),
            client_point(PyTuple_GetItem(args, 8), c->n_state, PyBUF_SIMPLE, &views[5])};
        if (!PyErr_Occurred()) {
            PyThreadState *state = PyEval_SaveThread();
            s = eg_client_look(c, &at, &r.rows, &look);
            PyEval_RestoreThread(state);
        }
    }
    for (int i = 0; i < 6; i++)
        if (views[i].obj)
            PyBuffer_Release(&views[i]);
    if (c)
        client_rows_fini(&r);
    return PyErr_Occurred() ? NULL : eg_py_done(s);
}

/* Adds (task, id) to a list; false with an exception. */
static bool client_pair(PyObject *list, int64_t task, int64_t id)
{
    PyObject *pair = Py_BuildValue("(LL)", (long long)task, (long long)id);
    bool good = pair && PyList_Append(list, pair) == 0;
    Py_XDECREF(pair);
    return good;
}

static PyObject *client_samples(PyObject *m, PyObject *args)
{
    const eg_client *c = client_who(args);
    PyObject *out = c ? PyList_New(0) : NULL;
    bool of_batch = c && eg_py_whole(args, 1) != 0;
    (void)m;
    for (int64_t i = 0; out && i < (of_batch ? c->n_drawn : c->n_samples); i++) {
        const eg_sample *s = of_batch ? &c->drawn[i] : &c->samples[i];
        if (!client_pair(out, s->task, s->id))
            Py_CLEAR(out);
    }
    return out;
}

/* (client, stage): all samples of one of its stages; stage -1: of what it has now. */
static PyObject *client_stage_samples(PyObject *m, PyObject *args)
{
    const eg_client *c = client_who(args);
    int64_t stage = eg_py_whole(args, 1), n = 0;
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    if (stage < -1 || stage >= eg_scenario_n_stages(c->scenario, c->id))
        return PyErr_Format(PyExc_ValueError, "the client has no stage %lld", (long long)stage);
    const eg_span *spans =
        stage < 0 ? c->view.spans : eg_scenario_spans(c->scenario, c->id, stage, &n);
    n = stage < 0 ? c->view.n_spans : n;
    PyObject *out = PyList_New(0);
    for (int64_t k = 0; k < n; k++)
        for (int64_t i = 0; out && i < spans[k].n; i++)
            if (!client_pair(out, spans[k].task, spans[k].ids[i]))
                Py_CLEAR(out);
    return out;
}

/* Which classes are of its earlier stages alone: a byte for each output. */
static PyObject *client_past_classes(PyObject *m, PyObject *args)
{
    const eg_client *c = client_who(args);
    (void)m;
    uint8_t *marks = c ? calloc((size_t)c->n_classes + 1, 1) : NULL;
    if (!marks)
        return c ? PyErr_NoMemory() : NULL;
    eg_client_past_classes(c, marks);
    PyObject *out = PyBytes_FromStringAndSize((const char *)marks, (Py_ssize_t)c->n_classes);
    free(marks);
    return out;
}

/* (client, name): memory of the parameters and of the statistics; None in its first stage. */
static PyObject *client_stage_model(PyObject *m, PyObject *args)
{
    eg_client *c = client_who(args);
    const char *name = eg_py_text(args, 1);
    eg_learner *l = NULL;
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    eg_status s = eg_client_stage_model(c, name, &l);
    if (s != EG_OK || !l)
        return s == EG_OK ? Py_NewRef(Py_None) : eg_py_fail(s);
    return Py_BuildValue(
        "(NN)", eg_py_memory(l->param, l->n_params * sizeof *l->param, false),
        eg_py_memory(l->n_state ? l->state : NULL, l->n_state * sizeof *l->state, false));
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
        float *y = client_room(args, 4, &views[1], n * (Py_ssize_t)c->aim->width);
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
    return Py_BuildValue(
        "(LLnNN)", (long long)r.n, (long long)r.seen, (Py_ssize_t)r.sample,
        eg_py_memory(r.x, (size_t)r.n * r.sample * sizeof *r.x, false),
        eg_py_memory(r.labels, (size_t)(r.n * c->aim->width) * sizeof *r.labels, false));
}

/* (client, x, labels, features or None): makes the memory one of exemplars, those it has and
 * those herded by features; without features the rows become all that it holds. */
static PyObject *client_fill_memory(PyObject *m, PyObject *args)
{
    eg_client *c = client_who(args);
    client_rows r;
    Py_buffer features = {0};
    eg_status s = EG_OK;
    (void)m;
    if (!c)
        return NULL;
    if (!c->memory)
        return PyErr_Format(PyExc_ValueError, "the experiment declares no memory");
    if (client_rows_open(c, args, 1, &r)) {
        int64_t d = eg_net_n_features(c->net);
        const eg_net_spec *in = eg_net_spec_of(c->net);
        const eg_memory_rows rows = {.n = r.rows.n,
                                     .seen = r.rows.n,
                                     .sample = (size_t)(in->channels * in->height * in->width),
                                     .x = r.x.buf,
                                     .labels = r.labels.buf};
        const float *f = client_point(PyTuple_GetItem(args, 3), (size_t)(r.rows.n * d),
                                      PyBUF_SIMPLE, &features);
        if (!PyErr_Occurred())
            s = f ? eg_memory_herd(c->memory, &rows, f, d) : eg_memory_set(c->memory, &rows);
    }
    if (features.obj)
        PyBuffer_Release(&features);
    client_rows_fini(&r);
    return PyErr_Occurred() ? NULL : eg_py_done(s);
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
    {"client_stage_samples", client_stage_samples, METH_VARARGS, "of one of its stages"},
    {"client_past_classes", client_past_classes, METH_VARARGS, "of its earlier stages alone"},
    {"client_stage_model", client_stage_model, METH_VARARGS, "the model its stage began with"},
    {"client_fill_memory", client_fill_memory, METH_VARARGS, "what its memory holds"},
    {"client_add_sample", client_add_sample, METH_VARARGS, "one more sample"},
    {"client_add_rows", client_add_rows, METH_VARARGS, "rows of the part's own"},
    {"client_feed", client_feed, METH_VARARGS, "samples as the network is fed them"},
    {"client_memory", client_memory, METH_VARARGS, "the rows it keeps"},
    {NULL, NULL, 0, NULL},
};
