/* wishes.c - options of classes as the engine's tables, and what a method's setup wishes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "module.h"

PyObject *eg_py_options(const eg_opt *opts, const void *options)
{
    PyObject *out = PyDict_New();
    for (const eg_opt *o = opts; out && o->name; o++) {
        const char *at = (const char *)options + o->offset;
        PyObject *value = NULL;
        if (o->type == EG_OPT_IS_INT)
            value = PyLong_FromLongLong(*(const int64_t *)(const void *)at);
        else if (o->type == EG_OPT_IS_REAL)
            value = PyFloat_FromDouble(*(const double *)(const void *)at);
        else if (o->type == EG_OPT_IS_BOOL)
            value = PyBool_FromLong(*(const bool *)at);
        else {
            char text[EG_OPT_TEXT_SIZE];
            eg_opt_print(o, options, text);
            value = PyUnicode_FromString(text);
        }
        if (!value || PyDict_SetItemString(out, o->name, value) != 0)
            Py_CLEAR(out);
        Py_XDECREF(value);
    }
    return out;
}

bool eg_py_read_options(PyObject *cls, PyObject *rows, eg_opt *opts, size_t *size)
{
    Py_ssize_t n = PyList_Size(rows);
    if (n > EG_PY_MAX_OPTIONS)
        PyErr_Format(PyExc_ValueError, "%zd options, more than %d", n, EG_PY_MAX_OPTIONS);
    for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++) {
        PyObject *row = PyList_GetItem(rows, i), *texts[3];
        eg_opt *o = &opts[i];
        int type;
        if (!PyArg_ParseTuple(row, "OOidddO", &texts[0], &texts[1], &type, &o->standard,
                              &o->min, &o->max, &texts[2]))
            return false;
        static const eg_opt_type types[] = {EG_OPT_IS_INT, EG_OPT_IS_REAL, EG_OPT_IS_BOOL,
                                            EG_OPT_IS_TEXT, EG_OPT_IS_CHOICE};
        const char *more = texts[2] == Py_None ? NULL : eg_py_keep_text(cls, texts[2]);
        o->name = eg_py_keep_text(cls, texts[0]);
        o->help = eg_py_keep_text(cls, texts[1]);
        o->type = types[type];
        o->text = o->type == EG_OPT_IS_TEXT ? more : NULL;
        o->choices = o->type == EG_OPT_IS_CHOICE ? more : NULL;
        o->offset = *size;
        *size += o->type == EG_OPT_IS_TEXT ? EG_OPT_TEXT_SIZE : sizeof(int64_t);
    }
    return !PyErr_Occurred();
}

const char *eg_py_keep_text(PyObject *cls, PyObject *text)
{
    PyObject *kept = text ? PyObject_GetAttrString(cls, "_kept") : NULL;
    int there = kept ? PySequence_Contains(kept, text) : -1; /* a setup is asked many times */
    if (there == 1)
        text = PyList_GetItem(kept, PySequence_Index(kept, text));
    bool good = there == 1 || (there == 0 && PyList_Append(kept, text) == 0);
    Py_XDECREF(kept);
    return good ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
}

static bool wishes_flag(PyObject *wishes, const char *name)
{
    PyObject *value = PyErr_Occurred() ? NULL : PyDict_GetItemString(wishes, name);
    return value && PyObject_IsTrue(value) == 1;
}

static int64_t wishes_number(PyObject *wishes, const char *name)
{
    PyObject *value = PyErr_Occurred() ? NULL : PyDict_GetItemString(wishes, name);
    return value ? PyLong_AsLongLong(value) : 0;
}

/* Item i of the list of a name; NULL past its end, or past the most there may be. */
static PyObject *wishes_row(PyObject *wishes, const char *name, int i, int most)
{
    PyObject *list = PyErr_Occurred() ? NULL : PyDict_GetItemString(wishes, name);
    if (!list || i >= PyList_Size(list))
        return NULL;
    if (i == most)
        PyErr_Format(PyExc_ValueError, "%s: there may be %d", name, most);
    return i < most ? PyList_GetItem(list, i) : NULL;
}

void eg_py_wish(PyObject *cls, PyObject *w, eg_wishes *out)
{
    PyObject *row;
    out->offers = (unsigned)wishes_number(w, "offers");
    out->memory = wishes_flag(w, "memory"), out->logits = wishes_flag(w, "logits");
    out->insert_once = wishes_flag(w, "insert_once"), out->images = wishes_flag(w, "images");
    out->global = wishes_flag(w, "global_model"), out->personal = wishes_flag(w, "personal");
    out->plain_mean = wishes_flag(w, "plain_mean"), out->rests = wishes_flag(w, "rests");
    out->shares_plain = wishes_flag(w, "shares_plain");
    out->fills = wishes_flag(w, "fills"), out->classes = wishes_flag(w, "classes");
    out->sums = wishes_flag(w, "sums");
    PyObject *train = PyDict_GetItemString(w, "train");
    out->train = train && train != Py_None ? eg_py_keep_text(cls, train) : NULL;
    out->side = wishes_number(w, "side");
    for (int i = 0; (row = wishes_row(w, "uploads", i, EG_MAX_UPLOADS)); i++)
        out->uploads[i] = eg_py_keep_text(cls, row);
    for (int i = 0; (row = wishes_row(w, "replays", i, EG_MAX_REPLAYS)); i++)
        out->replays[i] = (eg_replay){.rows = wishes_number(row, "rows"),
                                      .joins = wishes_flag(row, "joins"),
                                      .labels = wishes_flag(row, "labels"),
                                      .logits = wishes_flag(row, "logits")};
    for (int i = 0; (row = wishes_row(w, "exchanges", i, EG_MAX_EXCHANGES)); i++)
        out->exchanges[i] =
            (eg_exchange){.name = eg_py_keep_text(cls, PyDict_GetItemString(row, "name")),
                          .sum = wishes_flag(row, "sum"),
                          .everyone = wishes_flag(row, "everyone")};
}
