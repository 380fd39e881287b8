/* record.c - accuracies by row, who and task, with the counts behind them.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/metric.h>

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

typedef struct record_cell {
    int64_t correct, n;
    int64_t map; /* of n, plus 1; 0: targets are no boxes */
} record_cell;

typedef struct record_row {
    int64_t round, period;
    bool task_end, whole;
    record_cell seen; /* of the classes met, all tasks together */
} record_row;

struct eg_record {
    int64_t n_clients, n_tasks, n_periods;
    bool has_server;
    size_t n_rows, cap_rows, cap_cells, cap_met;
    record_row *rows;
    record_cell *cells; /* [n_rows, 1 + n_clients, n_tasks]; the server is first */
    int64_t *met;       /* [n_rows, n_clients] */
    int64_t *learned;   /* [n_tasks] */
};

eg_status eg_record_new(int64_t n_clients, int64_t n_tasks, eg_record **out)
{
    *out = NULL;
    EG_ASSERT(n_clients >= 0 && n_tasks > 0);
    eg_record *r = calloc(1, sizeof *r);
    if (!r)
        return eg_fail(EG_ENOMEM, "out of memory");
    r->n_clients = n_clients;
    r->n_tasks = n_tasks;
    eg_status status = eg_alloc((size_t)n_tasks, sizeof *r->learned, &r->learned);
    if (status != EG_OK) {
        eg_record_free(r);
        return status;
    }
    for (int64_t t = 0; t < n_tasks; t++)
        r->learned[t] = t + 1;
    *out = r;
    return EG_OK;
}

void eg_record_free(eg_record *r)
{
    if (!r)
        return;
    free(r->rows);
    free(r->cells);
    free(r->met);
    free(r->learned);
    free(r);
}

static size_t record_row_size(const eg_record *r)
{
    return (size_t)((r->n_clients + 1) * r->n_tasks);
}

/* Room for one more row of `each` elements, all zero. */
static eg_status record_extend(void *items, size_t n_rows, size_t *cap, size_t each,
                               size_t size)
{
    void **slot = items;
    for (size_t i = 0; i < each; i++) /* doubling makes this cheap */
        EG_TRY(eg_grow(items, n_rows * each + i, cap, size));
    if (each > 0)
        memset((char *)*slot + n_rows * each * size, 0, each * size);
    return EG_OK;
}

eg_status eg_record_add(eg_record *r, int64_t round, int64_t period, bool task_end)
{
    size_t n = r->n_rows;
    EG_ASSERT((n == 0) == (period == 0));
    EG_ASSERT(n == 0 || (period >= r->rows[n - 1].period && round >= r->rows[n - 1].round));
    EG_TRY(eg_grow(&r->rows, n, &r->cap_rows, sizeof *r->rows));
    EG_TRY(record_extend(&r->cells, n, &r->cap_cells, record_row_size(r), sizeof *r->cells));
    EG_TRY(record_extend(&r->met, n, &r->cap_met, (size_t)r->n_clients, sizeof *r->met));
    r->rows[r->n_rows++] = (record_row){.round = round, .period = period, .task_end = task_end};
    if (task_end && period > r->n_periods)
        r->n_periods = period;
    return EG_OK;
}

void eg_record_learned(eg_record *r, int64_t task, int64_t period)
{
    EG_ASSERT(task >= 0 && task < r->n_tasks && period > 0);
    r->learned[task] = period;
}

/* The share of right ones; false, and 0, without any. */
static bool record_share(const record_cell *cell, double *out)
{
    *out = cell->n > 0 ? (double)cell->correct / (double)cell->n : 0;
    return cell->n > 0;
}

static record_cell *record_cell_at(const eg_record *r, int64_t row, int64_t who, int64_t task)
{
    EG_ASSERT(row >= 0 && row < (int64_t)r->n_rows && who >= -1 && who < r->n_clients);
    EG_ASSERT(task >= 0 && task < r->n_tasks);
    return &r->cells[(size_t)row * record_row_size(r) +
                     (size_t)((who + 1) * r->n_tasks + task)];
}

void eg_record_enter(eg_record *r, int64_t who, int64_t task, int64_t correct, int64_t n)
{
    EG_ASSERT(correct >= 0 && correct <= n);
    *record_cell_at(r, (int64_t)r->n_rows - 1, who, task) =
        (record_cell){.correct = correct, .n = n};
    r->has_server |= who < 0 && n > 0;
}

