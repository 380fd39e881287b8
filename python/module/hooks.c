/* hooks.c - methods written in Python: what the core calls, and what a hook may ask.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A method's descriptor has no context, so each Python method has a slot of its own with its
 * own functions, made by macros; they find the class by the slot's number. A half's state is
 * the options, then a hooks_half. Worker threads take the interpreter's lock here, and only
 * here.
 */
#include "module.h"

#include <stdlib.h>
#include <string.h>

/* What is behind the options in the state of either half. */
typedef struct hooks_half {
    PyObject *self; /* an instance of the class with the options; NULL before the first hook */
    PyObject *capsule; /* the client or server, lent to it */
    PyObject *view;    /* what hooks see of it */
} hooks_half;

typedef struct hooks_slot {
    PyObject *cls; /* NULL: free */
    eg_method method;
    eg_opt opts[EG_PY_MAX_OPTIONS + 1];
    size_t size; /* of the options */
} hooks_slot;

static hooks_slot hooks_slots[EG_PY_N_SLOTS];

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

static PyObject *hooks_instance(const hooks_slot *slot, const void *options)
{
    PyObject *values = eg_py_options(slot->opts, options);
    PyObject *self = values ? PyObject_CallMethod(slot->cls, "_open", "O", values) : NULL;
    Py_XDECREF(values);
    return self;
}

/* The half, with its view of a client ("client") or the server ("server"); NULL with an
 * exception. */
static hooks_half *hooks_open(int i, void *state, const char *kind, const void *pointer)
{
    const hooks_slot *slot = &hooks_slots[i];
    hooks_half *half = (hooks_half *)(void *)((char *)state + slot->size);
    void *p = (void *)(uintptr_t)pointer;
    if (!half->self && !(half->self = hooks_instance(slot, state)))
        return NULL;
    if (!half->capsule && !(half->capsule = eg_py_hold(p, kind, NULL)))
        return NULL;
    PyCapsule_SetPointer(half->capsule, p);
    if (!half->view)
        half->view = PyObject_CallMethod(half->self, "_see", "sO", kind, half->capsule);
    return half->view ? half : NULL;
}

/* Calls a hook with what "O" and the like build from args behind the view. */
static PyObject *hooks_call(hooks_half *half, const char *hook, PyObject *more)
{
    PyObject *function = half ? PyObject_GetAttrString(half->self, hook) : NULL;
    PyObject *first = function ? PyTuple_Pack(1, half->view) : NULL;
    PyObject *args = first && more ? PySequence_Concat(first, more) : first;
    PyObject *out = args ? PyObject_Call(function, args, NULL) : NULL;
    if (args != first)
        Py_XDECREF(args);
    Py_XDECREF(first);
    Py_XDECREF(function);
    return out;
}

/* The status of a call, which takes the answer. */
static eg_status hooks_status(PyObject *answer)
{
    if (!answer)
        return eg_py_caught();
    Py_DECREF(answer);
    return EG_OK;
}

static eg_status hooks_client(int i, void *self, eg_client *c, const char *hook)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    eg_status s = hooks_status(hooks_call(hooks_open(i, self, "client", c), hook, NULL));
    PyGILState_Release(lock);
    return eg_blame(s, "round %lld", (long long)c->round + 1);
}

/* A hook that is given a bundle, lent for the call (or, with until_end, for the turn), before
 * it the number of a client and behind it the name of the exchange. */
static eg_status hooks_bundle(int i, void *self, const char *kind, const void *who,
                              const char *hook, int64_t client, int exchange,
                              const eg_bundle *b)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    hooks_half *half = hooks_open(i, self, kind, who);
    PyObject *held = half ? eg_py_hold((void *)(uintptr_t)b, "bundle", NULL) : NULL;
    PyObject *more = held ? Py_BuildValue("(LiO)", (long long)client, exchange, held) : NULL;
    PyObject *answer = more ? hooks_call(half, hook, more) : NULL;
    const char *refusal =
        answer && PyUnicode_Check(answer) ? PyUnicode_AsUTF8AndSize(answer, NULL) : NULL;
    eg_status s = refusal ? eg_fail(EG_EINVAL, "%s", refusal) : EG_OK;
    if (!refusal)
        s = hooks_status(answer);
    else
        Py_DECREF(answer);
    if (held && strcmp(hook, "_download") != 0)
        eg_py_end(held);
    Py_XDECREF(held);
    Py_XDECREF(more);
    PyGILState_Release(lock);
    return s;
}

