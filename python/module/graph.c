/* graph.c - graphs, plans, tables of tensors, networks and optimisers for Python.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "module.h"

#include <stdlib.h>
#include <string.h>

static eg_graph *eg_py_graph(PyObject *args)
{
    return eg_py_at(args, 0, "graph");
}

/* A node of a graph; NULL for None, or with an exception. */
static eg_node *graph_node(PyObject *graph, PyObject *item)
{
    if (!item || item == Py_None)
        return NULL;
    eg_node *node = eg_py_get(item, "node");
    if (node && eg_py_keeps(item) != graph) {
        PyErr_SetString(PyExc_ValueError, "a node of another graph");
        return NULL;
    }
    return node;
}

static eg_node *eg_py_node(PyObject *args, Py_ssize_t i)
{
    PyObject *item = PyErr_Occurred() ? NULL : PyTuple_GetItem(args, i);
    return item ? graph_node(PyTuple_GetItem(args, 0), item) : NULL;
}

PyObject *eg_py_hold_node(PyObject *graph, eg_node *node)
{
    PyObject *held = eg_py_hold(node, "node", NULL);
    if (held && !eg_py_keep(held, graph))
        Py_CLEAR(held);
    return held;
}

eg_node *eg_py_node_of(PyObject *graph, PyObject *item)
{
    return graph_node(graph, item);
}

/* A node as a capsule; the exception of an op that could not be recorded. */
static PyObject *eg_py_recorded(PyObject *args, eg_graph *g, eg_node *node)
{
    eg_status s = eg_graph_status(g);
    return s == EG_OK ? eg_py_hold_node(PyTuple_GetItem(args, 0), node) : eg_py_fail(s);
}

static eg_window eg_py_window(PyObject *args, Py_ssize_t i)
{
    eg_shape w = eg_py_shape_at(args, i); /* kernel, stride, padding, groups, output padding */
    return (eg_window){w.dim[0], w.dim[1], w.dim[2], w.dim[3], w.dim[4]};
}

static void eg_py_order(PyObject *args, Py_ssize_t i, int out[EG_MAX_RANK])
{
    eg_shape order = eg_py_shape_at(args, i);
    for (int k = 0; k < EG_MAX_RANK; k++)
        out[k] = k < order.rank ? (int)order.dim[k] : k;
}

static int eg_py_parts(PyObject *args, Py_ssize_t i, eg_node *out[EG_PY_MAX_PARTS])
{
    PyObject *parts = PyErr_Occurred() ? NULL : PySequence_Tuple(PyTuple_GetItem(args, i));
    Py_ssize_t n = parts ? PyTuple_Size(parts) : 0;
    if (n > EG_PY_MAX_PARTS)
        PyErr_Format(PyExc_ValueError, "%zd parts, more than %d", n, EG_PY_MAX_PARTS);
    for (Py_ssize_t k = 0; k < n && !PyErr_Occurred(); k++)
        out[k] = graph_node(PyTuple_GetItem(args, 0), PyTuple_GetItem(parts, k));
    Py_XDECREF(parts);
    return PyErr_Occurred() ? 0 : (int)n;
}

#include "ops.inc"

PyMethodDef *eg_py_op_methods(void)
{
    return op_methods;
}

static void graph_end(void *p)
{
    eg_graph_free(p);
}

static void graph_end_plan(void *p)
{
    eg_plan_free(p);
}

static void graph_end_params(void *p)
{
    eg_params_free(p);
}

static void graph_end_net(void *p)
{
    eg_net_free(p);
}

static void graph_end_optimizer(void *p)
{
    eg_optimizer_free(p);
}

static PyObject *graph_new(PyObject *m, PyObject *args)
{
    eg_graph *g;
    (void)m, (void)args;
    eg_status s = eg_graph_new(&g);
    return s == EG_OK ? eg_py_hold(g, "graph", graph_end) : eg_py_fail(s);
}

