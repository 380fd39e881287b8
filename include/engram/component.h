/* engram/component.h - what every member of every family begins with, and how one is found.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A family (optimisers, models, methods, ...) has a descriptor struct whose first member is an
 * eg_component, one const descriptor for each of its members, and an array of pointers to
 * them. All of it is constant, so that threads may share it, but for what a program adds.
 */
#ifndef EG_COMPONENT_H
#define EG_COMPONENT_H

#include <engram/opt.h>
#include <engram/suggest.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

typedef struct eg_component {
    const char *name;   /* as in lists and files */
    const char *help;   /* one line */
    size_t size;        /* of its state, options first; 0: it has none */
    const eg_opt *opts; /* of that state; NULL: none */
} eg_component;

/* Allocates a component's state: zeroed bytes with the options' defaults. Never NULL, even
 * where size is 0. Free with free(). */
eg_status eg_component_new(const eg_component *c, void **out);

/* The same with the values of another state. */
eg_status eg_component_copy(const eg_component *c, const void *from, void **out);

/* What a program adds to a family, before anything is read or run and from one thread. */
enum { EG_MAX_ADDED = 64, EG_NAME_SIZE = 48 };
typedef struct eg_added {
    size_t n;
    const eg_component *list[EG_MAX_ADDED];
} eg_added;

typedef struct eg_family {
    const char *name;     /* of all members: "optimisers" */
    const char *singular; /* of one: "optimiser" */
    /* Pointers to descriptors that begin with an eg_component, then NULL. */
    const void *members;
    eg_added *added; /* come behind them; NULL: nothing can be added */
} eg_family;

/* The i-th member; NULL past the last. It points to the whole descriptor. */
const eg_component *eg_family_at(const eg_family *f, size_t i);

/* The member that a user's word names ("fed-a-gem" is fed_a_gem), or NULL; the error text then
 * names the nearest, or all there are. */
const eg_component *eg_family_find(const eg_family *f, const char *word);

/* Adds a member, which must stay as it is. EG_EINVAL: its name is taken or is not lower-case
 * letters, digits and underscores; it has no help; an option lies outside its state, or has a
 * default out of range; there are too many. */
eg_status eg_family_add(const eg_family *f, const eg_component *c);

/* Offers every member's name. */
void eg_family_offer(const eg_family *f, eg_suggestion *s);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
