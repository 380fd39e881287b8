/* remote.c - a server for devices, a device, and the ranks that mpirun started.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "module.h"

#include <stdlib.h>

static void remote_ready(void *context, const char *url)
{
    const eg_py_listening *l = context;
    PyGILState_STATE lock = PyGILState_Ensure();
    eg_py_call(l->ready, Py_BuildValue("(s)", url));
    PyGILState_Release(lock);
}

static bool remote_fleet(void *context, const eg_fleet_event *e)
{
    const eg_py_listening *l = context;
    static const char *const kinds[] = {"waits", "back", "late", "says"};
    bool names = e->kind == EG_FLEET_LATE;
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *clients = PyList_New(0);
    for (int64_t i = 0; clients && names && i < e->n; i++) {
        PyObject *number = PyLong_FromLongLong(e->clients[i]);
        if (!number || PyList_Append(clients, number) != 0)
            Py_CLEAR(clients);
        Py_XDECREF(number);
    }
    bool goes_on = eg_py_call(
        l->fleet, clients ? Py_BuildValue("(sLLNds)", kinds[e->kind], (long long)e->n,
                                          (long long)e->wanted, clients, e->seconds,
                                          e->text ? e->text : "")
                          : NULL);
    PyGILState_Release(lock);
    return goes_on;
}

bool eg_py_listen(PyObject *tuple, eg_py_listening *out)
{
    long long at_least, memory;
    int own_data, mixed;
    *out = (eg_py_listening){0};
    if (!PyArg_ParseTuple(tuple, "szzsLdddLzzppOO:listen", &out->how.address,
                          &out->how.certificate, &out->how.secret, &out->how.keys, &at_least,
                          &out->how.give_up, &out->how.patience, &out->how.deadline, &memory,
                          &out->how.audit, &out->how.members, &own_data, &mixed, &out->ready,
                          &out->fleet))
        return false;
    out->how.at_least = at_least, out->how.memory = memory;
    out->how.own_data = own_data, out->how.mixed = mixed;
    out->how.ready = remote_ready, out->how.fleet = remote_fleet, out->how.context = out;
    return true;
}

typedef struct remote_device {
    eg_join_how how;
    int64_t n_turns;
    PyObject *moment, *say;
} remote_device;

static bool remote_moment(void *context, const eg_device_moment *m)
{
    const remote_device *d = context;
    PyGILState_STATE lock = PyGILState_Ensure();
    bool goes_on = eg_py_call(d->moment, Py_BuildValue("(LLzL)", (long long)m->round,
                                                       (long long)m->n_rounds, m->exchange,
                                                       (long long)m->n_turns));
    PyGILState_Release(lock);
    return goes_on;
}

static void remote_say(void *context, const char *sentence)
{
    const remote_device *d = context;
    PyGILState_STATE lock = PyGILState_Ensure();
    eg_py_call(d->say, Py_BuildValue("(s)", sentence));
    PyGILState_Release(lock);
}

static eg_status remote_take_turns(void *context)
{
    remote_device *d = context;
    return eg_join(&d->how, &d->n_turns);
}

/* (url, client, key, ca, state, data_dir, settings, own data, allow, patience, members,
 * identity, code, model, moment, say, signals): takes turns until the run is over; how many. */
static PyObject *remote_join(PyObject *m, PyObject *args)
{
    remote_device d = {.how = {.moment = remote_moment, .say = remote_say, .context = &d}};
    long long client;
    int own_data;
    PyObject *list, *signals;
    (void)m;
    if (!PyArg_ParseTuple(args, "sLszzzOpzdzzzzOOO:join", &d.how.url, &client, &d.how.key,
                          &d.how.ca, &d.how.state, &d.how.data_dir, &list, &own_data,
                          &d.how.allow, &d.how.patience, &d.how.members, &d.how.identity,
                          &d.how.code, &d.how.model, &d.moment, &d.say, &signals) ||
        !eg_py_texts(list, (const char ***)(uintptr_t)&d.how.settings, &d.how.n_settings))
        return NULL;
    d.how.client = client, d.how.own_data = own_data;
    eg_status s = eg_py_carry_out(remote_take_turns, &d, signals);
    free((void *)(uintptr_t)d.how.settings);
    if (PyErr_Occurred())
        return NULL;
    if (s == EG_OK && eg_py_remembers())
        s = eg_py_again();
    return s == EG_OK ? PyLong_FromLongLong(d.n_turns) : eg_py_fail_run(s);
}