static PyObject *graph_set_training(PyObject *m, PyObject *args)
{
    eg_graph *g = eg_py_graph(args);
    bool on = eg_py_whole(args, 1) != 0;
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    eg_graph_set_training(g, on);
    return Py_NewRef(Py_None);
}

static PyObject *graph_training(PyObject *m, PyObject *args)
{
    const eg_graph *g = eg_py_graph(args);
    (void)m;
    return g ? PyBool_FromLong(eg_graph_training(g)) : NULL;
}

static PyObject *graph_input(PyObject *m, PyObject *args)
{
    eg_graph *g = eg_py_graph(args);
    const char *name = eg_py_text(args, 1);
    eg_shape shape = eg_py_shape_at(args, 2);
    (void)m;
    return PyErr_Occurred() ? NULL : eg_py_recorded(args, g, eg_input(g, name, shape));
}

static PyObject *graph_constant(PyObject *m, PyObject *args)
{
    eg_graph *g = eg_py_graph(args);
    eg_shape shape = eg_py_shape_at(args, 1);
    double value = eg_py_real(args, 2);
    (void)m;
    return PyErr_Occurred() ? NULL : eg_py_recorded(args, g, eg_constant(g, shape, value));
}

/* (graph, params, name, shape, kind of first values, a, mean, trained) */
static PyObject *graph_param(PyObject *m, PyObject *args)
{
    eg_graph *g = eg_py_graph(args);
    eg_params *p = eg_py_at(args, 1, "params");
    const char *name = eg_py_text(args, 2);
    eg_shape shape = eg_py_shape_at(args, 3);
    eg_init init = {(eg_init_kind)eg_py_whole(args, 4), eg_py_real(args, 5),
                    eg_py_real(args, 6)};
    bool trained = eg_py_whole(args, 7) != 0;
    (void)m;
    if (PyErr_Occurred() || !eg_py_keep(PyTuple_GetItem(args, 0), PyTuple_GetItem(args, 1)))
        return NULL;
    return eg_py_recorded(args, g,
                          trained ? eg_param(g, p, name, shape, init)
                                  : eg_state(g, p, name, shape, init));
}

static PyObject *graph_shape(PyObject *m, PyObject *args)
{
    eg_py_graph(args); /* which must not be over */
    const eg_node *x = eg_py_node(args, 1);
    (void)m;
    return x ? eg_py_shape(eg_node_shape(x)) : NULL;
}

static PyObject *graph_gradients(PyObject *m, PyObject *args)
{
    eg_graph *g = eg_py_graph(args);
    eg_node *wrt[EG_PY_MAX_PARTS], *out[EG_PY_MAX_PARTS];
    eg_node *y = eg_py_node(args, 1);
    int n = eg_py_parts(args, 2, wrt);
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    eg_gradients(g, y, (size_t)n, wrt, out);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < n; i++) {
        PyObject *node = eg_py_recorded(args, g, out[i]);
        if (!node || PyList_Append(list, node) != 0)
            Py_CLEAR(list);
        Py_XDECREF(node);
    }
    return list;
}

static PyObject *graph_output(PyObject *m, PyObject *args)
{
    eg_graph *g = eg_py_graph(args);
    const char *name = eg_py_text(args, 1);
    eg_node *x = eg_py_node(args, 2);
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    eg_output(g, name, x);
    return eg_py_done(eg_graph_status(g));
}

static PyObject *graph_backward(PyObject *m, PyObject *args)
{
    eg_graph *g = eg_py_graph(args);
    eg_node *loss = eg_py_node(args, 1);
    eg_params *p = eg_py_at(args, 2, "params");
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    eg_backward(g, loss, p);
    return eg_py_done(eg_graph_status(g));
}

static PyObject *graph_sample_norms(PyObject *m, PyObject *args)
{
    eg_graph *g = eg_py_graph(args);
    eg_node *losses = eg_py_node(args, 1);
    eg_params *p = eg_py_at(args, 2, "params");
    (void)m;
    return PyErr_Occurred() ? NULL : eg_py_recorded(args, g, eg_sample_norms(g, losses, p));
}

