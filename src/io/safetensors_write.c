/* safetensors_write.c - writes safetensors: the same bytes for the same tensors.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/file.h"
#include "io/json.h"
#include "io/safetensors.h"

#include <stdlib.h>
#include <string.h>

/* A file in pieces: the head, which it owns, and every tensor's data, which is borrowed. */
typedef struct st_image {
    unsigned char *head;
    eg_bytes *parts;
    size_t n_parts;
    size_t n_data;
} st_image;

static eg_status st_put_notes(eg_json *header, const eg_stored_note *notes, size_t n)
{
    eg_json *object = n > 0 ? eg_json_object() : NULL;
    if (n == 0)
        return EG_OK;
    EG_TRY(eg_json_set(header, EG_SAFETENSORS_NOTES, object));
    for (size_t i = 0; i < n; i++) {
        if (eg_json_get(object, notes[i].key))
            return eg_fail(EG_EINVAL, "note '%s' is there twice",
                           eg_stored_label_of(notes[i].key).text);
        EG_TRY(eg_json_set(object, notes[i].key, eg_json_of_text(notes[i].value)));
    }
    return EG_OK;
}

static eg_status st_put_numbers(eg_json *entry, const char *key, const int64_t *numbers, int n)
{
    eg_json *list = eg_json_array();
    EG_TRY(eg_json_set(entry, key, list));
    for (int i = 0; i < n; i++)
        EG_TRY(eg_json_add(list, eg_json_of_int(numbers[i])));
    return EG_OK;
}

static eg_status st_put_tensor(eg_json *header, const eg_stored *t, st_image *image)
{
    size_t size;
    EG_TRY(eg_stored_size(t, &size));
    if (size > SIZE_MAX / 4 - image->n_data)
        return eg_fail(EG_ESHAPE, "the file has more bytes than memory can hold");
    if (strcmp(t->name, EG_SAFETENSORS_NOTES) == 0)
        return eg_fail(EG_EINVAL, "no tensor may have this name");
    if (eg_json_get(header, t->name))
        return eg_fail(EG_EINVAL, "the name is there twice");
    int64_t offsets[2] = {(int64_t)image->n_data, (int64_t)(image->n_data + size)};
    eg_json *entry = eg_json_object();
    EG_TRY(eg_json_set(header, t->name, entry));
    EG_TRY(eg_json_set(entry, "dtype", eg_json_of_text(eg_stored_type_text(t->type))));
    EG_TRY(st_put_numbers(entry, "shape", t->dims, t->rank));
    EG_TRY(st_put_numbers(entry, "data_offsets", offsets, 2));
    image->parts[image->n_parts++] = (eg_bytes){t->bytes, size};
    image->n_data += size;
    return EG_OK;
}

/* Prints the header behind its length, padded so that the data begins at a multiple of 8. */
static eg_status st_put_head(const eg_json *header, st_image *image)
{
    char *text;
    size_t n;
    EG_TRY(eg_json_print(header, 0, &text, &n));
    size_t length = eg_round_up(n, 8);
    eg_status status = EG_OK;
    if (length > EG_SAFETENSORS_MAX_HEADER)
        status = eg_fail(EG_EINVAL, "a header of %zu bytes, more than %d", length,
                         EG_SAFETENSORS_MAX_HEADER);
    else if (!(image->head = malloc(8 + length)))
        status = eg_fail(EG_ENOMEM, "cannot allocate %zu bytes", 8 + length);
    if (status == EG_OK) {
        for (int i = 0; i < 8; i++)
            image->head[i] = (unsigned char)(length >> 8 * i);
        memset(image->head + 8, ' ', length);
        memcpy(image->head + 8, text, n);
        image->parts[0] = (eg_bytes){image->head, 8 + length};
    }
    free(text);
    return status;
}

static void st_image_fini(st_image *image)
{
    free(image->head);
    free(image->parts);
}

static eg_status st_fill(eg_json *header, const eg_stored *tensors, size_t n, st_image *image)
{
    EG_TRY(eg_alloc(n + 1, sizeof *image->parts, &image->parts));
    image->n_parts = 1;
    for (size_t size = 8; size > 0; size /= 2)
        for (size_t i = 0; i < n; i++)
            if (eg_stored_type_size(tensors[i].type) == size)
                EG_TRY(eg_blame(st_put_tensor(header, &tensors[i], image), "tensor '%s'",
                                eg_stored_label_of(tensors[i].name).text));
    return st_put_head(header, image);
}

/* Free image with st_image_fini, also after a failure. */
static eg_status st_image_init(st_image *image, const eg_stored *tensors, size_t n,
                               const eg_stored_note *notes, size_t n_notes)
{
    *image = (st_image){0};
    eg_json *header = eg_json_object();
    if (!header)
        return EG_ENOMEM;
    eg_status status = st_put_notes(header, notes, n_notes);
    if (status == EG_OK)
        status = st_fill(header, tensors, n, image);
    eg_json_free(header);
    return status;
}

eg_status eg_safetensors_save(const char *path, const eg_stored *tensors, size_t n,
                              const eg_stored_note *notes, size_t n_notes)
{
    st_image image;
    eg_status status = eg_blame(st_image_init(&image, tensors, n, notes, n_notes), "%s", path);
    if (status == EG_OK)
        status = eg_file_write(path, image.parts, image.n_parts);
    st_image_fini(&image);
    return status;
}

/* A head, and the file that its data is in. */
typedef struct st_source {
    const st_image *image;
    int fd;
} st_source;

static eg_status st_put_from(void *context, int fd, const char *path)
{
    const st_source *from = context;
    EG_TRY(eg_file_put(fd, path, from->image->parts[0]));
    return eg_file_copy(from->fd, fd, path, (int64_t)from->image->n_data);
}

eg_status eg_safetensors_save_from(int fd, const char *path, const eg_stored *tensors, size_t n,
                                   const eg_stored_note *notes, size_t n_notes)
{
    st_image image;
    eg_status status = eg_blame(st_image_init(&image, tensors, n, notes, n_notes), "%s", path);
    if (status == EG_OK)
        status = eg_file_write_by(path, st_put_from, &(st_source){&image, fd});
    st_image_fini(&image);
    return status;
}

eg_status eg_safetensors_pack(const eg_stored *tensors, size_t n, const eg_stored_note *notes,
                              size_t n_notes, unsigned char **out, size_t *n_out)
{
    st_image image;
    *out = NULL;
    *n_out = 0;
    eg_status status = st_image_init(&image, tensors, n, notes, n_notes);
    size_t total = status == EG_OK ? image.parts[0].n + image.n_data : 0;
    if (status == EG_OK && !(*out = malloc(total)))
        status = eg_fail(EG_ENOMEM, "cannot allocate %zu bytes", total);
    if (status == EG_OK)
        for (size_t i = 0; i < image.n_parts; i++) {
            if (image.parts[i].n > 0)
                memcpy(*out + *n_out, image.parts[i].data, image.parts[i].n);
            *n_out += image.parts[i].n;
        }
    st_image_fini(&image);
    return status;
}
