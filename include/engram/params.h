/* engram/params.h - a network's tensors as flat arrays with one table of names and shapes.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Trained tensors share one flat array and their gradients another of the same layout;
 * untrained state (batch-norm statistics) is a second flat array. Each tensor starts at a
 * multiple of 16 floats; the gaps are zero, so that sums over a whole array are sums over its
 * tensors. A table holds no values: whoever needs some allocates them. One thread at a time
 * while it grows.
 */
#ifndef EG_PARAMS_H
#define EG_PARAMS_H

#include <engram/rng.h>
#include <engram/safetensors.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define EG_MAX_RANK 6

typedef struct eg_shape {
    int rank;
    int64_t dim[EG_MAX_RANK];
} eg_shape;

/* eg_dims(32, 3, 28, 28): a shape from its dimensions. */
#define eg_dims(...)                                                                           \
    eg_shape_of((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                     \
                (const int64_t[]){__VA_ARGS__})

eg_shape eg_shape_of(int rank, const int64_t *dim);
eg_shape eg_scalar(void);          /* rank 0: one element */
int64_t eg_shape_size(eg_shape s); /* product of the dimensions */
bool eg_shape_equal(eg_shape a, eg_shape b);
void eg_shape_print(eg_shape s, char out[64]); /* "[32, 3, 28, 28]" */

/* How a tensor gets its first values. */
typedef enum eg_init_kind {
    EG_INIT_CONSTANT, /* a: the value */
    EG_INIT_UNIFORM,  /* uniform in [-a, a] */
    EG_INIT_NORMAL,   /* normal with standard deviation a about a mean */
} eg_init_kind;

typedef struct eg_init {
    eg_init_kind kind;
    double a;
    double mean; /* of normal ones */
} eg_init;

typedef struct eg_params eg_params;

typedef struct eg_param_info {
    const char *name; /* PyTorch's: "layer1.0.conv1.weight" */
    eg_shape shape;
    size_t offset, size; /* in floats, within its flat array */
    bool trained;        /* else it lives in the state array */
    float *frozen;       /* its values, the table's; NULL unless it is frozen */
    eg_init init;
} eg_param_info;

/* A model's values, only to be read; NULL where there are none. */
typedef struct eg_weights {
    const float *param, *state;
} eg_weights;

/* Where a tensor's values are, to be read or to be written. */
static inline const float *eg_param_values(const eg_param_info *t, const float *value,
                                           const float *state)
{
    return t->frozen ? t->frozen : (t->trained ? value : state) + t->offset;
}
static inline float *eg_param_place(const eg_param_info *t, float *value, float *state)
{
    return t->frozen ? t->frozen : (t->trained ? value : state) + t->offset;
}

eg_status eg_params_new(eg_params **out);
void eg_params_free(eg_params *p); /* NULL is fine */

/* Finds or adds a tensor. EG_ESHAPE if the name is there with another shape or kind. */
eg_status eg_params_add(eg_params *p, const eg_param_info *info, size_t *index);

size_t
eg_params_n(const eg_params *p); /* tensors of both kinds, in the order they were added */
const eg_param_info *eg_params_at(const eg_params *p, size_t i);
const eg_param_info *eg_params_named(const eg_params *p, const char *name); /* or NULL */

size_t eg_params_length(const eg_params *p); /* floats of the flat array, gaps included */
size_t eg_state_length(const eg_params *p);
int64_t eg_params_count(const eg_params *p); /* trained values, without gaps */

/* Freezes tensors, which[i] of n, once and for all: they leave both arrays, which become
 * shorter, and the table itself has their values, which whoever computes with it reads. */
eg_status eg_params_freeze(eg_params *p, const bool *which);

/* Flat arrays for this table, zeroed and aligned. Free with free(). */
eg_status eg_params_alloc(const eg_params *p, float **value);
eg_status eg_state_alloc(const eg_params *p, float **state);

/* Fills both arrays from the tensors' initialisers: element j of tensor i is a function of the
 * seed, i and j alone. state may be NULL if the table has none. */
void eg_params_init(const eg_params *p, uint64_t seed, float *value, float *state);

/* Makes the gaps between tensors zero, in an array of values (trained) or of state. */
void eg_params_clear_gaps(const eg_params *p, bool trained, float *values);

/* Flat vectors of n floats, by the instruction set's kernels: a.b, as a double; y += a x. */
double eg_dot(const float *a, const float *b, size_t n);
void eg_add_scaled(float *y, float a, const float *x, size_t n);

/* Safetensors with the table's names, and with notes (eg_tensors_note reads them). Loading
 * wants every tensor and no other, with its shape and finite values; EG_ESHAPE names those that
 * do not fit. Integer counters of PyTorch are ignored. Values change only when the whole file
 * is good.
 */
eg_status eg_params_save(const eg_params *p, const char *path, const float *value,
                         const float *state, const eg_stored_note *notes, size_t n_notes);
eg_status eg_params_load(const eg_params *p, const char *path, float *value, float *state);

/* What stands in such a file beside the network's tensors has this before its name: loading
 * passes over it. */
#define EG_BESIDE "beside."
/* The same with n_beside tensors more, under such names. */
eg_status eg_params_save_beside(const eg_params *p, const char *path, const float *value,
                                const float *state, const eg_stored *beside, size_t n_beside,
                                const eg_stored_note *notes, size_t n_notes);

/* What a tensor takes of the file's of its name. */
typedef enum eg_take {
    EG_TAKE_ALL,  /* all of it: the shapes are the same */
    EG_TAKE_NONE, /* nothing: it keeps its values, whatever the file has */
    EG_TAKE_ROWS, /* the first rows of as many or more, of the same shape each */
} eg_take;
/* A tensor of a file whose shape is not that of the network. */
typedef struct eg_fit {
    eg_shape from, to;
    const float *values; /* of the file */
    float *out;          /* the network's; NULL: it is only asked whether this can be */
} eg_fit;
/* What is wished of a file: take [n], NULL: all of every tensor; and what makes tensors fit. */
typedef struct eg_params_wish {
    const eg_take *take;
    bool (*fit)(const void *context, const char *name, const eg_fit *fit); /* NULL: nothing */
    const void *context;
    const char *const *passes; /* NULL, or how names begin of tensors that are passed over */
    /* Not NULL: tensors of the file that are none of the network's are no error; each is told.
     */
    void (*extra)(void *told, const char *name);
    void *told;
} eg_params_wish;
eg_status eg_params_start(const eg_params *p, const char *path, const eg_params_wish *wish,
                          float *value, float *state);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
