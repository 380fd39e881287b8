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

static eg_status hooks_setup(int i, const void *options, const eg_setting *in, eg_wishes *out)
{
    const hooks_slot *slot = &hooks_slots[i];
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *self = hooks_instance(slot, options);
    const eg_scenario *known = in->scenario;
    PyObject *wishes =
        self ? PyObject_CallMethod(
                   self, "_setup", "sdddLLLOLLLO", in->train->optimizer, in->train->lr,
                   in->train->momentum, in->train->weight_decay, (long long)in->train->epochs,
                   (long long)in->train->batch, (long long)in->interval,
                   known ? Py_True : Py_False,
                   (long long)(known ? eg_scenario_n_classes(known) * eg_train_fan(in->train)
                                     : 0),
                   (long long)(known ? eg_scenario_n_tasks(known) : 0),
                   (long long)(known ? eg_scenario_n_clients(known) : 0),
                   in->hides ? Py_True : Py_False)
             : NULL;
    if (wishes)
        eg_py_wish(slot->cls, wishes, out);
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

/* A hook that only has the options: an object of its own, which ends with the call. Takes the
 * reference to its arguments. */
static PyObject *hooks_ask(int i, const void *options, const char *hook, PyObject *args)
{
    PyObject *self = args ? hooks_instance(&hooks_slots[i], options) : NULL;
    PyObject *function = self ? PyObject_GetAttrString(self, hook) : NULL;
    PyObject *out = function ? PyObject_Call(function, args, NULL) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(self);
    Py_XDECREF(args);
    return out;
}

/* A hook that declares tensors: of a network, and of an exchange. */
static eg_status hooks_declare(int i, const void *options, const eg_net *net, const char *hook,
                               int exchange, eg_bundle *out)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *held = eg_py_hold(out, "bundle", NULL);
    PyObject *args = held ? Py_BuildValue("(NiO)", eg_py_sizes(net), exchange, held) : NULL;
    eg_status s = hooks_status(hooks_ask(i, options, hook, args));
    if (held)
        eg_py_end(held);
    Py_XDECREF(held);
    PyGILState_Release(lock);
    return s;
}

/* Records with a graph that is lent: hook(net, graph, nodes), where NULL nodes are left out. */
static eg_node *hooks_record(int i, const void *options, const eg_net *net, eg_graph *g,
                             const char *hook, eg_node *const *nodes, int n)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *graph = eg_py_hold(g, "graph", NULL), *list = PyList_New(0);
    PyObject *held = eg_py_hold((void *)(uintptr_t)net, "net", NULL);
    for (int k = 0; graph && list && k < n; k++) {
        PyObject *node = nodes[k] ? eg_py_hold_node(graph, nodes[k]) : NULL;
        if (nodes[k] && (!node || PyList_Append(list, node) != 0))
            Py_CLEAR(list);
        Py_XDECREF(node);
    }
    PyObject *args = graph && list && held
                         ? Py_BuildValue("(NOOO)", eg_py_sizes(net), held, graph, list)
                         : NULL;
    PyObject *answer = hooks_ask(i, options, hook, args);
    eg_node *out = answer ? eg_py_node_of(graph, answer) : NULL;
    if (!out && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "%s must return a node", hook + 1);
    if (!out)
        out = eg_graph_fail(g, eg_py_caught());
    if (graph)
        eg_py_end(graph);
    if (held)
        eg_py_end(held);
    Py_XDECREF(held);
    Py_XDECREF(answer);
    Py_XDECREF(list);
    Py_XDECREF(graph);
    PyGILState_Release(lock);
    return out;
}

static eg_node *hooks_outputs(int i, const void *options, const eg_net *net, eg_graph *g,
                              eg_node *features, eg_node *tasks)
{
    eg_node *const nodes[] = {features, tasks};
    return hooks_record(i, options, net, g, "_outputs", nodes, 2);
}

static eg_node *hooks_answers(int i, const void *options, const eg_net *net, eg_graph *g,
                              const eg_asked *in)
{
    eg_node *nodes[3 + EG_MAX_KNOWN] = {in->x, in->features, in->outputs};
    memcpy(nodes + 3, in->known, sizeof in->known);
    return hooks_record(i, options, net, g, "_answers", nodes, 3 + EG_MAX_KNOWN);
}

static eg_status hooks_work(int i, const void *options, const eg_piece *p, eg_bundle *to)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *lent[3] = {eg_py_hold((void *)(uintptr_t)p, "piece", NULL),
                         p->from ? eg_py_hold((void *)(uintptr_t)p->from, "bundle", NULL)
                                 : Py_NewRef(Py_None),
                         eg_py_hold(to, "bundle", NULL)};
    eg_status s = hooks_status(
        hooks_ask(i, options, "_work",
                  PyErr_Occurred() ? NULL : PyTuple_Pack(3, lent[0], lent[1], lent[2])));
    for (int k = 0; k < 3; k++) {
        if (lent[k] && lent[k] != Py_None)
            eg_py_end(lent[k]);
        Py_XDECREF(lent[k]);
    }
    PyGILState_Release(lock);
    return s;
}

/* Some hooks cannot fail, and an answer that accept fails for is just left out: what they
 * raised ends the run here, before anything of it is kept. */
static eg_status hooks_guard(eg_status (*hook)(int, void *, void *), int i, void *self,
                             void *of)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    eg_status s = eg_py_remembers() ? eg_py_again() : EG_OK;
    PyGILState_Release(lock);
    return s == EG_OK ? hook(i, self, of) : s;
}

static eg_status hooks_fill_now(int i, void *self, void *c)
{
    return hooks_client(i, self, c, "_fill");
}

