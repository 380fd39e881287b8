/* index.c - a page that lists the runs in a folder and leads to their pages.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/chart/svg.h"
#include "report/page/page.h"

#include "io/file.h"

#include <engram/log.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The runs of a folder; one that cannot be read is left out, and said. */
typedef struct index_runs {
    const char *path;
    eg_run **run; /* [n] by folder */
    size_t n;
    const char **unread; /* [n_unread] why */
    size_t n_unread;
    eg_arena arena;
} index_runs;

static eg_status index_load(index_runs *x, const eg_run_folders *folders)
{
    x->run = eg_arena_alloc(&x->arena, folders->n * sizeof *x->run);
    x->unread = eg_arena_alloc(&x->arena, folders->n * sizeof *x->unread);
    if (!x->run || !x->unread)
        return EG_ENOMEM;
    for (size_t i = 0; i < folders->n; i++) {
        eg_status s = eg_run_load(folders->list[i], &x->run[x->n]);
        if (s == EG_OK) {
            x->n++;
            continue;
        }
        const char *why = eg_arena_text(&x->arena, "%s", eg_error());
        if (s == EG_ENOMEM || !why)
            return EG_ENOMEM;
        x->unread[x->n_unread++] = why;
    }
    return EG_OK;
}

/* Whether no run before number i is of its experiment. */
static bool index_is_first(const index_runs *x, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(x->run[k]->start->name, x->run[i]->start->name) == 0)
            return false;
    return true;
}

/* The folders of one experiment, of the arena. */
static eg_status index_of_experiment(index_runs *x, const char *name, const char ***out,
                                     size_t *n)
{
    *n = 0;
    *out = eg_arena_alloc(&x->arena, x->n * sizeof **out);
    for (size_t i = 0; *out && i < x->n; i++)
        if (strcmp(x->run[i]->start->name, name) == 0)
            (*out)[(*n)++] = x->run[i]->dir;
    return *out ? EG_OK : EG_ENOMEM;
}

/* The pages of all runs, and those of experiments with several. */
static eg_status index_pages(index_runs *x)
{
    char page[EG_RUN_PATH], name[EG_RUN_PATH];
    for (size_t i = 0; i < x->n; i++) {
        const char **dirs, *dir = x->run[i]->dir;
        size_t n;
        EG_TRY(eg_run_file(dir, EG_RUN_REPORT, page));
        EG_TRY(eg_report_write(&dir, 1, NULL, 0, NULL, page));
        if (!index_is_first(x, i))
            continue;
        EG_TRY(index_of_experiment(x, x->run[i]->start->name, &dirs, &n));
        snprintf(name, sizeof name, "%s.html", x->run[i]->start->name);
        EG_TRY(eg_run_file(x->path, name, page));
        if (n > 1)
            EG_TRY(eg_report_write(dirs, n, NULL, 0, NULL, page));
    }
    return EG_OK;
}

/* A name as a part of an address. */
static void index_address(FILE *f, const char *text)
{
    for (; *text; text++)
        if (strchr("-._~", *text) || (*text >= '0' && *text <= '9') ||
            (*text >= 'A' && *text <= 'Z') || (*text >= 'a' && *text <= 'z'))
            fputc(*text, f);
        else
            fprintf(f, "%%%02X", (unsigned)(unsigned char)*text);
}

static void index_row(FILE *f, const index_runs *x, const eg_run *r)
{
    char state[64], accuracy[32], seconds[32];
    bool inside = strncmp(r->dir, x->path, strlen(x->path)) == 0;
    const char *slash = strrchr(r->dir, '/');
    eg_show_state(state, r);
    eg_show_percent(accuracy, r->summary[r->n_met ? EG_SUMMARY_aa : EG_SUMMARY_acc_final]);
    eg_show_seconds(seconds, r->summary[EG_SUMMARY_seconds]);
    fprintf(f, "<tr><th><a href=\"");
    if (inside && slash && strcmp(r->dir, x->path) != 0) {
        index_address(f, slash + 1);
        fputc('/', f);
    }
    fprintf(f, "%s\">", EG_RUN_REPORT);
    eg_html_text(f, r->start->label);
    fprintf(f, "</a></th><td>%" PRId64 "</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
            r->start->seed, state, accuracy, seconds);
}

