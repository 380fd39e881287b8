/* page.h - how a page looks, and what it can do.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_REPORT_PAGE_H
#define EG_REPORT_PAGE_H

#include <engram/report.h>

#include <stdio.h>

/* Pages as texts of n bytes; free() them. number: at which a live page was made, which loads
 * itself again; below 0: it is a file. Of runs; of all runs of an experiment in a folder; the
 * list of all runs in one. */
eg_status eg_page_print(const char *const *run_dirs, size_t n_dirs, long long number,
                        char **out, size_t *n);
eg_status eg_page_print_experiment(const char *folder, const char *name, long long number,
                                   char **out, size_t *n);
eg_status eg_index_print(const char *folder, long long number, char **out, size_t *n);

/* A page up to its title; from behind the title into its main part; its footer's end. */
void eg_page_begin(FILE *f);
void eg_page_style(FILE *f);
void eg_page_made(FILE *f, long long number);

/* CSS for light and dark screens and for paper, in pieces, ended by NULL. */
extern const char *const eg_style[];
extern const char eg_style_colours[], eg_style_chart[]; /* those that charts need */

/* The page's script, likewise. */
extern const char *const eg_script[];

#endif
