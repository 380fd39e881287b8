/* scenario_chart.c - who works on which task in which round, gathered, and drawn in a terminal.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "scenario.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CHART_WIDTH = 64, CHART_MAX_CLASSES = 100 };

static eg_status chart_alloc(int64_t n, size_t size, void *out)
{
    void **slot = out;
    *slot = calloc(n > 0 ? (size_t)n : 1, size);
    return *slot ? EG_OK : eg_fail(EG_ENOMEM, "out of memory");
}

/* Where each source's samples begin in a list of all: [n_tasks], by the task. Returns how many
 * samples there are. */
static int64_t chart_first(const scenario_chart *c, int64_t *first)
{
    int64_t n_tasks = eg_scenario_n_tasks(c->s), end = 0;
    for (int64_t t = 0; t < n_tasks; t++) {
        int64_t same = 0, source = (int64_t)eg_scenario_task(c->s, t)->source;
        while (same < t && (int64_t)eg_scenario_task(c->s, same)->source != source)
            same++;
        first[t] = same < t ? first[same] : end;
        end += same < t ? 0 : c->labels[source].n_train;
    }
    return end;
}

/* Samples of each class a client holds, and samples of each task it meets. Tasks may share
 * samples, turned or permuted in another way, but who holds one holds it once. seen: [all
 * samples], zeroed. */
static void chart_count(scenario_chart *c, int64_t i, const int64_t *first, uint8_t *seen)
{
    int64_t client = c->client[i];
    for (int64_t stage = 0; stage < eg_scenario_n_stages(c->s, client); stage++) {
        int64_t n_spans;
        const eg_span *spans = eg_scenario_spans(c->s, client, stage, &n_spans);
        for (int64_t k = 0; k < n_spans; k++) {
            const eg_labels *l = &c->labels[eg_scenario_task(c->s, spans[k].task)->source];
            uint8_t *of_source = seen + first[spans[k].task];
            c->by_task[i * eg_scenario_n_tasks(c->s) + spans[k].task] += spans[k].n;
            for (int64_t j = 0; j < spans[k].n; j++) {
                int64_t id = spans[k].ids[j];
                c->by_class[i * c->n_classes + l->train[id]] += !of_source[id];
                of_source[id] = 1;
            }
        }
    }
}

static eg_status chart_count_all(scenario_chart *c)
{
    int64_t *first;
    uint8_t *seen = NULL;
    EG_TRY(chart_alloc(eg_scenario_n_tasks(c->s), sizeof *first, &first));
    int64_t n = chart_first(c, first);
    eg_status s = chart_alloc(n, sizeof *seen, &seen);
    for (int64_t i = 0; i < c->n_shown && s == EG_OK; i++) {
        memset(seen, 0, (size_t)n);
        chart_count(c, i, first, seen);
    }
    free(first);
    free(seen);
    return s;
}

static eg_status chart_walk(scenario_chart *c)
{
    eg_cursor *cursor;
    EG_TRY(eg_cursor_new(c->s, &cursor));
    for (int64_t r = 0, n; r < c->n_rounds; r++, eg_cursor_next(cursor, NULL)) {
        const int32_t *chosen = eg_cursor_selected(cursor, &n);
        int64_t at = 0;
        for (int64_t i = 0; i < c->n_shown; i++) {
            eg_view view;
            bool there = eg_cursor_view(cursor, c->client[i], &view);
            while (at < n && chosen[at] < c->client[i])
                at++;
            bool in = at < n && chosen[at] == c->client[i];
            c->stage[i * c->n_rounds + r] = there ? (int32_t)view.stage : -1;
            c->chosen[i * c->n_rounds + r] = in;
            c->partial |= there && !in;
        }
    }
    eg_cursor_free(cursor);
    return EG_OK;
}

