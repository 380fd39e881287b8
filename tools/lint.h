/* lint.h - tells clang-tidy's analyzer that a failure returns the code it was given.
 * SPDX-License-Identifier: Apache-2.0
 *
 * tools/check puts this before every file but the one that defines these functions. Without it
 * the analyzer takes eg_fail for a call that may also return EG_OK.
 */
#ifndef EG_LINT_H
#define EG_LINT_H

#include <engram/base.h>

static inline eg_status eg_lint_same(eg_status code)
{
    return code;
}

#define eg_fail(code, ...)  (eg_fail(code, __VA_ARGS__), (code))
#define eg_blame(code, ...) eg_lint_same(code)

#endif
