/* module.c - the module engram._engram: capsules, errors, and the tables of its functions.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "module.h"

#include <stdlib.h>
#include <string.h>

static PyObject *module_error; /* engram.Error */
static PyObject *module_first; /* the first exception of a hook in this run */

PyObject *eg_py_fail(eg_status s)
{
    static const char *const codes[] = {
#define X(name, text) #name,
        EG_STATUS_MAP(X)
#undef X
    };
    if (s == EG_ENOMEM)
        return PyErr_NoMemory();
    PyObject *text =
        PyUnicode_DecodeUTF8(eg_error(), (Py_ssize_t)strlen(eg_error()), "replace");
    PyObject *e = text ? PyObject_CallFunctionObjArgs(module_error, text, NULL) : NULL;
    PyObject *code = PyUnicode_FromString(codes[s]);
    if (e && code && PyObject_SetAttrString(e, "code", code) == 0)
        PyErr_SetObject(module_error, e);
    Py_XDECREF(code);
    Py_XDECREF(text);
    Py_XDECREF(e);
    return NULL;
}

PyObject *eg_py_done(eg_status s)
{
    return s == EG_OK ? Py_NewRef(Py_None) : eg_py_fail(s);
}

/* What a capsule's context points to. */
typedef struct module_box {
    void (*end)(void *);
    PyObject *keeps; /* a list; NULL: nothing */
} module_box;

static void module_drop(PyObject *capsule)
{
    module_box *box = PyCapsule_GetContext(capsule);
    void *pointer = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
    if (box && box->end)
        box->end(pointer);
    if (box)
        Py_XDECREF(box->keeps);
    free(box);
}

PyObject *eg_py_hold(void *pointer, const char *kind, void (*end)(void *))
{
    module_box *box = calloc(1, sizeof *box);
    PyObject *capsule = box ? PyCapsule_New(pointer, kind, module_drop) : NULL;
    if (!capsule) {
        free(box);
        if (end)
            end(pointer);
        return box ? NULL : PyErr_NoMemory();
    }
    box->end = end;
    PyCapsule_SetContext(capsule, box);
    return capsule;
}

bool eg_py_keep(PyObject *capsule, PyObject *object)
{
    module_box *box = PyCapsule_GetContext(capsule);
    if (!box->keeps && !(box->keeps = PyList_New(0)))
        return false;
    return PyList_Append(box->keeps, object) == 0;
}

PyObject *eg_py_keeps(PyObject *capsule)
{
    const module_box *box = PyCapsule_GetContext(capsule);
    return box && box->keeps ? PyList_GetItem(box->keeps, 0) : NULL;
}

static const char module_over[] = "over";

void *eg_py_get(PyObject *capsule, const char *kind)
{
    if (!PyCapsule_CheckExact(capsule)) {
        PyErr_Format(PyExc_TypeError, "a %s was expected, not %R", kind, capsule);
        return NULL;
    }
    const char *name = PyCapsule_GetName(capsule);
    if (name == module_over)
        PyErr_SetString(module_error, "what a hook is given may not be used once its turn is "
                                      "over: keep a copy");
    else if (strcmp(name, kind) != 0)
        PyErr_Format(PyExc_TypeError, "a %s was expected, not a %s", kind, name);
    return PyErr_Occurred() ? NULL : PyCapsule_GetPointer(capsule, name);
}

void eg_py_end(PyObject *capsule)
{
    PyCapsule_SetName(capsule, module_over);
}

static PyObject *module_item(PyObject *args, Py_ssize_t i)
{
    PyObject *item = PyErr_Occurred() ? NULL : PyTuple_GetItem(args, i);
    if (!item && PyErr_ExceptionMatches(PyExc_IndexError))
        PyErr_SetString(PyExc_TypeError, "too few arguments");
    return item;
}

void *eg_py_at(PyObject *args, Py_ssize_t i, const char *kind)
{
    PyObject *item = module_item(args, i);
    return item ? eg_py_get(item, kind) : NULL;
}

int64_t eg_py_whole(PyObject *args, Py_ssize_t i)
{
    PyObject *item = module_item(args, i);
    return item ? PyLong_AsLongLong(item) : 0;
}

double eg_py_real(PyObject *args, Py_ssize_t i)
{
    PyObject *item = module_item(args, i);
    return item ? PyFloat_AsDouble(item) : 0;
}

const char *eg_py_text(PyObject *args, Py_ssize_t i)
{
    PyObject *item = module_item(args, i);
    return item ? PyUnicode_AsUTF8AndSize(item, NULL) : NULL;
}