static PyObject *graph_compile(PyObject *m, PyObject *args)
{
    eg_graph *g = eg_py_graph(args);
    eg_plan *p;
    (void)m;
    if (!g)
        return NULL;
    eg_status s = eg_compile(g, &p);
    PyObject *plan = s == EG_OK ? eg_py_hold(p, "plan", graph_end_plan) : eg_py_fail(s);
    if (plan && !eg_py_keep(plan, PyTuple_GetItem(args, 0)))
        Py_CLEAR(plan);
    return plan;
}

/* The floats of a writable buffer, which the capsule keeps; NULL for None, or with an
 * exception. */
static float *graph_floats(PyObject *keeper, PyObject *object, size_t n)
{
    Py_buffer view;
    if (object == Py_None)
        return NULL;
    if (PyObject_GetBuffer(object, &view, PyBUF_WRITABLE) != 0)
        return NULL;
    float *p = view.buf;
    if ((size_t)view.len != n * sizeof *p)
        PyErr_Format(PyExc_ValueError, "an array of %zd bytes, not of %zu float32 values",
                     view.len, n);
    PyBuffer_Release(&view);
    return PyErr_Occurred() || !eg_py_keep(keeper, object) ? NULL : p;
}

/* (plan, params, value, grad, state): arrays that stay where they are for the plan's life. */
static PyObject *graph_bind(PyObject *m, PyObject *args)
{
    PyObject *plan, *params, *arrays[3];
    float *at[3];
    (void)m;
    if (!PyArg_ParseTuple(args, "OOOOO:bind", &plan, &params, &arrays[0], &arrays[1],
                          &arrays[2]))
        return NULL;
    eg_plan *p = eg_py_get(plan, "plan");
    const eg_params *table = p ? eg_py_get(params, "params") : NULL;
    for (int i = 0; table && i < 3; i++) {
        size_t n = i == 2 ? eg_state_length(table) : eg_params_length(table);
        at[i] = graph_floats(plan, arrays[i], n);
        if (PyErr_Occurred())
            return NULL;
    }
    return table ? eg_py_done(eg_plan_bind(p, table, at[0], at[1], at[2])) : NULL;
}

static PyObject *graph_buffer(PyObject *args, bool output)
{
    eg_plan *p = eg_py_at(args, 0, "plan");
    const char *name = eg_py_text(args, 1);
    eg_shape shape;
    if (!p || !name)
        return NULL;
    const float *at = output ? eg_plan_output(p, name) : eg_plan_input(p, name);
    if (!at || !eg_plan_shape(p, name, &shape))
        return Py_NewRef(Py_None);
    size_t bytes = (size_t)eg_shape_size(shape) * sizeof *at;
    return Py_BuildValue("(NN)", eg_py_memory(at, bytes, !output), eg_py_shape(shape));
}

static PyObject *graph_plan_input(PyObject *m, PyObject *args)
{
    (void)m;
    return graph_buffer(args, false);
}

static PyObject *graph_plan_output(PyObject *m, PyObject *args)
{
    (void)m;
    return graph_buffer(args, true);
}

/* (plan, seed, step) */
static PyObject *graph_seed(PyObject *m, PyObject *args)
{
    eg_plan *p = eg_py_at(args, 0, "plan");
    uint64_t seed = (uint64_t)eg_py_whole(args, 1), step = (uint64_t)eg_py_whole(args, 2);
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    eg_rng stream = eg_rng_at(seed, 0, 0, EG_FOR_DROPOUT);
    eg_plan_seed(p, &stream, step);
    return Py_NewRef(Py_None);
}

