/* fakes.h - small files in the form of every data set that comes as files.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef EG_TEST_FAKES_H
#define EG_TEST_FAKES_H

#include "files.h"

#include "io/image.h"

/* Pixel k of sample i, so that samples differ. */
static inline uint8_t fakes_pixel(size_t i, size_t k)
{
    return (uint8_t)(i * 31 + k * 7 + k / 13 * i);
}

/* Writes an IDX file: n images of side x side pixels, or with side 0 n labels below classes. */
static inline void fakes_idx(const char *folder, const char *name, size_t n, size_t side,
                             size_t classes)
{
    size_t head = side ? 16 : 8, sample = side ? side * side : 1;
    uint8_t *file = calloc(1, head + n * sample);
    assert_non_null(file);
    file[2] = 8;
    file[3] = side ? 3 : 1;
    for (int i = 0; i < 4; i++)
        file[4 + i] = (uint8_t)(n >> (24 - 8 * i));
    if (side)
        file[11] = file[15] = (uint8_t)side;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sample; k++)
            file[head + i * sample + k] = (uint8_t)(side ? fakes_pixel(i, k) : i % classes);
    size_t length = strlen(name);
    if (length > 3 && strcmp(name + length - 3, ".gz") == 0)
        files_write_gz(folder, name, file, head + n * sample);
    else
        files_write(folder, name, file, head + n * sample);
    free(file);
}

/* Writes CIFAR records with this many label bytes. */
static inline void fakes_cifar(const char *folder, const char *name, size_t n, size_t labels)
{
    size_t record = labels + 3072;
    uint8_t *file = calloc(n, record);
    assert_non_null(file);
    for (size_t i = 0; i < n; i++) {
        file[i * record] = (uint8_t)(i % 10);
        file[i * record + labels - 1] = (uint8_t)(labels == 2 ? i % 100 : i % 10);
        for (size_t k = 0; k < 3072; k++)
            file[i * record + labels + k] = fakes_pixel(i, k);
    }
    files_write(folder, name, file, n * record);
    free(file);
}

/* Writes a .npy of n times the given type; header says the shape. */
static inline void fakes_npy(const char *folder, const char *name, const char *type,
                             const char *shape, const void *data, size_t n)
{
    uint8_t file[2000] = "\x93NUMPY\1\0";
    char header[200];
    int length =
        snprintf(header, sizeof header,
                 "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", type, shape);
    assert_true((size_t)length + 10 + n <= sizeof file);
    file[8] = (uint8_t)length;
    memcpy(file + 10, header, (size_t)length);
    memcpy(file + 10 + length, data, n);
    files_write(folder, name, file, 10 + (size_t)length + n);
}

static inline void fakes_png(const char *folder, const char *name, int64_t h, int64_t w,
                             uint8_t value)
{
    char path[FILES_PATH * 2];
    files_write(folder, name, "", 0); /* makes the folders */
    snprintf(path, sizeof path, "%s/%s", folder, name);
    uint8_t *pixels = malloc((size_t)(h * w * 3));
    assert_non_null(pixels);
    memset(pixels, value, (size_t)(h * w * 3));
    assert_ok(eg_png_save(path, &(eg_image){h, w, 3, pixels}));
    free(pixels);
}

static inline void fakes_idx_set(const char *folder, const char *stem, const char *test,
                                 size_t side, size_t classes)
{
    char name[200];
    snprintf(name, sizeof name, "%strain-images-idx3-ubyte.gz", stem);
    fakes_idx(folder, name, 120, side, 0);
    snprintf(name, sizeof name, "%strain-labels-idx1-ubyte.gz", stem);
    fakes_idx(folder, name, 120, 0, classes);
    snprintf(name, sizeof name, "%s%s-images-idx3-ubyte", stem, test);
    fakes_idx(folder, name, 30, side, 0);
    snprintf(name, sizeof name, "%s%s-labels-idx1-ubyte", stem, test);
    fakes_idx(folder, name, 30, 0, classes);
}