static void hooks_fini(int i, void *self)
{
    hooks_half *half = (hooks_half *)(void *)((char *)self + hooks_slots[i].size);
    if (!half->self && !half->capsule)
        return;
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *ended = half->view ? PyObject_CallMethod(half->view, "_end", NULL) : NULL;
    if (half->view && !ended)
        eg_py_caught();
    Py_XDECREF(ended);
    if (half->capsule)
        eg_py_end(half->capsule);
    Py_CLEAR(half->view);
    Py_CLEAR(half->capsule);
    Py_CLEAR(half->self);
    PyGILState_Release(lock);
}

const char *eg_py_keep_text(PyObject *cls, PyObject *text)
{
    PyObject *kept = PyObject_GetAttrString(cls, "_kept");
    const char *out =
        kept && PyList_Append(kept, text) == 0 ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    Py_XDECREF(kept);
    return out;
}

static bool hooks_flag(PyObject *wishes, const char *name)
{
    PyObject *value = PyErr_Occurred() ? NULL : PyDict_GetItemString(wishes, name);
    return value && PyObject_IsTrue(value) == 1;
}

static int64_t hooks_number(PyObject *wishes, const char *name)
{
    PyObject *value = PyErr_Occurred() ? NULL : PyDict_GetItemString(wishes, name);
    return value ? PyLong_AsLongLong(value) : 0;
}

/* Item i of the list of a name; NULL past its end, or past the most there may be. */
static PyObject *hooks_row(PyObject *wishes, const char *name, int i, int most)
{
    PyObject *list = PyErr_Occurred() ? NULL : PyDict_GetItemString(wishes, name);
    if (!list || i >= PyList_Size(list))
        return NULL;
    if (i == most)
        PyErr_Format(PyExc_ValueError, "%s: there may be %d", name, most);
    return i < most ? PyList_GetItem(list, i) : NULL;
}

static void hooks_wish(PyObject *cls, PyObject *w, eg_wishes *out)
{
    PyObject *row;
    out->offers = (unsigned)hooks_number(w, "offers");
    out->memory = hooks_flag(w, "memory"), out->logits = hooks_flag(w, "logits");
    out->insert_once = hooks_flag(w, "insert_once"), out->images = hooks_flag(w, "images");
    out->global = hooks_flag(w, "global_model"), out->personal = hooks_flag(w, "personal");
    out->plain_mean = hooks_flag(w, "plain_mean"), out->rests = hooks_flag(w, "rests");
    out->shares_plain = hooks_flag(w, "shares_plain");
    out->side = hooks_number(w, "side");
    for (int i = 0; (row = hooks_row(w, "uploads", i, EG_MAX_UPLOADS)); i++)
        out->uploads[i] = eg_py_keep_text(cls, row);
    for (int i = 0; (row = hooks_row(w, "replays", i, EG_MAX_REPLAYS)); i++)
        out->replays[i] = (eg_replay){.rows = hooks_number(row, "rows"),
                                      .joins = hooks_flag(row, "joins"),
                                      .labels = hooks_flag(row, "labels"),
                                      .logits = hooks_flag(row, "logits")};
    for (int i = 0; (row = hooks_row(w, "exchanges", i, EG_MAX_EXCHANGES)); i++)
        out->exchanges[i] =
            (eg_exchange){.name = eg_py_keep_text(cls, PyDict_GetItemString(row, "name")),
                          .sum = hooks_flag(row, "sum"),
                          .everyone = hooks_flag(row, "everyone")};
}

