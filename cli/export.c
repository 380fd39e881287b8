/* export.c - `engram export`: a run's curves for other programs.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/report.h>

#include <stdio.h>
#include <string.h>

/* False: there is no such form. */
static bool export_form(const char *name, eg_export_form *out)
{
    static const char *const names[] = {[EG_EXPORT_TENSORBOARD] = "tensorboard",
                                        [EG_EXPORT_CSV] = "csv",
                                        [EG_EXPORT_NPZ] = "npz"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) {
            *out = (eg_export_form)i;
            return true;
        }
    return false;
}

int eg_verb_export(int argc, char **argv)
{
    const char *run = NULL, *out = NULL, *format = NULL;
    eg_export_form form;
    for (int i = 1; i < argc; i++) {
        const char **value = strcmp(argv[i], "--out") == 0      ? &out
                             : strcmp(argv[i], "--format") == 0 ? &format
                                                                : NULL;
        if (value) {
            if (!(*value = eg_cli_value("export", argc, argv, &i)))
                return 2;
        } else if (argv[i][0] == '-') {
            return eg_cli_usage("export", "there is no option '%s'", argv[i]);
        } else if (run) {
            return eg_cli_usage("export", "one run at a time: '%s' or '%s'", run, argv[i]);
        } else {
            run = argv[i];
        }
    }
    if (!run || !out || !format)
        return eg_cli_usage("export", "%s is needed",
                            !run      ? "a run folder"
                            : !format ? "--format"
                                      : "--out");
    if (!export_form(format, &form))
        return eg_cli_usage("export", "'%s' is no format: tensorboard, csv or npz", format);
    if (eg_export_write(run, form, out) != EG_OK)
        return eg_cli_failed();
    printf("%s\n", out);
    return 0;
}
