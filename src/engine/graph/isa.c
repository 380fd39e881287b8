/* isa.c - which copy of the kernels runs: the best the machine has, or a lower one by wish.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The environment's ENGRAM_ISA hides what is better than it, for a whole process and its
 * children, so that a machine can be tested as one that has less.
 */
#include <engram/graph.h>

#include "engine/graph/kernel.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

extern const eg_kernels eg_kernels_plain;
#if defined(__x86_64__)
extern const eg_kernels eg_kernels_avx2, eg_kernels_avx512;
#endif

/* The only setting of the process: chosen before the first plan, then only read. */
static _Atomic(const eg_kernels *) isa_chosen;
static atomic_bool isa_wished; /* by eg_isa_set */

/* The best first. */
static const eg_kernels *const isa_all[] = {
#if defined(__x86_64__)
    &eg_kernels_avx512,
    &eg_kernels_avx2,
#endif
    &eg_kernels_plain,
};

enum { ISA_N = sizeof isa_all / sizeof *isa_all };

/* Where a name stands in isa_all; ISA_N if nowhere. */
static int isa_place(const char *name)
{
    int i = 0;
    while (i < ISA_N && strcmp(isa_all[i]->isa, name) != 0)
        i++;
    return i;
}

/* The place of the best set that ENGRAM_ISA lets be seen. */
static int isa_best_seen(void)
{
    const char *seen = getenv("ENGRAM_ISA");
    int place = seen ? isa_place(seen) : 0;
    return place < ISA_N ? place : 0;
}

static bool isa_runs(const char *name)
{
    if (isa_place(name) < isa_best_seen())
        return false;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (strcmp(name, "avx512") == 0)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    if (strcmp(name, "avx2") == 0)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return strcmp(name, "plain") == 0;
}

const eg_kernels *eg_kernels_get(void)
{
    const eg_kernels *k = atomic_load(&isa_chosen);
    if (k)
        return k;
    for (int i = 0; !k && i < ISA_N; i++)
        if (isa_runs(isa_all[i]->isa))
            k = isa_all[i];
    atomic_store(&isa_chosen, k);
    return k;
}

eg_status eg_isa_set(const char *name)
{
    int place = isa_place(name);
    if (place == ISA_N)
        return eg_fail(EG_EINVAL, "instruction set '%s' is none of plain, avx2, avx512", name);
    if (place < isa_best_seen())
        return eg_fail(EG_ENOTSUP, "ENGRAM_ISA=%s hides %s", getenv("ENGRAM_ISA"), name);
    if (!isa_runs(name))
        return eg_fail(EG_ENOTSUP, "this machine does not have %s", name);
    atomic_store(&isa_wished, true);
    atomic_store(&isa_chosen, isa_all[place]);
    return EG_OK;
}

bool eg_isa_wished(void)
{
    return atomic_load(&isa_wished) || isa_best_seen() > 0;
}

const char *eg_isa_name(void)
{
    return eg_kernels_get()->isa;
}

static double isa_seconds(const eg_kernels *k, int64_t rounds)
{
    float out[16];
    double start = eg_seconds();
    k->peak(out, rounds);
    return eg_seconds() - start;
}

double eg_isa_peak_gflops(void)
{
    enum { ROUNDS = 1000000, TRIES = 20 };
    const eg_kernels *k = eg_kernels_get();
    double best = isa_seconds(k, ROUNDS);
    for (int i = 1; i < TRIES; i++) {
        double s = isa_seconds(k, ROUNDS);
        best = s < best ? s : best;
    }
    return 1e-9 * (double)EG_PEAK_ROUND * (double)k->width * ROUNDS / best;
}