static eg_status hooks_setup(int i, const void *options, const eg_setting *in, eg_wishes *out)
{
    const hooks_slot *slot = &hooks_slots[i];
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *self = hooks_instance(slot, options);
    PyObject *wishes =
        self ? PyObject_CallMethod(self, "_setup", "sdddLLLO", in->train->optimizer,
                                   in->train->lr, in->train->momentum, in->train->weight_decay,
                                   (long long)in->train->epochs, (long long)in->train->batch,
                                   (long long)in->interval, in->scenario ? Py_True : Py_False)
             : NULL;
    if (wishes)
        hooks_wish(slot->cls, wishes, out);
    eg_status s = PyErr_Occurred() ? eg_py_caught() : EG_OK;
    eg_py_forget(); /* a refusal is said where it is asked for, with its text */
    Py_XDECREF(wishes);
    Py_XDECREF(self);
    PyGILState_Release(lock);
    return s;
}

static eg_node *hooks_loss(int i, void *self, eg_client *c, eg_graph *g, eg_node *loss)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    hooks_half *half = hooks_open(i, self, "client", c);
    PyObject *graph = half ? eg_py_hold(g, "graph", NULL) : NULL;
    PyObject *node = graph ? eg_py_hold_node(graph, loss) : NULL;
    PyObject *more = node ? PyTuple_Pack(2, graph, node) : NULL;
    PyObject *answer = more ? hooks_call(half, "_loss", more) : NULL;
    eg_node *out = answer ? eg_py_node_of(graph, answer) : NULL;
    if (!out && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "loss must return a node");
    if (!out)
        out = eg_graph_fail(g, eg_py_caught());
    if (graph)
        eg_py_end(graph);
    Py_XDECREF(answer);
    Py_XDECREF(more);
    Py_XDECREF(node);
    Py_XDECREF(graph);
    PyGILState_Release(lock);
    return out;
}

static uint32_t hooks_form(int i, void *self, eg_client *c)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *answer = hooks_call(hooks_open(i, self, "client", c), "form", NULL);
    long long form = answer ? PyLong_AsLongLong(answer) : 0;
    if (PyErr_Occurred())
        eg_py_caught();
    Py_XDECREF(answer);
    PyGILState_Release(lock);
    return (uint32_t)form;
}

static eg_status hooks_server(int i, void *self, eg_server *s, const char *hook)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    eg_status status = hooks_status(hooks_call(hooks_open(i, self, "server", s), hook, NULL));
    PyGILState_Release(lock);
    return status;
}

static eg_status hooks_finish(int i, void *self, eg_server *s, int exchange)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *more = Py_BuildValue("(i)", exchange);
    eg_status status =
        hooks_status(hooks_call(hooks_open(i, self, "server", s), "_finish", more));
    Py_XDECREF(more);
    PyGILState_Release(lock);
    return status;
}

static bool hooks_wants(int i, void *self, eg_server *s, int exchange)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *more = Py_BuildValue("(i)", exchange);
    PyObject *answer = hooks_call(hooks_open(i, self, "server", s), "_wants", more);
    int wants = answer ? PyObject_IsTrue(answer) : -1;
    if (wants < 0)
        eg_py_caught();
    Py_XDECREF(answer);
    Py_XDECREF(more);
    PyGILState_Release(lock);
    return wants != 0;
}

static double hooks_weight(int i, void *self, eg_server *s, int64_t client,
                           const eg_bundle *from)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    hooks_half *half = hooks_open(i, self, "server", s);
    PyObject *held = half ? eg_py_hold((void *)(uintptr_t)from, "bundle", NULL) : NULL;
    PyObject *more = held ? Py_BuildValue("(LO)", (long long)client, held) : NULL;
    PyObject *answer = more ? hooks_call(half, "_weight", more) : NULL;
    double weight = answer ? PyFloat_AsDouble(answer) : 1;
    if (PyErr_Occurred()) {
        eg_py_caught();
        weight = 1;
    }
    if (held)
        eg_py_end(held);
    Py_XDECREF(answer);
    Py_XDECREF(more);
    Py_XDECREF(held);
    PyGILState_Release(lock);
    return weight;
}