void eg_record_enter_map(eg_record *r, int64_t who, int64_t task, int64_t map)
{
    record_cell *cell = record_cell_at(r, (int64_t)r->n_rows - 1, who, task);
    EG_ASSERT(map >= 0 && map <= cell->n);
    cell->map = map + 1;
}

void eg_record_enter_seen(eg_record *r, int64_t correct, int64_t n)
{
    EG_ASSERT(r->n_rows > 0 && correct >= 0 && correct <= n);
    r->rows[r->n_rows - 1].seen = (record_cell){.correct = correct, .n = n};
}

void eg_record_met(eg_record *r, int64_t client, int64_t samples)
{
    EG_ASSERT(client >= 0 && client < r->n_clients && r->n_rows > 0 && samples >= 0);
    r->met[((int64_t)r->n_rows - 1) * r->n_clients + client] = samples;
}

void eg_record_set_whole(eg_record *r)
{
    EG_ASSERT(r->n_rows > 0);
    r->rows[r->n_rows - 1].whole = true;
}

int64_t eg_record_n_rows(const eg_record *r)
{
    return (int64_t)r->n_rows;
}

int64_t eg_record_n_tasks(const eg_record *r)
{
    return r->n_tasks;
}

int64_t eg_record_n_clients(const eg_record *r)
{
    return r->n_clients;
}

bool eg_record_has_server(const eg_record *r)
{
    return r->has_server;
}

int64_t eg_record_n_periods(const eg_record *r)
{
    return r->n_periods;
}

int64_t eg_record_round(const eg_record *r, int64_t row)
{
    return r->rows[row].round;
}

int64_t eg_record_period(const eg_record *r, int64_t row)
{
    return r->rows[row].period;
}

bool eg_record_is_whole(const eg_record *r, int64_t row)
{
    return r->rows[row].whole;
}

int64_t eg_record_task_row(const eg_record *r, int64_t period)
{
    int64_t low = 0, high = (int64_t)r->n_rows; /* the first row of a later period */
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (r->rows[middle].period <= period)
            low = middle + 1;
        else
            high = middle;
    }
    for (int64_t i = low - 1; i >= 0 && r->rows[i].period == period; i--)
        if (r->rows[i].task_end || period == 0)
            return i;
    return -1;
}

int64_t eg_record_own(const eg_record *r, int64_t task)
{
    return r->learned[task] <= r->n_periods ? r->learned[task] : 0;
}

bool eg_record_at(const eg_record *r, int64_t row, int64_t who, int64_t task, double *out)
{
    *out = 0;
    if (row < 0)
        return false;
    return record_share(record_cell_at(r, row, who, task), out);
}

bool eg_record_map(const eg_record *r, int64_t row, int64_t who, int64_t task, double *out)
{
    const record_cell *cell = row < 0 ? NULL : record_cell_at(r, row, who, task);
    bool there = cell && cell->map > 0 && cell->n > 0;
    *out = there ? (double)(cell->map - 1) / (double)cell->n : 0;
    return there;
}

bool eg_record_seen(const eg_record *r, int64_t row, double *out)
{
    *out = 0;
    return row >= 0 && record_share(&r->rows[row].seen, out);
}

bool eg_record_mean(const eg_record *r, int64_t row, int64_t who, double *out)
{
    double sum = 0, a;
    int64_t n = 0;
    for (int64_t t = 0; t < r->n_tasks && row >= 0; t++)
        if (r->learned[t] <= r->rows[row].period && eg_record_at(r, row, who, t, &a)) {
            sum += a;
            n++;
        }
    *out = n > 0 ? sum / (double)n : 0;
    return n > 0;
}

bool eg_record_pooled(const eg_record *r, int64_t row, int64_t who, double *out)
{
    record_cell all = {0};
    for (int64_t t = 0; t < r->n_tasks && row >= 0; t++) {
        const record_cell *cell = record_cell_at(r, row, who, t);
        all.correct += cell->correct;
        all.n += cell->n;
    }
    return record_share(&all, out);
}

int64_t eg_record_samples(const eg_record *r, int64_t row, int64_t client)
{
    EG_ASSERT(row >= 0 && row < (int64_t)r->n_rows && client >= 0 && client < r->n_clients);
    return r->met[row * r->n_clients + client];
}