eg_shape eg_py_shape_at(PyObject *args, Py_ssize_t i)
{
    PyObject *item = module_item(args, i);
    PyObject *dims = item ? PySequence_Tuple(item) : NULL;
    int64_t d[EG_MAX_RANK] = {0};
    Py_ssize_t rank = dims ? PyTuple_Size(dims) : 0;
    if (rank > EG_MAX_RANK)
        PyErr_Format(PyExc_ValueError, "a shape has %zd dimensions, more than %d", rank,
                     EG_MAX_RANK);
    for (Py_ssize_t k = 0; k < rank && !PyErr_Occurred(); k++)
        d[k] = eg_py_whole(dims, k);
    Py_XDECREF(dims);
    return eg_shape_of(PyErr_Occurred() ? 0 : (int)rank, d);
}

PyObject *eg_py_numbers(int n, const int64_t *numbers)
{
    PyObject *out = PyTuple_New(n);
    for (int i = 0; out && i < n; i++) {
        PyObject *number = PyLong_FromLongLong(numbers[i]);
        if (!number || PyTuple_SetItem(out, i, number) != 0)
            Py_CLEAR(out);
    }
    return out;
}

PyObject *eg_py_shape(eg_shape s)
{
    return eg_py_numbers(s.rank, s.dim);
}

PyObject *eg_py_memory(const void *p, size_t bytes, bool writable)
{
    if (!p)
        return Py_NewRef(Py_None);
    return PyMemoryView_FromMemory((char *)(uintptr_t)p, (Py_ssize_t)bytes,
                                   writable ? PyBUF_WRITE : PyBUF_READ);
}

/* "ValueError: bad (mine.py:12)", by the package's own words for an exception. */
static PyObject *module_describe(PyObject *e)
{
    PyObject *package = PyImport_ImportModule("engram._errors");
    PyObject *text = package ? PyObject_CallMethod(package, "describe", "O", e) : NULL;
    Py_XDECREF(package);
    if (!text) {
        PyErr_Clear();
        text = PyObject_Str(e);
    }
    return text;
}

/* A failure with the words of an exception. */
static eg_status module_tell(PyObject *e)
{
    PyObject *text = module_describe(e);
    const char *words = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    eg_fail(EG_EINVAL, "%s", words ? words : "an exception without words");
    PyErr_Clear();
    Py_XDECREF(text);
    return EG_EINVAL;
}

eg_status eg_py_caught(void)
{
    PyObject *type, *e, *trace;
    PyErr_Fetch(&type, &e, &trace);
    PyErr_NormalizeException(&type, &e, &trace);
    if (trace)
        PyException_SetTraceback(e, trace);
    if (!module_first)
        module_first = Py_NewRef(e);
    module_tell(e);
    Py_XDECREF(type);
    Py_XDECREF(e);
    Py_XDECREF(trace);
    return EG_EINVAL;
}

eg_status eg_py_again(void)
{
    return module_tell(module_first);
}

void eg_py_forget(void)
{
    Py_CLEAR(module_first);
}

bool eg_py_remembers(void)
{
    return module_first != NULL;
}

PyObject *eg_py_fail_run(eg_status s)
{
    PyObject *cause = module_first, *type, *e, *trace;
    module_first = NULL;
    if (cause && PyErr_GivenExceptionMatches(cause, PyExc_KeyboardInterrupt)) {
        PyErr_SetObject((PyObject *)Py_TYPE(cause), cause);
        Py_DECREF(cause);
        return NULL;
    }
    eg_py_fail(s);
    if (!cause)
        return NULL;
    PyErr_Fetch(&type, &e, &trace);
    PyErr_NormalizeException(&type, &e, &trace);
    PyException_SetCause(e, cause);
    PyErr_Restore(type, e, trace);
    return NULL;
}

static bool module_add(PyObject *m, PyMethodDef *methods)
{
    return PyModule_AddFunctions(m, methods) == 0;
}

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT, .m_name = "engram._engram",
    .m_doc = "The library libengram, as the package engram calls it.", .m_size = -1};

PyMODINIT_FUNC PyInit__engram(void)
{
    PyObject *m = PyModule_Create(&module_definition);
    if (!m || !module_add(m, eg_py_run_methods) || !module_add(m, eg_py_graph_methods) ||
        !module_add(m, eg_py_op_methods()) || !module_add(m, eg_py_hook_methods) ||
        !module_add(m, eg_py_world_methods) || !module_add(m, eg_py_client_methods) ||
        !module_add(m, eg_py_server_methods) || !module_add(m, eg_py_remote_methods) ||
        !module_add(m, eg_py_loss_methods))
        return NULL;
    module_error = PyErr_NewExceptionWithDoc(
        "engram.Error",
        "What engram refuses or fails at, in one sentence; `code` says of which kind.",
        PyExc_RuntimeError, NULL);
    if (!module_error || PyModule_AddObjectRef(m, "Error", module_error) != 0 ||
        PyModule_AddStringConstant(m, "version", eg_version()) != 0 ||
        PyModule_AddStringConstant(m, "commit", eg_commit()) != 0)
        return NULL;
    return m;
}
