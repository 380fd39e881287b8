/* world.c - data sets and networks written in Python, and what the families hold.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A data set borrows the arrays it was given: nothing of them is copied. As in hooks.c, each
 * has a slot with functions of its own.
 */
#include "module.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct world_set {
    PyObject *name; /* NULL: free */
    eg_dataset set;
    eg_table table[2]; /* by eg_split: y is its own, values are the buffers' */
    Py_buffer values[2];
} world_set;

static world_set world_sets[EG_PY_N_SLOTS];

/* A table with the values of the slot's and labels of its own. */
static eg_status world_load(int i, eg_split split, eg_table *out)
{
    const eg_table *t = &world_sets[i].table[split];
    *out = *t;
    out->y = NULL, out->group = NULL, out->names = NULL, out->borrowed = true;
    EG_TRY(eg_table_name_classes(out, (const char *const *)t->names));
    EG_TRY(eg_alloc((size_t)t->n, sizeof *out->y, &out->y));
    memcpy(out->y, t->y, (size_t)t->n * sizeof *out->y);
    if (!t->group)
        return EG_OK;
    EG_TRY(eg_alloc((size_t)t->n, sizeof *out->group, &out->group));
    memcpy(out->group, t->group, (size_t)t->n * sizeof *out->group);
    return EG_OK;
}

// clang-format off
#define WORLD_SET_OF(i) \
    static eg_status load_##i(const void *self, const eg_origin *from, eg_split split, \
                              eg_table *out) \
    { (void)self, (void)from; return world_load(i, split, out); }
#define WORLD_SET_ROW(i) load_##i,
#define WORLD_MODEL_OF(i) \
    static eg_node *features_##i(const void *o, eg_graph *g, eg_params *p, eg_node *x) \
    { return world_features(i, o, g, p, x); }
#define WORLD_MODEL_ROW(i) features_##i,
// clang-format on
EG_PY_SLOTS(WORLD_SET_OF)

static eg_status (*const world_loads[])(const void *, const eg_origin *, eg_split,
                                        eg_table *) = {EG_PY_SLOTS(WORLD_SET_ROW)};

static void world_clear(world_set *w)
{
    for (int split = 0; split < 2; split++) {
        eg_table_fini(&w->table[split]);
        if (w->values[split].obj)
            PyBuffer_Release(&w->values[split]);
        memset(&w->values[split], 0, sizeof w->values[split]);
    }
}

