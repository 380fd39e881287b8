/* real.h - exp, log, pow, cos and sin with the same bits on every machine.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The C library's functions differ in their last bit from one processor to another. What
 * reaches a client's weights, data or draws is computed with these: additions, products and
 * divisions in double, each rounded by itself, in a fixed order. Results are within 1 unit in
 * the last place (real_test.c measures at most 0.56).
 */
#ifndef EG_REAL_H
#define EG_REAL_H

double eg_real_exp(double x);
double eg_real_log(double x);           /* NaN below 0, minus infinity at 0 */
double eg_real_pow(double x, double y); /* NaN below 0 unless y is whole */
/* For angles up to a million; larger ones lose whole turns first, and accuracy with them. */
double eg_real_cos(double x);
double eg_real_sin(double x);

#endif
