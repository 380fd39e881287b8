/* screen.c - a run's progress in the forms people and programs read.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "screen.h"

#include <engram/log.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { SCREEN_TEXT = 512, SCREEN_BAR_MOST = 30, SCREEN_BAR_LEAST = 10 };

int screen_width(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

bool screen_has_colour(void)
{
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
    bool dumb = terminal && strcmp(terminal, "dumb") == 0;
    return isatty(STDOUT_FILENO) && !(no && *no) && !dumb;
}

static int screen_clamp(int n, int least, int most)
{
    return n < least ? least : n > most ? most : n;
}

/* Columns of a text in UTF-8: one per character. */
static int screen_columns(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += (*text & 0xc0) != 0x80;
    return n;
}

/* The text in so many columns: with blanks after it, or cut with dots. */
static void screen_fit(const char *text, int columns, char out[SCREEN_TEXT])
{
    int have = screen_columns(text), keep = have > columns ? columns - 3 : have;
    int at = 0;
    for (int n = 0; text[at] && at < SCREEN_TEXT / 2; at++) {
        n += (text[at] & 0xc0) != 0x80;
        if (n > keep)
            break;
        out[at] = text[at];
    }
    int fill = have > columns ? 3 : columns - have;
    snprintf(out + at, (size_t)(SCREEN_TEXT - at), "%.*s", fill,
             have > columns ? "..." : "                              ");
}

/* A loss as it is: what is not finite must not look like a good one. */
static void screen_loss(double loss, char out[32])
{
    if (isfinite(loss))
        snprintf(out, 32, "%.4f", loss);
    else
        snprintf(out, 32, "%s", isnan(loss) ? "nan" : "inf");
}

/* "#####....." */
static void screen_fill_bar(int64_t done, int64_t of, int width, char out[SCREEN_BAR_MOST + 1])
{
    int64_t full = done * width / of;
    for (int i = 0; i < width; i++)
        out[i] = i < full ? '#' : '.';
    out[width] = 0;
}

/* "12.3 s", "3 min 05 s", "2 h 07 min" */
static void screen_time(double seconds, char out[48])
{
    long long whole = (long long)(seconds + 0.5);
    if (seconds < 99.95)
        snprintf(out, 48, "%.1f s", seconds);
    else if (whole < 3600)
        snprintf(out, 48, "%lld min %02lld s", whole / 60, whole % 60);
    else
        snprintf(out, 48, "%lld h %02lld min", whole / 3600, whole / 60 % 60);
}

void screen_total(screen_form form, size_t n, double seconds)
{
    char time[48];
    screen_time(seconds, time);
    if (form == SCREEN_BAR || form == SCREEN_LINES)
        printf("%zu runs in %s\n\n", n, time);
}

/* ", accuracy 61.2 %", or nothing. */
static void screen_accuracy(double accuracy, char out[48])
{
    *out = 0;
    if (accuracy >= 0)
        snprintf(out, 48, ", accuracy %.1f %%", 100 * accuracy);
}

/* ", epsilon 2.41", or nothing. */
static void screen_epsilon(double epsilon, char out[48])
{
    *out = 0;
    if (epsilon > 0)
        snprintf(out, 48, ", epsilon %.2f", epsilon);
    else if (epsilon < 0)
        snprintf(out, 48, ", no privacy (seeded noise)");
}

/* " 23/200, accuracy 61.2 %, 12 s left", and at the end how long it took. */
static void screen_state(const eg_progress *p, char out[SCREEN_TEXT])
{
    char accuracy[48], loss[48] = "", epsilon[48];
    screen_accuracy(p->accuracy, accuracy);
    screen_epsilon(p->epsilon, epsilon);
    if (!isfinite(p->loss) && !*epsilon) /* with privacy nobody tells it */
        snprintf(loss, sizeof loss, ", loss %s", isnan(p->loss) ? "nan" : "inf");
    char time[48];
    int64_t left = p->n_rounds - p->round;
    screen_time(p->seconds, time);
    if (left > 0)
        snprintf(time, sizeof time, "%.0f s left",
                 p->seconds / (double)p->round * (double)left);
    snprintf(out, SCREEN_TEXT, " %lld/%lld%s%s%s, %s", (long long)p->round,
             (long long)p->n_rounds, accuracy, loss, epsilon, time);
}

/* "er             seed 0  [####......] 23/200, accuracy 61.2 %, 12 s left" on one line: first
 * the bar gets shorter, then the label, then there is no bar. */
