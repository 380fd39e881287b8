/* table_print.c - a comparison for people: the terminal, Markdown, LaTeX.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/table/table.h"

#include <string.h>

enum { PRINT_GAP = 2 }; /* blanks between two columns of a terminal */

static const eg_cell *print_cell(const eg_grid *t, size_t row, size_t column)
{
    return &t->cell[row * t->columns + column];
}

static size_t print_widest(const eg_grid *t, size_t column)
{
    size_t most = 0;
    for (size_t i = 0; i < t->rows; i++) {
        size_t n = eg_show_length(print_cell(t, i, column)->text); /* wide ones aside */
        most = n > most ? n : most;
    }
    return most;
}

/* Leaves out the least of the columns, each with its published one, until the rest fits. What
 * is never left out stays, however narrow the terminal, and so does the weightiest of the
 * others. */
static void print_choose(const eg_grid *t, int width, bool *shown)
{
    size_t total = 0;
    int most = 0;
    for (size_t k = 0; k < t->columns; k++) {
        shown[k] = true;
        total += print_widest(t, k) + (k ? PRINT_GAP : 0);
        most = t->weight[k] < EG_GRID_ALWAYS && t->weight[k] > most ? t->weight[k] : most;
    }
    while (width > 0 && total > (size_t)width) {
        int least = most;
        for (size_t k = 1; k < t->columns; k++)
            least = shown[k] && t->weight[k] < least ? t->weight[k] : least;
        if (least == most)
            return;
        for (size_t k = 1; k < t->columns; k++)
            if (shown[k] && t->weight[k] == least) {
                shown[k] = false;
                total -= print_widest(t, k) + PRINT_GAP;
            }
    }
}

static void print_pad(FILE *f, size_t n)
{
    while (n-- > 0)
        fputc(' ', f);
}

static void print_clean(FILE *f, const char *text) /* a label may hold anything */
{
    for (; *text; text++)
        fputc((unsigned char)*text < ' ' || *text == 127 ? '?' : *text, f);
}

static void print_styled(FILE *f, const eg_cell *cell, bool heading, bool colour)
{
    const char *on = heading                            ? "\033[1m"
                     : cell->style == EG_CELL_BEST      ? "\033[1;32m"
                     : cell->style == EG_CELL_PUBLISHED ? "\033[2m"
                                                        : "";
    fputs(colour ? on : "", f);
    print_clean(f, cell->text);
    fputs(colour && *on ? "\033[0m" : "", f);
}

static void print_row(FILE *f, const eg_grid *t, size_t row, const bool *shown, bool colour)
{
    for (size_t k = 0; k < t->columns; k++) {
        const eg_cell *cell = print_cell(t, row, k);
        size_t space = print_widest(t, k) - eg_show_length(cell->text);
        if (!shown[k])
            continue;
        print_pad(f, k > 0 ? PRINT_GAP + space : 0);
        print_styled(f, cell, row == 0, colour);
        print_pad(f, k > 0 ? 0 : space);
    }
    fputc('\n', f);
}

/* "not shown, for want of room: sent up, sent down" */
static void print_hidden(FILE *f, const eg_grid *t, const bool *shown)
{
    const char *before = "no room for: ";
    for (size_t k = 1; k < t->columns; k++) {
        const eg_cell *cell = print_cell(t, 0, k);
        if (shown[k] || cell->style == EG_CELL_PUBLISHED)
            continue;
        fprintf(f, "%s%s", before, cell->text);
        before = ", ";
    }
    if (*before == ',')
        fputs(" (a wider terminal or `engram compare --markdown` shows all)\n", f);
}

eg_status eg_grid_text(FILE *f, eg_groups *g, const eg_grid *t, const eg_compare_how *how)
{
    const char **notes;
    size_t n;
    bool *shown = eg_arena_alloc(&g->arena, t->columns * sizeof *shown);
    if (!shown)
        return EG_ENOMEM;
    EG_TRY(eg_grid_notes(g, t, &notes, &n));
    print_choose(t, how->width, shown);
    for (size_t i = 0; i < t->rows; i++)
        print_row(f, t, i, shown, how->colour);
    print_hidden(f, t, shown);
    for (size_t i = 0; i < n; i++) {
        print_clean(f, notes[i]);
        fputc('\n', f);
    }
    return EG_OK;
}

