/* fixture.h - run folders for tests: plausible runs that were never run.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_REPORT_FIXTURE_H
#define EG_REPORT_FIXTURE_H

#include "files.h"

#include "base/base.h"
#include "io/file.h"
#include "io/json.h"
#include "log/seal.h"

#include <inttypes.h>

typedef struct fixture {
    const char *name, *label, *lr; /* lr NULL: 0.05 */
    const char *method;            /* NULL: er, fed-a-gem */
    double scale;                  /* 0: the settings do not say */
    int64_t seed, tasks, rounds_a_task, clients, chosen;
    int64_t classes; /* that the server's tests tell apart; 0: not told */
    int64_t skipped; /* this round, 0: none; all its uploads are left out */
    double keep;     /* 0: a new task wipes out the old ones; 1: nothing is forgotten */
    bool every_task; /* evaluate at the ends of tasks only */
    bool local;      /* every client evaluates for itself, the server does not */
    bool notes;      /* every client notes its drift, the server its step */
    bool unfinished;
    bool bare; /* lines have no checksums, as an older program wrote them */
} fixture;

/* A repeatable fraction. */
static inline double fixture_draw(const fixture *s, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)s->seed * 0x9e3779b97f4a7c15u + (uint64_t)a * 0xbf58476d1ce4e5b9u +
                 (uint64_t)b * 0x94d049bb133111ebu;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (double)((x ^ (x >> 31)) >> 11) / 9007199254740992.0;
}

static inline double fixture_acc(const fixture *s, int64_t round, int64_t task)
{
    double begin = (double)(task * s->rounds_a_task),
           noise = fixture_draw(s, round, task) - 0.5;
    double since = (double)round - begin, over = since - (double)s->rounds_a_task;
    double top = 0.96 - 0.015 * (double)(task % 4), value = 0.02;
    if (since > 0)
        value = top * (1 - exp(-3.2 * since / (double)s->rounds_a_task));
    if (over > 0)
        value *= s->keep + (1 - s->keep) * exp(-2.5 * over / (double)s->rounds_a_task);
    return fmin(1, fmax(0, value + 0.04 * noise));
}

static inline void fixture_who(FILE *f, int64_t who)
{
    fprintf(f, who < 0 ? "\"server\"" : "%" PRId64, who);
}

static inline void fixture_note(FILE *f, int64_t round, int64_t who, double value)
{
    fprintf(f, "{\"event\":\"note\",\"round\":%" PRId64 ",\"who\":", round);
    fixture_who(f, who);
    fprintf(f, ",\"name\":\"%s\",\"value\":%.6f}\n", who < 0 ? "server step" : "drift", value);
}

static inline void fixture_eval(FILE *f, const fixture *s, int64_t round, int64_t who)
{
    fprintf(f, "{\"event\":\"eval\",\"round\":%" PRId64 ",\"who\":", round);
    fixture_who(f, who);
    bool end = round > 0 && round % s->rounds_a_task == 0;
    fprintf(f, ",\"task_end\":%s,\"full\":%s", end ? "true" : "false", end ? "true" : "false");
    for (int k = 0; k < 3; k++) {
        static const char *const key[] = {"accuracy", "accuracy_task_il", "n"};
        fprintf(f, ",\"%s\":[", key[k]);
        for (int64_t t = 0; t < s->tasks; t++) {
            double a = fixture_acc(s, round, t);
            if (k == 2)
                fprintf(f, "%s10000", t ? "," : "");
            else
                fprintf(f, "%s%.4f", t ? "," : "", k ? 0.5 + a / 2 : a);
        }
        fprintf(f, "]");
    }
    if (s->local && round > 0)
        fprintf(f, ",\"met\":%" PRId64, round * (100 + who));
    fprintf(f, "}\n");
}

static inline void fixture_evals(FILE *f, const fixture *s, int64_t round)
{
    if (s->every_task && round % s->rounds_a_task != 0)
        return;
    for (int64_t c = 0; s->local && c < s->clients; c++)
        fixture_eval(f, s, round, c);
    if (!s->local)
        fixture_eval(f, s, round, -1);
}

/* What the classes of the tasks so far are taken for: each for itself, and for the next. */
static inline void fixture_confusion(FILE *f, const fixture *s, int64_t round)
{
    int64_t met = s->classes * round / (s->tasks * s->rounds_a_task);
    if (met == 0 || s->local || round % s->rounds_a_task != 0)
        return;
    fprintf(f, "{\"event\":\"confusion\",\"round\":%" PRId64 ",\"cells\":[", round);
    for (int64_t k = 0; k < met; k++) {
        int64_t right = 50 + (int64_t)(49 * fixture_draw(s, round, 7000 + k));
        int64_t next = (k + 1) % s->classes, low = next < k ? next : k;
        fprintf(f, "%s%" PRId64 ",%" PRId64 ",%" PRId64, k ? "," : "", k, low,
                low == k ? right : 100 - right);
        fprintf(f, ",%" PRId64 ",%" PRId64 ",%" PRId64, k, low == k ? next : k,
                low == k ? 100 - right : right);
    }
    fprintf(f, "]}\n");
}

