/* scenario_fuzz.c - the data and scenario part of an experiment file, from arbitrary bytes.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/scenario/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    eg_yaml *y;
    eg_spec *spec;
    if (eg_yaml_parse("fuzz.yaml", bytes, n, &y) != EG_OK)
        return 0;
    if (eg_spec_new(&spec) == EG_OK) {
        const eg_yaml_node *root = eg_yaml_root(y);
        const eg_yaml_node *data = eg_yaml_get(root, "data");
        const eg_yaml_node *scenario = eg_yaml_get(root, "scenario");
        if (data)
            (void)eg_spec_load_data(spec, y, data);
        if (scenario)
            (void)eg_spec_load_scenario(spec, y, scenario);
        eg_spec_free(spec);
    }
    eg_yaml_free(y);
    return 0;
}