static eg_status hooks_refine(int i, void *self, eg_server *s, float *param, float *state)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *more = Py_BuildValue(
        "(NN)", eg_py_memory(param, s->n_params * sizeof *param, true),
        eg_py_memory(s->n_state ? state : NULL, s->n_state * sizeof *state, true));
    eg_status status =
        hooks_status(hooks_call(hooks_open(i, self, "server", s), "_refine", more));
    Py_XDECREF(more);
    PyGILState_Release(lock);
    return status;
}

// clang-format off
#define HOOKS_OF(i) \
    static eg_status setup_##i(const void *o, const eg_setting *in, eg_wishes *out) \
    { return hooks_setup(i, o, in, out); } \
    static eg_node *loss_##i(void *p, eg_client *c, eg_graph *g, eg_node *x) \
    { return hooks_loss(i, p, c, g, x); } \
    static uint32_t form_##i(void *p, eg_client *c) { return hooks_form(i, p, c); } \
    static eg_status fill_##i(void *p, eg_client *c) { return hooks_client(i, p, c, "_fill"); } \
    static void fini_##i(void *p) { hooks_fini(i, p); } \
    static eg_status download_##i(void *p, eg_client *c, int x, const eg_bundle *b) \
    { return hooks_bundle(i, p, "client", c, "_download", c->id, x, b); } \
    static eg_status task_##i(void *p, eg_client *c) { return hooks_client(i, p, c, "task"); } \
    static eg_status samples_##i(void *p, eg_client *c) \
    { return hooks_client(i, p, c, "samples"); } \
    static eg_status grad_##i(void *p, eg_client *c) { return hooks_client(i, p, c, "grad"); } \
    static eg_status trained_##i(void *p, eg_client *c) \
    { return hooks_client(i, p, c, "trained"); } \
    static eg_status answer_##i(void *p, eg_client *c, int x, eg_bundle *b) \
    { return hooks_bundle(i, p, "client", c, "_answer", c->id, x, b); } \
    static eg_status begin_##i(void *p, eg_server *s) \
    { return hooks_server(i, p, s, "_begin"); } \
    static bool wants_##i(void *p, eg_server *s, int x) { return hooks_wants(i, p, s, x); } \
    static eg_status send_##i(void *p, eg_server *s, int x, eg_bundle *b) \
    { return hooks_bundle(i, p, "server", s, "_send", 0, x, b); } \
    static eg_status send_one_##i(void *p, eg_server *s, int64_t k, eg_bundle *b) \
    { return hooks_bundle(i, p, "server", s, "_send_one", k, 0, b); } \
    static eg_status accept_##i(void *p, eg_server *s, int x, int64_t k, const eg_bundle *b) \
    { return hooks_bundle(i, p, "server", s, "_accept", k, x, b); } \
    static double weight_##i(void *p, eg_server *s, int64_t k, const eg_bundle *b) \
    { return hooks_weight(i, p, s, k, b); } \
    static eg_status collect_##i(void *p, eg_server *s, int x, int64_t k, const eg_bundle *b) \
    { return hooks_bundle(i, p, "server", s, "_collect", k, x, b); } \
    static eg_status refine_##i(void *p, eg_server *s, float *w, float *v) \
    { return hooks_refine(i, p, s, w, v); } \
    static eg_status finish_##i(void *p, eg_server *s, int x) \
    { return hooks_finish(i, p, s, x); } \
    static eg_status save_##i(void *p, eg_server *s) { return hooks_server(i, p, s, "_save"); }
