/* says.h - how an experiment file wants its runs carried out: seeds, workers, threads,
 * out, plugins.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_SAYS_H
#define EG_SAYS_H

#include <engram/experiment.h>

#include "io/yaml.h"

/* Whether a key at the top of a file is one of these. */
bool eg_says_knows(const char *key);

/* Reads them; errors name file, line and column. */
eg_status eg_says_read(const eg_yaml *y, eg_file_says *out);

/* Loads the plugins, whose paths are relative to the file's folder, or to the working folder;
 * in *out, "" without any, the paths that were found, a line each. */
enum { EG_PLUGINS_SIZE = 4096 };
eg_status eg_says_plugins(const eg_yaml *y, const char *folder, char out[EG_PLUGINS_SIZE]);

#endif
