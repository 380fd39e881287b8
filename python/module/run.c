/* run.c - experiments, runs, tables, pages and tensor files for Python.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "module.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void run_end_file(void *p)
{
    eg_experiment_file_free(p);
}

static void run_end_experiment(void *p)
{
    eg_experiment_free(p);
}

static PyObject *run_open(PyObject *m, PyObject *args)
{
    eg_experiment_file *f;
    const char *path = eg_py_text(args, 0);
    (void)m;
    if (!path)
        return NULL;
    eg_status s = eg_experiment_file_open(path, &f);
    return s == EG_OK ? eg_py_hold(f, "file", run_end_file) : eg_py_fail(s);
}

static PyObject *run_parse(PyObject *m, PyObject *args)
{
    eg_experiment_file *f;
    const char *name = eg_py_text(args, 0), *text = eg_py_text(args, 1);
    (void)m;
    if (!name || !text)
        return NULL;
    eg_status s = eg_experiment_parse(name, text, &f);
    return s == EG_OK ? eg_py_hold(f, "file", run_end_file) : eg_py_fail(s);
}

static PyObject *run_labels(PyObject *m, PyObject *args)
{
    const eg_experiment_file *f = eg_py_at(args, 0, "file");
    PyObject *out = f ? PyList_New(0) : NULL;
    (void)m;
    const char *label;
    for (size_t i = 0; out && (label = eg_experiment_file_label(f, i)); i++) {
        PyObject *text = PyUnicode_FromString(label);
        if (!text || PyList_Append(out, text) != 0)
            Py_CLEAR(out);
        Py_XDECREF(text);
    }
    return out;
}

bool eg_py_texts(PyObject *list, const char ***out, size_t *n)
{
    Py_ssize_t size = PyList_Size(list);
    *out = size < 0 ? NULL : calloc((size_t)size + 1, sizeof **out);
    *n = size < 0 ? 0 : (size_t)size;
    if (size >= 0 && !*out)
        PyErr_NoMemory();
    for (size_t i = 0; *out && i < *n; i++)
        if (!((*out)[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, (Py_ssize_t)i), NULL))) {
            free(*out);
            *out = NULL;
        }
    return *out != NULL;
}

static PyObject *run_hold_all(eg_experiments *all)
{
    PyObject *out = PyList_New(0);
    for (size_t i = 0; i < all->n; i++) {
        eg_experiment *e = all->list[i];
        all->list[i] = NULL;
        PyObject *capsule = eg_py_hold(e, "experiment", run_end_experiment);
        if (out && (!capsule || PyList_Append(out, capsule) != 0))
            Py_CLEAR(out);
        Py_XDECREF(capsule);
    }
    eg_experiments_free(all);
    return out;
}

static PyObject *run_sweep(PyObject *m, PyObject *args)
{
    PyObject *file, *list;
    const char *label, **overrides;
    size_t n;
    eg_experiments all;
    (void)m;
    if (!PyArg_ParseTuple(args, "OzO:sweep", &file, &label, &list))
        return NULL;
    const eg_experiment_file *f = eg_py_get(file, "file");
    if (!f || !eg_py_texts(list, &overrides, &n))
        return NULL;
    eg_status s = eg_experiment_file_sweep(f, label, n, overrides, &all);
    free(overrides);
    return s == EG_OK ? run_hold_all(&all) : eg_py_fail(s);
}

static PyObject *run_about(PyObject *m, PyObject *args)
{
    const eg_experiment *e = eg_py_at(args, 0, "experiment");
    (void)m;
    return e ? Py_BuildValue("(ssss)", eg_experiment_name(e), eg_experiment_label(e),
                             eg_experiment_text(e), eg_experiment_sha256(e))
             : NULL;
}

static PyObject *run_folder(PyObject *m, PyObject *args)
{
    PyObject *experiment;
    const char *out;
    unsigned long long seed;
    char folder[512];
    (void)m;
    if (!PyArg_ParseTuple(args, "OsK:folder", &experiment, &out, &seed))
        return NULL;
    const eg_experiment *e = eg_py_get(experiment, "experiment");
    if (!e)
        return NULL;
    eg_status s = eg_experiment_folder(e, out, seed, folder);
    return s == EG_OK ? PyUnicode_DecodeFSDefault(folder) : eg_py_fail(s);
}

static PyObject *run_is_finished(PyObject *m, PyObject *args)
{
    const char *folder = eg_py_text(args, 0);
    (void)m;
    return folder ? PyBool_FromLong(eg_run_is_finished(folder)) : NULL;
}

/* What a run under way calls; each pointer may be None. */
typedef struct run_calls {
    PyObject *progress, *moment, *loading, *say;
} run_calls;

