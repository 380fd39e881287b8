/* dnnl_calls.cc - catches what oneDNN throws; the only file in C++.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "engine/graph/dnnl_calls.h"

#include <cstdlib>
#include <execinfo.h>
#include <new>
#include <setjmp.h>
#include <signal.h>

enum { CALLS_ROOM = 16 << 20, CALLS_SIDE = 48 };

/* What a call returns, or what its exception amounts to. */
template <typename F> static dnnl_status_t calls_guard(F call) noexcept
{
    try {
        return call();
    } catch (const std::bad_alloc &) {
        return dnnl_out_of_memory;
    } catch (...) {
        return dnnl_runtime_error;
    }
}

/* An exception that passes through the C library (oneDNN throws inside std::call_once, which is
 * pthread_once) has it load the unwinder, and end the program where that takes memory there is
 * not. So it is loaded now, by a call that can fail. */
static bool calls_can_unwind()
{
    void *frame;
    return backtrace(&frame, 1) > 0;
}

/* oneDNN generates the code of its products in the first of each kind. So the first are these,
 * when much more memory is there than they take. */
static dnnl_status_t calls_first_products()
{
    static float a[CALLS_SIDE * CALLS_SIDE], c[CALLS_SIDE * CALLS_SIDE];
    dnnl_status_t s = dnnl_success;
    void *room = std::malloc(CALLS_ROOM);
    if (!room)
        return dnnl_out_of_memory;
    std::free(room);
    for (int kind = 0; kind < 16 && s == dnnl_success; kind++) {
        const char transposed[2] = {kind & 1 ? 'T' : 'N', kind & 2 ? 'T' : 'N'};
        dnnl_dim_t side = kind & 4 ? 1 : CALLS_SIDE;
        const dnnl_dim_t row = kind & 1 ? side : dnnl_dim_t{CALLS_SIDE};
        const dnnl_dim_t mnk[4] = {side, CALLS_SIDE, CALLS_SIDE, row};
        s = eg_dnnl_gemm(transposed, mnk, a, a, kind & 8 ? 1.0F : 0.0F, c);
    }
    return s;
}

static struct sigaction calls_before[2]; /* of SIGSEGV and SIGBUS */
static thread_local sigjmp_buf calls_back;
static thread_local volatile sig_atomic_t
    calls_makes; /* this thread has oneDNN make something */

/* A fault in what makes something ends that; any other is what it would be without us. */
static void calls_faulted(int number)
{
    if (calls_makes)
        siglongjmp(calls_back, 1);
    sigaction(number, &calls_before[number == SIGBUS], nullptr); /* it happens again */
}

static void calls_catch_faults()
{
    struct sigaction ours = {};
    ours.sa_handler = calls_faulted;
    sigaction(SIGSEGV, &ours, &calls_before[0]);
    sigaction(SIGBUS, &ours, &calls_before[1]);
}

/* oneDNN uses small things that it has allocated without looking whether it was given any: a
 * fault while it makes them is memory that is out. It holds no lock meanwhile; what it has made
 * of the thing so far is lost. */
template <typename F> static dnnl_status_t calls_make(F call) noexcept
{
    volatile dnnl_status_t s = dnnl_out_of_memory;
    calls_makes = 1;
    if (sigsetjmp(calls_back, 1) == 0)
        s = calls_guard(call);
    else
        s = dnnl_out_of_memory;
    calls_makes = 0;
    return s;
}

dnnl_status_t eg_dnnl_engine_create(dnnl_engine_t *engine)
{
    if (!calls_can_unwind())
        return dnnl_out_of_memory;
    calls_catch_faults();
    dnnl_status_t s = calls_make([] { return calls_first_products(); });
    if (s != dnnl_success)
        return s;
    return calls_make([=] { return dnnl_engine_create(engine, dnnl_cpu, 0); });
}

dnnl_status_t eg_dnnl_stream_create(dnnl_stream_t *stream, dnnl_engine_t engine)
{
    return calls_make(
        [=] { return dnnl_stream_create(stream, engine, dnnl_stream_default_flags); });
}

dnnl_status_t eg_dnnl_attr_create(dnnl_primitive_attr_t *attr)
{
    return calls_make([=] { return dnnl_primitive_attr_create(attr); });
}

dnnl_status_t eg_dnnl_attr_set_relu(dnnl_primitive_attr_t attr)
{
    dnnl_post_ops_t ops = nullptr;
    dnnl_status_t s = calls_make([&] { return dnnl_post_ops_create(&ops); });
    if (s == dnnl_success)
        s = calls_make(
            [=] { return dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_relu, 0, 0); });
    if (s == dnnl_success)
        s = calls_make([=] { return dnnl_primitive_attr_set_post_ops(attr, ops); });
    if (ops)
        dnnl_post_ops_destroy(ops);
    return s;
}

dnnl_status_t eg_dnnl_reorder_desc_create(dnnl_primitive_desc_t *desc, dnnl_engine_t engine,
                                          const dnnl_memory_desc_t *from,
                                          const dnnl_memory_desc_t *to,
                                          const_dnnl_primitive_attr_t attr)
{
    return calls_make([=] {
        return dnnl_reorder_primitive_desc_create(desc, from, engine, to, engine, attr);
    });
}

dnnl_status_t eg_dnnl_desc_create(dnnl_primitive_desc_t *desc, const_dnnl_op_desc_t op,
                                  const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                                  const_dnnl_primitive_desc_t hint)
{
    return calls_make([=] { return dnnl_primitive_desc_create(desc, op, attr, engine, hint); });
}

dnnl_status_t eg_dnnl_primitive_create(dnnl_primitive_t *primitive,
                                       const_dnnl_primitive_desc_t desc)
{
    return calls_guard([=] { return dnnl_primitive_create(primitive, desc); });
}

dnnl_status_t eg_dnnl_memory_create(dnnl_memory_t *memory, const dnnl_memory_desc_t *desc,
                                    dnnl_engine_t engine)
{
    return calls_make(
        [=] { return dnnl_memory_create(memory, desc, engine, DNNL_MEMORY_NONE); });
}

dnnl_status_t eg_dnnl_memory_set(dnnl_memory_t memory, void *data)
{
    return calls_guard([=] { return dnnl_memory_set_data_handle(memory, data); });
}

dnnl_status_t eg_dnnl_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int n,
                              const dnnl_exec_arg_t *args)
{
    return calls_guard([=] { return dnnl_primitive_execute(primitive, stream, n, args); });
}

dnnl_status_t eg_dnnl_gemm(const char transposed[2], const dnnl_dim_t mnk[4], const float *a,
                           const float *b, float beta, float *c)
{
    dnnl_dim_t m = mnk[0], n = mnk[1], k = mnk[2], a_row = mnk[3];
    return calls_guard([=] {
        return dnnl_sgemm(transposed[0], transposed[1], m, n, k, 1, a, a_row, b,
                          transposed[1] == 'T' ? k : n, beta, c, n);
    });
}
