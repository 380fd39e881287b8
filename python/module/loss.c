/* loss.c - what a loss hook may ask of a client: inputs, replayed rows, nodes of the batch.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "module.h"

/* (client, name): an input of the batch's plan, and its shape. */
static PyObject *loss_input(PyObject *m, PyObject *args)
{
    const eg_client *c = eg_py_at(args, 0, "client");
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
static PyObject *loss_replayed(PyObject *m, PyObject *args)
{
    eg_client *c = eg_py_at(args, 0, "client");
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
static PyObject *loss_node(PyObject *m, PyObject *args)
{
    eg_client *c = eg_py_at(args, 0, "client");
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

PyMethodDef eg_py_loss_methods[] = {
    {"client_input", loss_input, METH_VARARGS, "an input of the batch's plan"},
    {"client_replayed", loss_replayed, METH_VARARGS, "replayed rows, as graph"},
    {"client_node", loss_node, METH_VARARGS, "a node of the batch's graph"},
    {NULL, NULL, 0, NULL},
};
