/* page.h - how a page looks, and what it can do.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_REPORT_PAGE_H
#define EG_REPORT_PAGE_H

#include <stddef.h>
#include <stdio.h>

/* A page up to its title; from behind the title into its main part; its footer's end. */
void eg_page_begin(FILE *f);
void eg_page_style(FILE *f);
void eg_page_made(FILE *f);

/* CSS for light and dark screens and for paper, in pieces, ended by NULL. */
extern const char *const eg_style[];

/* The page's script, likewise. */
extern const char *const eg_script[];

#endif
