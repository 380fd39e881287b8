/* html.c - a page about runs: numbers, charts, settings; nothing in it comes from elsewhere.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/chart/chart.h"
#include "report/page/page.h"
#include "report/runs/group.h"
#include "report/table/table.h"

#include "io/file.h"

#include <engram/log.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The names of all experiments, each once: "demo, larger". */
static void html_names(eg_page *p)
{
    const eg_groups *g = p->g;
    for (size_t i = 0; i < g->n; i++) {
        const char *name = g->group[i].run[0]->start->name;
        bool said = false;
        for (size_t k = 0; k < i; k++)
            said |= strcmp(g->group[k].run[0]->start->name, name) == 0;
        if (said)
            continue;
        fputs(i ? ", " : "", p->f);
        eg_html_text(p->f, name);
    }
}

void eg_page_begin(FILE *f)
{
    fprintf(f, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
               "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
               "<title>");
}

void eg_page_style(FILE *f)
{
    fprintf(f, " – engram</title>\n<style>\n");
    for (const char *const *piece = eg_style; *piece; piece++)
        fputs(*piece, f);
    fprintf(f, "</style>\n</head>\n<body>\n<main>\n");
}

/* A live page waits until there is something new, and is loaded again where it was. */
static void html_live(FILE *f, long long number)
{
    fprintf(f,
            "<script>\nconst wait = () => fetch('/changed?number=%lld').then(r => r.text())\n"
            "  .then(n => n == %lld ? wait() : setTimeout(() => location.reload(), 700))\n"
            "  .catch(() => setTimeout(wait, 3000));\nwait();\n</script>\n",
            number, number);
}

void eg_page_made(FILE *f, long long number)
{
    fprintf(f, "Made by engram %s%s%s.</footer>\n</main>\n", eg_version(),
            *eg_commit() ? ", commit " : "", eg_commit());
    if (number >= 0)
        html_live(f, number);
}

static void html_head(eg_page *p)
{
    const eg_group *first = &p->g->group[0];
    eg_page_begin(p->f);
    html_names(p);
    if (p->g->n == 1) {
        fprintf(p->f, " – ");
        eg_html_text(p->f, first->run[0]->start->label);
    }
    eg_page_style(p->f);
}

static void html_fact(eg_page *p, int64_t n, const char *one, const char *many)
{
    fprintf(p->f, " · <b>%" PRId64 "</b> %s", n, n == 1 ? one : many);
}

/* "fedavg · seeds 0, 1, 2 · 10 clients · ..." */
static void html_facts(eg_page *p, const eg_group *g)
{
    const eg_run *r = g->run[0];
    fprintf(p->f, "<p class=\"facts\"><b>");
    eg_html_text(p->f, r->method);
    fprintf(p->f, "</b> · %s", g->n == 1 ? "seed" : "seeds");
    for (size_t i = 0; i < g->n; i++)
        fprintf(p->f, "%s %" PRId64, i ? "," : "", g->run[i]->start->seed);
    html_fact(p, r->start->clients, "client", "clients");
    html_fact(p, r->start->tasks, "task", "tasks");
    html_fact(p, r->start->classes, "class", "classes");
    html_fact(p, r->start->rounds, "round", "rounds");
    fprintf(p->f, " · ");
    eg_html_text(p->f, r->start->isa);
    fprintf(p->f, "</p>\n");
}

static void html_unfinished(eg_page *p, const eg_group *g)
{
    for (size_t i = 0; i < g->n; i++)
        if (!g->run[i]->finished)
            fprintf(p->f,
                    "<p class=\"warn\">Seed %" PRId64 " is not finished: %zu of %" PRId64
                    " rounds. Its numbers are those so far.</p>\n",
                    g->run[i]->start->seed, g->run[i]->log->n_round, g->run[i]->start->rounds);
}

