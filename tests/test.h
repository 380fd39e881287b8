/* test.h - cmocka with what it needs, and checks of statuses that show the error text.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_TEST_H
#define EG_TEST_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <engram/base.h>

#define assert_ok(call)                                                                        \
    do {                                                                                       \
        if ((call) != EG_OK)                                                                   \
            fail_msg("%s: %s", #call, eg_error());                                             \
    } while (0)

#define assert_fails(call, code, words)                                                        \
    do {                                                                                       \
        assert_int_equal((call), (code));                                                      \
        if (!strstr(eg_error(), (words)))                                                      \
            fail_msg("'%s' does not say '%s'", eg_error(), (words));                           \
    } while (0)

/* |a - b| <= gap in double; cmocka's own comparison rounds to float. NaN fails. */
#define assert_near(a, b, gap)                                                                 \
    do {                                                                                       \
        double near_a = (a), near_b = (b);                                                     \
        if (!(fabs(near_a - near_b) <= (gap)))                                                 \
            fail_msg("%s = %.9g, not %.9g within %g", #a, near_a, near_b, (double)(gap));      \
    } while (0)

/* How often a text has another in it. */
static inline size_t text_count(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

#endif
