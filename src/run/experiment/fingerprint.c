/* fingerprint.c - checksums of a run's data, and what differs between two programs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/experiment/fingerprint.h"

#include "base/checksum.h"

#include <engram/graph.h>

#include <stdio.h>
#include <string.h>

static uint64_t fingerprint_labels(uint64_t sum, const eg_table *t)
{
    const int64_t about[] = {t->n, t->classes, t->group ? 1 : 0};
    sum = eg_checksum(sum, about, sizeof about);
    sum = eg_checksum(sum, t->y, (size_t)t->n * sizeof *t->y);
    return t->group ? eg_checksum(sum, t->group, (size_t)t->n * sizeof *t->group) : sum;
}

static uint64_t fingerprint_pixels(uint64_t sum, const eg_table *t)
{
    const int64_t shape[] = {t->n, t->channels, t->height, t->width, t->u8 ? 1 : 4};
    size_t values = (size_t)t->n * eg_table_sample(t);
    sum = eg_checksum(sum, shape, sizeof shape);
    return t->u8 ? eg_checksum(sum, t->u8, values)
                 : eg_checksum(sum, t->f32, values * sizeof *t->f32);
}

void eg_fingerprint_take(const eg_feed *f, eg_fingerprint *out)
{
    uint64_t labels = 0, pixels = 0;
    for (size_t i = 0; i < f->n_sources; i++) {
        labels = fingerprint_labels(fingerprint_labels(labels, &f->train[i]), &f->test[i]);
        pixels = fingerprint_pixels(fingerprint_pixels(pixels, &f->train[i]), &f->test[i]);
    }
    *out =
        (eg_fingerprint){.isa = eg_isa_name(), .version = eg_version(), .commit = eg_commit()};
    snprintf(out->labels, sizeof out->labels, "%016llx", (unsigned long long)labels);
    snprintf(out->pixels, sizeof out->pixels, "%016llx", (unsigned long long)pixels);
}

eg_status eg_fingerprint_compare(const eg_fingerprint *then, const eg_fingerprint *now)
{
    const struct {
        const char *what, *then, *now;
    } parts[] = {
        {"the data's labels", then->labels, now->labels},
        {"the data's pixels", then->pixels, now->pixels},
        {"the instruction set", then->isa, now->isa},
        {"the program's version", then->version, now->version},
        {"the program's commit", then->commit, now->commit},
    };
    char text[800] = ""; /* five times at most 120 */
    for (size_t i = 0, n = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!*parts[i].then || !*parts[i].now || strcmp(parts[i].then, parts[i].now) == 0)
            continue;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s (%.40s then, %.40s now)",
                              n ? ", " : "", parts[i].what, parts[i].then, parts[i].now);
    }
    return *text ? eg_fail(EG_EINVAL, "other than when the run began: %s", text) : EG_OK;
}