static eg_status index_experiment(FILE *f, index_runs *x, const char *name)
{
    const char **dirs;
    size_t n;
    EG_TRY(index_of_experiment(x, name, &dirs, &n));
    fprintf(f, "<h2>");
    if (n > 1) {
        fprintf(f, "<a href=\"");
        index_address(f, name);
        fprintf(f, ".html\">");
    }
    eg_html_text(f, name);
    fprintf(f, "%s</h2>\n<div class=\"card scroll\">", n > 1 ? "</a>" : "");
    eg_html_hint(f, "The table");
    fprintf(f,
            "<table class=\"wide\" data-table=\"runs\"><thead><tr><th>label</th><th>seed</th>"
            "<th>state</th><th>accuracy %%</th><th>time</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < x->n; i++)
        if (strcmp(x->run[i]->start->name, name) == 0)
            index_row(f, x, x->run[i]);
    fprintf(f, "</tbody></table></div>\n");
    return EG_OK;
}

static eg_status index_page(FILE *f, index_runs *x, long long number)
{
    eg_page_begin(f);
    eg_html_text(f, x->path);
    eg_page_style(f);
    fprintf(f, "<p class=\"brand\">engram runs</p>\n<h1>");
    eg_html_text(f, x->path);
    fprintf(f, "</h1>\n<p class=\"facts\"><b>%zu</b> run%s</p>\n", x->n, x->n == 1 ? "" : "s");
    for (size_t i = 0; i < x->n_unread; i++) {
        fprintf(f, "<p class=\"warn\">");
        eg_html_text(f, x->unread[i]);
        fprintf(f, "</p>\n");
    }
    for (size_t i = 0; i < x->n; i++)
        if (index_is_first(x, i))
            EG_TRY(index_experiment(f, x, x->run[i]->start->name));
    fprintf(f, "<footer>");
    eg_page_made(f, number);
    fprintf(f, "</body>\n</html>\n");
    return EG_OK;
}

static void index_close(index_runs *x)
{
    for (size_t i = 0; i < x->n; i++)
        eg_run_free(x->run[i]);
    eg_arena_fini(&x->arena);
}

static eg_status index_open(index_runs *x, const char *path)
{
    eg_run_folders folders;
    *x = (index_runs){.path = path};
    EG_TRY(eg_run_folders_find(path, &folders));
    eg_status s = index_load(x, &folders);
    eg_run_folders_free(&folders);
    if (s != EG_OK)
        index_close(x);
    return s;
}

static eg_status index_text(index_runs *x, long long number, char **out, size_t *n)
{
    FILE *f = open_memstream(out, n);
    eg_status s = f ? index_page(f, x, number) : EG_ENOMEM;
    if (f && fclose(f) != 0)
        s = EG_ENOMEM;
    if (s != EG_OK) {
        free(*out);
        *out = NULL;
    }
    return s == EG_ENOMEM ? eg_fail(s, "%s: the page is larger than memory", x->path) : s;
}

eg_status eg_index_print(const char *folder, long long number, char **out, size_t *n)
{
    index_runs x;
    eg_status s = index_open(&x, folder);
    if (s == EG_ENOENT && number >= 0) /* the first run is about to begin */
        x = (index_runs){.path = folder}, s = EG_OK;
    EG_TRY(s);
    s = index_text(&x, number, out, n);
    index_close(&x);
    return s;
}

eg_status eg_page_print_experiment(const char *folder, const char *name, long long number,
                                   char **out, size_t *n)
{
    index_runs x;
    const char **dirs;
    size_t n_dirs;
    EG_TRY(index_open(&x, folder));
    eg_status s = index_of_experiment(&x, name, &dirs, &n_dirs);
    if (s == EG_OK && n_dirs == 0)
        s = eg_fail(EG_ENOENT, "there is no run of '%s'", name);
    if (s == EG_OK)
        s = eg_page_print(dirs, n_dirs, number, out, n);
    index_close(&x);
    return s;
}

eg_status eg_report_write_all(const char *path, const char *out_path)
{
    index_runs x;
    char *text = NULL;
    size_t n;
    EG_TRY(index_open(&x, path));
    eg_status s = index_pages(&x);
    if (s == EG_OK)
        s = index_text(&x, -1, &text, &n);
    if (s == EG_OK)
        s = eg_file_write(out_path, &(eg_bytes){text, n}, 1);
    free(text);
    index_close(&x);
    return s;
}
