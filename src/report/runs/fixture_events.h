/* fixture_events.h - the events of runs that were never run.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_REPORT_FIXTURE_EVENTS_H
#define EG_REPORT_FIXTURE_EVENTS_H

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct fixture {
    const char *name, *label, *lr; /* lr NULL: 0.05 */
    const char *method;            /* NULL: er, fed-a-gem */
    double scale;                  /* 0: the settings do not say */
    const char *bound;             /* NULL: the same */
    int64_t seed, tasks, rounds_per_task, clients, chosen;
    int64_t classes;   /* that the server's tests tell apart; 0: not told */
    int64_t stop;      /* the round after which patience ended the run; 0: it did not */
    int64_t skipped;   /* this round, 0: none; all its uploads are left out */
    double validation; /* the accuracy on samples held out; 0: there are none */
    double keep;       /* 0: a new task wipes out the old ones; 1: nothing is forgotten */
    double second;     /* how long a second of a round is; 0: as long as it is */
    bool named;        /* classes are called "<animal> 0" and so on */
    bool every_task;   /* evaluate at the ends of tasks only */
    bool local;        /* every client evaluates for itself, the server does not */
    bool both;         /* every client evaluates at the ends of tasks, beside the server */
    bool notes;        /* every client notes its drift, the server its step */
    bool perfect;      /* what was learned is known without a mistake */
    bool diverged;     /* no round has a loss */
    bool unfinished;
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
    double begin = (double)(task * s->rounds_per_task),
           noise = fixture_draw(s, round, task) - 0.5;
    double since = (double)round - begin, over = since - (double)s->rounds_per_task;
    if (s->perfect && since > 0)
        return 1;
    double top = 0.96 - 0.015 * (double)(task % 4), value = 0.02;
    if (since > 0)
        value = top * (1 - exp(-3.2 * since / (double)s->rounds_per_task));
    if (over > 0)
        value *= s->keep + (1 - s->keep) * exp(-2.5 * over / (double)s->rounds_per_task);
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
    bool end = round > 0 && (round % s->rounds_per_task == 0 || round == s->stop);
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
    for (int k = 0; s->validation > 0 && k < 2; k++) {
        fprintf(f, ",\"%s\":[", k ? "n_validation" : "validation");
        for (int64_t t = 0; t < s->tasks; t++)
            fprintf(f, "%s%.*f", t ? "," : "", k ? 0 : 4, k ? 10000 : s->validation);
        fprintf(f, "]");
    }
    if (s->local && round > 0)
        fprintf(f, ",\"met\":%" PRId64, round * (100 + who));
    fprintf(f, "}\n");
}

static inline void fixture_evals(FILE *f, const fixture *s, int64_t round)
{
    if (s->every_task && round % s->rounds_per_task != 0)
        return;
    bool clients = s->local || (s->both && round > 0 && round % s->rounds_per_task == 0);
    for (int64_t c = 0; clients && c < s->clients; c++)
        fixture_eval(f, s, round, c);
    if (!s->local)
        fixture_eval(f, s, round, -1);
}

/* What the classes of the tasks so far are taken for: each for itself, and for the next. */
static inline void fixture_confusion(FILE *f, const fixture *s, int64_t round)
{
    int64_t met = s->classes * round / (s->tasks * s->rounds_per_task);
    if (met == 0 || s->local || round % s->rounds_per_task != 0)
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
    fprintf(f, "],\"samples\":%" PRId64 ",\"loss\":", good * 600);
    fprintf(f, s->diverged ? "null" : "%.5f", 0.2 + drawn);
    for (int64_t i = 0; !s->diverged && i < n; i++) {
        fprintf(f, i ? "," : ",\"losses\":[");
        fprintf(f, fixture_left_out(s, round, chosen[i]) ? "null" : "%.5f",
                0.1 + drawn + 0.2 * fixture_draw(s, round, 8000 + chosen[i]));
        fprintf(f, i + 1 == n ? "]" : "");
    }
    int64_t met = s->classes * round / (s->tasks * s->rounds_per_task);
    for (int64_t k = 0; round % s->rounds_per_task == 0 && k < met; k++)
        fprintf(f, "%s%" PRId64 "%s", k ? "," : ",\"held\":[", 20 * s->clients / met + k,
                k + 1 == met ? "]" : "");
    if (met > 0 && round % s->rounds_per_task == 0)
        fprintf(f, ",\"held_by\":%" PRId64, s->clients);
    fprintf(f, ",\"bytes_up\":%" PRId64 ",\"bytes_down\":%" PRId64 ",\"seconds\":%.6f}\n",
            good * 178000, n * 176000, (0.2 + 0.1 * drawn) * (s->second > 0 ? s->second : 1));
}

#endif