#define HOOKS_ROW(i) \
    {.setup = setup_##i, .loss = loss_##i, .form = form_##i, .fill = fill_##i, \
     .client = {.fini = fini_##i, .download = download_##i, .task = task_##i, \
                .samples = samples_##i, .grad = grad_##i, .trained = trained_##i, \
                .answer = answer_##i}, \
     .server = {.fini = fini_##i, .begin = begin_##i, .wants = wants_##i, .send = send_##i, \
                .send_one = send_one_##i, .accept = accept_##i, .weight = weight_##i, \
                .collect = collect_##i, .refine = refine_##i, .finish = finish_##i, \
                .save = save_##i}},
// clang-format on
EG_PY_SLOTS(HOOKS_OF)

static const eg_method hooks_table[EG_PY_N_SLOTS] = {EG_PY_SLOTS(HOOKS_ROW)};

/* Leaves of the slot's functions those whose hooks the class has. */
static void hooks_choose(eg_method *m, PyObject *names)
{
#define HOOKS_DROP(place, name)                                                                \
    do {                                                                                       \
        PyObject *word = PyUnicode_FromString(name);                                           \
        if (!word || PySequence_Contains(names, word) != 1)                                    \
            m->place = NULL;                                                                   \
        Py_XDECREF(word);                                                                      \
    } while (0)
    HOOKS_DROP(loss, "loss");
    HOOKS_DROP(form, "form");
    HOOKS_DROP(fill, "fill");
    HOOKS_DROP(client.download, "download");
    HOOKS_DROP(client.task, "task");
    HOOKS_DROP(client.samples, "samples");
    HOOKS_DROP(client.grad, "grad");
    HOOKS_DROP(client.trained, "trained");
    HOOKS_DROP(client.answer, "answer");
    HOOKS_DROP(server.begin, "begin");
    HOOKS_DROP(server.wants, "wants");
    HOOKS_DROP(server.send, "send");
    HOOKS_DROP(server.send_one, "send_one");
    HOOKS_DROP(server.accept, "accept");
    HOOKS_DROP(server.weight, "weight");
    HOOKS_DROP(server.collect, "collect");
    HOOKS_DROP(server.refine, "refine");
    HOOKS_DROP(server.finish, "finish");
    HOOKS_DROP(server.save, "save");
#undef HOOKS_DROP
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

/* The slot of a name, or a free one; NULL with an exception. */
static hooks_slot *hooks_find(PyObject *name)
{
    int i = 0;
    while (i < EG_PY_N_SLOTS && hooks_slots[i].cls &&
           PyUnicode_CompareWithASCIIString(name, hooks_slots[i].method.component.name) != 0)
        i++;
    if (i == EG_PY_N_SLOTS)
        PyErr_Format(PyExc_ValueError, "a process may have %d methods of its own",
                     EG_PY_N_SLOTS);
    return i < EG_PY_N_SLOTS ? &hooks_slots[i] : NULL;
}

/* (class, name, help, rows of options, names of its hooks, whose random numbers it has or
 * None): adds the method, or puts the class in the place of the one of this name. */
static PyObject *hooks_add(PyObject *m, PyObject *args)
{
    PyObject *cls, *name, *help, *rows, *names, *as;
    (void)m;
    if (!PyArg_ParseTuple(args, "OUUOOO:method_add", &cls, &name, &help, &rows, &names, &as))
        return NULL;
    hooks_slot *slot = eg_py_idle("method") ? hooks_find(name) : NULL;
    if (!slot)
        return NULL;
    hooks_slot fresh = {.method = hooks_table[slot - hooks_slots]};
    if (!eg_py_read_options(cls, rows, fresh.opts, &fresh.size))
        return NULL;
    fresh.method.component = (eg_component){.name = eg_py_keep_text(cls, name),
                                            .help = eg_py_keep_text(cls, help),
                                            .size = fresh.size,
                                            .opts = slot->opts};
    fresh.method.client.size = fresh.method.server.size = fresh.size + sizeof(hooks_half);
    hooks_choose(&fresh.method, names);
    fresh.method.draws_as = as == Py_None ? NULL : eg_py_keep_text(cls, as);
    if (PyErr_Occurred())
        return NULL;
    PyObject *old = slot->cls;
    *slot = fresh;
    eg_status s = old ? EG_OK : eg_method_add(&slot->method);
    if (s == EG_OK)
        slot->cls = Py_NewRef(cls);
    Py_XDECREF(old);
    return eg_py_done(s);
}

PyMethodDef eg_py_hook_methods[] = {
    {"method_add", hooks_add, METH_VARARGS, "adds a method"},
    {NULL, NULL, 0, NULL},
};
