/* screen.c - a run's progress in the forms people and programs read.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "screen.h"

#include <math.h>
#include <stdio.h>

/* "23/200 [####......] 61.2 %, 12 s left" */
static void screen_draw_bar(const screen *s, const eg_progress *p)
{
    enum { WIDTH = 30 };
    char bar[WIDTH + 1], accuracy[32] = "";
    int64_t full = p->round * WIDTH / p->n_rounds;
    for (int i = 0; i < WIDTH; i++)
        bar[i] = i < full ? '#' : '.';
    bar[WIDTH] = 0;
    if (p->accuracy >= 0)
        snprintf(accuracy, sizeof accuracy, ", accuracy %.1f %%", 100 * p->accuracy);
    double left = p->seconds / (double)p->round * (double)(p->n_rounds - p->round);
    printf("\r%-14s seed %llu  [%s] %lld/%lld%s, %.0f s left \033[K", s->label,
           (unsigned long long)s->seed, bar, (long long)p->round, (long long)p->n_rounds,
           accuracy, left);
    if (p->round == p->n_rounds)
        printf("\n");
}

static void screen_print_line(const screen *s, const eg_progress *p)
{
    printf("%s seed %llu round %lld/%lld loss %.4f accuracy %.2f %% %.1f s\n", s->label,
           (unsigned long long)s->seed, (long long)p->round, (long long)p->n_rounds,
           isfinite(p->loss) ? p->loss : 0, 100 * p->accuracy, p->seconds);
}

/* "key":"value", with what JSON wants escaped. */
static void screen_json_text(const char *key, const char *value)
{
    printf("\"%s\":\"", key);
    for (const unsigned char *c = (const unsigned char *)value; *c; c++)
        if (*c < ' ')
            printf("\\u%04x", *c);
        else
            printf(*c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    printf("\"");
}

static void screen_json_number(const char *key, double value, bool known)
{
    if (known && isfinite(value))
        printf(",\"%s\":%.17g", key, value);
    else
        printf(",\"%s\":null", key);
}

/* The beginning of every object: what happened, in which run. */
static void screen_json_head(const screen *s, const char *event)
{
    printf("{\"event\":\"%s\",", event);
    screen_json_text("label", s->label);
    printf(",\"seed\":%llu", (unsigned long long)s->seed);
}

static void screen_print_json(const screen *s, const eg_progress *p)
{
    screen_json_head(s, "progress");
    printf(",\"round\":%lld,\"rounds\":%lld", (long long)p->round, (long long)p->n_rounds);
    screen_json_number("loss", p->loss, true);
    screen_json_number("accuracy", p->accuracy, p->accuracy >= 0);
    printf(",\"evaluated\":%s", p->evaluated ? "true" : "false");
    screen_json_number("seconds", p->seconds, true);
    printf("}\n");
}

void screen_progress(screen *s, const eg_progress *p)
{
    bool last = p->round == p->n_rounds;
    if (s->form == SCREEN_BAR && (last || p->evaluated || p->seconds - s->shown > 0.1)) {
        screen_draw_bar(s, p);
        s->shown = p->seconds;
    } else if (s->form == SCREEN_LINES && (p->evaluated || last)) {
        screen_print_line(s, p);
    } else if (s->form == SCREEN_JSON) {
        screen_print_json(s, p);
    }
    fflush(stdout);
}

/* A run's summary.json in one line: outside of texts, where they are escaped, line ends and
 * the spaces after them mean nothing. */
static void screen_print_summary(const char *folder)
{
    char path[600];
    snprintf(path, sizeof path, "%s/summary.json", folder);
    FILE *f = fopen(path, "r");
    bool indent = false;
    for (int c; f && (c = getc(f)) != EOF;) {
        indent = c == '\n' || (indent && c == ' ');
        if (!indent)
            putchar(c);
    }
    if (!f)
        printf("null");
    else
        fclose(f);
}

void screen_finished(const screen *s, const char *folder)
{
    if (s->form != SCREEN_JSON)
        return;
    screen_json_head(s, "summary");
    printf(",");
    screen_json_text("folder", folder);
    printf(",\"summary\":");
    screen_print_summary(folder);
    printf("}\n");
    fflush(stdout);
}

void screen_stopped(const screen *s, const char *folder)
{
    if (s->form == SCREEN_JSON) {
        screen_json_head(s, "stopped");
        printf(",");
        screen_json_text("folder", folder);
        printf("}\n");
    } else {
        printf("%sstopped after a checkpoint; 'engram run --resume %s' goes on\n",
               s->form == SCREEN_BAR ? "\n" : "", folder);
    }
}