static void screen_draw_bar(screen *s, int64_t done, int64_t of, const char *state)
{
    enum { LABEL = 14, LABEL_LEAST = 6, LABEL_MOST = 100 };
    char seed[48], label[SCREEN_TEXT], bar[SCREEN_BAR_MOST + 1];
    char line[3 * SCREEN_TEXT];
    snprintf(seed, sizeof seed, " seed %llu ", (unsigned long long)s->seed);
    int width = screen_width() - 1, columns = screen_columns(s->label);
    int left = width - (int)strlen(seed) - (int)strlen(state) - 3; /* the bar's ends, a blank */
    columns = screen_clamp(columns, LABEL, LABEL_MOST);
    int bars = screen_clamp(left - columns, SCREEN_BAR_LEAST, SCREEN_BAR_MOST);
    bool room = left - bars >= LABEL_LEAST;
    screen_fill_bar(done, of, bars, bar);
    bool colour = screen_has_colour();
    screen_fit(s->label, screen_clamp(left - bars, LABEL_LEAST, columns), label);
    if (room)
        snprintf(line, sizeof line, "%s%s [%s]%s", label, seed, bar, state);
    else
        snprintf(line, sizeof line, "%s%s%s", label, seed, state);
    if (screen_columns(line) > width) {
        screen_fit(line, width, label);
        printf("\r%s\033[K", label);
    } else if (room && colour) {
        printf("\r%s%s [\033[32m%s\033[0m]%s\033[K", label, seed, bar, state);
    } else {
        printf("\r%s\033[K", line);
    }
    s->open = done != of;
    if (!s->open)
        printf("\n");
}

/* A run may come to an end before its last round, and the bar with it. */
static void screen_end_bar(screen *s)
{
    if (s->open)
        printf("\n");
    s->open = false;
}

static void screen_draw_progress(screen *s, const eg_progress *p)
{
    char state[SCREEN_TEXT];
    screen_state(p, state);
    screen_draw_bar(s, p->round, p->n_rounds, state);
}

static void screen_print_line(const screen *s, const char *unit, const eg_progress *p)
{
    char loss[32], accuracy[48] = "", epsilon[48];
    screen_loss(p->loss, loss);
    screen_epsilon(p->epsilon, epsilon);
    if (p->evaluated && p->accuracy >= 0)
        snprintf(accuracy, sizeof accuracy, " accuracy %.2f %%", 100 * p->accuracy);
    printf("%s seed %llu %s %lld/%lld loss %s%s%s %.1f s\n", s->label,
           (unsigned long long)s->seed, unit, (long long)p->round, (long long)p->n_rounds, loss,
           accuracy, epsilon, p->seconds);
}

/* Seconds after which a line shows that a run goes on; less than usual in tests. */
static double screen_pause(void)
{
    const char *wish = getenv("ENGRAM_PROGRESS_SECONDS");
    char *end;
    double seconds = wish && *wish ? strtod(wish, &end) : 10;
    return wish && *wish && *end ? 10 : seconds;
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
    bool due = p->evaluated || p->round == p->n_rounds;
    s->since = p->seconds, s->done = p->round, s->accuracy = p->accuracy;
    if (s->form == SCREEN_BAR && (due || p->seconds - s->shown > 0.1)) {
        screen_draw_progress(s, p);
        s->shown = p->seconds;
    } else if (s->form == SCREEN_LINES && (due || p->seconds - s->shown > screen_pause())) {
        screen_print_line(s, "round", p);
        s->shown = p->seconds;
    } else if (s->form == SCREEN_JSON) {
        screen_print_json(s, p);
    }
    fflush(stdout);
}

/* "client 2/4", "reference: client 2/4", "server: fedcil 30/400", "test 1/5"; what is done
 * counts, and what is under way. */
static void screen_step(const eg_moment *m, char out[SCREEN_TEXT])
{
    char count[64] = "";
    bool trains = strcmp(m->what, "training") == 0;
    if (m->of > 0)
        snprintf(count, sizeof count, " %lld/%lld", (long long)m->done + 1, (long long)m->of);
    if (m->at == EG_AT_SERVER)
        snprintf(out, SCREEN_TEXT, "server%s%.100s%s", *m->what ? ": " : "", m->what, count);
    else if (m->at == EG_AT_TESTS)
        snprintf(out, SCREEN_TEXT, "test%s", count);
    else
        snprintf(out, SCREEN_TEXT, "%.100s%sclient%s", trains ? "" : m->what,
                 trains ? "" : ": ", count);
}

static void screen_draw_moment(screen *s, const eg_moment *m, const char *step)
{
    char state[SCREEN_TEXT], accuracy[48] = "";
    if (s->done > 0)
        screen_accuracy(s->accuracy, accuracy);
    snprintf(state, SCREEN_TEXT, " round %lld/%lld, %.200s%s", (long long)m->round,
             (long long)m->n_rounds, step, accuracy);
    screen_draw_bar(s, m->round - 1, m->n_rounds, state);
}

