/* dnnl_calls.h - the calls of oneDNN that may need memory, as C can bear them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * oneDNN has a C interface and is written in C++: where memory is out, an exception comes
 * through it, and in a program in C that is the end. Each function below is the one of oneDNN
 * with the same ending, but for exceptions: out of memory is a status. What needs no memory
 * (queries, descriptions, destroying) is called as it is.
 */
#ifndef EG_DNNL_CALLS_H
#define EG_DNNL_CALLS_H

#include <oneapi/dnnl/dnnl.h>

#ifdef __cplusplus
extern "C" {
#endif

dnnl_status_t eg_dnnl_engine_create(dnnl_engine_t *engine);
dnnl_status_t eg_dnnl_stream_create(dnnl_stream_t *stream, dnnl_engine_t engine);
dnnl_status_t eg_dnnl_attr_create(dnnl_primitive_attr_t *attr);
dnnl_status_t eg_dnnl_attr_set_relu(dnnl_primitive_attr_t attr);
dnnl_status_t eg_dnnl_reorder_desc_create(dnnl_primitive_desc_t *desc, dnnl_engine_t engine,
                                          const dnnl_memory_desc_t *from,
                                          const dnnl_memory_desc_t *to,
                                          const_dnnl_primitive_attr_t attr);
dnnl_status_t eg_dnnl_desc_create(dnnl_primitive_desc_t *desc, const_dnnl_op_desc_t op,
                                  const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                                  const_dnnl_primitive_desc_t hint);
dnnl_status_t eg_dnnl_primitive_create(dnnl_primitive_t *primitive,
                                       const_dnnl_primitive_desc_t desc);
dnnl_status_t eg_dnnl_memory_create(dnnl_memory_t *memory, const dnnl_memory_desc_t *desc,
                                    dnnl_engine_t engine);
dnnl_status_t eg_dnnl_memory_set(dnnl_memory_t memory, void *data);
dnnl_status_t eg_dnnl_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int n,
                              const dnnl_exec_arg_t *args);
/* c [m, n] = a [m, k] b [k, n] + beta c, all row-major; a and b transposed where it says 'T'.
 * mnk[3]: floats from row to row of a as it is stored. */
dnnl_status_t eg_dnnl_gemm(const char transposed[2], const dnnl_dim_t mnk[4], const float *a,
                           const float *b, float beta, float *c);

#ifdef __cplusplus
}
#endif

#endif
