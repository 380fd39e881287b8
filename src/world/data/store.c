/* store.c - a table as files that the data set npy reads.
 * SPDX-License-Identifier: Apache-2.0
 */
#include <engram/data.h>

#include "io/disk.h"
#include "io/file.h"
#include "io/npy.h"
#include "world/data/find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static eg_status store_path(const char *folder, const char *what, const char *name,
                            char out[EG_PATH_SIZE])
{
    char file[64];
    snprintf(file, sizeof file, "%s%.40s.npy", what, name);
    EG_TRY(eg_path_join(folder, file, out));
    return access(out, F_OK) == 0 ? eg_fail(EG_EINVAL, "%s is there already", out) : EG_OK;
}

/* A name a line. Both splits write the same. */
static eg_status store_names(const eg_table *t, const char *folder)
{
    char path[EG_PATH_SIZE], *text = NULL;
    size_t n = 0;
    EG_TRY(eg_path_join(folder, "classes.txt", path));
    FILE *f = open_memstream(&text, &n);
    for (int64_t k = 0; f && k < t->classes; k++)
        fprintf(f, "%s\n", t->names[k]);
    bool bad = !f || fclose(f) != 0;
    eg_status s = bad ? eg_fail(EG_ENOMEM, "%s: no memory", path)
                      : eg_file_write(path, &(eg_bytes){text, n}, 1);
    free(text);
    return s;
}

eg_status eg_table_store(const eg_table *t, const char *name, const char *folder)
{
    char x[EG_PATH_SIZE], y[EG_PATH_SIZE];
    const int64_t shape[] = {t->n, t->channels, t->height, t->width};
    const int64_t grey[] = {t->n, t->height, t->width};
    bool flat = t->height == 1 && t->width == 1, plain = t->channels == 1 && !flat;
    if (t->group || t->ids || t->target)
        return eg_fail(EG_EINVAL, "these files have no place for %s",
                       t->group ? "the owners of samples"
                       : t->ids ? "the vocabulary of texts"
                                : "targets that are no labels");
    EG_TRY(eg_disk_make_folder(folder));
    EG_TRY(store_path(folder, "x_", name, x));
    EG_TRY(store_path(folder, "y_", name, y));
    EG_TRY(eg_npy_save(x, t->u8 ? EG_NPY_U1 : EG_NPY_F4,
                       flat    ? 2
                       : plain ? 3
                               : 4,
                       plain ? grey : shape, t->u8 ? (const void *)t->u8 : t->f32));
    EG_TRY(eg_npy_save(y, EG_NPY_I4, 1, &t->n, t->y));
    return t->names ? store_names(t, folder) : EG_OK;
}