/* Whether a client's upload is left out of a round. */
static inline bool fixture_left_out(const fixture *s, int64_t round, int64_t client)
{
    return round == s->skipped || fixture_draw(s, round, 9000000 + client) < 0.02;
}

/* A round: the chosen clients, and now and then one that is left out. */
static inline void fixture_round(FILE *f, const fixture *s, int64_t round)
{
    int64_t n = 0, good = 0, chosen[512];
    for (int64_t c = 0; c < s->clients && n < 512; c++)
        if (fixture_draw(s, round, 1000 + c) < (double)s->chosen / (double)s->clients)
            chosen[n++] = c;
    for (int64_t i = 0; i < n; i++) {
        if (fixture_left_out(s, round, chosen[i]))
            fprintf(f,
                    "{\"event\":\"left_out\",\"round\":%" PRId64 ",\"client\":%" PRId64
                    ",\"why\":\"upload 'w' holds NaN\"}\n",
                    round, chosen[i]);
        else
            good++;
    }
    if (round == s->skipped)
        fprintf(f, "{\"event\":\"skipped\",\"round\":%" PRId64 ",\"why\":\"too few\"}\n",
                round);
    for (int64_t i = 0; s->notes && i < n; i++)
        fixture_note(f, round, chosen[i], fixture_draw(s, round, 5000 + chosen[i]));
    if (s->notes)
        fixture_note(f, round, -1, 1 / (double)round);
    fprintf(f, "{\"event\":\"round\",\"round\":%" PRId64 ",\"clients\":[", round);
    for (int64_t i = 0; i < n; i++)
        fprintf(f, "%s%" PRId64, i ? "," : "", chosen[i]);
    double drawn = fixture_draw(s, round, -1);
    fprintf(f,
            "],\"samples\":%" PRId64 ",\"loss\":%.5f,\"bytes_up\":%" PRId64
            ",\"bytes_down\":%" PRId64 ",\"seconds\":%.3f}\n",
            good * 600, 0.2 + drawn, good * 178000, n * 176000, 0.2 + 0.1 * drawn);
}

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
    assert_true(n > 0 && n < (int)sizeof text);
    files_write(folder, "config.yaml", text, (size_t)n);
}

/* Gives every whole line of a log its checksum. */
static inline void fixture_seal(const char *path)
{
    unsigned char *text;
    size_t n;
    eg_seal seal = {0};
    assert_ok(eg_file_read(path, (size_t)1 << 30, &text, &n));
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    for (const char *line = (char *)text, *end; *line; line = end + 1) {
        if (!(end = strchr(line, '\n'))) {
            fputs(line, f);
            break;
        }
        size_t length = (size_t)(end - line);
        char *whole = malloc(length + EG_SEAL_SIZE);
        assert_non_null(whole);
        memcpy(whole, line, length);
        length = eg_seal_line(&seal, whole, length);
        fprintf(f, "%.*s\n", (int)length, whole);
        free(whole);
    }
    assert_int_equal(fclose(f), 0);
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
    int64_t rounds = s->tasks * s->rounds_a_task, last = s->unfinished ? rounds / 2 : rounds;
    fprintf(f,
            "{\"event\":\"start\",\"name\":%s,\"label\":%s,\"seed\":%" PRId64
            ",\"method\":[%s],\"clients\":%" PRId64 ",\"tasks\":%" PRId64 ",\"rounds\":%" PRId64
            ",\"classes\":%" PRId64 ",\"isa\":\"avx2\",\"config_sha256\":\"cd34%s\"}\n",
            name, label, s->seed, s->method ? s->method : "\"er\",\"fed-a-gem\"", s->clients,
            s->tasks, rounds, s->classes > 10 ? s->classes : 10, s->lr ? s->lr : "");
    free(name);
    free(label);
    fixture_evals(f, s, 0);
    for (int64_t r = 1; r <= last; r++) {
        fixture_round(f, s, r);
        fixture_evals(f, s, r);
        fixture_confusion(f, s, r);
    }
    fputs(s->unfinished ? "{\"event\":\"rou"
                        : "{\"event\":\"end\",\"seconds\":12.5,\"peak_rss_bytes\":48234496,"
                          "\"server_seconds\":{\"er\":0.25,\"fed-a-gem\":1.25},"
                          "\"flops_clients\":1250000000000,\"flops_server\":48000000}\n",
          f);
    assert_int_equal(fclose(f), 0);
    if (!s->bare)
        fixture_seal(path);
    fixture_settings(s, folder);
    if (!s->unfinished)
        files_write(folder, "summary.json", "{}\n", 3);
}

#endif