/* "er: seed 0 ended early, after round 12 of 30: validation had not become better" */
static void html_ends(eg_page *p, const eg_group *g, bool named)
{
    char text[128];
    eg_show_ends(text, g);
    if (!*text)
        return;
    fprintf(p->f, "<p class=\"warn\" data-warn=\"ends\">");
    if (named) {
        eg_html_text(p->f, g->title);
        fprintf(p->f, ": ");
    } else {
        *text = *text == 's' ? 'S' : *text;
    }
    fprintf(p->f, "%s.</p>\n", text);
}

/* That runs are smaller than their experiment, and published figures are not of such. */
static void html_scale(eg_page *p)
{
    char scale[64];
    eg_show_scale(scale, p->g);
    if (*scale)
        fprintf(
            p->f,
            "<p class=\"warn\" data-warn=\"scale\"><strong>Run with %s</strong>: less data and "
            "fewer rounds than the experiment has.%s</p>\n",
            scale,
            p->g->n_published ? " Published figures (*) are of all of it and not to be "
                                "compared with these."
                              : "");
}

/* "er: 38 uploads left out, 3 rounds skipped; first client 0 in round 2: ..." */
static void html_losses(eg_page *p, const eg_group *g, bool named)
{
    char text[96];
    eg_losses l = eg_group_losses(g);
    if (!l.first)
        return;
    eg_show_losses(text, &l);
    fprintf(p->f, "<p class=\"warn\" data-warn=\"losses\"><strong>");
    if (named) {
        eg_html_text(p->f, g->title);
        fprintf(p->f, ": ");
    }
    fprintf(p->f, "%s.</strong> The first: ", text);
    if (l.first->client >= 0)
        fprintf(p->f, "client %" PRId64 " in ", l.first->client);
    fprintf(p->f, "round %" PRId64 ", ", l.first->round);
    eg_html_text(p->f, l.first->why);
    fprintf(p->f, "%s</p>\n",
            named ? "." : ". The numbers are those of a model that learned without them.");
}

static void html_settings(eg_page *p, const eg_group *g)
{
    const eg_run *r = g->run[0];
    if (!r->config)
        return;
    fprintf(p->f, "<div class=\"card\"><h3>Settings</h3><details><summary>" EG_RUN_CONFIG
                  ", as the run "
                  "resolved it</summary><pre>");
    eg_html_text(p->f, r->config);
    fprintf(p->f, "</pre></details></div>\n");
}

/* Of many groups a page has what tells them apart, or it would grow with all of them; the rest
 * is on each run's own page. */
enum { HTML_WHOLE = 8 };

static eg_status html_group(eg_page *p, const eg_group *g)
{
    html_unfinished(p, g);
    html_losses(p, g, false);
    if (p->g->n == 1)
        html_ends(p, g, false);
    eg_page_tiles(p, g);
    if (eg_group_longest(g)->n_row > 0)
        EG_TRY(eg_chart_accuracy(p, g));
    fprintf(p->f, "<div class=\"pair\">\n");
    EG_TRY(eg_chart_matrix(p, g));
    eg_chart_forgetting(p, g);
    fprintf(p->f, "</div>\n");
    if (p->g->n > HTML_WHOLE) {
        fprintf(p->f, "<p class=\"where\">More is on the page of each run, " EG_RUN_REPORT
                      " in its folder.</p>\n");
        html_settings(p, g);
        return EG_OK;
    }
    EG_TRY(eg_chart_rates(p, g));
    EG_TRY(eg_chart_frames(p, g));
    EG_TRY(eg_chart_classes(p, g));
    EG_TRY(eg_chart_sheets(p, g));
    EG_TRY(eg_chart_met(p, g, 1));
    EG_TRY(eg_chart_each(p, g));
    EG_TRY(eg_chart_rounds(p, g));
    EG_TRY(eg_chart_held(p, g));
    if (p->g->n == 1)
        EG_TRY(eg_chart_costs(p, g, 1));
    EG_TRY(eg_chart_notes(p, g));
    EG_TRY(eg_chart_clients(p, g));
    fprintf(p->f, "<div class=\"pair\">\n");
    EG_TRY(eg_chart_bytes(p, g));
    fprintf(p->f, "</div>\n");
    html_settings(p, g);
    return EG_OK;
}