static void markdown_text(FILE *f, const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ')
            fputc(' ', f);
        else
            fprintf(f, strchr("|\\`*_<>&[]", *text) ? "\\%c" : "%c", *text);
}

eg_status eg_grid_markdown(FILE *f, eg_groups *g, const eg_grid *t)
{
    const char **notes;
    size_t n;
    EG_TRY(eg_grid_notes(g, t, &notes, &n));
    for (size_t i = 0; i < t->rows; i++) {
        for (size_t k = 0; k < t->columns; k++) {
            const eg_cell *cell = print_cell(t, i, k);
            const char *mark = cell->style == EG_CELL_BEST ? "**" : "";
            fprintf(f, "| %s", mark);
            markdown_text(f, cell->text);
            fprintf(f, "%s ", mark);
        }
        fputs("|\n", f);
        for (size_t k = 0; i == 0 && k < t->columns; k++)
            fputs(k ? "| ---: " : "| --- ", f);
        fputs(i == 0 ? "|\n" : "", f);
    }
    for (size_t i = 0; i < n; i++) {
        fputs(i == 0 ? "\n- " : "- ", f);
        markdown_text(f, notes[i]);
        fputc('\n', f);
    }
    return EG_OK;
}

static bool latex_is(const char *text, const char *what)
{
    return strncmp(text, what, strlen(what)) == 0;
}

/* A number's sign, which stands at the beginning or after a blank; "er-20" has a hyphen. */
static bool latex_is_minus(const char *text, const char *at)
{
    return *at == '-' && at[1] >= '0' && at[1] <= '9' && (at == text || at[-1] == ' ');
}

/* What LaTeX reads as itself; ± and the dashes are ours, other characters are the document's to
 * know. */
static void latex_text(FILE *f, const char *text)
{
    for (const char *begin = text; *text; text++) {
        if (latex_is(text, "±"))
            fputs("$\\pm$", f), text += strlen("±") - 1;
        else if (latex_is(text, "–"))
            fputs("--", f), text += strlen("–") - 1;
        else if (latex_is(text, "…"))
            fputs("\\dots{}", f), text += strlen("…") - 1;
        else if (latex_is_minus(begin, text))
            fputs("$-$", f);
        else if (*text == '<' || *text == '>')
            fprintf(f, "$%c$", *text);
        else if (*text == '\\')
            fputs("\\textbackslash{}", f);
        else if (*text == '^' || *text == '~')
            fprintf(f, "\\%c{}", *text);
        else if (strchr("&%$#_{}", *text))
            fprintf(f, "\\%c", *text);
        else
            fputc((unsigned char)*text < ' ' ? ' ' : *text, f);
    }
}

/* A row's first cell: after a line's end and a rule, LaTeX takes a star or a bracket for an
 * option of theirs. */
static void latex_first(FILE *f, const char *text)
{
    fputs(*text == '[' || *text == '*' ? "{}" : "", f);
}

eg_status eg_grid_latex(FILE *f, eg_groups *g, const eg_grid *t)
{
    const char **notes;
    size_t n;
    EG_TRY(eg_grid_notes(g, t, &notes, &n));
    for (size_t i = 0; i < n; i++) {
        fputs("% ", f);
        print_clean(f, notes[i]);
        fputc('\n', f);
    }
    fputs("% \\usepackage{booktabs}\n\\begin{tabular}{l", f);
    for (size_t k = 1; k < t->columns; k++)
        fputc('r', f);
    fputs("}\n\\toprule\n", f);
    for (size_t i = 0; i < t->rows; i++) {
        for (size_t k = 0; k < t->columns; k++) {
            const eg_cell *cell = print_cell(t, i, k);
            bool best = cell->style == EG_CELL_BEST;
            if (k == 0)
                latex_first(f, cell->text);
            fprintf(f, "%s%s", k ? " & " : "", best ? "\\textbf{" : "");
            latex_text(f, cell->text);
            fputs(best ? "}" : "", f);
        }
        fprintf(f, " \\\\\n%s", i == 0 ? "\\midrule\n" : "");
    }
    fputs("\\bottomrule\n\\end{tabular}\n", f);
    return EG_OK;
}
