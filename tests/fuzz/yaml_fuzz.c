/* yaml_fuzz.c - the configuration reader on arbitrary bytes: it may refuse, never crash.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/opt.h>

#include "io/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

typedef struct options {
    double rate;
    int64_t clients;
    bool fast;
    char name[EG_OPT_TEXT_SIZE];
    int mode;
} options;

// clang-format off
static const eg_opt rows[] = {
    EG_OPT_REAL(options, rate, 0.5, 0, 1, "a rate"),
    EG_OPT_INT(options, clients, 10, 1, 100, "a count"),
    EG_OPT_BOOL(options, fast, 0, "a switch"),
    EG_OPT_TEXT(options, name, "x", "a name"),
    EG_OPT_CHOICE(options, mode, 0, "a choice", "one|two"),
    EG_OPT_END,
};
// clang-format on

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    eg_yaml *y;
    if (eg_yaml_parse("fuzz.yaml", bytes, n, &y) != EG_OK)
        return 0;
    options o;
    eg_opts_init(rows, &o);
    const char *text;
    for (const eg_yaml_node *c = eg_yaml_root(y)->child; c; c = c->next)
        if (c->key && eg_yaml_text(y, c, &text) == EG_OK)
            (void)eg_yaml_blame(y, c, eg_opts_set(rows, &o, c->key, text));
    eg_yaml_free(y);
    return 0;
}
