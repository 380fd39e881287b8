/* method_wishes.h - what a method asks of a run, and what it refuses.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_TEST_METHOD_WISHES_H
#define EG_TEST_METHOD_WISHES_H

#include "test.h"

#include "method/chain.h"

/* What a method wishes in a run like this; false: it refuses it. */
static inline bool method_wishes(const eg_method *m, const eg_setting *in, eg_agreement *out)
{
    eg_parts alone = {0};
    assert_ok(eg_parts_add(&alone, m));
    eg_status s = eg_parts_setup(&alone, in, true, out);
    eg_parts_free(&alone);
    return s == EG_OK;
}

static inline bool method_agrees(const eg_method *m, double momentum, eg_agreement *out)
{
    const eg_train_opts train = {
        .epochs = 1, .batch = 1, .optimizer = "sgd", .lr = 0.1, .momentum = momentum};
    return method_wishes(m, &(eg_setting){.train = &train}, out);
}

/* Whether it can be trained on rows turned in four ways. */
static inline bool method_rotates(const eg_method *m)
{
    const eg_train_opts train = {
        .epochs = 1, .batch = 1, .optimizer = "sgd", .lr = 0.1, .rotations = true};
    eg_agreement agreed;
    return method_wishes(m, &(eg_setting){.train = &train}, &agreed);
}

/* Whether it can be trained on rows that are cropped, flipped or cut out of at random. */
static inline bool method_augments(const eg_method *m)
{
    const eg_train_opts train = {.epochs = 1, .batch = 1, .optimizer = "sgd", .lr = 0.1};
    eg_agreement agreed;
    return method_wishes(m, &(eg_setting){.train = &train, .augments = true}, &agreed);
}

#endif
