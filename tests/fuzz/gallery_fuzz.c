/* gallery_fuzz.c - a file of generators from arbitrary bytes: refused, or every one is whole.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/base.h"
#include "engine/generator/gallery.h"
#include "fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    eg_exhibits *x;
    if (eg_exhibits_parse(bytes, n, &x) != EG_OK)
        return 0;
    EG_ASSERT(eg_exhibits_n(x) > 0);
    for (size_t i = 0; i < eg_exhibits_n(x); i++) {
        eg_generator *m;
        EG_ASSERT(eg_exhibits_show(x, i, &m) == EG_OK);
        EG_ASSERT(eg_exhibits_at(x, i).label < m->classes);
    }
    EG_ASSERT(eg_exhibits_note(x, "kind") != NULL);
    eg_exhibits_free(x);
    return 0;
}