static eg_status hooks_server(int i, void *self, eg_server *s, const char *hook)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    eg_status status = hooks_status(hooks_call(hooks_open(i, self, "server", s), hook, NULL));
    PyGILState_Release(lock);
    return status;
}

static eg_status hooks_save_now(int i, void *self, void *s)
{
    return hooks_server(i, self, s, "_save");
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
    static eg_status knows_##i(const void *o, const eg_net *net, eg_bundle *b) \
    { return hooks_declare(i, o, net, "_knows", 0, b); } \
    static eg_status sums_##i(const void *o, const eg_net *net, int x, eg_bundle *b) \
    { return hooks_declare(i, o, net, "_sums", x, b); } \
    static eg_node *outputs_##i(const void *o, const eg_net *net, eg_graph *g, eg_node *f, \
                                eg_node *t) \
    { return hooks_outputs(i, o, net, g, f, t); } \
    static eg_node *answers_##i(const void *o, const eg_net *net, eg_graph *g, \
                                const eg_asked *in) \
    { return hooks_answers(i, o, net, g, in); } \
    static eg_status work_##i(const void *o, const eg_piece *p, eg_bundle *to) \
    { return hooks_work(i, o, p, to); } \
    static eg_status know_own_##i(void *p, eg_client *c, eg_bundle *b) \
    { return hooks_bundle(i, p, "client", c, "_know_own", c->id, 0, b); } \
    static eg_status know_##i(void *p, eg_server *s, eg_bundle *b) \
    { return hooks_bundle(i, p, "server", s, "_know", 0, 0, b); } \
    static eg_status model_of_##i(void *p, eg_server *s, int64_t k, eg_bundle *b) \
    { return hooks_bundle(i, p, "server", s, "_model_of", k, 0, b); } \
    static eg_node *loss_##i(void *p, eg_client *c, eg_graph *g, eg_node *x) \
    { return hooks_loss(i, p, c, g, x); } \
    static uint32_t form_##i(void *p, eg_client *c) { return hooks_form(i, p, c); } \
    static eg_status fill_##i(void *p, eg_client *c) \
    { return hooks_guard(hooks_fill_now, i, p, c); } \
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
    static eg_status save_##i(void *p, eg_server *s) \
    { return hooks_guard(hooks_save_now, i, p, s); }
#define HOOKS_ROW(i) \
    {.setup = setup_##i, .sums = sums_##i, .know = knows_##i, .outputs = outputs_##i, .answers = answers_##i, \
     .loss = loss_##i, .form = form_##i, .fill = fill_##i, \
     .client = {.fini = fini_##i, .download = download_##i, .task = task_##i, \
                .samples = samples_##i, .grad = grad_##i, .trained = trained_##i, \
                .answer = answer_##i, .know = know_own_##i}, \
     .server = {.fini = fini_##i, .begin = begin_##i, .wants = wants_##i, .send = send_##i, \
                .send_one = send_one_##i, .accept = accept_##i, .weight = weight_##i, \
                .collect = collect_##i, .refine = refine_##i, .work = work_##i, \
                .finish = finish_##i, .model_of = model_of_##i, .save = save_##i, \
                .know = know_##i}},
// clang-format on
EG_PY_SLOTS(HOOKS_OF)

static const eg_method hooks_table[EG_PY_N_SLOTS] = {EG_PY_SLOTS(HOOKS_ROW)};

/* Leaves of the slot's functions those whose hooks the class has, and setup and save. */
static void hooks_choose(eg_method *m, PyObject *names)
{
#define HOOKS_DROP(place, name)                                                                \
    do {                                                                                       \
        PyObject *word = PyUnicode_FromString(name);                                           \
        if (!word || PySequence_Contains(names, word) != 1)                                    \
            m->place = NULL;                                                                   \
        Py_XDECREF(word);                                                                      \
    } while (0)
    HOOKS_DROP(sums, "sums");
    HOOKS_DROP(know, "knows");
    HOOKS_DROP(outputs, "outputs");
    HOOKS_DROP(answers, "answers");
    HOOKS_DROP(loss, "loss");
    HOOKS_DROP(form, "form");
    if (!m->form) /* whose exceptions fill tells of */
        HOOKS_DROP(fill, "fill");
    HOOKS_DROP(client.download, "download");
    HOOKS_DROP(client.task, "task");
    HOOKS_DROP(client.samples, "samples");
    HOOKS_DROP(client.grad, "grad");
    HOOKS_DROP(client.trained, "trained");
    HOOKS_DROP(client.answer, "answer");
    HOOKS_DROP(client.know, "know_own");
    HOOKS_DROP(server.begin, "begin");
    HOOKS_DROP(server.wants, "wants");
    HOOKS_DROP(server.send, "send");
    HOOKS_DROP(server.send_one, "send_one");
    HOOKS_DROP(server.accept, "accept");
    HOOKS_DROP(server.weight, "weight");
    HOOKS_DROP(server.collect, "collect");
    HOOKS_DROP(server.refine, "refine");
    HOOKS_DROP(server.work, "work");
    HOOKS_DROP(server.finish, "finish");
    HOOKS_DROP(server.model_of, "model_of");
    HOOKS_DROP(server.know, "know");
#undef HOOKS_DROP
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
 * None, what leaves a client as EG_LEAVES_* bits, whether it is a bound): adds the method, or
 * puts the class in the place of the one of this name. */
static PyObject *hooks_add(PyObject *m, PyObject *args)
{
    PyObject *cls, *name, *help, *rows, *names, *as;
    unsigned leaves;
    int bound;
    (void)m;
    if (!PyArg_ParseTuple(args, "OUUOOOIp:method_add", &cls, &name, &help, &rows, &names, &as,
                          &leaves, &bound))
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
    fresh.method.leaves = leaves, fresh.method.bound = bound;
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
