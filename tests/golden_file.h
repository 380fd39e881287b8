/* golden_file.h - reading the files that tools/golden.py writes.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_GOLDEN_FILE_H
#define EG_GOLDEN_FILE_H

#include "golden_formula.h"
#include "io/json.h"
#include "test.h"

#include <engram/params.h>

static inline double real_of(const eg_json *v, const char *key)
{
    double out = NAN;
    assert_ok(eg_json_real(eg_json_get(v, key), &out));
    return out;
}

static inline int64_t int_of(const eg_json *v, const char *key)
{
    int64_t out = 0;
    assert_ok(eg_json_int(eg_json_get(v, key), &out));
    return out;
}

static inline const char *text_of(const eg_json *v, const char *key)
{
    const char *out = NULL;
    assert_ok(eg_json_text(eg_json_get(v, key), &out));
    return out;
}

static inline const eg_param_info *tensor_of(const eg_params *p, const char *name)
{
    for (size_t i = 0; i < eg_params_n(p); i++)
        if (strcmp(eg_params_at(p, i)->name, name) == 0)
            return eg_params_at(p, i);
    fail_msg("there is no tensor '%s'", name);
    return NULL;
}

/* How far the entries that a file keeps of a tensor (its "at") are from the values [size] that
 * are there: the L2 distance, over the norm of the entries plus a floor. */
static inline double golden_distance(const eg_json *at, const float *have, size_t size,
                                     double floor)
{
    double off = 0, norm = 0;
    assert_int_equal(eg_json_count(at), golden_n_entries(size));
    for (size_t k = 0; k < eg_json_count(at); k++) {
        double want, got = (double)have[golden_entry(k, size)];
        assert_ok(eg_json_real(eg_json_at(at, k), &want));
        off += (got - want) * (got - want);
        norm += want * want;
    }
    return sqrt(off) / (sqrt(norm) + floor);
}

#endif