static void screen_print_moment(const screen *s, const eg_moment *m)
{
    static const char *const who[] = {"clients", "server", "tests"};
    screen_json_head(s, "moment");
    printf(",\"round\":%lld,\"rounds\":%lld,\"at\":\"%s\",", (long long)m->round,
           (long long)m->n_rounds, who[m->at]);
    screen_json_text("what", m->what);
    printf(",\"done\":%lld,\"of\":%lld", (long long)m->done, (long long)m->of);
    screen_json_number("seconds", m->seconds, true);
    printf("}\n");
}

/* Rounds that follow each other quickly show their ends alone. */
void screen_moment(screen *s, const eg_moment *m)
{
    char step[SCREEN_TEXT];
    double pause = screen_pause(), is_long = s->form == SCREEN_LINES ? pause : pause / 10;
    double is_old = s->form == SCREEN_BAR ? fmin(0.1, pause) : is_long;
    if (s->form == SCREEN_QUIET || m->seconds - s->since < is_long ||
        m->seconds - s->shown < is_old)
        return;
    screen_step(m, step);
    if (s->form == SCREEN_JSON)
        screen_print_moment(s, m);
    else if (s->form == SCREEN_BAR)
        screen_draw_moment(s, m, step);
    else
        printf("%s seed %llu round %lld/%lld %s %.1f s\n", s->label,
               (unsigned long long)s->seed, (long long)m->round, (long long)m->n_rounds, step,
               m->seconds);
    s->shown = m->seconds;
    fflush(stdout);
}

/* Few files are there at once: what is loaded within a moment needs no sign. */
void screen_loading(screen *s, int64_t done, int64_t all)
{
    char state[SCREEN_TEXT];
    screen as = {.form = s->form, .label = "data"};
    double now = eg_seconds(), pause = s->form == SCREEN_LINES ? screen_pause() : 0.1;
    if (done == 0 || s->loading <= 0)
        s->loading = now;
    if (s->form == SCREEN_QUIET || now - s->loading < pause)
        return;
    snprintf(state, sizeof state, " %lld of %lld files", (long long)done, (long long)all);
    if (s->form == SCREEN_JSON) {
        screen_json_head(s, "loading");
        printf(",\"done\":%lld,\"of\":%lld}\n", (long long)done, (long long)all);
    } else if (s->form == SCREEN_BAR) {
        screen_draw_bar(&as, done, all, state);
    } else {
        printf("data%s\n", state);
    }
    s->loading = now;
    fflush(stdout);
}

static void screen_print_pretraining(const screen *s, const eg_pretraining *p)
{
    screen_json_head(s, "pretraining");
    printf(",\"batch\":%lld,\"batches\":%lld", (long long)p->batch, (long long)p->n_batches);
    screen_json_number("loss", p->loss, p->batch > 0);
    screen_json_number("seconds", p->seconds, true);
    printf(",\"waiting\":%s}\n", p->waiting ? "true" : "false");
}

void screen_pretraining(screen *s, const eg_pretraining *p)
{
    screen as = {.form = s->form, .label = "pre-training"};
    const eg_progress done = {.round = p->batch,
                              .n_rounds = p->n_batches,
                              .loss = p->loss,
                              .accuracy = -1,
                              .seconds = p->seconds};
    bool end = !p->waiting && p->batch == p->n_batches, bar = s->form == SCREEN_BAR;
    double pause = bar || s->form == SCREEN_JSON ? 0.1 : screen_pause();
    if (s->form == SCREEN_QUIET || !(end || p->seconds - s->shown > pause))
        return;
    if (s->form == SCREEN_JSON)
        screen_print_pretraining(s, p);
    else if (p->waiting)
        printf("%spre-training: another process is at it, %.0f s%s", bar ? "\r" : "",
               p->seconds, bar ? "\033[K" : "\n");
    else if (bar)
        screen_draw_progress(&as, &done);
    else
        screen_print_line(&as, "batch", &done);
    s->shown = end ? 0 : p->seconds; /* the rounds have a clock of their own */
    fflush(stdout);
}

void screen_say(void *context, const char *sentence)
{
    (void)context;
    fprintf(stderr, "engram: %s\n", sentence);
}

/* A run's summary.json in one line: outside of texts, where they are escaped, line ends and
 * the spaces after them mean nothing. */
static void screen_print_summary(const char *folder)
{
    char path[EG_RUN_PATH];
    bool named = eg_run_file(folder, EG_RUN_SUMMARY, path) == EG_OK;
    FILE *f = named ? fopen(path, "r") : NULL;
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

void screen_finished(screen *s, const char *folder)
{
    screen_end_bar(s);
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

void screen_stopped(screen *s, const char *folder)
{
    screen_end_bar(s);
    if (s->form == SCREEN_JSON) {
        screen_json_head(s, "stopped");
        printf(",");
        screen_json_text("folder", folder);
        printf("}\n");
    } else {
        printf("stopped after a checkpoint; 'engram %s --resume %s%s' goes on\n",
               s->served ? "serve" : "run", folder, s->again ? s->again : "");
    }
}
