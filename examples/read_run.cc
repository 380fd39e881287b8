/* read_run.cc - C++: runs an experiment from a text, reads its log, tests its model.
 * SPDX-License-Identifier: Apache-2.0
 *
 * c++ read_run.cc $(pkg-config --cflags --libs engram); read_run FOLDER
 */
#include <engram/engram.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

static void check(eg_status s)
{
    if (s != EG_OK)
        throw std::runtime_error(eg_error());
}

static const char text[] =
    "name: read-run\n"
    "data: {name: blobs, train: 200, test: 40, classes: 4}\n"
    "model: {name: mlp, depth: 0}\n"
    "scenario: {kind: class-incremental, clients: 2, tasks: 2, rounds: 2, partition: iid}\n"
    "runs: [{label: avg, method: fedavg}]\n";

static std::string run(const char *out)
{
    eg_experiment_file *file;
    eg_experiment *e;
    check(eg_experiment_parse("read_run.cc", text, &file));
    std::unique_ptr<eg_experiment_file, decltype(&eg_experiment_file_free)> close(
        file, eg_experiment_file_free);
    check(eg_experiment_file_resolve(file, "avg", 0, nullptr, &e));
    std::unique_ptr<eg_experiment, decltype(&eg_experiment_free)> drop(e, eg_experiment_free);
    eg_run_how how = {};
    how.out = out;
    how.workers = 1;
    char folder[512];
    bool stopped;
    check(eg_experiment_run(e, &how, folder, &stopped));
    return folder;
}

static void read(const std::string &folder)
{
    eg_run_log *log;
    check(eg_run_log_open(folder.c_str(), &log));
    std::unique_ptr<eg_run_log, decltype(&eg_run_log_free)> close(log, eg_run_log_free);
    eg_run_round round;
    for (size_t i = 0; eg_run_log_round(log, i, &round); i++)
        std::printf("round %lld: loss %.3f\n", static_cast<long long>(round.round), round.loss);
    double final, mean;
    const eg_record *r = eg_run_log_record(log);
    if (!eg_run_log_value(log, "acc_final", &final) ||
        !eg_run_mean(r, eg_record_n_rows(r) - 1, &mean) || std::fabs(final - mean) > 1e-12)
        throw std::runtime_error("the log and its record do not agree");
    std::printf("%s: accuracy %.3f\n", eg_run_log_label(log), final);
}

int main(int argc, char **argv)
{
    try {
        read(run(argc > 1 ? argv[1] : "runs"));
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    return 0;
}