static inline void fakes_femnist(const char *folder)
{
    enum { N = 120 };
    fakes_idx(folder, "femnist/femnist-images-idx3-ubyte", N, 28, 0);
    fakes_idx(folder, "femnist/femnist-labels-idx1-ubyte", N, 0, 62);
    uint8_t writer[8 + 2 * N] = {0, 0, 0x0b, 1, 0, 0, 0, N}, marked[8 + N] = {0, 0, 8, 1};
    marked[7] = N;
    for (int i = 0; i < N; i++) { /* four writers of 30; all of writer 1 is marked */
        writer[8 + 2 * i + 1] = (uint8_t)(i / 30);
        marked[8 + i] = i / 30 == 1 || i % 30 == 0;
    }
    files_write(folder, "femnist/femnist-writer-idx1-short", writer, sizeof writer);
    files_write(folder, "femnist/femnist-leaf-istest-idx1-ubyte", marked, sizeof marked);
}

/* Texts of two classes, and a vocabulary of few pieces. */
static inline void fakes_text(const char *folder)
{
    static const char vocab[] =
        "[[\"?\",0],[\"<s>\",0],[\"</s>\",0],[\"a\",0],[\"b\",0],[\"c\",0],"
        "[\"\xe2\x96\x81\",-3],[\"\xe2\x96\x81the\",-2],[\"cat\",-4],[\"ca\",-3.5],"
        "[\"t\",-1.5],[\"s\",-1],[\"a\",-9],[\"c\",-9]]";
    static const char train[] = "b\tthe cat\na\tcats\nb\tthe cats s\na\tthe\n";
    static const char test[] = "a\tcat\nb\tthe the\n";
    files_write(folder, "weights/use-lite.vocab.json", vocab, sizeof vocab - 1);
    files_write(folder, "text/train.tsv", train, sizeof train - 1);
    files_write(folder, "text/test.tsv", test, sizeof test - 1);
}

/* Every data set that comes as files. */
static inline void fakes_write(const char *folder)
{
    fakes_text(folder);
    fakes_idx_set(folder, "mnist/", "t10k", 28, 10);
    fakes_idx_set(folder, "fashion-mnist/", "t10k", 28, 10);
    fakes_idx_set(folder, "kmnist/", "t10k", 28, 10);
    fakes_idx_set(folder, "usps/usps-", "test", 16, 10);
    fakes_idx_set(folder, "emnist/emnist-balanced-", "test", 28, 47);
    fakes_femnist(folder);
    fakes_cifar(folder, "cifar10/data_batch_1.bin", 20, 1);
    fakes_cifar(folder, "cifar10/data_batch_3.bin", 10, 1);
    fakes_cifar(folder, "cifar10/test_batch.bin", 10, 1);
    fakes_cifar(folder, "cifar100/train.bin", 200, 2);
    fakes_cifar(folder, "cifar100/test.bin", 100, 2);
    fakes_cifar(folder, "svhn/train.bin", 20, 1);
    fakes_cifar(folder, "svhn/test.bin", 10, 1);
    for (int i = 0; i < 12; i++) {
        char name[64];
        snprintf(name, sizeof name, "folder/%s/%02d.png", i % 2 ? "cat" : "dog", i);
        fakes_png(folder, name, 5 + i, 9, (uint8_t)(20 * i));
    }
    files_write(folder, "boxes/labels.txt", "car\nsign\n", 9);
    for (int i = 0; i < 12; i++) {
        char name[64], text[64];
        snprintf(name, sizeof name, "boxes/town_%d.png", i);
        fakes_png(folder, name, 12, 20 + i, (uint8_t)(20 * i));
        snprintf(name, sizeof name, "boxes/town_%d.txt", i);
        snprintf(text, sizeof text, "%d 0.%d 0.5 0.2 0.3\n", i % 2, i % 6 + 2);
        files_write(folder, name, text, strlen(text));
    }
    static const char rows[] = "a,b,label\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n2,1,x\n4,3,y\n6,5,x\n"
                               "8,7,y\n9,9,x\n1,1,y\n";
    files_write(folder, "csv/data.csv", rows, sizeof rows - 1);
    uint8_t x[6 * 4];
    for (size_t i = 0; i < sizeof x; i++)
        x[i] = (uint8_t)(i * 3);
    const int64_t y[6] = {0, 1, 2, 2, 1, 0};
    fakes_npy(folder, "npy/x_train.npy", "|u1", "(6, 2, 2)", x, 24);
    fakes_npy(folder, "npy/y_train.npy", "<i8", "(6,)", y, 48);
    fakes_npy(folder, "npy/x_test.npy", "|u1", "(3, 2, 2)", x + 5, 12);
    fakes_npy(folder, "npy/y_test.npy", "<i8", "(3,)", y, 24);
}

#endif