static void html_value(eg_page *p, const eg_group *g, const eg_column *c)
{
    char text[80];
    eg_spread s = eg_group_summary(g, c->which);
    const eg_published *paper = eg_groups_published(p->g, g, c->which);
    bool brief =
        c->better == 0; /* the deviation of bytes and time matters less than the room */
    eg_show_spread(text, c->which, s);
    if (brief)
        fprintf(p->f, "<td title=\"%s\"", text);
    else
        fprintf(p->f, "<td%s", eg_group_is_best(p->g, g, c) ? " class=\"best\"" : "");
    if (c->which == EG_SUMMARY_acc_final && s.n > 0)
        fprintf(p->f,
                " style=\"background:linear-gradient(90deg,var(--tint) %.1f%%,transparent 0)\"",
                s.mean * 100);
    if (brief)
        eg_show_value(text, c->which, s.mean);
    fprintf(p->f, ">%s", text);
    if (paper) {
        eg_show_spread(text, c->which, (eg_spread){paper->mean, paper->sd, 1});
        fprintf(p->f,
                g->run[0]->scale < 1 ? "<small class=\"far\">published* %s</small>"
                                     : "<small>published %s</small>",
                text);
    }
    fprintf(p->f, "</td>");
}

/* How a group differs from the one that it is held against. */
static void html_difference(eg_page *p, const eg_group *g, const eg_against *against)
{
    char difference[96], chance[32];
    eg_against_show(against, p->g, g, difference, chance);
    fprintf(p->f, "<td>%s</td><td>%s%s</td>", difference, *chance == '<' ? "&lt;" : "",
            chance + (*chance == '<'));
}

/* The mark of a label: its colour, and its dashes if lines of this colour have some. */
static void html_chip(eg_page *p, size_t i)
{
    fprintf(p->f, "<span ");
    eg_svg_colour(p->f, eg_colour_label(i));
    fprintf(p->f, "><span class=\"chip dash%d\"></span></span>", eg_dash_label(i));
}

/* What is swept, a column for each setting. */
typedef struct html_swept {
    const char **keys; /* [n] */
    size_t n;
} html_swept;

static void html_table_head(eg_page *p, const html_swept *swept, const eg_against *against)
{
    fprintf(p->f, "<thead><tr><th>label</th>");
    for (size_t k = 0; k < swept->n; k++) {
        fprintf(p->f, "<th>");
        eg_html_text(p->f, swept->keys[k]);
        fprintf(p->f, "</th>");
    }
    fprintf(p->f, "<th>seeds</th>");
    for (const eg_column *c = p->g->column; c < p->g->column + EG_SUMMARY_N; c++) {
        if (eg_column_used(p->g, c))
            fprintf(p->f, "<th title=\"%s\">%s</th>", c->help, c->heading);
        if (against->words && c->which == against->which)
            fprintf(p->f, "<th>difference</th><th>p</th>");
    }
    fprintf(p->f, "</tr></thead>");
}

/* What is to be said below the table. */
static eg_status html_notes(eg_page *p, const eg_against *against)
{
    size_t n = 0;
    const char **notes = eg_arena_alloc(&p->arena, (p->g->n + 2) * sizeof *notes);
    EG_TRY(notes ? EG_OK : EG_ENOMEM);
    if (against->words && !(notes[n++] = eg_against_note(&p->arena, against)))
        return EG_ENOMEM;
    EG_TRY(eg_groups_sweep_notes(&p->arena, p->g, notes, &n));
    for (size_t i = 0; i < n; i++) {
        fprintf(p->f, "<p class=\"where\">");
        eg_html_text(p->f, notes[i]);
        fprintf(p->f, "</p>");
    }
    return EG_OK;
}

