/* verbs.c - the verbs: who carries them out, and their help.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli.h"

#include <engram/log.h>

#include <stdio.h>
#include <string.h>

/* What run and compare both take. */
#define VERBS_RUN_OPTIONS                                                                      \
    "  --only LABEL      this run of the file alone; may be repeated\n"                        \
    "  --set KEY=VALUE   change a setting: optimizer.lr=0.05, scale=0.1, re-fed.size=500;\n"   \
    "                    optimizer.lr=0.05,0.1 makes a run for each value\n"                   \
    "  --seed N          random seed (0)\n"                                                    \
    "  --seeds A,B..C    one run for each of these seeds\n"                                    \
    "  --workers N       threads that train clients (one a core); no result changes\n"         \
    "  --transport NAME  threads (the usual), or processes that get bytes alone; no result\n"  \
    "                    changes\n"                                                            \
    "  --mpi             join other ranks; not needed if mpirun starts engram itself\n"        \
    "  --out DIR         where run folders go (runs)\n"                                        \
    "  --data-dir DIR    where data sets are (else the environment's ENGRAM_DATA)\n"           \
    "  --isa NAME        plain, avx2 or avx512 (the best this machine has)\n"                  \
    "  --tensorboard DIR at the end, the curves of each run in a folder of its own in there\n" \
    "  --sheets N        pictures of what a method draws every N rounds, beside those at\n"    \
    "                    task ends (task); or none; no result changes\n"                       \
    "  --force           go on with a run though data or program are others than at its\n"     \
    "                    start: its log then says that bits may differ\n"                      \
    "  --quiet           no progress\n"