/* No handler may run on a thread that computes: oneDNN's generated code has its stack pointer
 * in a workspace of its own, and the kernel would write the handler's frame over what lies
 * below. So signals with a handler are blocked while the engine works, for all threads that it
 * starts, and taken where a run calls back. */
static _Thread_local sigset_t run_held;

bool eg_py_hold_signals(PyObject *numbers, sigset_t *before)
{
    sigset_t held;
    sigemptyset(&held);
    for (Py_ssize_t i = 0; i < PyList_Size(numbers); i++)
        sigaddset(&held, (int)PyLong_AsLong(PyList_GetItem(numbers, i)));
    if (PyErr_Occurred())
        return false;
    run_held = held;
    pthread_sigmask(SIG_BLOCK, &held, before);
    return true;
}

void eg_py_let_signals(const sigset_t *before)
{
    sigemptyset(&run_held);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

bool eg_py_call(PyObject *f, PyObject *args)
{
    const struct timespec now = {0};
    int number;
    while ((number = sigtimedwait(&run_held, NULL, &now)) > 0)
        PyErr_SetInterruptEx(number);
    PyObject *answer = f != Py_None && args ? PyObject_Call(f, args, NULL) : NULL;
    bool goes_on = answer != Py_False;
    Py_XDECREF(args);
    Py_XDECREF(answer);
    if (PyErr_Occurred() || PyErr_CheckSignals() != 0) {
        eg_py_caught();
        goes_on = false;
    }
    return goes_on && !eg_py_remembers();
}

static bool run_progress(void *context, const eg_progress *p)
{
    const run_calls *calls = context;
    PyGILState_STATE lock = PyGILState_Ensure();
    bool goes_on = eg_py_call(calls->progress,
                              Py_BuildValue("(LLdddO)", (long long)p->round,
                                            (long long)p->n_rounds, p->loss, p->accuracy,
                                            p->seconds, p->evaluated ? Py_True : Py_False));
    PyGILState_Release(lock);
    return goes_on;
}

static void run_moment(void *context, const eg_moment *p)
{
    const run_calls *calls = context;
    static const char *const places[] = {"clients", "server", "tests"};
    PyGILState_STATE lock = PyGILState_Ensure();
    eg_py_call(calls->moment,
               Py_BuildValue("(LLssLLd)", (long long)p->round, (long long)p->n_rounds,
                             places[p->at], p->what ? p->what : "", (long long)p->done,
                             (long long)p->of, p->seconds));
    PyGILState_Release(lock);
}

/* While many files are read: Ctrl-C is heard. */
static bool run_loading(void *context, int64_t done, int64_t all)
{
    const run_calls *calls = context;
    PyGILState_STATE lock = PyGILState_Ensure();
    bool goes_on =
        eg_py_call(calls->loading, Py_BuildValue("(LL)", (long long)done, (long long)all));
    PyGILState_Release(lock);
    return goes_on;
}

static void run_say(void *context, const char *sentence)
{
    const run_calls *calls = context;
    PyGILState_STATE lock = PyGILState_Ensure();
    eg_py_call(calls->say, Py_BuildValue("(s)", sentence));
    PyGILState_Release(lock);
}

/* A transport may fork while this thread has let go of the interpreter's lock: it takes it for
 * the moment of the fork, so that the child's interpreter is whole. */
static _Thread_local bool run_lets_go;
static _Thread_local PyGILState_STATE run_fork_lock;

static void run_before_fork(void)
{
    if (run_lets_go)
        run_fork_lock = PyGILState_Ensure();
}

static void run_after_fork_parent(void)
{
    if (run_lets_go)
        PyGILState_Release(run_fork_lock);
}

static void run_after_fork_child(void)
{
    if (run_lets_go) {
        PyOS_AfterFork_Child();
        PyGILState_Release(run_fork_lock);
    }
}

static void run_watch_forks(void)
{
    pthread_atfork(run_before_fork, run_after_fork_parent, run_after_fork_child);
}

static int run_n_under_way;

bool eg_py_idle(const char *what)
{
    if (run_n_under_way > 0)
        PyErr_Format(PyExc_RuntimeError, "a %s cannot be added while a run is under way", what);
    return run_n_under_way == 0;
}

eg_status eg_py_carry_out(eg_status (*work)(void *), void *of, PyObject *signals)
{
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    sigset_t before;
    if (!eg_py_hold_signals(signals, &before))
        return EG_EINVAL;
    pthread_once(&watched, run_watch_forks);
    eg_py_forget();
    run_n_under_way++;
    PyThreadState *state = PyEval_SaveThread();
    run_lets_go = true;
    eg_status s = work(of);
    run_lets_go = false;
    PyEval_RestoreThread(state);
    run_n_under_way--;
    eg_py_let_signals(&before);
    return s;
}

typedef struct run_job {
    const eg_experiment *e;
    const eg_run_how *how;
    char *folder;
    bool *stopped;
} run_job;

static eg_status run_now(void *context)
{
    const run_job *job = context;
    return eg_experiment_run(job->e, job->how, job->folder, job->stopped);
}

static PyObject *run_carry_out(PyObject *m, PyObject *args)
{
    PyObject *experiment, *cluster, *listen, *signals;
    run_calls calls;
    eg_run_how how = {.progress = run_progress,
                      .moment = run_moment,
                      .loading = run_loading,
                      .say = run_say,
                      .context = &calls,
                      .sheets = -1};
    eg_py_listening listening;
    unsigned long long seed;
    int resume, force;
    long long sheets;
    char folder[512] = "";
    bool stopped = false;
    (void)m;
    if (!PyArg_ParseTuple(args, "OKiizzppzLOOOOOOO:run", &experiment, &seed, &how.workers,
                          &how.threads, &how.out, &how.data_dir, &resume, &force,
                          &how.transport, &sheets, &calls.progress, &calls.moment,
                          &calls.loading, &calls.say, &cluster, &listen, &signals))
        return NULL;
    const eg_experiment *e = eg_py_get(experiment, "experiment");
    if (!e || (cluster != Py_None && !(how.cluster = eg_py_get(cluster, "cluster"))) ||
        (listen != Py_None && !eg_py_listen(listen, &listening)))
        return NULL;
    how.seed = seed, how.resume = resume, how.force = force, how.sheets = sheets;
    how.listen = listen != Py_None ? &listening.how : NULL;
    run_job job = {e, &how, folder, &stopped};
    eg_status s = eg_py_carry_out(run_now, &job, signals);
    if (s == EG_OK && eg_py_remembers())
        s = eg_fail(EG_EINVAL, "%s: the run was stopped at a checkpoint", folder);
    if (s != EG_OK || PyErr_Occurred())
        return PyErr_Occurred() ? NULL : eg_py_fail_run(s);
    return Py_BuildValue("(sO)", folder, stopped ? Py_True : Py_False);
}

/* The published figures of files, each for the runs of its experiment. free() *out. */
static bool run_figures(PyObject *files, eg_published **out, size_t *n)
{
    *out = NULL, *n = 0;
    for (Py_ssize_t i = 0; i < PyList_Size(files); i++) {
        const eg_experiment_file *f = eg_py_get(PyList_GetItem(files, i), "file");
        size_t more = 0;
        const eg_published *list = f ? eg_experiment_file_published(f, &more) : NULL;
        eg_published *longer = more ? realloc(*out, (*n + more) * sizeof *longer) : NULL;
        if (!f || (more && !longer)) {
            free(*out);
            *out = NULL;
            if (f)
                PyErr_NoMemory();
            return false;
        }
        if (more) {
            memcpy(longer + *n, list, more * sizeof *list);
            *out = longer, *n += more;
        }
    }
    return true;
}

static PyObject *run_compare(PyObject *m, PyObject *args)
{
    PyObject *list, *files;
    const char **folders;
    char *table = NULL;
    int form, published;
    eg_compare_how how = {0};
    eg_published *figures;
    size_t n, n_figures;
    (void)m;
    if (!PyArg_ParseTuple(args, "OOizzzzp:compare", &list, &files, &form, &how.sort,
                          &how.against, &how.without, &how.columns, &published) ||
        !eg_py_texts(list, &folders, &n))
        return NULL;
    how.form = (eg_compare_form)form, how.published = published;
    if (!run_figures(files, &figures, &n_figures)) {
        free(folders);
        return NULL;
    }
    eg_status s = eg_compare_print(folders, n, figures, n_figures, &how, &table);
    PyObject *out = s == EG_OK ? PyUnicode_FromString(table) : eg_py_fail(s);
    free(table);
    free(figures);
    free(folders);
    return out;
}

static PyObject *run_report(PyObject *m, PyObject *args)
{
    PyObject *list, *files;
    const char **folders, *out;
    eg_published *figures;
    size_t n, n_figures;
    (void)m;
    if (!PyArg_ParseTuple(args, "OOs:report", &list, &files, &out) ||
        !eg_py_texts(list, &folders, &n))
        return NULL;
    if (!run_figures(files, &figures, &n_figures)) {
        free(folders);
        return NULL;
    }
    eg_status s = eg_report_write(folders, n, figures, n_figures, NULL, out);
    free(figures);
    free(folders);
    return eg_py_done(s);
}

static PyObject *run_chart(PyObject *m, PyObject *args)
{
    PyObject *list;
    const char **folders, *chart, *out;
    size_t n;
    (void)m;
    if (!PyArg_ParseTuple(args, "Oss:chart", &list, &chart, &out) ||
        !eg_py_texts(list, &folders, &n))
        return NULL;
    eg_status s = eg_report_chart(folders, n, chart, out);
    free(folders);
    return eg_py_done(s);
}

static PyObject *run_export(PyObject *m, PyObject *args)
{
    const char *folder, *out;
    int form;
    (void)m;
    if (!PyArg_ParseTuple(args, "sis:export", &folder, &form, &out))
        return NULL;
    return eg_py_done(eg_export_write(folder, (eg_export_form)form, out));
}

/* Every tensor as (name, type, shape, bytes), and every note. */
static PyObject *run_tensors_of(const eg_tensors *t)
{
    PyObject *list = PyList_New(0), *notes = PyDict_New();
    for (size_t i = 0; list && i < eg_tensors_count(t); i++) {
        const eg_stored *s = eg_tensors_at(t, i);
        PyObject *row =
            Py_BuildValue("(ssNy#)", s->name, eg_stored_type_text(s->type),
                          eg_py_numbers(s->rank, s->dims), s->bytes, (Py_ssize_t)s->n_bytes);
        if (!row || PyList_Append(list, row) != 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    eg_stored_note note = {0};
    while (list && notes && eg_tensors_next_note(t, &note)) {
        PyObject *value = PyUnicode_FromString(note.value);
        if (!value || PyDict_SetItemString(notes, note.key, value) != 0)
            Py_CLEAR(notes);
        Py_XDECREF(value);
    }
    return list && notes ? Py_BuildValue("(NN)", list, notes) : NULL;
}

static PyObject *run_tensors_load(PyObject *m, PyObject *args)
{
    const char *path = eg_py_text(args, 0);
    eg_tensors *t;
    (void)m;
    if (!path)
        return NULL;
    eg_status s = eg_safetensors_load(path, &t);
    if (s != EG_OK)
        return eg_py_fail(s);
    PyObject *out = run_tensors_of(t);
    eg_tensors_free(t);
    return out;
}

/* Fills what is written from rows (name, shape, float32 buffer); buffers [n] are held. */
static bool run_stored(PyObject *rows, size_t n, eg_stored *tensors, Py_buffer *buffers)
{
    for (size_t i = 0; i < n; i++) {
        PyObject *row = PyList_GetItem(rows, (Py_ssize_t)i);
        eg_shape shape = eg_py_shape_at(row, 1);
        const char *name = eg_py_text(row, 0);
        if (!name ||
            PyObject_GetBuffer(PyTuple_GetItem(row, 2), &buffers[i], PyBUF_SIMPLE) != 0)
            return false;
        tensors[i] = (eg_stored){
            .name = name, .type = EG_STORED_F32, .rank = shape.rank, .bytes = buffers[i].buf};
        memcpy(tensors[i].dims, shape.dim, (size_t)shape.rank * sizeof *shape.dim);
    }
    return true;
}

static PyObject *run_tensors_save(PyObject *m, PyObject *args)
{
    PyObject *rows, *pairs, *out = NULL;
    const char *path;
    (void)m;
    if (!PyArg_ParseTuple(args, "sOO:tensors_save", &path, &rows, &pairs))
        return NULL;
    size_t n = (size_t)PyList_Size(rows), n_notes = (size_t)PyList_Size(pairs);
    eg_stored *tensors = calloc(n + 1, sizeof *tensors);
    Py_buffer *buffers = calloc(n + 1, sizeof *buffers);
    eg_stored_note *notes = calloc(n_notes + 1, sizeof *notes);
    bool good = tensors && buffers && notes && run_stored(rows, n, tensors, buffers);
    for (size_t i = 0; good && i < n_notes; i++) {
        PyObject *pair = PyList_GetItem(pairs, (Py_ssize_t)i);
        notes[i] = (eg_stored_note){eg_py_text(pair, 0), eg_py_text(pair, 1)};
        good = notes[i].key && notes[i].value;
    }
    if (good)
        out = eg_py_done(eg_safetensors_save(path, tensors, n, notes, n_notes));
    else if (!PyErr_Occurred())
        PyErr_NoMemory();
    for (size_t i = 0; buffers && i < n; i++)
        if (buffers[i].obj)
            PyBuffer_Release(&buffers[i]);
    free(tensors);
    free(buffers);
    free(notes);
    return out;
}

PyMethodDef eg_py_run_methods[] = {
    {"open", run_open, METH_VARARGS, "an experiment file, read"},
    {"parse", run_parse, METH_VARARGS, "the same from a text"},
    {"labels", run_labels, METH_VARARGS, "the labels of a file's runs"},
    {"sweep", run_sweep, METH_VARARGS, "the runs of a label, with settings"},
    {"about", run_about, METH_VARARGS, "name, label, resolved text and its hash"},
    {"folder", run_folder, METH_VARARGS, "where a run with a seed goes"},
    {"is_finished", run_is_finished, METH_VARARGS, "whether a run has come to its end"},
    {"run", run_carry_out, METH_VARARGS, "carries out a run"},
    {"compare", run_compare, METH_VARARGS, "the table of runs"},
    {"report", run_report, METH_VARARGS, "the page of runs"},
    {"chart", run_chart, METH_VARARGS, "one chart of the page"},
    {"export", run_export, METH_VARARGS, "a run's curves for other programs"},
    {"tensors_load", run_tensors_load, METH_VARARGS, "a safetensors file"},
    {"tensors_save", run_tensors_save, METH_VARARGS, "writes one"},
    {NULL, NULL, 0, NULL},
};