/* Copies int32 values of a buffer; NULL with an exception. */
static int32_t *world_whole(PyObject *array, int64_t n)
{
    Py_buffer view;
    int32_t *out = NULL;
    if (PyObject_GetBuffer(array, &view, PyBUF_SIMPLE) != 0)
        return NULL;
    if (view.len != n * (Py_ssize_t)sizeof *out)
        PyErr_Format(PyExc_ValueError, "%lld samples need as many labels", (long long)n);
    else if (!(out = malloc((size_t)view.len + 1)))
        PyErr_NoMemory();
    else
        memcpy(out, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    return out;
}

/* One split: (values, shape [n, c, h, w], of bytes, labels, groups or None). */
static bool world_split(PyObject *row, int64_t classes, eg_table *t, Py_buffer *values)
{
    PyObject *array, *shape, *labels, *groups;
    int bytes;
    if (!PyArg_ParseTuple(row, "OOpOO", &array, &shape, &bytes, &labels, &groups) ||
        PyObject_GetBuffer(array, values, PyBUF_SIMPLE) != 0)
        return false;
    eg_shape s = eg_py_shape_at(row, 1);
    if (PyErr_Occurred())
        return false;
    *t = (eg_table){.n = s.dim[0],
                    .channels = s.dim[1],
                    .height = s.dim[2],
                    .width = s.dim[3],
                    .classes = classes,
                    .borrowed = true};
    if (bytes)
        t->u8 = values->buf;
    else
        t->f32 = values->buf;
    t->y = world_whole(labels, t->n);
    if (groups != Py_None)
        t->group = world_whole(groups, t->n);
    return !PyErr_Occurred();
}

/* Names of the classes, of a list that has as many, or of None. */
static bool world_names(PyObject *list, eg_table *t)
{
    const char **names = NULL;
    size_t n = 0;
    if (list == Py_None)
        return true;
    if (!eg_py_texts(list, &names, &n))
        return false;
    eg_status s = (int64_t)n == t->classes
                      ? eg_table_name_classes(t, names)
                      : eg_fail(EG_EINVAL, "%zu names are not those of %lld classes", n,
                                (long long)t->classes);
    free(names);
    if (s != EG_OK)
        eg_py_fail(s);
    return s == EG_OK;
}

/* (name, help, classes, training split, test split, names of the classes or None): adds a data
 * set, or gives the one of this name other arrays. */
static PyObject *world_add_set(PyObject *m, PyObject *args)
{
    PyObject *name, *help, *rows[2], *names;
    long long classes;
    int i = 0;
    (void)m;
    if (!PyArg_ParseTuple(args, "UULOOO:dataset_add", &name, &help, &classes, &rows[0],
                          &rows[1], &names) ||
        !eg_py_idle("data set"))
        return NULL;
    while (i < EG_PY_N_SLOTS && world_sets[i].name &&
           PyUnicode_Compare(world_sets[i].name, name) != 0)
        i++;
    if (i == EG_PY_N_SLOTS)
        return PyErr_Format(PyExc_ValueError, "a process may have %d data sets of its own",
                            EG_PY_N_SLOTS);
    world_set fresh = {0}, *w = &world_sets[i];
    for (int split = 0; split < 2; split++)
        if (!world_split(rows[split], classes, &fresh.table[split], &fresh.values[split]) ||
            !world_names(names, &fresh.table[split])) {
            world_clear(&fresh);
            return NULL;
        }
    world_clear(w);
    for (int split = 0; split < 2; split++) {
        w->table[split] = fresh.table[split];
        w->values[split] = fresh.values[split];
    }
    if (w->name)
        return Py_NewRef(Py_None);
    Py_INCREF(help); /* as long as the process, as the descriptor */
    w->set = (eg_dataset){.component = {.name = PyUnicode_AsUTF8AndSize(name, NULL),
                                        .help = PyUnicode_AsUTF8AndSize(help, NULL)},
                          .generated = true,
                          .load = world_loads[i]};
    w->name = Py_NewRef(name);
    eg_status s = eg_dataset_add(&w->set);
    if (s != EG_OK) {
        world_clear(w);
        Py_CLEAR(w->name);
    }
    return eg_py_done(s);
}

typedef struct world_model {
    PyObject *cls; /* NULL: free */
    eg_model model;
    eg_opt opts[EG_PY_MAX_OPTIONS + 1];
} world_model;

static world_model world_models[EG_PY_N_SLOTS];

/* The class records features [n, d] of x with the graph and table it is lent. */
static eg_node *world_features(int i, const void *options, eg_graph *g, eg_params *p,
                               eg_node *x)
{
    const world_model *w = &world_models[i];
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *graph = eg_py_hold(g, "graph", NULL), *table = eg_py_hold(p, "params", NULL);
    PyObject *node = graph ? eg_py_hold_node(graph, x) : NULL;
    PyObject *values = eg_py_options(w->opts, options);
    PyObject *answer =
        node && table && values
            ? PyObject_CallMethod(w->cls, "_features", "OOOO", values, graph, table, node)
            : NULL;
    eg_node *out = answer ? eg_py_node_of(graph, answer) : NULL;
    if (!out) {
        eg_status s = PyErr_Occurred() ? eg_py_caught()
                                       : eg_fail(EG_EINVAL, "forward must return a node");
        out = eg_graph_fail(g, s);
    }
    if (graph)
        eg_py_end(graph);
    if (table)
        eg_py_end(table);
    Py_XDECREF(answer);
    Py_XDECREF(values);
    Py_XDECREF(node);
    Py_XDECREF(table);
    Py_XDECREF(graph);
    PyGILState_Release(lock);
    return out;
}

/* A linear layer with PyTorch's first values. */
static eg_node *world_head(const void *options, eg_graph *g, eg_params *p, eg_node *features,
                           int64_t classes)
{
    (void)options;
    eg_shape shape = eg_node_shape(features);
    int64_t d = shape.rank == 2 ? shape.dim[1] : 1;
    eg_init init = {EG_INIT_UNIFORM, 1 / sqrt((double)d), 0};
    return eg_linear(g, features, eg_param(g, p, "head.weight", eg_dims(classes, d), init),
                     eg_param(g, p, "head.bias", eg_dims(classes), init));
}

EG_PY_SLOTS(WORLD_MODEL_OF)

static eg_node *(*const world_records[])(const void *, eg_graph *, eg_params *,
                                         eg_node *) = {EG_PY_SLOTS(WORLD_MODEL_ROW)};

/* The slot of a name, or a free one; NULL with an exception. */
static world_model *world_find_model(PyObject *name)
{
    int i = 0;
    while (i < EG_PY_N_SLOTS && world_models[i].cls &&
           PyUnicode_CompareWithASCIIString(name, world_models[i].model.component.name) != 0)
        i++;
    if (i == EG_PY_N_SLOTS)
        PyErr_Format(PyExc_ValueError, "a process may have %d networks of its own",
                     EG_PY_N_SLOTS);
    return i < EG_PY_N_SLOTS ? &world_models[i] : NULL;
}

/* (class, name, help, rows of options): adds a network, or puts the class in the place of the
 * one of this name. */
static PyObject *world_add_model(PyObject *m, PyObject *args)
{
    PyObject *cls, *name, *help, *rows;
    size_t size = 0;
    (void)m;
    if (!PyArg_ParseTuple(args, "OUUO:model_add", &cls, &name, &help, &rows))
        return NULL;
    world_model *w = eg_py_idle("network") ? world_find_model(name) : NULL, fresh = {0};
    if (!w || !eg_py_read_options(cls, rows, fresh.opts, &size))
        return NULL;
    fresh.model = (eg_model){.component = {.name = eg_py_keep_text(cls, name),
                                           .help = eg_py_keep_text(cls, help),
                                           .size = size,
                                           .opts = w->opts},
                             .features = world_records[w - world_models],
                             .head = world_head};
    if (PyErr_Occurred())
        return NULL;
    PyObject *old = w->cls;
    *w = fresh;
    eg_status s = old ? EG_OK : eg_model_add(&w->model);
    if (s == EG_OK)
        w->cls = Py_NewRef(cls);
    Py_XDECREF(old);
    return eg_py_done(s);
}

/* (graph, net, whether the second head, features): logits of one of its heads. */
static PyObject *world_head_of(PyObject *m, PyObject *args)
{
    eg_graph *g = eg_py_at(args, 0, "graph");
    const eg_net *net = eg_py_at(args, 1, "net");
    bool side = eg_py_whole(args, 2) != 0;
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    PyObject *graph = PyTuple_GetItem(args, 0);
    eg_node *features = eg_py_node_of(graph, PyTuple_GetItem(args, 3));
    if (!features)
        return NULL;
    eg_node *out = side ? eg_net_side(net, g, features) : eg_net_head(net, g, features);
    eg_status s = eg_graph_status(g);
    return s == EG_OK ? eg_py_hold_node(graph, out) : eg_py_fail(s);
}

eg_region eg_py_region(PyObject *args, Py_ssize_t i)
{
    PyObject *item = PyErr_Occurred() ? NULL : PyTuple_GetItem(args, i), *anchors;
    eg_region r = {0};
    long long rows, columns, classes;
    if (!item || !PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "a Region was expected");
        return r;
    }
    if (!PyArg_ParseTuple(item, "LLLOddddd", &rows, &columns, &classes, &anchors,
                          &r.coordinates, &r.object, &r.background, &r.kinds, &r.ignore))
        return r;
    PyObject *list = PySequence_Tuple(anchors);
    r.rows = rows, r.columns = columns, r.classes = classes;
    r.anchors = list ? PyTuple_Size(list) : 0;
    if (r.anchors > EG_MAX_ANCHORS)
        PyErr_Format(PyExc_ValueError, "a region has at most %d anchors", EG_MAX_ANCHORS);
    for (int64_t k = 0; k < r.anchors && !PyErr_Occurred(); k++)
        PyArg_ParseTuple(PyTuple_GetItem(list, (Py_ssize_t)k), "dd", &r.anchor[k][0],
                         &r.anchor[k][1]);
    Py_XDECREF(list);
    return r;
}

