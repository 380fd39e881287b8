/* server.c - what a hook sees of the server and of bundles, and may ask of them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "module.h"

#include <string.h>

PyObject *eg_py_net(const eg_net *net)
{
    const eg_net_spec *in = eg_net_spec_of(net);
    PyObject *table = eg_py_hold((void *)(uintptr_t)eg_net_params(net), "params", NULL);
    return table
               ? Py_BuildValue("(NLLLL)", table, (long long)in->channels, (long long)in->height,
                               (long long)in->width, (long long)eg_net_n_features(net))
               : NULL;
}

PyObject *eg_py_sizes(const eg_net *net)
{
    const eg_net_spec *in = eg_net_spec_of(net);
    return Py_BuildValue("(LLLLL)", (long long)in->channels, (long long)in->height,
                         (long long)in->width, (long long)eg_net_n_features(net),
                         (long long)in->classes);
}

PyObject *eg_py_key(eg_rng r)
{
    return Py_BuildValue("(KK)", (unsigned long long)eg_rng_u64(&r),
                         (unsigned long long)eg_rng_u64(&r));
}

/* Adds an array, or a number, under a name. */
static bool server_put(eg_bundle *b, const char *name, PyObject *shape_of, PyObject *value)
{
    Py_buffer view;
    eg_status s;
    if (PyFloat_Check(value)) {
        s = eg_bundle_scalar(b, name, PyFloat_AsDouble(value));
    } else {
        PyObject *one = PyTuple_Pack(1, shape_of);
        eg_shape shape = one ? eg_py_shape_at(one, 0) : eg_scalar();
        Py_XDECREF(one);
        if (PyErr_Occurred() || PyObject_GetBuffer(value, &view, PyBUF_SIMPLE) != 0)
            return false;
        s = (size_t)view.len == (size_t)eg_shape_size(shape) * sizeof(float)
                ? eg_bundle_add(b, name, shape, view.buf)
                : eg_fail(EG_ESHAPE, "%s: %zd bytes are not its shape's", name, view.len);
        PyBuffer_Release(&view);
    }
    if (s != EG_OK)
        eg_py_fail(s);
    return s == EG_OK;
}

bool eg_py_fill(eg_bundle *b, PyObject *rows)
{
    for (Py_ssize_t i = 0; i < PyList_Size(rows); i++) {
        PyObject *row = PyList_GetItem(rows, i);
        const char *name = eg_py_text(row, 0);
        if (!name || !server_put(b, name, PyTuple_GetItem(row, 1), PyTuple_GetItem(row, 2)))
            return false;
    }
    return !PyErr_Occurred();
}

eg_bundle *eg_py_bundle(PyObject *rows)
{
    eg_bundle *b;
    eg_status s = eg_bundle_new(&b);
    if (s != EG_OK) {
        eg_py_fail(s);
        return NULL;
    }
    if (!eg_py_fill(b, rows)) {
        eg_bundle_free(b);
        return NULL;
    }
    return b;
}

PyObject *eg_py_lend(eg_status s, const eg_bundle *b)
{
    if (s != EG_OK)
        return eg_py_fail(s);
    return b ? eg_py_hold((void *)(uintptr_t)b, "bundle", NULL) : Py_NewRef(Py_None);
}

static PyObject *server_bundle_names(PyObject *m, PyObject *args)
{
    const eg_bundle *b = eg_py_at(args, 0, "bundle");
    PyObject *out = b ? PyList_New(0) : NULL;
    (void)m;
    for (const eg_bundle *at = b; out && at; at = eg_bundle_below(at))
        for (size_t i = 0; out && i < eg_bundle_n(at); i++) {
            eg_bundle_entry e;
            eg_bundle_at(at, i, &e);
            PyObject *name = PyUnicode_FromString(e.name);
            if (!name || PyList_Append(out, name) != 0)
                Py_CLEAR(out);
            Py_XDECREF(name);
        }
    return out;
}

/* A number, or memory and shape; None if there is nothing of this name. */
static PyObject *server_bundle_get(PyObject *m, PyObject *args)
{
    const eg_bundle *b = eg_py_at(args, 0, "bundle");
    const char *name = eg_py_text(args, 1);
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    for (; b; b = eg_bundle_below(b))
        for (size_t i = 0; i < eg_bundle_n(b); i++) {
            eg_bundle_entry e;
            eg_bundle_at(b, i, &e);
            if (strcmp(e.name, name) == 0 && (e.is_scalar || e.values))
                return e.is_scalar
                           ? PyFloat_FromDouble(e.scalar)
                           : Py_BuildValue(
                                 "(NN)", eg_py_memory(e.values, e.n * sizeof *e.values, false),
                                 eg_py_shape(e.shape));
        }
    return Py_NewRef(Py_None);
}