/* A row's label, what it has of a sweep, and how many seeds. */
static void html_row_head(eg_page *p, const eg_group *g, const html_swept *swept)
{
    fprintf(p->f, "<tr><th>");
    html_chip(p, (size_t)(g - p->g->group));
    eg_html_text(p->f, g->base);
    fprintf(p->f, "%s%s</th>", g->bound ? " <small>a bound</small>" : "",
            eg_group_is_chosen(p->g, g) ? " <small>best by validation</small>" : "");
    for (size_t k = 0; k < swept->n; k++) {
        const char *value = eg_group_swept(g, swept->keys[k]);
        fprintf(p->f, "<td>");
        eg_html_text(p->f, value ? value : "–");
        fprintf(p->f, "</td>");
    }
    fprintf(p->f, "<td>%zu</td>", g->n);
}

/* How many columns the table has; with more than HTML_COLUMNS it has smaller letters, so that
 * it fits a usual window. */
enum { HTML_COLUMNS = 11 };

static size_t html_columns(const eg_page *p, const html_swept *swept, const eg_against *against)
{
    size_t n = 2 + swept->n + (against->words ? 2 : 0);
    for (const eg_column *c = p->g->column; c < p->g->column + EG_SUMMARY_N; c++)
        n += eg_column_used(p->g, c) ? 1 : 0;
    return n;
}

static eg_status html_table(eg_page *p)
{
    eg_against against;
    html_swept swept;
    EG_TRY(eg_groups_against(&p->arena, p->g, p->how, &against));
    EG_TRY(eg_groups_swept_keys(&p->arena, p->g, &swept.keys, &swept.n));
    fprintf(p->f, "<div class=\"card scroll broad\">");
    eg_html_hint(p->f, "The table");
    fprintf(p->f, "<table class=\"wide%s\" data-table=\"compare\">",
            html_columns(p, &swept, &against) > HTML_COLUMNS ? " dense" : "");
    html_table_head(p, &swept, &against);
    fprintf(p->f, "<tbody>\n");
    for (size_t i = 0; i < p->g->n; i++) {
        const eg_group *g = p->order[i];
        html_row_head(p, g, &swept);
        for (const eg_column *c = p->g->column; c < p->g->column + EG_SUMMARY_N; c++) {
            if (eg_column_used(p->g, c))
                html_value(p, g, c);
            if (against.words && c->which == against.which)
                html_difference(p, g, &against);
        }
        fprintf(p->f, "</tr>\n");
    }
    fprintf(p->f, "</tbody></table>");
    EG_TRY(html_notes(p, &against));
    fprintf(p->f, "</div>\n");
    return EG_OK;
}

static void html_nav(eg_page *p)
{
    fprintf(p->f, "<nav>");
    for (size_t i = 0; i < p->g->n; i++) {
        fprintf(p->f, "<a href=\"#g%zu\">", i);
        html_chip(p, i);
        eg_html_text(p->f, p->g->group[i].title);
        fprintf(p->f, "</a>");
    }
    fprintf(p->f, "</nav>\n");
}

static eg_status html_comparison(eg_page *p)
{
    fprintf(p->f,
            "<p class=\"facts\"><b>%zu</b> configurations · <b>%zu</b> runs · mean ± standard "
            "deviation "
            "over seeds</p>\n",
            p->g->n, p->g->n_runs);
    html_nav(p);
    html_scale(p);
    for (size_t i = 0; i < p->g->n; i++) {
        html_losses(p, &p->g->group[i], true);
        html_ends(p, &p->g->group[i], true);
    }
    EG_TRY(html_table(p));
    EG_TRY(eg_chart_compare(p));
    EG_TRY(eg_chart_costs(p, p->g->group, p->g->n));
    EG_TRY(eg_chart_met(p, p->g->group, p->g->n));
    EG_TRY(eg_chart_final(p));
    EG_TRY(eg_chart_losses(p));
    for (size_t i = 0; i < p->g->n; i++) {
        const eg_group *g = &p->g->group[i];
        fprintf(p->f, "<section id=\"g%zu\"><h2>", i);
        html_chip(p, i);
        eg_html_text(p->f, g->title);
        fprintf(p->f, "</h2>\n");
        html_facts(p, g);
        EG_TRY(html_group(p, g));
        fprintf(p->f, "</section>\n");
    }
    return EG_OK;
}

