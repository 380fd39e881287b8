/* page.h - how a page looks, and what it can do.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_REPORT_PAGE_H
#define EG_REPORT_PAGE_H

#include <stddef.h>

/* CSS for light and dark screens and for paper, in pieces, ended by NULL. */
extern const char *const eg_style[];

/* The page's script, likewise. */
extern const char *const eg_script[];

#endif