const eg_verb *const eg_verbs[] = {
    &(const eg_verb){
        "run", eg_verb_run,
        "FILE|NAME [options]\n"
        "--resume RUN\n",
        "run every method of an experiment file",
        "NAME is a file's name in experiments/, without .yaml, or an installed one's.\n"
        "`engram list settings` and `engram list methods` show what a file can "
        "set.\n\n" VERBS_RUN_OPTIONS "  --resume          finish runs that were stopped and "
        "start what is missing; of a run\n"
        "                    folder: go on with that one\n"
        "  --json            progress as one JSON object a line\n",
        NULL},
    &(const eg_verb){
        "compare", eg_verb_compare, "FILE|NAME|RUN... [options]\n",
        "run what is missing and print the table",
        "Runs that are finished are read, those that were stopped go on. A run that another\n"
        "process carries out at the moment is left to it, and waited for at the "
        "end.\n\n" VERBS_RUN_OPTIONS
        "  --jobs N          N runs side by side, each with a share of the cores; no result\n"
        "                    changes\n"
        "  --share K/N       every N-th run, from the K-th on: for a job array\n"
        "  --finished        only what is finished already; nothing is run\n"
        "  --sort COLUMN     rows by label, seeds, acc_final, forgetting, seconds, ...: best "
        "first\n"
        "  --columns A,B     further columns: flops_clients, flops_server, server_seconds,\n"
        "                    acc_seen, client_mean, ...\n"
        "  --against LABEL   differences are to this row (the first), seed by seed, with p\n"
        "  --without PART    or each row with this part to the one without it\n"
        "  --published       only figures the file's paper gives, each beside it, with how "
        "many\n"
        "                    of its deviations lie between\n"
        "  --markdown        the table as Markdown\n"
        "  --latex           as a LaTeX tabular\n"
        "  --csv             as CSV, unrounded\n"
        "  --json            as JSON, unrounded\n",
        NULL},
    &(const eg_verb){
        "serve", eg_verb_serve,
        "FILE|NAME --only LABEL [options]\n"
        "--resume RUN [options]\n",
        "be the server of one run, whose clients are devices",
        "Devices join with `engram join` and keep their data and their state to themselves;\n"
        "docs/devices.md says how to set it up. The result is that of `engram run` as long as\n"
        "no device is lost. The other options of `run` hold too: --set, --seed, --out,\n"
        "--data-dir, --workers (that test), --quiet, --json.\n\n"
        "  --listen ADDRESS  host:port (127.0.0.1:8443)\n"
        "  --cert FILE.pem   TLS: the server's certificate, and its key; without, only this\n"
        "  --cert-key FILE   machine can reach it\n"
        "  --keys FILE       a secret word for each device (engram-keys.txt); made if missing\n"
        "  --at-least N      devices that must be there before the first round (all)\n"
        "  --patience S      seconds without a word after which a device is gone (60)\n"
        "  --deadline S      seconds that a round waits for slow devices (any number)\n"
        "  --own-data        devices train on data of their own; the server's are for tests\n"
        "  --mixed           take devices of other versions and CPUs, though bits may "
        "differ\n",
        NULL},
    &(const eg_verb){
        "join", eg_verb_join, "URL --client K --key FILE [options]\n",
        "be a device: one client of a run that is served",
        "Ctrl-C leaves after the turn under way; the same command goes on.\n\n"
        "  --client K        which of the run's clients this is, from 0 on\n"
        "  --key FILE        its secret word: its line of the server's file, or the whole "
        "file\n"
        "  --ca FILE.pem     who vouches for the server (those this system trusts)\n"
        "  --state DIR       where it keeps what it remembers (engram-state)\n"
        "  --data-dir DIR    where data sets are (else ENGRAM_DATA)\n"
        "  --own-data        train on data of its own, which --set names:\n"
        "  --set KEY=VALUE   data=npy, data.path=/srv/mine.npz\n"
        "  --isa NAME        plain, avx2 or avx512 (the best this machine has)\n"
        "  --patience S      seconds to wait for a server that is away (600)\n"
        "  --quiet           no progress\n",
        NULL},
    &eg_verb_report,
    &eg_verb_export,
    &(const eg_verb){"eval", eg_verb_eval, "MODEL.safetensors --data NAME [options]\n",
                     "test a saved model, class by class",
                     "MODEL is what a run has saved: it says its network and how images are "
                     "prepared. Images "
                     "are\n"
                     "taken as the data set has them, neither rotated nor permuted.\n\n"
                     "  --data NAME       the data set, whose test images are used\n"
                     "  --classes A,B..C  images of these classes alone\n"
                     "  --set KEY=VALUE   an option of the data set\n"
                     "  --seed N          of a generated data set (the run's)\n"
                     "  --data-dir DIR    where data sets are (else ENGRAM_DATA)\n",
                     NULL},
    &(const eg_verb){"pretrain", eg_verb_pretrain, "FILE [options]\n",
                     "have a file's network learn from fractals, which its runs start from",
                     "The encoder is kept in ENGRAM_CACHE, else ~/.cache/engram, where runs "
                     "find it; one that\n"
                     "finds none makes it.\n\n"
                     "  --only LABEL      of this run (the first that has pre-training)\n"
                     "  --probe DATA      what a linear layer learns of this data set from its "
                     "features, and\n"
                     "                    from those of the network as it was drawn\n"
                     "  --set KEY=VALUE   change a setting: pretrain.images=100000\n"
                     "  --data-dir DIR    where data sets are (else ENGRAM_DATA)\n"
                     "  --isa NAME        plain, avx2 or avx512 (the best this machine has)\n"
                     "  --quiet           no progress\n",
                     NULL},
    &(const eg_verb){
        "train", eg_verb_train,
        "[options]\n"
        "--generator NAME [--data NAME] [options]\n",
        "train one network on generated characters, or one that draws",
        "Without a model: a linear one, for one pass unless --epochs is given, and "
        "cnn-small.\n\n"
        "  --model NAME      `engram list models` has them\n"
        "  --set 'K=V ...'   its options\n"
        "  --epochs N        passes over the data (3)\n"
        "  --lr X            step size (0.01)\n\n"
        "  --generator NAME  `engram list generators` has them; --set gives its options\n"
        "  --data NAME       the images it learns from (glyphs)\n"
        "  --class K         those of one class (all: together, unless it is told the class)\n"
        "  --size N          scale images to N x N\n"
        "  --steps N         training steps (600)\n"
        "  --seed N          random seed (0)\n"
        "  --data-dir DIR    where data sets are (else ENGRAM_DATA)\n"
        "  --sheet FILE.png  drawings at the end, as a picture\n"
        "  --out FILE        the generator as safetensors, for `engram generate`\n"
        "  --quiet           no progress\n",
        NULL},
    &(const eg_verb){
        "generate", eg_verb_generate, "RUN|FILE [options] --out FILE.png\n",
        "draw with the generators of a run or of a file",
        "FILE is what `engram train --generator` or a run has written. A row is a class.\n\n"
        "  --out FILE.png    the picture; FILE.safetensors: the numbers, between -1 and 1\n"
        "  --client C        of a run: what client C has (the server's; else the first one's)\n"
        "  --class K         this class alone\n"
        "  --n N             drawings of each class (10; of a single one 64)\n"
        "  --seed N          of the noise they are made of (0)\n"
        "  --score           what a cnn-small makes of them that has learned the real images\n"
        "  --data NAME       of --score: where those come from (what the file says)\n"
        "  --set KEY=VALUE   of --score: an option of that data set: classes=26\n"
        "  --data-dir DIR    where data sets are (else ENGRAM_DATA)\n",
        NULL},
    &(const eg_verb){
        "bench", eg_verb_bench,
        "[--peer torch] [options]\n"
        "--generator NAME [--peer torch | --layers] [options]\n"
        "--layers | --norms | --convs | --data [options]\n",
        "measure training and evaluation speed",
        "  --peer torch      PyTorch beside it, after tools/setup torch\n"
        "  --layers          every step of one network: kernel, time, GFLOP/s\n"
        "  --norms           a gradient norm for every sample, against a training step\n"
        "  --convs           the convolutions of generators and critics, each pass alone\n"
        "  --data            what making batches costs\n"
        "  --model NAME      this network alone, by name or experiment file\n"
        "  --generator NAME  the training steps of one that draws; of acgan also an iteration "
        "of\n"
        "                    FedCIL's client, with rows of replay and consistency\n"
        "  --batch N         samples in a batch\n"
        "  --seconds S       time for each figure (4)\n"
        "  --isa NAME        plain, avx2 or avx512 (the best this machine has)\n"
        "  --json            as JSON\n",
        NULL},
    &(const eg_verb){
        "model", eg_verb_model, "NAME|FILE [options]\n",
        "show a network's tensors; check or write a weight file",
        "FILE is an experiment file, whose network is made for its data unless both --input "
        "and\n"
        "--classes are given.\n\n"
        "  --input CxHxW     shape of an image (1x28x28; of a resnet 3x32x32)\n"
        "  --classes N       outputs (10)\n"
        "  --set 'K=V ...'   options of the network; of a file: a setting, as `run` takes it\n"
        "  --only LABEL      of a file: the network of this run\n"
        "  --data-dir DIR    of a file: where data sets are (else ENGRAM_DATA)\n"
        "  --seed N          of the weights it starts with (0)\n"
        "  --load FILE       read and check a safetensors file\n"
        "  --save FILE       write one\n",
        NULL},
    &(const eg_verb){
        "data", eg_verb_data,
        "list [NAME] [--data-dir DIR]\n"
        "check NAME [options]\n"
        "show NAME [options]\n",
        "list, check and look at data sets",
        "  list              every data set; of one: its options\n"
        "  check             size, samples per class, range, images in both splits, checksum\n"
        "  show              write a contact sheet, ten images a class\n\n"
        "  --data-dir DIR    where the files are (else ENGRAM_DATA, else "
        "~/.local/share/engram)\n"
        "  --set KEY=VALUE   an option of the data set\n"
        "  --seed N          of a generated data set (0)\n"
        "  --out FILE.png    where the sheet goes (NAME.png)\n",
        NULL},
    &(const eg_verb){
        "scenario", eg_verb_scenario, "check|show|digest FILE [options]\n",
        "prove, show or fingerprint who sees what when",
        "  check             every sample is held at most once, tests never train\n"
        "  show              who is at which task when, in the terminal\n"
        "  digest            a fingerprint of the split\n\n"
        "FILE describes a scenario alone or is an experiment, whose settings then apply.\n\n"
        "  --only LABEL      of an experiment: this run's (the first one's)\n"
        "  --set KEY=VALUE   of an experiment: change a setting: scenario.partition.alpha=0.1\n"
        "  --seed N          of the split (0)\n"
        "  --real            labels from the data, not the published counts\n"
        "  --out FILE.svg    of show: a picture too\n",
        NULL},
    &(const eg_verb){
        "list", eg_verb_list,
        "methods|models|generators|data|scenarios|partitioners|metrics|optimisers|ops|\n"
        "            transports|settings\n",
        "list what there is", "`engram help NAME` explains anything in a list.\n", NULL},
    &(const eg_verb){
        "help", eg_verb_help, "[NAME | --markdown]\n",
        "explain a verb or anything that is listed",
        "  --markdown        everything that is listed, with its options, as Markdown\n", NULL},
    NULL,
};
