/* cifar_fuzz.c - the reader of CIFAR's records on any bytes; the first one chooses the form.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "world/data/cifar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const eg_cifar_form forms[] = {{1, 0, 10}, {2, 1, 100}, {2, 0, 20}};
    if (size == 0)
        return 0;
    eg_table t = {0};
    const eg_cifar_form *form = &forms[data[0] % 3];
    for (int file = 0; file < 2; file++) /* the second is appended */
        if (eg_cifar_parse("fuzz", data + 1, size - 1, form, &t) != EG_OK)
            break;
    for (int64_t i = 0; i < t.n; i++)
        EG_ASSERT(t.y[i] >= 0 && t.y[i] < t.classes);
    eg_table_fini(&t);
    return 0;
}