eg_status scenario_chart_init(scenario_chart *c, const eg_scenario *s, const eg_labels *labels,
                              const char *title, int64_t most)
{
    int64_t n = eg_scenario_n_clients(s), shown = n < most ? n : most;
    *c = (scenario_chart){.s = s,
                          .labels = labels,
                          .title = title,
                          .n_rounds = eg_scenario_n_rounds(s),
                          .n_shown = shown,
                          .n_classes = eg_scenario_n_classes(s)};
    EG_TRY(chart_alloc(shown, sizeof *c->client, &c->client));
    EG_TRY(chart_alloc(shown * c->n_rounds, sizeof *c->stage, &c->stage));
    EG_TRY(chart_alloc(shown * c->n_rounds, 1, &c->chosen));
    EG_TRY(chart_alloc(shown * c->n_classes, sizeof *c->by_class, &c->by_class));
    EG_TRY(chart_alloc(shown * eg_scenario_n_tasks(s), sizeof *c->by_task, &c->by_task));
    for (int64_t i = 0; i < shown; i++)
        c->client[i] = shown > 1 ? i * (n - 1) / (shown - 1) : 0;
    EG_TRY(chart_count_all(c));
    return chart_walk(c);
}

void scenario_chart_fini(scenario_chart *c)
{
    free(c->client);
    free(c->stage);
    free(c->chosen);
    free(c->by_class);
    free(c->by_task);
    *c = (scenario_chart){0};
}

static char chart_letter(int64_t task)
{
    static const char letters[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return letters[task % (int64_t)(sizeof letters - 1)];
}

/* What one column shows of a client: its task in the last round it took part in; '-' if it was
 * there but not chosen; ' ' if it was not there. */
static char chart_cell(const scenario_chart *c, int64_t i, int64_t from, int64_t to)
{
    char cell = ' ';
    for (int64_t r = from; r < to; r++) {
        int32_t stage = c->stage[i * c->n_rounds + r];
        int64_t n;
        if (stage >= 0 && c->chosen[i * c->n_rounds + r])
            cell = chart_letter(eg_scenario_spans(c->s, c->client[i], stage, &n)->task);
        else if (stage >= 0 && cell == ' ')
            cell = '-';
    }
    return cell;
}

static void chart_print_time(const scenario_chart *c)
{
    int64_t width = c->n_rounds < CHART_WIDTH ? c->n_rounds : CHART_WIDTH;
    printf("\nwho works on which task in which round%s\n\n",
           c->partial ? " (- there, but not chosen)" : "");
    printf("  client  round 0%*" PRId64 "\n", (int)(width > 8 ? width - 7 : 1),
           c->n_rounds - 1);
    for (int64_t i = 0; i < c->n_shown; i++) {
        printf("  %6" PRId64 "  ", c->client[i]);
        for (int64_t k = 0; k < width; k++)
            putchar(chart_cell(c, i, k * c->n_rounds / width, (k + 1) * c->n_rounds / width));
        putchar('\n');
    }
}

static char chart_shade(int64_t n, int64_t most)
{
    static const char shades[] = ".:-=+*#%@";
    return n == 0 ? ' ' : shades[(n * 9 - 1) / most];
}

/* One row per client, one column per class or task: how many samples, as shades. */
static void chart_print_table(const scenario_chart *c, const char *what, const int64_t *count,
                              int64_t n)
{
    int64_t most = 1;
    for (int64_t i = 0; i < c->n_shown * n; i++)
        most = count[i] > most ? count[i] : most;
    printf("\nsamples by client and %s, 0 to %" PRId64 " (@ is %" PRId64 ")\n\n", what, n - 1,
           most);
    for (int64_t i = 0; i < c->n_shown; i++) {
        int64_t sum = 0;
        printf("  %6" PRId64 " |", c->client[i]);
        for (int64_t k = 0; k < n; k++) {
            putchar(chart_shade(count[i * n + k], most));
            sum += count[i * n + k];
        }
        printf("| %" PRId64 "\n", sum);
    }
}

void scenario_chart_print(const scenario_chart *c)
{
    int64_t n = eg_scenario_n_clients(c->s);
    if (c->n_shown < n)
        printf("  shown are %" PRId64 " of %" PRId64 " clients\n", c->n_shown, n);
    chart_print_time(c);
    chart_print_table(c, "task", c->by_task, eg_scenario_n_tasks(c->s));
    if (c->n_classes <= CHART_MAX_CLASSES)
        chart_print_table(c, "class", c->by_class, c->n_classes);
}
