/* picture.c - a chart of a page as an SVG file that stands alone.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/page/page.h"

#include "io/file.h"

#include <stdlib.h>
#include <string.h>

/* What a page's style gives its charts beside the sheet for them. */
static const char picture_style[] =
    "svg{background:var(--card);font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,"
    "\"Noto Sans\",\"DejaVu Sans\",sans-serif;font-variant-numeric:tabular-nums}\n";

/* The chart of a page that has this name: from here, n bytes. */
static const char *picture_find(const char *page, const char *chart, size_t *n)
{
    char begin[96];
    snprintf(begin, sizeof begin, "<svg data-chart=\"%s\"", chart);
    const char *from = strstr(page, begin), *to = from ? strstr(from, "</svg>") : NULL;
    *n = to ? (size_t)(to - from) : 0;
    return to ? from : NULL;
}

/* The names of a page's charts, each once, as an error has them. */
static eg_status picture_missing(const char *page, const char *chart)
{
    static const char mark[] = "<svg data-chart=\"";
    char names[512] = " ", name[96]; /* " compare, final, " */
    for (const char *at = page; (at = strstr(at, mark));) {
        at += sizeof mark - 1;
        snprintf(name, sizeof name, " %.*s, ", (int)strcspn(at, "\""), at);
        if (!strstr(names, name))
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s", name + 1);
    }
    return eg_fail(EG_EINVAL, "there is no chart '%s'; there are%.*s", chart,
                   (int)strlen(names) - 2, names);
}

static void picture_print(FILE *f, const char *svg, size_t n)
{
    const char *inside = strchr(svg, '>') + 1, *style = strstr(svg, " style=\"");
    const char *after = strchr(style + strlen(" style=\""), '"') + 1; /* of the page's layout */
    fprintf(f, "<svg xmlns=\"http://www.w3.org/2000/svg\"%.*s%.*s<style>\n",
            (int)(style - svg - (int)strlen("<svg")), svg + strlen("<svg"),
            (int)(inside - after), after);
    fputs(eg_style_colours, f);
    fputs(picture_style, f);
    fputs(eg_style_chart, f);
    fprintf(f, "</style>\n%.*s</svg>\n", (int)(svg + n - inside), inside);
}

eg_status eg_report_chart(const char *const *run_dirs, size_t n, const char *chart,
                          const char *out_path)
{
    char *page, *text = NULL;
    size_t size, length;
    EG_TRY(eg_page_print(run_dirs, n, -1, &page, &size));
    const char *svg = picture_find(page, chart, &length);
    FILE *f = svg ? open_memstream(&text, &size) : NULL;
    eg_status s = svg ? EG_OK : picture_missing(page, chart);
    if (f)
        picture_print(f, svg, length);
    if (svg && (!f || fclose(f) != 0))
        s = eg_fail(EG_ENOMEM, "%s: the chart is larger than memory", out_path);
    if (s == EG_OK)
        s = eg_file_write(out_path, &(eg_bytes){text, size}, 1);
    free(text);
    free(page);
    return s;
}