static PyObject *server_bundle_put(PyObject *m, PyObject *args)
{
    eg_bundle *b = eg_py_at(args, 0, "bundle");
    const char *name = eg_py_text(args, 1);
    (void)m;
    if (PyErr_Occurred() ||
        !server_put(b, name, PyTuple_GetItem(args, 2), PyTuple_GetItem(args, 3)))
        return NULL;
    return Py_NewRef(Py_None);
}

static eg_server *server_who(PyObject *args)
{
    return eg_py_at(args, 0, "server");
}

/* (round, seed, clients, parameters, state, the network's sizes) */
static PyObject *server_about(PyObject *m, PyObject *args)
{
    const eg_server *s = server_who(args);
    (void)m;
    return s ? Py_BuildValue("(LKLnnN)", (long long)s->round, (unsigned long long)s->seed,
                             (long long)eg_scenario_n_clients(s->scenario),
                             (Py_ssize_t)s->n_params, (Py_ssize_t)s->n_state,
                             eg_py_sizes(s->net))
             : NULL;
}

static PyObject *server_array(PyObject *m, PyObject *args)
{
    const eg_server *s = server_who(args);
    const char *which = eg_py_text(args, 1);
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    return *which == 'p' ? eg_py_memory(s->param, s->n_params * sizeof *s->param, false)
                         : eg_py_memory(s->n_state ? s->state : NULL,
                                        s->n_state * sizeof *s->state, false);
}

static PyObject *server_net(PyObject *m, PyObject *args)
{
    const eg_server *s = server_who(args);
    (void)m;
    return s ? eg_py_net(s->net) : NULL;
}

static PyObject *server_note(PyObject *m, PyObject *args)
{
    eg_server *s = server_who(args);
    const char *name = eg_py_text(args, 1);
    double value = eg_py_real(args, 2);
    (void)m;
    return PyErr_Occurred() ? NULL : eg_py_done(eg_server_note(s, name, value));
}

static PyObject *server_stream(PyObject *m, PyObject *args)
{
    const eg_server *s = server_who(args);
    int64_t of = eg_py_whole(args, 1);
    uint32_t draw = (uint32_t)eg_py_whole(args, 2);
    (void)m;
    return PyErr_Occurred() ? NULL : eg_py_key(eg_server_stream(s, of, draw));
}

static PyObject *server_vector(PyObject *m, PyObject *args)
{
    eg_server *s = server_who(args);
    const char *name = eg_py_text(args, 1);
    float *out;
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    eg_status status = eg_server_vector(s, name, &out);
    return status == EG_OK ? eg_py_memory(out, s->n_params * sizeof *out, true)
                           : eg_py_fail(status);
}

static PyObject *server_keep(PyObject *m, PyObject *args)
{
    eg_server *s = server_who(args);
    const char *name = eg_py_text(args, 1);
    (void)m;
    eg_bundle *b = PyErr_Occurred() ? NULL : eg_py_bundle(PyTuple_GetItem(args, 2));
    return b ? eg_py_done(eg_server_keep(s, name, b)) : NULL;
}

static PyObject *server_recall(PyObject *m, PyObject *args)
{
    eg_server *s = server_who(args);
    const char *name = eg_py_text(args, 1);
    const eg_bundle *b = NULL;
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    eg_status status = eg_server_recall(s, name, &b);
    return eg_py_lend(status, b);
}

/* (server, bundle, parameters, statistics or None): in model_of, a client's own model. */
static PyObject *server_add_model(PyObject *m, PyObject *args)
{
    const eg_server *s = server_who(args);
    eg_bundle *to = eg_py_at(args, 1, "bundle");
    Py_buffer views[2];
    eg_status status = EG_OK;
    (void)m;
    memset(views, 0, sizeof views);
    for (int i = 0; i < 2 && !PyErr_Occurred(); i++) {
        PyObject *array = PyTuple_GetItem(args, 2 + i);
        size_t n = (i ? s->n_state : s->n_params) * sizeof(float);
        if (array && array != Py_None &&
            PyObject_GetBuffer(array, &views[i], PyBUF_SIMPLE) == 0 &&
            (size_t)views[i].len != n)
            PyErr_Format(PyExc_ValueError, "a model of %zu bytes was expected, not of %zd", n,
                         views[i].len);
    }
    if (!PyErr_Occurred())
        status = eg_server_add_model(s, views[0].buf, views[1].buf, to);
    for (int i = 0; i < 2; i++)
        if (views[i].obj)
            PyBuffer_Release(&views[i]);
    return PyErr_Occurred() ? NULL : eg_py_done(status);
}