static void html_foot(eg_page *p)
{
    fprintf(p->f, "<footer>From ");
    for (size_t i = 0; i < p->g->n_runs && i < 20; i++) {
        fprintf(p->f, "%s", i ? ", " : "");
        eg_html_text(p->f, p->g->runs[i]->dir);
    }
    fprintf(p->f, "%s. ", p->g->n_runs > 20 ? ", ..." : "");
    eg_page_made(p->f, p->number);
    fprintf(p->f, "<script>\n");
    for (const char *const *piece = eg_script; *piece; piece++)
        fputs(*piece, p->f);
    fprintf(p->f, "</script>\n</body>\n</html>\n");
}

static eg_status html_page(eg_page *p)
{
    const eg_group *first = &p->g->group[0];
    html_head(p);
    fprintf(p->f, "<p class=\"brand\">engram %s</p>\n<h1>", p->g->n > 1 ? "comparison" : "run");
    html_names(p);
    if (p->g->n == 1) {
        fprintf(p->f, ": ");
        eg_html_text(p->f, first->run[0]->start->label);
    }
    fprintf(p->f, "</h1>\n");
    if (p->g->n > 1) {
        EG_TRY(html_comparison(p));
    } else {
        html_facts(p, first);
        html_scale(p);
        if (p->g->n_published > 0 || first->n > 1)
            EG_TRY(html_table(p));
        EG_TRY(html_group(p, first));
    }
    html_foot(p);
    return EG_OK;
}

/* text: free() it. */
static eg_status html_print(eg_groups *g, const eg_compare_how *how, long long number,
                            char **text, size_t *n)
{
    const eg_group **order;
    *text = NULL;
    EG_TRY(eg_grid_sort(g, how->sort, &order));
    eg_page p = {
        .g = g, .how = how, .order = order, .number = number, .f = open_memstream(text, n)};
    if (!p.f)
        return eg_fail(EG_ENOMEM, "the page is larger than memory");
    eg_status status = html_page(&p);
    bool bad = ferror(p.f) != 0;
    if ((fclose(p.f) != 0 || bad) && status == EG_OK)
        status = eg_fail(EG_ENOMEM, "the page is larger than memory");
    eg_arena_fini(&p.arena);
    if (status != EG_OK) {
        free(*text);
        *text = NULL;
    }
    return status;
}

eg_status eg_page_print(const char *const *run_dirs, size_t n_dirs, long long number,
                        char **out, size_t *n)
{
    eg_groups *g;
    *out = NULL;
    EG_TRY(eg_groups_load(run_dirs, n_dirs, NULL, 0, &g));
    eg_status status = html_print(g, &(eg_compare_how){0}, number, out, n);
    eg_groups_free(g);
    return status;
}

eg_status eg_report_write(const char *const *run_dirs, size_t n, const eg_published *published,
                          size_t n_published, const eg_compare_how *how, const char *out_path)
{
    static const eg_compare_how usual = {0};
    eg_groups *g;
    char *text = NULL;
    size_t size;
    how = how ? how : &usual;
    EG_TRY(eg_compare_check(how));
    EG_TRY(eg_groups_load(run_dirs, n, published, n_published, &g));
    g->columns = how->columns;
    eg_status status = eg_blame(html_print(g, how, -1, &text, &size), "%s", out_path);
    if (status == EG_OK)
        status = eg_file_write(out_path, &(eg_bytes){text, size}, 1);
    free(text);
    eg_groups_free(g);
    return status;
}
