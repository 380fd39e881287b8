/* portable_test.c - the portable kernels have the same bits on every machine.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Three steps of every network, and two whole runs, must end in the bits on record, whatever
 * the processor; `make test-arm` runs this test on arm64. With PORTABLE_PRINT set it prints
 * what it got instead of comparing.
 */
#include "runs.h"
#include "training.h"

#include "base/checksum.h"

#include "own_folder.h"

typedef struct row {
    const char *name, *hash;
} row;

static const row steps[] = {
    {"acgan", "41105d21675a8fed4475b81a3aad3965e467c87f599aa7c5fb88c7328c255aed"},
    {"bert", "2c8bc573ec02c2c0fe0a7b868c370adc882731629c8b4359459977f3f43004e3"},
    {"cnn", "e2bd26a1cb5eae3af212f0a1b49a5961a943c958f7ff55df18b53f391c3b2239"},
    {"cnn_small", "8498d7a0c4a60b395877df929c07a93b0f5a60d63ed98195abbee79394c5fcc8"},
    {"mlp", "7c10ce941c649f6ed98ef7e6e8d0863c779d36ac2e26d5f255947ea562e954e7"},
    {"resnet18", "5b911c6dfcac1aad2dba9a1b8fe322bfff0f1e8c8547ea070d135c236886732d"},
    {"resnet18_thin", "1155c3440dc454ca3bad31b9cb6bb69dc413df49bd905e0df8192c5c4cc0a053"},
    {"tiny_yolo", "4fa98a461bde3cad142ba94966a13215dea35f7c104ee0deffadbd1beec0ebdf"},
    {"use_lite", "837ee96a2e85ed9feb4f3f1c257fb4b944fee95a786aaa810090ad69c63f97c2"},
    {"vit", "4d4de0eb90711541707ae2d905db781a08a07c8e59f7eefcdbd1ce6ec9247127"},
};

static void expect(const char *name, const char *hash, const char *want)
{
    if (getenv("PORTABLE_PRINT"))
        print_message("%s %s\n", name, hash);
    else if (strcmp(hash, want) != 0)
        fail_msg("%s: the bits %s are not those on record, %s", name, hash, want);
}

static const char *hash_on_record(const char *model)
{
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (strcmp(steps[i].name, model) == 0)
            return steps[i].hash;
    return NULL;
}

static void test_a_step_of_every_network_has_the_bits_on_record(void **state)
{
    (void)state;
    for (size_t i = 0; eg_models[i]; i++) {
        const char *name = eg_models[i]->component.name;
        if (strcmp(name, "layers") == 0) /* has none of its own */
            continue;
        if (!hash_on_record(name))
            fail_msg("%s has no row in this test: PORTABLE_PRINT=1 prints it", name);
        const training_spec spec = {
            .net = training_images(name, strcmp(name, "cnn_small") == 0 ? 28 : 16),
            .batch = 5,
            .optimizer = "adam",
            .rate = "0.001",
            .seed = 3};
        training t;
        uint8_t digest[32];
        char hash[65];
        assert_ok(training_open(&t, &spec));
        for (int k = 0; k < 3; k++)
            assert_ok(training_step(&t));
        eg_sha256_of(t.value, t.length * sizeof *t.value, digest);
        eg_sha256_text(digest, hash);
        expect(name, hash, hash_on_record(name));
        training_close(&t);
    }
}

static const struct {
    const char *name, *text, *hash;
} runs[] = {
    {"er+fed-a-gem, cnn-small",
     "name: t\n"
     "data: {name: glyphs, train: 200, test: 40, mean: 0.15, std: 0.2}\n"
     "model: {name: cnn-small}\n"
     "scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 2,\n"
     "           partition: {kind: dirichlet, alpha: 0.5}}\n"
     "memory: {kind: reservoir, size: 20}\n"
     "optimizer: {lr: 0.05, momentum: 0.9}\n"
     "train: {epochs: 1, batch: 16}\n"
     "runs: [{label: a, method: [er, fed-a-gem]}]\n",
     "768236d959dd776d8f62f2e99c5c51e7fa2dc77924eef36e4d971324810d6746"},
    {"fedavg, resnet18-thin",
     "name: t\n"
     "data: {name: fractals, classes: 4, train: 32, test: 8}\n"
     "model: {name: resnet18-thin}\n"
     "scenario: {kind: class-incremental, clients: 2, tasks: 1, rounds: 2, partition: iid}\n"
     "optimizer: {name: adam, lr: 0.001}\n"
     "train: {epochs: 1, batch: 8}\n"
     "runs: [{label: a, method: fedavg}]\n",
     "8d1dd5ce6811042403b760b5536179dd7964d8cf02c534499160bbb8981215fe"},
};

static void test_whole_runs_have_the_bits_on_record(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char file[FILES_PATH * 2], path[512], hash[65];
        eg_experiment *e;
        snprintf(file, sizeof file, "%s/t.yaml", folder);
        files_write(folder, "t.yaml", runs[i].text, strlen(runs[i].text));
        assert_ok(eg_experiment_load(file, "a", 0, NULL, &e));
        assert_ok(runs_run(e, folder, 2, 0, path));
        eg_experiment_free(e);
        runs_hash(path, hash);
        expect(runs[i].name, hash, runs[i].hash);
    }
}

int main(void)
{
    assert_ok(eg_isa_set("portable"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step_of_every_network_has_the_bits_on_record),
        cmocka_unit_test(test_whole_runs_have_the_bits_on_record),
    };
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
