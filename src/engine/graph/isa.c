/* isa.c - which copy of the kernels runs: the best the machine has, or a lower one by wish.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The environment's ENGRAM_ISA hides what is better than it, for a whole process and its
 * children, so that a machine can be tested as one that has less.
 */
#include <engram/graph.h>

#include "engine/graph/kernel.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The only setting of the process: chosen before the first plan, then only read. */
static _Atomic(const eg_kernels *) isa_chosen;
static atomic_bool isa_wished; /* by eg_isa_set */

/* One copy of the kernels; two may be of one set, the better one first. */
typedef struct isa_copy {
    const eg_kernels *kernels;
    bool (*runs)(void); /* NULL: on every machine */
} isa_copy;

/* Whether there are others than the portable set: a static program has it alone. */
#if !defined(EG_STATIC) && (defined(__aarch64__) || (defined(__x86_64__) && defined(EG_DNNL)))
#define ISA_FAST
#endif

#if defined(__x86_64__)
static bool isa_has_avx2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

#ifdef ISA_FAST
static bool isa_has_avx512(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}
#endif
#endif

#define ISA(name) extern const eg_kernels eg_kernels_##name;
ISA(portable)
#if defined(__x86_64__)
ISA(portable_avx2)
#ifdef ISA_FAST
ISA(plain)
ISA(avx2)
ISA(avx512)
#endif
#elif defined(ISA_FAST)
ISA(neon)
#endif
#undef ISA

/* The best set first; the portable one is slower, and there for its bits. */
static const isa_copy isa_all[] = {
#if defined(__x86_64__)
#ifdef ISA_FAST
    {&eg_kernels_avx512, isa_has_avx512},
    {&eg_kernels_avx2, isa_has_avx2},
    {&eg_kernels_plain, NULL},
#endif
    {&eg_kernels_portable_avx2, isa_has_avx2},
#elif defined(ISA_FAST)
    {&eg_kernels_neon, NULL},
#endif
    {&eg_kernels_portable, NULL},
};

enum { ISA_N = sizeof isa_all / sizeof *isa_all };

/* Where the first copy of a set stands in isa_all; ISA_N if nowhere. */
static int isa_place(const char *name)
{
    int i = 0;
    while (i < ISA_N && strcmp(isa_all[i].kernels->isa, name) != 0)
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

/* The best copy from a place on that runs here; `name`: of that set alone, or NULL. */
static const eg_kernels *isa_copy_from(int place, const char *name)
{
    for (int i = place; i < ISA_N; i++) {
        const eg_kernels *k = isa_all[i].kernels;
        if ((!name || strcmp(k->isa, name) == 0) && (!isa_all[i].runs || isa_all[i].runs()))
            return k;
    }
    return NULL;
}

const eg_kernels *eg_kernels_get(void)
{
    const eg_kernels *k = atomic_load(&isa_chosen);
    if (k)
        return k;
    k = isa_copy_from(isa_best_seen(), NULL);
    atomic_store(&isa_chosen, k);
    return k;
}

/* The names of all sets of this program, for an error. */
static void isa_list(char *to, size_t size)
{
    size_t length = 0;
    for (int i = 0; i < ISA_N; i++) {
        const char *name = isa_all[i].kernels->isa;
        if (isa_place(name) == i && length < size)
            length += (size_t)snprintf(to + length, size - length, "%s%s", i ? ", " : "", name);
    }
}

eg_status eg_isa_set(const char *name)
{
    int place = isa_place(name);
    if (place == ISA_N) {
        char all[128];
        isa_list(all, sizeof all);
        return eg_fail(EG_EINVAL, "instruction set '%s' is none of %s", name, all);
    }
    if (place < isa_best_seen())
        return eg_fail(EG_ENOTSUP, "ENGRAM_ISA=%s hides %s", getenv("ENGRAM_ISA"), name);
    const eg_kernels *k = isa_copy_from(place, name);
    if (!k)
        return eg_fail(EG_ENOTSUP, "this machine does not have %s", name);
    atomic_store(&isa_wished, true);
    atomic_store(&isa_chosen, k);
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