static PyObject *graph_run(PyObject *m, PyObject *args)
{
    eg_plan *p = eg_py_at(args, 0, "plan");
    (void)m;
    if (!p)
        return NULL;
    sigset_t all, before; /* no handler may run in here: see eg_py_hold_signals */
    sigfillset(&all);
    PyThreadState *state = PyEval_SaveThread();
    pthread_sigmask(SIG_BLOCK, &all, &before);
    eg_status s = eg_plan_run(p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    PyEval_RestoreThread(state);
    return eg_py_done(s);
}

/* (flops of a run, bytes of the arena, [(op, kernel, shape)]) */
static PyObject *graph_about(PyObject *m, PyObject *args)
{
    const eg_plan *p = eg_py_at(args, 0, "plan");
    PyObject *steps = p ? PyList_New(0) : NULL;
    (void)m;
    for (size_t i = 0; steps && i < eg_plan_n_steps(p); i++) {
        eg_step_info step = eg_plan_step_info(p, i);
        PyObject *row = Py_BuildValue("(sss)", step.op, step.kernel, step.shape);
        if (!row || PyList_Append(steps, row) != 0)
            Py_CLEAR(steps);
        Py_XDECREF(row);
    }
    return steps ? Py_BuildValue("(dnN)", eg_plan_flops(p), (Py_ssize_t)eg_plan_bytes(p), steps)
                 : NULL;
}

static PyObject *params_new(PyObject *m, PyObject *args)
{
    eg_params *p;
    (void)m, (void)args;
    eg_status s = eg_params_new(&p);
    return s == EG_OK ? eg_py_hold(p, "params", graph_end_params) : eg_py_fail(s);
}

/* (floats of the flat array, of the state, [(name, shape, offset, trained)]) */
static PyObject *params_table(PyObject *m, PyObject *args)
{
    const eg_params *p = eg_py_at(args, 0, "params");
    PyObject *rows = p ? PyList_New(0) : NULL;
    (void)m;
    for (size_t i = 0; rows && i < eg_params_n(p); i++) {
        const eg_param_info *t = eg_params_at(p, i);
        PyObject *row = Py_BuildValue("(sNnO)", t->name, eg_py_shape(t->shape),
                                      (Py_ssize_t)t->offset, t->trained ? Py_True : Py_False);
        if (!row || PyList_Append(rows, row) != 0)
            Py_CLEAR(rows);
        Py_XDECREF(row);
    }
    return rows ? Py_BuildValue("(nnN)", (Py_ssize_t)eg_params_length(p),
                                (Py_ssize_t)eg_state_length(p), rows)
                : NULL;
}

/* (params, seed, value, state): fills both arrays with first values. */
static PyObject *params_init(PyObject *m, PyObject *args)
{
    const eg_params *p = eg_py_at(args, 0, "params");
    uint64_t seed = (uint64_t)eg_py_whole(args, 1);
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    PyObject *keeper = PyTuple_GetItem(args, 0);
    float *value = graph_floats(keeper, PyTuple_GetItem(args, 2), eg_params_length(p));
    float *state = PyErr_Occurred()
                       ? NULL
                       : graph_floats(keeper, PyTuple_GetItem(args, 3), eg_state_length(p));
    if (PyErr_Occurred())
        return NULL;
    eg_params_init(p, seed, value, state);
    return Py_NewRef(Py_None);
}

static PyObject *optimizer_new(PyObject *m, PyObject *args)
{
    const char *name, *options;
    Py_ssize_t n;
    eg_optimizer *o;
    (void)m;
    if (!PyArg_ParseTuple(args, "ssn:optimizer_new", &name, &options, &n))
        return NULL;
    eg_status s = eg_optimizer_new(name, (size_t)n, &o);
    if (s == EG_OK && (s = eg_optimizer_set_text(o, options)) != EG_OK)
        eg_optimizer_free(o);
    return s == EG_OK ? eg_py_hold(o, "optimizer", graph_end_optimizer) : eg_py_fail(s);
}

/* (optimizer, w, g, n): one update of w along g. */
static PyObject *optimizer_step(PyObject *m, PyObject *args)
{
    eg_optimizer *o = eg_py_at(args, 0, "optimizer");
    size_t n = (size_t)eg_py_whole(args, 3);
    Py_buffer w, g;
    (void)m;
    if (PyErr_Occurred() ||
        PyObject_GetBuffer(PyTuple_GetItem(args, 1), &w, PyBUF_WRITABLE) != 0)
        return NULL;
    if (PyObject_GetBuffer(PyTuple_GetItem(args, 2), &g, PyBUF_SIMPLE) == 0) {
        if ((size_t)w.len == n * sizeof(float) && w.len == g.len)
            eg_optimizer_step(o, w.buf, g.buf);
        else
            PyErr_Format(PyExc_ValueError,
                         "arrays of %zd and %zd bytes, not of %zu float32 "
                         "values",
                         w.len, g.len, n);
        PyBuffer_Release(&g);
    }
    PyBuffer_Release(&w);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* (a, b): a.b by the engine's kernel, whose order of sums is its own. */
static PyObject *graph_dot(PyObject *m, PyObject *args)
{
    Py_buffer a, b;
    double dot = 0;
    (void)m;
    if (PyObject_GetBuffer(PyTuple_GetItem(args, 0), &a, PyBUF_SIMPLE) != 0)
        return NULL;
    if (PyObject_GetBuffer(PyTuple_GetItem(args, 1), &b, PyBUF_SIMPLE) == 0) {
        if (a.len == b.len)
            dot = eg_dot(a.buf, b.buf, (size_t)a.len / sizeof(float));
        else
            PyErr_Format(PyExc_ValueError, "vectors of %zd and %zd bytes", a.len, b.len);
        PyBuffer_Release(&b);
    }
    PyBuffer_Release(&a);
    return PyErr_Occurred() ? NULL : PyFloat_FromDouble(dot);
}

/* (y, a, x): y += a x. */
static PyObject *graph_add_scaled(PyObject *m, PyObject *args)
{
    Py_buffer y, x;
    float a = (float)eg_py_real(args, 1);
    (void)m;
    if (PyErr_Occurred() ||
        PyObject_GetBuffer(PyTuple_GetItem(args, 0), &y, PyBUF_WRITABLE) != 0)
        return NULL;
    if (PyObject_GetBuffer(PyTuple_GetItem(args, 2), &x, PyBUF_SIMPLE) == 0) {
        if (y.len == x.len)
            eg_add_scaled(y.buf, a, x.buf, (size_t)y.len / sizeof(float));
        else
            PyErr_Format(PyExc_ValueError, "vectors of %zd and %zd bytes", y.len, x.len);
        PyBuffer_Release(&x);
    }
    PyBuffer_Release(&y);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* A net, with its table; nothing frees the table but the net, which the table keeps. */
static PyObject *net_hold(eg_net *net)
{
    PyObject *held = eg_py_hold(net, "net", graph_end_net);
    PyObject *table =
        held ? eg_py_hold((void *)(uintptr_t)eg_net_params(net), "params", NULL) : NULL;
    if (!table || !eg_py_keep(table, held)) {
        Py_XDECREF(held);
        Py_XDECREF(table);
        return NULL;
    }
    const eg_net_spec *spec = eg_net_spec_of(net);
    return Py_BuildValue("(NN(sLLLL))", held, table, spec->model, (long long)spec->channels,
                         (long long)spec->height, (long long)spec->width,
                         (long long)spec->classes);
}

/* (model, channels, height, width, classes, options) */
static PyObject *net_new(PyObject *m, PyObject *args)
{
    eg_net_spec spec = {0};
    long long size[4];
    eg_net *net;
    (void)m;
    if (!PyArg_ParseTuple(args, "sLLLLz:net_new", &spec.model, &size[0], &size[1], &size[2],
                          &size[3], &spec.options))
        return NULL;
    spec.channels = size[0], spec.height = size[1], spec.width = size[2];
    spec.classes = size[3];
    eg_status s = eg_net_new(&spec, &net);
    return s == EG_OK ? net_hold(net) : eg_py_fail(s);
}

/* The net of a saved model. */
static PyObject *net_load(PyObject *m, PyObject *args)
{
    const char *path = eg_py_text(args, 0);
    eg_tensors *file;
    eg_net *net;
    (void)m;
    if (!path)
        return NULL;
    eg_status s = eg_safetensors_load(path, &file);
    if (s != EG_OK)
        return eg_py_fail(s);
    s = eg_blame(eg_net_of_notes(file, &net), "%s", path);
    eg_tensors_free(file);
    return s == EG_OK ? net_hold(net) : eg_py_fail(s);
}

/* (net, path, value, state): the tensors of a file. */
static PyObject *net_read(PyObject *m, PyObject *args)
{
    const eg_net *net = eg_py_at(args, 0, "net");
    const char *path = eg_py_text(args, 1);
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    const eg_params *table = eg_net_params(net);
    PyObject *keeper = PyTuple_GetItem(args, 0);
    float *value = graph_floats(keeper, PyTuple_GetItem(args, 2), eg_params_length(table));
    float *state = PyErr_Occurred()
                       ? NULL
                       : graph_floats(keeper, PyTuple_GetItem(args, 3), eg_state_length(table));
    return PyErr_Occurred() ? NULL : eg_py_done(eg_params_load(table, path, value, state));
}

/* (graph, net, x): its logits, in the graph's form. */
static PyObject *net_forward(PyObject *m, PyObject *args)
{
    eg_graph *g = eg_py_graph(args);
    const eg_net *net = eg_py_at(args, 1, "net");
    eg_node *x = eg_py_node(args, 2);
    (void)m;
    if (PyErr_Occurred() || !eg_py_keep(PyTuple_GetItem(args, 0), PyTuple_GetItem(args, 1)))
        return NULL;
    return eg_py_recorded(args, g, eg_net_forward(net, g, x));
}

PyMethodDef eg_py_graph_methods[] = {
    {"graph_new", graph_new, METH_VARARGS, "an empty graph"},
    {"graph_set_training", graph_set_training, METH_VARARGS, "which form layers record"},
    {"graph_training", graph_training, METH_VARARGS, "which form layers record"},
    {"graph_input", graph_input, METH_VARARGS, "a tensor to be filled"},
    {"graph_constant", graph_constant, METH_VARARGS, "every element the same value"},
    {"graph_param", graph_param, METH_VARARGS, "a trained tensor, or one of state"},
    {"node_shape", graph_shape, METH_VARARGS, "a node's shape"},
    {"graph_gradients", graph_gradients, METH_VARARGS, "gradients, as graph"},
    {"graph_output", graph_output, METH_VARARGS, "keeps a value readable"},
    {"graph_backward", graph_backward, METH_VARARGS, "gradients of trained tensors"},
    {"graph_sample_norms", graph_sample_norms, METH_VARARGS, "norms of samples' gradients"},
    {"graph_compile", graph_compile, METH_VARARGS, "a plan"},
    {"plan_bind", graph_bind, METH_VARARGS, "where a table's values live"},
    {"plan_input", graph_plan_input, METH_VARARGS, "an input's memory and shape"},
    {"plan_output", graph_plan_output, METH_VARARGS, "an output's memory and shape"},
    {"plan_seed", graph_seed, METH_VARARGS, "what random ops draw"},
    {"plan_run", graph_run, METH_VARARGS, "runs every step once"},
    {"plan_about", graph_about, METH_VARARGS, "what a plan is made of"},
    {"params_new", params_new, METH_VARARGS, "an empty table of tensors"},
    {"params_table", params_table, METH_VARARGS, "its lengths and tensors"},
    {"params_init", params_init, METH_VARARGS, "first values"},
    {"dot", graph_dot, METH_VARARGS, "a.b"},
    {"add_scaled", graph_add_scaled, METH_VARARGS, "y += a x"},
    {"optimizer_new", optimizer_new, METH_VARARGS, "an optimiser"},
    {"optimizer_step", optimizer_step, METH_VARARGS, "one update"},
    {"net_new", net_new, METH_VARARGS, "a network"},
    {"net_load", net_load, METH_VARARGS, "the network of a saved model"},
    {"net_read", net_read, METH_VARARGS, "reads its tensors from a file"},
    {"net_forward", net_forward, METH_VARARGS, "records its logits"},
    {NULL, NULL, 0, NULL},
};
