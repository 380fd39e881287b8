/* engram/base.h - status codes and the error text every call can leave behind.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A function that can fail returns eg_status and leaves one sentence, with the numbers in it,
 * in the calling thread's error text. Nothing here prints or exits.
 */
#ifndef EG_BASE_H
#define EG_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

// clang-format off
#define EG_STATUS_MAP(X)                            \
    X(OK,       "ok")                               \
    X(EINVAL,   "a value is not valid")             \
    X(ESHAPE,   "shapes do not fit")                \
    X(ENOMEM,   "out of memory")                    \
    X(ENOENT,   "not found")                        \
    X(EIO,      "reading or writing failed")        \
    X(EFORMAT,  "data is malformed")                \
    X(ENOTSUP,  "not supported")                    \
    X(EBUSY,    "somebody else has it")
// clang-format on

typedef enum eg_status {
#define EG_STATUS_ENUM(name, text) EG_##name,
    EG_STATUS_MAP(EG_STATUS_ENUM)
#undef EG_STATUS_ENUM
} eg_status;

/* What a code means in general, "shapes do not fit". Never NULL. */
const char *eg_status_text(eg_status s);

/* The sentence of this thread's latest failure. Borrowed: valid until the next failure. */
const char *eg_error(void);

/* Sets the error text and returns code, so that failing is one statement. Control characters
 * are spelled out, "\x1b": words may come from a file. */
eg_status eg_fail(eg_status code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Puts "<context>: " before the error text and returns code; EG_OK passes untouched. */
eg_status eg_blame(eg_status code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* n * size zeroed bytes, aligned for vectors, into *out, which is a pointer of any type; NULL
 * when n is 0. Free with free(). */
eg_status eg_alloc(size_t n, size_t size, void *out);

/* Seconds on a clock that only goes forward: for measuring time, never for a result. */
double eg_seconds(void);

/* Has this thread compute with so many threads, 1 to 64, itself among them, until it is told
 * otherwise, or says eg_threads_end. No result depends on it. */
eg_status eg_threads_begin(int n);
void eg_threads_end(void);
int eg_threads(void); /* how many there are for this thread, at least 1 */

/* This library's version, "0.2.0"; and the commit it was built from, "1a2b3c4", "1a2b3c4-dirty"
 * if its sources had changes that were not committed, "" if that is not known. */
const char *eg_version(void);
const char *eg_commit(void);

/* Forwards a failure to the caller. */
#define EG_TRY(call)                                                                           \
    do {                                                                                       \
        eg_status eg_try_status = (call);                                                      \
        if (eg_try_status != EG_OK)                                                            \
            return eg_try_status;                                                              \
    } while (0)

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
