/* gallery_test.c - generators to a file and back; files that lie.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "test.h"

#include "files.h"

#include <engram/gallery.h>

#include <stdlib.h>

enum { SIDE = 8, N = 5, MAX_TENSORS = 400 };

static eg_generator *machine(const char *kind, const char *options, uint64_t seed)
{
    const eg_generator_spec spec = {.kind = kind,
                                    .options = options,
                                    .channels = 1,
                                    .height = SIDE,
                                    .width = SIDE,
                                    .classes = 10};
    eg_generator *m;
    assert_ok(eg_generator_new(&spec, &m));
    eg_generator_init(m, seed);
    return m;
}

static void draw(eg_generator *m, float x[N * SIDE * SIDE])
{
    const float labels[N] = {0, 3, 9, 3, 1};
    eg_rng rng = eg_rng_at(1, 0, 0, EG_FOR_TEST);
    assert_ok(eg_generator_draw(m, labels, N, &rng, x));
}

/* A file with the generators of client 12 for class 7 and of the server for all. */
static void write_file(const char *kind, const char *path)
{
    const eg_stored_note note = {"data", "fashion-mnist"};
    eg_generator *m = machine(kind, "width=8", 4);
    eg_gallery *g;
    assert_ok(eg_gallery_new(path, &g));
    assert_ok(eg_gallery_add(g, m, (eg_drawer){.client = 12, .label = 7}));
    eg_generator_init(m, 5);
    assert_ok(eg_gallery_add(g, m, (eg_drawer){.client = -1, .label = -1}));
    assert_int_equal(eg_gallery_n(g), 2);
    assert_fails(eg_gallery_add(g, m, (eg_drawer){.client = 12, .label = 7}), EG_EINVAL,
                 "client12.class7.");
    eg_generator_free(m);
    m = machine(kind, "width=16", 4);
    assert_fails(eg_gallery_add(g, m, (eg_drawer){.client = 1, .label = 7}), EG_EINVAL,
                 "one kind");
    assert_ok(eg_gallery_save(g, &note, 1));
    eg_gallery_free(g);
    eg_generator_free(m);
}

/* The i-th generator of a file draws what the one that was put there drew. */
static void check_shown(const char *kind, eg_exhibits *x, size_t i)
{
    static float before[N * SIDE * SIDE], after[N * SIDE * SIDE];
    eg_generator *m = machine(kind, "width=8", 4 + i), *shown;
    draw(m, before);
    eg_generator_free(m);
    assert_int_equal(eg_exhibits_at(x, i).client, i ? -1 : 12);
    assert_int_equal(eg_exhibits_at(x, i).label, i ? -1 : 7);
    assert_ok(eg_exhibits_show(x, i, &shown));
    draw(shown, after);
    assert_memory_equal(before, after, sizeof before);
    assert_int_equal(shown->n_learners, 1); /* what only trains is not there */
}

static void test_every_kind_draws_the_same_from_its_file(void **state)
{
    (void)state;
    char folder[FILES_PATH], path[FILES_PATH + 32];
    files_folder(folder);
    snprintf(path, sizeof path, "%s/g.safetensors", folder);
    for (size_t k = 0; eg_generator_kinds[k]; k++) {
        const char *kind = eg_generator_kinds[k]->component.name;
        eg_exhibits *x;
        write_file(kind, path);
        assert_ok(eg_exhibits_open(path, &x));
        assert_int_equal(eg_exhibits_n(x), 2);
        assert_string_equal(eg_exhibits_note(x, "data"), "fashion-mnist");
        assert_string_equal(eg_exhibits_note(x, "shape"), "1x8x8");
        for (size_t i = 0; i < 2; i++)
            check_shown(kind, x, i);
        eg_exhibits_free(x);
    }
    files_remove(folder);
}

static void test_a_digest_is_of_names_and_values(void **state)
{
    (void)state;
    char folder[FILES_PATH], path[FILES_PATH + 32], digest[4][65];
    files_folder(folder);
    snprintf(path, sizeof path, "%s/g.safetensors", folder);
    for (size_t i = 0; i < 4; i++) {
        eg_generator *m = machine("wgan-gp", "width=8", i == 1 ? 5 : 4);
        eg_gallery *g;
        assert_ok(eg_gallery_new(path, &g));
        assert_ok(eg_gallery_add(g, m, (eg_drawer){.client = 1, .label = i == 2 ? 8 : 7}));
        eg_gallery_digest(g, digest[i]);
        eg_gallery_free(g);
        eg_generator_free(m);
        assert_int_equal(rmdir(folder), 0); /* nothing was saved: nothing is left there */
        assert_int_equal(mkdir(folder, 0700), 0);
    }
    files_remove(folder);
    assert_string_not_equal(digest[0], digest[1]);
    assert_string_not_equal(digest[0], digest[2]);
    assert_string_equal(digest[0], digest[3]);
}

/* A lie: what is changed of a good file. */
typedef struct lie {
    const char *note, *value;  /* a note says something else; value NULL: it is not there */
    const char *tensor, *name; /* a tensor has another name; name NULL: it is not there */
    int64_t shift;             /* or its last dimension differs by so much */
    bool nan;                  /* or it holds a NaN */
    eg_status status;
    const char *words;
} lie;

