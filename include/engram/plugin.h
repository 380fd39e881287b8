/* engram/plugin.h - parts of one's own in a shared object that the program loads.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A plugin is one constant table of what it brings, and every verb knows these parts then:
 *
 *     static const eg_method *const methods[] = {&mine, NULL};
 *     EG_PLUGIN(.methods = methods);
 *
 *     cc -shared -fPIC mine.c $(pkg-config --cflags engram) -o mine.so
 *     engram run FILE --plugin ./mine.so
 *
 * It is not linked with the library: the program that loads it has it. `engram new` writes one.
 * What a plugin brings stays as long as the process. A plugin may do whatever the program may.
 */
#ifndef EG_PLUGIN_H
#define EG_PLUGIN_H

#include <engram/client.h>
#include <engram/data.h>
#include <engram/generator.h>
#include <engram/layers.h>
#include <engram/method.h>
#include <engram/metric.h>
#include <engram/optim.h>
#include <engram/server.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/* While the first number is 0, the second tells what does not fit together. */
#define EG_PLUGIN_VERSION "0.2"

/* What a plugin was built against: the version, and the sizes of what it shares with the
 * program, which tell states of one version apart. */
enum { EG_PLUGIN_SIZES = 9 };
typedef struct eg_plugin_form {
    const char *version;
    size_t sizes[EG_PLUGIN_SIZES];
} eg_plugin_form;

/* Each list ends with NULL; a list that is NULL is empty. */
typedef struct eg_plugin {
    eg_plugin_form form;
    const eg_method *const *methods;
    const eg_dataset *const *datasets;
    const eg_model *const *models;
    const eg_metric *const *metrics;
    const eg_optim *const *optimisers;
    const eg_generator_kind *const *generators;
} eg_plugin;

// clang-format off
#define EG_PLUGIN_FORM \
    {EG_PLUGIN_VERSION, {sizeof(eg_plugin), sizeof(eg_method), sizeof(eg_dataset), \
                         sizeof(eg_model), sizeof(eg_metric), sizeof(eg_optim), \
                         sizeof(eg_generator_kind), sizeof(eg_client), sizeof(eg_server)}}
#define EG_PLUGIN(...) \
    __attribute__((visibility("default"))) extern const eg_plugin eg_plugin_table; \
    const eg_plugin eg_plugin_table = {.form = EG_PLUGIN_FORM, __VA_ARGS__}
// clang-format on

/* Loads a plugin and adds its parts, before anything is read or run and from one thread; one
 * that is loaded already is left as it is. EG_ENOENT: it cannot be loaded, or is no plugin;
 * EG_ENOTSUP: it was built for another engram; EG_EINVAL: one of its parts cannot be added. */
eg_status eg_plugin_load(const char *path);

/* Loads the plugins of a list with colons between; NULL is an empty one. */
eg_status eg_plugin_load_all(const char *paths);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
