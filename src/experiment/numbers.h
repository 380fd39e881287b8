/* numbers.h - an option that is one number or a few.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_NUMBERS_H
#define EG_NUMBERS_H

#include <engram/opt.h>

/* What an option may hold: up to max numbers in [low, high]. */
typedef struct eg_numbers {
    const char *name;
    double low, high;
    int64_t max;
} eg_numbers;

/* Reads "0.5" or "[0.5, 0.4, 0.3]", the brackets left out or not, into out [max]. EG_EINVAL,
 * with the option's name, when it is not that or a number lies outside. */
eg_status eg_numbers_read(const eg_numbers *what, const char *text, double *out, int64_t *n);

/* The same list in the one form that a resolved experiment has: "0.5, 0.4, 0.3". */
eg_status eg_numbers_tidy(const eg_numbers *what, const char *text, char out[EG_OPT_TEXT_SIZE]);

#endif