static const lie lies[] = {
    {.note = "kind", .status = EG_EFORMAT, .words = "no note 'kind'"},
    {.note = "kind", .value = "wgan-gb", .status = EG_ENOENT, .words = "wgan-gb"},
    {.note = "options", .status = EG_EFORMAT, .words = "no note 'options'"},
    {.note = "options", .value = "width=-1", .status = EG_EINVAL, .words = "width"},
    {.note = "options",
     .value = "width=16",
     .status = EG_ESHAPE,
     .words = "is not F32 [100, 16"},
    {.note = "options", .value = "depth=16", .status = EG_ENOENT, .words = "depth"},
    {.note = "shape", .status = EG_EFORMAT, .words = "no note 'shape'"},
    {.note = "shape", .value = "1x8", .status = EG_EFORMAT, .words = "'1x8', is no CxHxW"},
    {.note = "shape", .value = "0x8x8", .status = EG_EFORMAT, .words = "is no CxHxW"},
    {.note = "shape", .value = "1x8x9", .status = EG_ESHAPE, .words = "not 8x9"},
    {.note = "classes", .value = "ten", .status = EG_EFORMAT, .words = "no number of classes"},
    {.note = "classes", .value = "7", .status = EG_ESHAPE, .words = "not among its 7"},
    {.tensor = "client12.class7.up1.weight", .status = EG_ESHAPE, .words = "is missing"},
    {.tensor = "up1.weight", .status = EG_ESHAPE, .words = "'up1.weight' is missing"},
    {.tensor = "up1.weight", .name = "up9.weight", .status = EG_ESHAPE, .words = "no tensor"},
    {.tensor = "up1.weight",
     .name = "class07.up1.weight",
     .status = EG_ESHAPE,
     .words = "no tensor"},
    {.tensor = "up1.weight",
     .name = "class3.up1.weight",
     .status = EG_ESHAPE,
     .words = "is missing"},
    {.tensor = "norm0.bias", .shift = -1, .status = EG_ESHAPE, .words = "is not F32 [8]"},
    {.tensor = "norm0.running_var", .nan = true, .status = EG_EINVAL, .words = "is nan"},
};

/* The file's notes but for the lie. Returns how many there are. */
static size_t tell_notes(const eg_tensors *file, const lie *l, eg_stored_note notes[16])
{
    size_t n = 0;
    for (eg_stored_note note = {0}; eg_tensors_next_note(file, &note);) {
        bool changed = l->note && strcmp(note.key, l->note) == 0;
        if (!changed || l->value)
            notes[n++] = (eg_stored_note){note.key, changed ? l->value : note.value};
    }
    return n;
}

static size_t tell_tensors(const eg_tensors *file, const lie *l, const float *nan,
                           eg_stored tensors[MAX_TENSORS])
{
    size_t n = 0;
    for (size_t i = 0; i < eg_tensors_count(file); i++) {
        eg_stored t = *eg_tensors_at(file, i);
        bool changed = l->tensor && strcmp(t.name, l->tensor) == 0;
        if (changed) {
            if (!l->name && !l->shift && !l->nan)
                continue;
            t.name = l->name ? l->name : t.name;
            t.dims[t.rank - 1] += l->shift;
            t.bytes = l->nan ? (const void *)nan : t.bytes;
        }
        tensors[n++] = t;
    }
    return n;
}

static void test_files_that_lie_are_refused(void **state)
{
    (void)state;
    char folder[FILES_PATH], path[FILES_PATH + 32], other[FILES_PATH + 32];
    float nan[64];
    eg_tensors *file;
    eg_exhibits *x;
    files_folder(folder);
    snprintf(path, sizeof path, "%s/g.safetensors", folder);
    snprintf(other, sizeof other, "%s/lie.safetensors", folder);
    write_file("wgan-gp", path);
    for (size_t i = 0; i < 64; i++)
        nan[i] = NAN;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        eg_stored_note notes[16];
        eg_stored tensors[MAX_TENSORS];
        assert_ok(eg_safetensors_load(path, &file));
        size_t n_notes = tell_notes(file, &lies[i], notes);
        size_t n = tell_tensors(file, &lies[i], nan, tensors);
        assert_ok(eg_safetensors_save(other, tensors, n, notes, n_notes));
        assert_fails(eg_exhibits_open(other, &x), lies[i].status, lies[i].words);
        assert_non_null(strstr(eg_error(), other));
        assert_null(x);
        eg_tensors_free(file);
    }
    assert_ok(eg_safetensors_load(path, &file));
    eg_stored_note notes[16];
    assert_ok(eg_safetensors_save(other, NULL, 0, notes, tell_notes(file, &(lie){0}, notes)));
    assert_fails(eg_exhibits_open(other, &x), EG_ESHAPE, "holds no generator");
    eg_tensors_free(file);
    assert_fails(eg_exhibits_open("/nowhere.safetensors", &x), EG_ENOENT, "/nowhere");
    files_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_draws_the_same_from_its_file),
        cmocka_unit_test(test_a_digest_is_of_names_and_values),
        cmocka_unit_test(test_files_that_lie_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
