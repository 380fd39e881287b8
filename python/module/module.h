/* module.h - what the files of the Python module share: capsules, errors, hooks' exceptions.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A capsule holds one pointer of the library's under the name of its kind. One that owns its
 * pointer frees it, and keeps alive what that needs. One that is only lent is ended when the
 * lending is over: to use it then is an exception, never a read of freed memory. All of this
 * needs the interpreter's lock.
 */
#ifndef EG_PYTHON_MODULE_H
#define EG_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

#include <engram/engram.h>
#include <signal.h>

enum { EG_PY_MAX_PARTS = 64, EG_PY_MAX_OPTIONS = 32, EG_PY_N_SLOTS = EG_MAX_ADDED };

/* A descriptor has no context, so whatever is written in Python has a slot with functions of
 * its own: X(0) X(1) ... makes one of each. */
// clang-format off
#define EG_PY_SLOTS(X) \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) \
    X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) \
    X(31) \
    X(32) X(33) X(34) X(35) X(36) X(37) X(38) X(39) X(40) X(41) X(42) X(43) X(44) X(45) \
    X(46) X(47) X(48) X(49) X(50) X(51) X(52) X(53) X(54) X(55) X(56) X(57) X(58) X(59) \
    X(60) X(61) X(62) X(63)
// clang-format on

/* Raises engram.Error with the thread's error text and the name of the code; NULL. */
PyObject *eg_py_fail(eg_status s);
/* None, or the exception. */
PyObject *eg_py_done(eg_status s);

/* A capsule of a kind ("graph"). end frees the pointer, NULL: it is lent. */
PyObject *eg_py_hold(void *pointer, const char *kind, void (*end)(void *));
/* Keeps an object for as long as the capsule lives. False, and an exception: no memory. */
bool eg_py_keep(PyObject *capsule, PyObject *object);
/* The first object that it keeps, borrowed; NULL: none. */
PyObject *eg_py_keeps(PyObject *capsule);
/* The pointer; NULL, and an exception, if it is another kind's or the lending is over. */
void *eg_py_get(PyObject *capsule, const char *kind);
/* Ends a lending. */
void eg_py_end(PyObject *capsule);

/* Place i of a tuple as a pointer of a kind, a whole number, a real one, a shape. A failure is
 * an exception: ask PyErr_Occurred once after several. */
void *eg_py_at(PyObject *args, Py_ssize_t i, const char *kind);
int64_t eg_py_whole(PyObject *args, Py_ssize_t i);
double eg_py_real(PyObject *args, Py_ssize_t i);
eg_shape eg_py_shape_at(PyObject *args, Py_ssize_t i);
const char *eg_py_text(PyObject *args, Py_ssize_t i); /* borrowed from the string */
eg_region eg_py_region(PyObject *args, Py_ssize_t i); /* an engram.Region */

/* The strings of a list, borrowed from them. free() *out. False, and an exception. */
bool eg_py_texts(PyObject *list, const char ***out, size_t *n);

PyObject *eg_py_shape(eg_shape s);
PyObject *eg_py_numbers(int n, const int64_t *numbers); /* a tuple */
/* Memory of the library's as a memoryview; None for NULL. */
PyObject *eg_py_memory(const void *p, size_t bytes, bool writable);

/* A node as a capsule that belongs to its graph's; and back: NULL for None, or with an
 * exception where it is another graph's. */
PyObject *eg_py_hold_node(PyObject *graph, eg_node *node);
eg_node *eg_py_node_of(PyObject *graph, PyObject *item);

/* Options of a class, from rows (name, help, type, default, least, most, choices or a text's
 * default): opts has room for EG_PY_MAX_OPTIONS + 1, *size grows by their fields. And their
 * values as a dict. */
bool eg_py_read_options(PyObject *cls, PyObject *rows, eg_opt *opts, size_t *size);
PyObject *eg_py_options(const eg_opt *opts, const void *options);
/* A text that lasts as long as the class, whose list _kept holds it. */
const char *eg_py_keep_text(PyObject *cls, PyObject *text);

/* What a class's setup wishes, from its dict. A failure is an exception. */
void eg_py_wish(PyObject *cls, PyObject *w, eg_wishes *out);

/* A network's table, input and features; input, features and classes alone; two words of a
 * stream; a new bundle of rows (name, shape, float32 buffer or float), NULL with an exception;
 * a bundle that is lent, None for NULL. */
PyObject *eg_py_net(const eg_net *net);
PyObject *eg_py_sizes(const eg_net *net);
PyObject *eg_py_key(eg_rng r);
eg_bundle *eg_py_bundle(PyObject *rows);
bool eg_py_fill(eg_bundle *b, PyObject *rows); /* adds to one; false with an exception */
PyObject *eg_py_lend(eg_status s, const eg_bundle *b);

/* Turns the exception at hand into a status with its type, text, file and line, and remembers
 * the first, for whoever called the run to raise it whole. */
eg_status eg_py_caught(void);
/* Raises what a run ended with: a hook's exception as the cause. */
PyObject *eg_py_fail_run(eg_status s);
/* Carries out work that takes long without the interpreter's lock, with the signals of a list
 * held until eg_py_call takes them. A failure may be an exception. */
eg_status eg_py_carry_out(eg_status (*work)(void *), void *of, PyObject *signals);
/* Holds them back on this thread, and lets them come again. False, and an exception. */
bool eg_py_hold_signals(PyObject *numbers, sigset_t *before);
void eg_py_let_signals(const sigset_t *before);
/* From such work, with the lock: calls f(...), unless it is None, and takes the reference to
 * its arguments; false if it said so or something was raised, now or before. */
bool eg_py_call(PyObject *f, PyObject *args);

/* How a server listens, from a tuple, which it borrows from. False, and an exception. */
typedef struct eg_py_listening {
    eg_listen how;
    PyObject *ready, *fleet;
} eg_py_listening;
bool eg_py_listen(PyObject *tuple, eg_py_listening *out);

/* Whether no run is under way, so that a member of a family may be added or changed; else an
 * exception. */
bool eg_py_idle(const char *what);
void eg_py_forget(void); /* the remembered one, before a run */
bool eg_py_remembers(void);
eg_status eg_py_again(void); /* the remembered one's text once more, as a failure */

extern PyMethodDef eg_py_run_methods[], eg_py_graph_methods[], eg_py_hook_methods[],
    eg_py_world_methods[], eg_py_client_methods[], eg_py_server_methods[],
    eg_py_remote_methods[], eg_py_loss_methods[];
/* The wrappers of all ops, made from op.inc. */
PyMethodDef *eg_py_op_methods(void);

#endif