/* What is called for a piece of work that is shared out. */
typedef struct server_job {
    PyObject *give, *take;
} server_job;

static eg_status server_give(void *context, int64_t i, eg_bundle *to)
{
    const server_job *job = context;
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *rows = PyObject_CallFunction(job->give, "L", (long long)i);
    eg_status s = rows && eg_py_fill(to, rows) ? EG_OK : eg_py_caught();
    Py_XDECREF(rows);
    PyGILState_Release(lock);
    return s;
}

static eg_status server_take(void *context, int64_t i, const eg_bundle *from)
{
    const server_job *job = context;
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *held = eg_py_hold((void *)(uintptr_t)from, "bundle", NULL);
    PyObject *done = held ? PyObject_CallFunction(job->take, "LO", (long long)i, held) : NULL;
    eg_status s = done ? EG_OK : eg_py_caught();
    if (held)
        eg_py_end(held);
    Py_XDECREF(done);
    Py_XDECREF(held);
    PyGILState_Release(lock);
    return s;
}

/* (server, pieces, rows that all are given or None, give or None, take) */
static PyObject *server_share(PyObject *m, PyObject *args)
{
    PyObject *who, *all;
    long long n;
    server_job job;
    eg_bundle *given = NULL;
    (void)m;
    if (!PyArg_ParseTuple(args, "OLOOO:server_share", &who, &n, &all, &job.give, &job.take))
        return NULL;
    eg_server *s = eg_py_get(who, "server");
    if (!s || (all != Py_None && !(given = eg_py_bundle(all))))
        return NULL;
    const eg_work work = {.n = n,
                          .all = given,
                          .give = job.give != Py_None ? server_give : NULL,
                          .take = server_take,
                          .context = &job};
    PyThreadState *state = PyEval_SaveThread();
    eg_status status = eg_server_share(s, &work);
    PyEval_RestoreThread(state);
    eg_bundle_free(given);
    return eg_py_done(status);
}

/* (piece): which one, the round, the seed, and the network's sizes. */
static PyObject *piece_about(PyObject *m, PyObject *args)
{
    const eg_piece *p = eg_py_at(args, 0, "piece");
    (void)m;
    return p ? Py_BuildValue("(LLKN)", (long long)p->i, (long long)p->round,
                             (unsigned long long)p->seed, eg_py_sizes(p->net))
             : NULL;
}

static PyObject *piece_stream(PyObject *m, PyObject *args)
{
    const eg_piece *p = eg_py_at(args, 0, "piece");
    int64_t of = eg_py_whole(args, 1);
    uint32_t draw = (uint32_t)eg_py_whole(args, 2);
    (void)m;
    return PyErr_Occurred() ? NULL : eg_py_key(eg_piece_stream(p, of, draw));
}

/* Ends a lending: of a bundle, a table. */
static PyObject *server_end(PyObject *m, PyObject *args)
{
    PyObject *capsule = PyTuple_GetItem(args, 0);
    (void)m;
    if (!capsule || !PyCapsule_CheckExact(capsule))
        return PyErr_Format(PyExc_TypeError, "something lent was expected");
    eg_py_end(capsule);
    return Py_NewRef(Py_None);
}

PyMethodDef eg_py_server_methods[] = {
    {"bundle_names", server_bundle_names, METH_VARARGS, "what a bundle holds"},
    {"bundle_get", server_bundle_get, METH_VARARGS, "one entry"},
    {"bundle_put", server_bundle_put, METH_VARARGS, "adds one"},
    {"server_about", server_about, METH_VARARGS, "numbers of the server's"},
    {"server_array", server_array, METH_VARARGS, "the global model"},
    {"server_net", server_net, METH_VARARGS, "the network's table and input"},
    {"server_note", server_note, METH_VARARGS, "a number worth seeing"},
    {"server_stream", server_stream, METH_VARARGS, "a key for random numbers"},
    {"server_vector", server_vector, METH_VARARGS, "a vector saved with checkpoints"},
    {"server_keep", server_keep, METH_VARARGS, "keeps a record"},
    {"server_recall", server_recall, METH_VARARGS, "a record as it was kept"},
    {"server_add_model", server_add_model, METH_VARARGS, "a client's own model"},
    {"server_share", server_share, METH_VARARGS, "has workers do pieces of work"},
    {"piece_about", piece_about, METH_VARARGS, "numbers of a piece's"},
    {"piece_stream", piece_stream, METH_VARARGS, "a key for random numbers"},
    {"end", server_end, METH_VARARGS, "ends a lending"},
    {NULL, NULL, 0, NULL},
};
