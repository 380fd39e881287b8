/* screen.h - what a run shows while it goes on: a bar, lines, JSON, or nothing.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_CLI_SCREEN_H
#define EG_CLI_SCREEN_H

#include <engram/fed.h>

typedef enum screen_form {
    SCREEN_QUIET,
    SCREEN_LINES,
    SCREEN_BAR,  /* on a terminal */
    SCREEN_JSON, /* one object per line, and nothing else */
} screen_form;

typedef struct screen {
    screen_form form;
    const char *label;
    uint64_t seed;
    const char *again; /* options with which the run goes on, each after a blank; or NULL */
    bool served;       /* its clients are devices */
    double shown;      /* seconds at the last line */
    double since;      /* at the end of the last round */
    int64_t done;      /* rounds */
    double accuracy;   /* the last one measured, if any round is done; below 0: none */
    double loading;    /* eg_seconds() at the last sign of loading; 0: there was none */
    bool open;         /* the cursor stands behind a bar */
} screen;

/* Columns of the terminal; whether it shows colours, and the user wants them (NO_COLOR). */
int screen_width(void);
bool screen_has_colour(void);

/* Says how long n runs took. */
void screen_total(screen_form form, size_t n, double seconds);

void screen_progress(screen *s, const eg_progress *p);

/* Where a round stands, if it takes long. */
void screen_moment(screen *s, const eg_moment *m);

/* How many files of the data are loaded. */
void screen_loading(screen *s, int64_t done, int64_t all);

/* The same of pre-training, which no run's label stands before. */
void screen_pretraining(screen *s, const eg_pretraining *p);

/* A sentence that somebody should know, on stderr. */
void screen_say(void *context, const char *sentence);

/* The run came to its end, or was stopped after a checkpoint. */
void screen_finished(screen *s, const char *folder);
void screen_stopped(screen *s, const char *folder);

#endif
