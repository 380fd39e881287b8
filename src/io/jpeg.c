/* jpeg.c - libjpeg with errors that return instead of ending the program.
 * SPDX-License-Identifier: Apache-2.0
 *
 * libjpeg reports a failure by not returning from a callback, so decoding runs under one
 * setjmp; everything that must be released lives in jpeg_job, which outlives the jump.
 */
#include "io/image.h"

#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs it */
#include <stdlib.h>

#include <jpeglib.h>

#include <jerror.h>

/* A progressive file of more scans than this only wants to waste time. */
#define JPEG_MAX_SCANS 200

typedef struct jpeg_job {
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf escape;
    char text[JMSG_LENGTH_MAX];
    eg_image image;
    uint8_t *inks; /* [width, 4], a row of printing colours */
    bool too_large, whole;
} jpeg_job;

bool eg_jpeg_known(const uint8_t *bytes, size_t n)
{
    return n >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff;
}

static void jpeg_error_exit(j_common_ptr c)
{
    jpeg_job *job = c->client_data;
    c->err->format_message(c, job->text);
    longjmp(job->escape, 1);
}

/* Most warnings are harmless and common; missing data is not. */
static void jpeg_emit_message(j_common_ptr c, int level)
{
    if (level >= 0)
        return;
    c->err->num_warnings++;
    if (c->err->msg_code == JWRN_JPEG_EOF || c->err->msg_code == JWRN_HIT_MARKER)
        jpeg_error_exit(c);
}

static void jpeg_output_message(j_common_ptr c)
{
    (void)c; /* the library never prints */
}

static void jpeg_watch(j_common_ptr c)
{
    jpeg_job *job = c->client_data;
    if (job->d.input_scan_number <= JPEG_MAX_SCANS)
        return;
    snprintf(job->text, sizeof job->text, "more than %d scans", JPEG_MAX_SCANS);
    longjmp(job->escape, 1);
}

/* A row of printing colours becomes RGB; who writes Adobe's mark stores them inverted. */
static void jpeg_mix(const jpeg_job *job, uint8_t *rgb)
{
    for (int64_t x = 0; x < job->image.width; x++)
        for (int c = 0; c < 3; c++) {
            int ink = job->inks[4 * x + c], black = job->inks[4 * x + 3];
            if (!job->d.saw_Adobe_marker)
                ink = 255 - ink, black = 255 - black;
            rgb[3 * x + c] = (uint8_t)((ink * black + 127) / 255);
        }
}

static void jpeg_decode(jpeg_job *job, const uint8_t *bytes, size_t n)
{
    j_decompress_ptr d = &job->d;
    jpeg_mem_src(d, bytes, (unsigned long)n);
    jpeg_read_header(d, TRUE);
    bool inks = d->jpeg_color_space == JCS_CMYK || d->jpeg_color_space == JCS_YCCK;
    job->too_large = (int64_t)d->image_width * d->image_height > EG_IMAGE_MAX_PIXELS;
    if (job->too_large)
        return;
    d->out_color_space = inks                                   ? JCS_CMYK
                         : d->jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE
                                                                : JCS_RGB;
    d->dct_method = JDCT_ISLOW;
    jpeg_start_decompress(d);
    eg_image *im = &job->image;
    im->height = d->output_height;
    im->width = d->output_width;
    im->channels = inks ? 3 : d->output_components;
    size_t row = (size_t)im->width * (size_t)im->channels;
    im->pixels = calloc((size_t)im->height, row);
    job->inks = inks ? calloc((size_t)im->width, 4) : NULL;
    if (!im->pixels || (inks && !job->inks))
        ERREXIT1(d, JERR_OUT_OF_MEMORY, 0);
    while (d->output_scanline < d->output_height) {
        uint8_t *to = im->pixels + d->output_scanline * row;
        JSAMPROW at = inks ? job->inks : to;
        jpeg_read_scanlines(d, &at, 1);
        if (inks)
            jpeg_mix(job, to);
    }
    jpeg_finish_decompress(d);
    job->whole = true;
}

eg_status eg_jpeg_parse(const char *name, const uint8_t *bytes, size_t n, eg_image *out)
{
    *out = (eg_image){0};
    if (n == 0)
        return eg_fail(EG_EFORMAT, "%s: the file is empty", name);
    jpeg_job *job = calloc(1, sizeof *job);
    if (!job)
        return eg_fail(EG_ENOMEM, "%s: out of memory", name);
    job->d.err = jpeg_std_error(&job->errors);
    job->errors.error_exit = jpeg_error_exit;
    job->errors.emit_message = jpeg_emit_message;
    job->errors.output_message = jpeg_output_message;
    job->progress.progress_monitor = jpeg_watch;
    job->d.client_data = job;
    if (setjmp(job->escape) == 0) {
        jpeg_create_decompress(&job->d);
        job->d.progress = &job->progress;
        jpeg_decode(job, bytes, n);
    }
    eg_status s = EG_OK;
    if (job->too_large)
        s = eg_fail(EG_EFORMAT, "%s: %u x %u pixels are too many", name, job->d.image_width,
                    job->d.image_height);
    else if (!job->whole)
        s = eg_fail(EG_EFORMAT, "%s: the JPEG is cut short or damaged (%s)", name, job->text);
    if (s == EG_OK)
        *out = job->image;
    else
        eg_image_fini(&job->image);
    jpeg_destroy_decompress(&job->d);
    free(job->inks);
    free(job);
    return s;
}
