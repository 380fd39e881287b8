/* sections.c - the settings of an experiment file that no component owns, section by section.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "run/experiment/sections.h"

#include <engram/transform.h>

#include "run/experiment/experiment.h"

// clang-format off
const eg_opt eg_settings_of_all[] = {
    EG_OPT_REAL(eg_experiment, scale, 1, 1e-6, 1, "the share of rounds and of rows that is used: small, to try an experiment; memories and caches keep their sizes"),
    EG_OPT_END,
};
static const eg_opt sections_train[] = {
    EG_OPT_INT(eg_train_opts, epochs, 1, 1, 100000, "passes over a client's samples in a round"),
    EG_OPT_INT(eg_train_opts, batch, 32, 1, 65536, "samples in a batch"),
    EG_OPT_INT(eg_train_opts, steps, 0, 0, 1e7, "batches of a round in place of epochs: whole ones, of the samples shuffled anew whenever what is left makes none; 0: by epochs"),
    EG_OPT_CHOICE(eg_train_opts, optimizer_state, 0,
                  "of a client: fresh each round, or kept from its last one", "fresh|keep"),
    EG_OPT_CHOICE(eg_train_opts, classes, 0, "outputs in the loss: all; of classes any client met, or this one; of the row's task (of replayed rows: this client's)",
                  "all|seen|client|task"),
    EG_OPT_REAL(eg_train_opts, clip, 0, 0, 1e9, "a gradient longer than this is scaled down to it; 0: none is"),
    EG_OPT_REAL(eg_train_opts, temperature, 1, 1e-3, 1e3, "what logits are divided by in the loss"),
    EG_OPT_BOOL(eg_train_opts, rotations, 0, "an image of class y is four rows of a batch, turned by 0, 90, 180 and 270 degrees, that the head must tell apart: labels 4 y to 4 y + 3; tests are upright"),
    EG_OPT_END,
};
static const eg_opt sections_schedule[] = {
    EG_OPT_CHOICE(eg_schedule, kind, 0, "constant; lower after each so many rounds; or half a cosine over all rounds", EG_SCHEDULE_KINDS),
    EG_OPT_INT(eg_schedule, every, 1000, 1, 1e9, "of step: rounds from one change to the next"),
    EG_OPT_REAL(eg_schedule, factor, 0.5, 0, 1, "of step: what each change multiplies by"),
    EG_OPT_REAL(eg_schedule, least, 0, 0, 1, "of cosine: the share of lr it falls towards"),
    EG_OPT_INT(eg_schedule, warmup, 0, 0, 1e9, "rounds in which it rises to lr before"),
    EG_OPT_END,
};
static const eg_opt sections_server[] = {
    EG_OPT_CHOICE(eg_server_opts, weights, 0, "of clients in the mean: by samples, or all alike",
                  "samples|uniform"),
    EG_OPT_CHOICE(eg_server_opts, bn, 0, "batch-norm statistics: averaged, or the server's kept",
                  "average|keep"),
    EG_OPT_CHOICE_AS("mean", eg_server_opts, mean.rule, 0, "of the clients' models, place by place: the mean; or what a few hostile clients cannot move far: the median, the mean without both ends, the mean of changes of bounded length",
                     "mean|median|trimmed|norm-clip"),
    EG_OPT_REAL_AS("trim", eg_server_opts, mean.trim, 0.2, 0, 0.49, "of trimmed: share of the weight that is cut off at either end"),
    EG_OPT_REAL_AS("clip", eg_server_opts, mean.clip, 0, 0, 1e9, "of norm-clip: longest change of an upload; 0: the median length of the round's changes"),
    EG_OPT_INT(eg_server_opts, interval, 1, 1, 1e6, "rounds clients go on from their own model; 1: none"),
    EG_OPT_INT(eg_server_opts, min_clients, 1, 1, 1e9, "fewer good uploads skip the round"),
    EG_OPT_REAL(eg_server_opts, max_change, 10, 0, 1e9, "an upload that moves the model by more than so many times its length is left out; 0: none is"),
    EG_SERVER_OPTIMIZER_ROWS(eg_server_opts, optimizer),
    EG_OPT_END,
};
static const eg_opt sections_eval[] = {
    EG_OPT_COUNT(eg_eval_opts, every, EG_EVERY_TASK, 1e9, "full tests after each task; or a curve too, each round, or after every so many rounds",
                 "task|round"),
    EG_OPT_INT(eg_eval_opts, samples, 1000, 1, 1e9, "test samples a task for the curve"),
    EG_OPT_INT(eg_eval_opts, patience, 0, 0, 1e9, "the run ends when so many points of the curve in a row, once all tasks have come, bring no better accuracy on data.validation; 0: never"),
    EG_OPT_BOOL(eg_eval_opts, local, 0, "at task ends what each client uploads is tested too, on the client's own tasks (client_mean); where clients have models of their own, or meet a stream, these are tested in any case"),
    EG_OPT_CHOICE(eg_eval_opts, classes, 0, "answers a model may give: all; classes any client met, or the model's own client; the test task's",
                  "all|seen|client|task"),
    EG_OPT_END,
};
static const eg_opt sections_memory[] = {
    EG_OPT_CHOICE(eg_memory_opts, kind, 0, "what a client keeps of its past",
                  "none|reservoir|window|random"),
    EG_OPT_INT(eg_memory_opts, size, 200, 1, 1e9, "rows it holds"),
    EG_OPT_CHOICE(eg_memory_opts, insert, 0, "every batch is offered, or each sample once a stage",
                  "always|once"),
    EG_OPT_END,
};
const eg_opt eg_settings_of_data[] = {
    EG_OPT_REAL(eg_data_opts, share, 1, 1e-6, 1, "of every class's images, for training and for testing, that are used"),
    EG_OPT_REAL(eg_data_opts, validation, 0, 0, EG_MAX_VALIDATION, "of each client's training images, of every class alike, held out of training"),
    EG_OPT_INT(eg_data_opts, size, 0, 0, 4096, "side images are scaled to; 0: as they are"),
    EG_OPT_INT(eg_data_opts, channels, 0, 0, 3, "1 grey, 3 colour; 0: as they are"),
    EG_OPT_LIST(eg_data_opts, mean, EG_MAX_NORM, "0", -1e3, 1e3, "subtracted from values scaled to [0, 1]; a number, or one for each channel"),
    EG_OPT_LIST(eg_data_opts, std, EG_MAX_NORM, "1", 1e-6, 1e3, "what they are divided by then; a number, or one for each channel"),
    EG_OPT_INT(eg_data_opts, crop, 0, 0, 64, "random crop in training: zeros added around"),
    EG_OPT_INT(eg_data_opts, cutout, 0, 0, 4096, "side of a square of zeros in training"),
    EG_OPT_BOOL(eg_data_opts, flip, 0, "left to right at random in training"),
    EG_OPT_END,
};
const eg_opt eg_settings_of_pretrain[] = {
    EG_OPT_INT(eg_pretrain_opts, epochs, 0, 0, 100000, "passes over the fractals; 0: no pre-training"),
    EG_OPT_INT(eg_pretrain_opts, classes, 1000, 1, 1e7, "of fractals, each a system of its own"),
    EG_OPT_INT(eg_pretrain_opts, images, 1e6, 2, 1e9, "fractals in all, drawn as needed in the size and channels of the data"),
    EG_OPT_INT(eg_pretrain_opts, points, 100000, 1, 1e9, "points drawn per image"),
    EG_OPT_INT(eg_pretrain_opts, batch, 32, 1, 65536, "images in a batch"),
    EG_OPT_REAL(eg_pretrain_opts, lr, 0.001, 0, 1e3, "step size of Adam"),
    EG_OPT_REAL(eg_pretrain_opts, weight_decay, 0.0002, 0, 1e3, "of Adam"),
    EG_OPT_REAL(eg_pretrain_opts, temperature, 1, 1e-3, 1e3, "what logits are divided by in the loss; for head rows best that of train, which they must fit"),
    EG_OPT_INT(eg_pretrain_opts, seed, 0, 0, 1e15, "of fractals, first values and order; all seeds of a run start from one encoder"),
    EG_OPT_CHOICE(eg_pretrain_opts, head, 0, "the last layer: the first rows of the fractals', or drawn by the run's seed", "rows|fresh"),
    EG_OPT_END,
};
const eg_opt eg_settings_of_model[] = {
    EG_OPT_TEXT(eg_start_opts, weights, "", "a safetensors file with the global model's first values, by PyTorch's names; without one they are drawn"),
    EG_OPT_TEXT(eg_start_opts, weights_sha256, "", "of that file; another one is refused"),
    EG_OPT_CHOICE(eg_start_opts, head, 0, "the last layer: as in the file, drawn, or the first rows of a file's with more outputs", "keep|fresh|rows"),
    EG_OPT_END,
};
// clang-format on

static const eg_section sections[] = {
    {{"memory", "the past a client keeps", sizeof(eg_memory_opts), sections_memory},
     offsetof(eg_experiment, memory)},
    {{"train", "local training", sizeof(eg_train_opts), sections_train},
     offsetof(eg_experiment, train)},
    {{"schedule", "the step size of clients over the rounds", sizeof(eg_schedule),
      sections_schedule},
     offsetof(eg_experiment, schedule)},
    {{"server", "how the clients' models become one", sizeof(eg_server_opts), sections_server},
     offsetof(eg_experiment, server)},
    {{"eval", "how models are tested", sizeof(eg_eval_opts), sections_eval},
     offsetof(eg_experiment, eval)},
    {{"pretrain", "what the network learns from fractals before the first round",
      sizeof(eg_pretrain_opts), eg_settings_of_pretrain},
     offsetof(eg_experiment, pretrain)},
};
static const eg_component sections_of_data = {"data",
                                              "the images, beside the data set's own options",
                                              sizeof(eg_data_opts), eg_settings_of_data};
static const eg_component sections_of_model = {
    "model", "the network's first values, beside its own options", sizeof(eg_start_opts),
    eg_settings_of_model};
static const eg_component sections_of_all = {"experiment",
                                             "at the top of the file, in no section",
                                             sizeof(eg_experiment), eg_settings_of_all};

const eg_section *const eg_sections[] = {&sections[0], &sections[1], &sections[2], &sections[3],
                                         &sections[4], &sections[5], NULL};

static const void *const sections_listed[] = {
    &sections[0], &sections[1],      &sections[2],       &sections[3],     &sections[4],
    &sections[5], &sections_of_data, &sections_of_model, &sections_of_all, NULL};
const eg_family eg_setting_family = {"settings", "settings of", sections_listed, NULL};
