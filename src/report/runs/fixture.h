/* fixture.h - run folders for tests: plausible runs that were never run.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_REPORT_FIXTURE_H
#define EG_REPORT_FIXTURE_H

#include "files.h"
#include "sealed.h"

#include "base/base.h"
#include "io/file.h"
#include "io/json.h"
#include "report/runs/fixture_events.h"

#include <inttypes.h>

/* The texts may hold anything, so JSON's own printer quotes them. */
static inline char *fixture_quoted(const char *text)
{
    char *out;
    eg_json *v = eg_json_of_text(text);
    assert_ok(eg_json_print(v, 0, &out, NULL));
    eg_json_free(v);
    return out;
}

static const char fixture_config[] =
    "name: demo            # <script>alert('no & never')</script>\n"
    "data:\n  name: glyphs\n  train: 6000\nscenario:\n  kind: class-incremental\n  tasks: 5\n"
    "  clients: 10\n  partition: {kind: dirichlet, alpha: 0.5}\nmodel: {name: cnn-small}\n"
    "method: [er]\nmemory: {kind: reservoir, size: 200}\n"
    "train: {optimizer: sgd, lr: 0.05, batch: 32, epochs: 1}\neval: {every: round}\n";

static inline void fixture_settings(const fixture *s, const char *folder)
{
    char text[sizeof fixture_config + 128];
    const char *lr = strstr(fixture_config, "0.05,");
    int n = snprintf(text, sizeof text, "%.*s%s%s", (int)(lr - fixture_config), fixture_config,
                     s->lr ? s->lr : "0.05", lr + 4);
    if (s->scale > 0)
        n += snprintf(text + n, sizeof text - (size_t)n, "scale: %g\n", s->scale);
    if (s->bound)
        n += snprintf(text + n, sizeof text - (size_t)n, "bound: %s\n", s->bound);
    assert_true(n > 0 && n < (int)sizeof text);
    files_write(folder, "config.yaml", text, (size_t)n);
}

/* Gives every whole line of a log its checksum. */
static inline void fixture_seal(const char *path)
{
    unsigned char *text;
    size_t n;
    assert_ok(eg_file_read(path, (size_t)1 << 30, &text, &n));
    char *whole = sealed((char *)text, n, &n);
    assert_ok(eg_file_write(path, &(eg_bytes){whole, n}, 1));
    free(whole);
    free(text);
}

/* Writes the folder of a run. */
static inline void fixture_write(const fixture *s, const char *folder)
{
    char path[FILES_PATH * 2];
    mkdir(folder, 0777);
    snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    char *name = fixture_quoted(s->name), *label = fixture_quoted(s->label);
    int64_t rounds = s->tasks * s->rounds_per_task, last = s->unfinished ? rounds / 2 : rounds;
    last = s->stop ? s->stop : last;
    fprintf(f,
            "{\"event\":\"start\",\"name\":%s,\"label\":%s,\"seed\":%" PRId64
            ",\"method\":[%s],\"clients\":%" PRId64 ",\"tasks\":%" PRId64 ",\"rounds\":%" PRId64
            ",\"classes\":%" PRId64 ",\"isa\":\"avx2\",\"config_sha256\":\"cd34%s\","
            "\"version\":\"0\",\"commit\":\"\",\"labels_sum\":\"1\",\"pixels_sum\":\"2\","
            "\"learned\":[",
            name, label, s->seed, s->method ? s->method : "\"er\",\"fed-a-gem\"", s->clients,
            s->tasks, rounds, s->classes > 10 ? s->classes : 10, s->lr ? s->lr : "");
    for (int64_t k = 1; k <= s->tasks; k++)
        fprintf(f, "%s%" PRId64, k > 1 ? "," : "", k);
    fputs("]", f);
    for (int64_t k = 0; s->named && k < 10; k++)
        fprintf(f, "%s\"<animal> %" PRId64 "\"%s", k ? "," : ",\"class_names\":[", k,
                k == 9 ? "]" : "");
    fputs("}\n", f);
    free(name);
    free(label);
    fixture_evals(f, s, 0);
    for (int64_t r = 1; r <= last; r++) {
        fixture_round(f, s, r);
        fixture_evals(f, s, r);
        fixture_confusion(f, s, r);
    }
    if (s->stop)
        fprintf(f, "{\"event\":\"stop\",\"round\":%" PRId64 ",\"best_round\":1,\"best\":0.5}\n",
                s->stop);
    fputs(s->unfinished ? "{\"event\":\"rou"
                        : "{\"event\":\"end\",\"seconds\":12.5,\"peak_rss_bytes\":48234496,"
                          "\"train_seconds\":8.5,\"phase_seconds\":0.5,"
                          "\"part_seconds\":{\"er\":0.5,\"fed-a-gem\":2.5},"
                          "\"server_seconds\":{\"er\":0.25,\"fed-a-gem\":1.25},"
                          "\"flops_clients\":1250000000000,\"flops_server\":48000000,"
                          "\"version\":\"0\",\"commit\":\"\"}\n",
          f);
    assert_int_equal(fclose(f), 0);
    fixture_seal(path);
    fixture_settings(s, folder);
    if (!s->unfinished)
        files_write(folder, "summary.json", "{}\n", 3);
}

#endif
