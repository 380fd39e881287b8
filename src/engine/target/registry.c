/* registry.c - the list of kinds of targets.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/target.h>

#include <math.h>
#include <string.h>

#define X(name) extern const eg_target eg_target_##name;
#include "engine/target/list.inc"
#undef X

const eg_target *const eg_targets[] = {
#define X(name) &eg_target_##name,
#include "engine/target/list.inc"
#undef X
    NULL,
};
const eg_family eg_target_family = {"targets", "kind of target", eg_targets, NULL};

const eg_target *eg_target_find(const char *word)
{
    return word ? (const eg_target *)eg_family_find(&eg_target_family, word) : eg_targets[0];
}

eg_status eg_aim_new(const eg_target *kind, const eg_aiming *in, eg_aim *out)
{
    const eg_table *first = &in->train[0];
    memset(out, 0, sizeof *out);
    out->kind = kind;
    out->classes = first->classes;
    out->width = first->target ? first->target_width : 1;
    return kind->settle(out, in);
}

size_t eg_aim_rates(const eg_aim *a)
{
    size_t n = 0;
    while (a->kind->rates && a->kind->rates[n])
        n++;
    return n * (a->kind->by_class ? 1 + (size_t)a->classes : 1);
}

int64_t eg_rate_right(double rate)
{
    double right = floor(rate * EG_MILLION + 0.5);
    return right > 0 ? (int64_t)fmin(right, EG_MILLION) : 0;
}

eg_shape eg_aim_shape(const eg_aim *a, int64_t n)
{
    return a->width == 1 ? eg_dims(n) : eg_dims(n, a->width);
}