/* The cluster of this process, or None if mpirun did not start it. It is closed by
 * cluster_close, at the end of the process; the capsule frees nothing. */
static PyObject *remote_cluster_open(PyObject *m, PyObject *args)
{
    eg_cluster *c;
    (void)m, (void)args;
    if (!eg_cluster_is_started())
        return Py_NewRef(Py_None);
    eg_status s = eg_cluster_open(&c);
    return s == EG_OK ? eg_py_hold(c, "cluster", NULL) : eg_py_fail(s);
}

static PyObject *remote_cluster_about(PyObject *m, PyObject *args)
{
    const eg_cluster *c = eg_py_at(args, 0, "cluster");
    (void)m;
    return c ? Py_BuildValue("(ii)", eg_cluster_rank(c), eg_cluster_size(c)) : NULL;
}

/* (cluster, four numbers): rank 0 gives an order. */
static PyObject *remote_cluster_order(PyObject *m, PyObject *args)
{
    eg_cluster *c = eg_py_at(args, 0, "cluster");
    int64_t order[EG_ORDER];
    (void)m;
    for (int i = 0; i < EG_ORDER; i++)
        order[i] = eg_py_whole(args, 1 + i);
    return PyErr_Occurred() ? NULL : eg_py_done(eg_cluster_order(c, order));
}

/* The next order; None: there will be no more. */
static PyObject *remote_cluster_next(PyObject *m, PyObject *args)
{
    eg_cluster *c = eg_py_at(args, 0, "cluster");
    int64_t order[EG_ORDER];
    bool over;
    (void)m;
    if (!c)
        return NULL;
    PyThreadState *state = PyEval_SaveThread();
    eg_status s = eg_cluster_next(c, order, &over);
    PyEval_RestoreThread(state);
    if (s != EG_OK)
        return eg_py_fail(s);
    return over ? Py_NewRef(Py_None) : eg_py_numbers(EG_ORDER, order);
}

/* (cluster, why): has rank 0 say it; whether it can be reached. */
static PyObject *remote_cluster_fail(PyObject *m, PyObject *args)
{
    eg_cluster *c = eg_py_at(args, 0, "cluster");
    const char *why = eg_py_text(args, 1);
    (void)m;
    return PyErr_Occurred() ? NULL : PyBool_FromLong(eg_cluster_fail(c, why));
}

/* (cluster, code): ends it; the code to exit with. */
static PyObject *remote_cluster_close(PyObject *m, PyObject *args)
{
    eg_cluster *c = eg_py_at(args, 0, "cluster");
    int code = (int)eg_py_whole(args, 1);
    (void)m;
    if (PyErr_Occurred())
        return NULL;
    eg_py_end(PyTuple_GetItem(args, 0));
    PyThreadState *state = PyEval_SaveThread();
    eg_status s = eg_cluster_close(c, &code);
    PyEval_RestoreThread(state);
    return s == EG_OK ? PyLong_FromLong(code) : eg_py_fail(s);
}

PyMethodDef eg_py_remote_methods[] = {
    {"join", remote_join, METH_VARARGS, "is a device until the run is over"},
    {"cluster_open", remote_cluster_open, METH_VARARGS, "joins the others of mpirun"},
    {"cluster_about", remote_cluster_about, METH_VARARGS, "its rank, and how many there are"},
    {"cluster_order", remote_cluster_order, METH_VARARGS, "rank 0 gives an order"},
    {"cluster_next", remote_cluster_next, METH_VARARGS, "the others wait for one"},
    {"cluster_fail", remote_cluster_fail, METH_VARARGS, "has rank 0 say what went wrong"},
    {"cluster_close", remote_cluster_close, METH_VARARGS, "ends together with the others"},
    {NULL, NULL, 0, NULL},
};