static const eg_family *world_family(const char *name)
{
    static const eg_family *const families[] = {
        &eg_method_family,    &eg_model_family, &eg_dataset_family,
        &eg_metric_family,    &eg_optim_family, &eg_op_family,
        &eg_generator_family, &eg_kind_family,  &eg_partition_family};
    for (size_t k = 0; k < sizeof families / sizeof *families; k++)
        if (strcmp(families[k]->name, name) == 0)
            return families[k];
    PyErr_Format(PyExc_ValueError, "there is no family '%s'", name);
    return NULL;
}

/* (family): names and help of its members. */
static PyObject *world_members(PyObject *m, PyObject *args)
{
    const char *name = eg_py_text(args, 0);
    const eg_family *family = name ? world_family(name) : NULL;
    PyObject *out = family ? PyDict_New() : NULL;
    const eg_component *c;
    (void)m;
    for (size_t i = 0; out && (c = eg_family_at(family, i)); i++) {
        PyObject *help = PyUnicode_FromString(c->help);
        if (!help || PyDict_SetItemString(out, c->name, help) != 0)
            Py_CLEAR(out);
        Py_XDECREF(help);
    }
    return out;
}

PyMethodDef eg_py_world_methods[] = {
    {"dataset_add", world_add_set, METH_VARARGS, "adds a data set"},
    {"model_add", world_add_model, METH_VARARGS, "adds a network"},
    {"net_head", world_head_of, METH_VARARGS, "logits of one of a network's heads"},
    {"members", world_members, METH_VARARGS, "what a family holds"},
    {NULL, NULL, 0, NULL},
};
