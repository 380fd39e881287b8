#!/usr/bin/python3
# peer_torch.py - PyTorch's speed on engram's models: the peer of `engram bench --peer torch`.
# SPDX-License-Identifier: Apache-2.0
#
# The first line printed says what the peer is: version, loaded BLAS library, instruction set.
# Then one JSON line for each measurement: the whole table without arguments, one with --model,
# or with --serve one for each line "model batch mode seconds" on standard input, so that the
# caller can measure itself in between. One thread. A model "wgan-gp/critic/1x28" is a training step
# of a generator (torch_generators.py), with Adam, measured in processor time; "acgan/iteration/1x32"
# is one iteration of FedCIL's client. "tiny-yolo" has YOLO's loss of four boxes per image in place of
# cross entropy, and processor time too.
#
# A training step is zero_grad, forward, cross entropy, backward, SGD 0.01; evaluation is the
# forward pass in eval mode without gradients. samples_per_s is from the fastest step (what the
# machine can do, undisturbed), median_samples_per_s from the median one.
import argparse
import json
import os
import re
import sys
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # read when torch loads them
sys.dont_write_bytecode = True

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import torch_generators  # noqa: E402
import torch_models  # noqa: E402

TABLE = [("cnn-small", 32), ("cnn", 10), ("cnn", 32), ("cnn", 64), ("resnet18-thin", 64),
         ("resnet18", 32), ("tiny-yolo-thin", 16), ("tiny-yolo", 16),
         ("tiny-yolo-416", 4)]
WARM_UP = 3
MIN_STEPS = 3


def about():
    """What is measured against. The BLAS is the one mapped into this process."""
    with open("/proc/self/maps") as maps:
        paths = sorted({line.split()[-1] for line in maps if re.search(r"blas|mkl_rt", line)})
    blas = [p for p in paths if p.startswith("/")]
    if not blas:
        kind = "built in"
    elif any("openblas" in p for p in blas):
        kind = "openblas"
    else:
        kind = "mkl" if "mkl" in blas[0] else "blis" if "blis" in blas[0] else "reference"
    config = torch.__config__.show()
    isa = re.search(r"CPU capability usage: (\S+)", config)
    dnnl = re.search(r"MKL-DNN (v[\d.]+)", config)
    return {"peer": "torch", "version": torch.__version__, "blas": kind, "blas_path": blas,
            "onednn": dnnl.group(1) if dnnl else None, "isa": isa.group(1) if isa else None,
            "threads": torch.get_num_threads()}


def make_generator_step(name, batch):
    """One training step of "kind/program/CxS": a generator's, named as engram's programs are."""
    kind, program, shape = name.split("/")
    machine = torch_generators.KINDS[kind](*(int(x) for x in shape.split("x")), 10)
    if program == "iteration":
        return machine.iteration(batch)
    inputs, learner = machine.example(program, batch)
    optimizer = torch.optim.Adam(machine.networks[learner].parameters(), lr=2e-4)
    others = [p for i, n in enumerate(machine.networks) if i != learner for p in n.parameters()]
    for p in others:
        p.requires_grad_(False)  # their gradients are not wanted

    def train():
        optimizer.zero_grad()
        getattr(machine, program)(**inputs).backward()
        optimizer.step()

    return train


def boxes_of(batch, classes, each=4):
    """As many boxes on each image, anywhere within it."""
    size = 0.05 + 0.3 * torch.rand(batch, each, 2)
    middle = size / 2 + (1 - size) * torch.rand(batch, each, 2)
    return torch.cat((torch.randint(classes, (batch, each, 1)).float(), middle, size), 2)


def make_step(name, batch, mode):
    """One step of a new model on random data, as a function without arguments."""
    if "/" in name:
        return make_generator_step(name, batch)
    model, shape = torch_models.build(name)
    model.train(mode == "train")
    x = torch.randn(batch, *shape)
    boxes = hasattr(model, "loss")
    labels = boxes_of(batch, model.classes) if boxes else torch.randint(torch_models.CLASSES, (batch,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def train():
        optimizer.zero_grad()
        (model.loss(model(x), labels) if boxes else F.cross_entropy(model(x), labels)).backward()
        optimizer.step()

    def evaluate():
        with torch.no_grad():
            model(x)

    return train if mode == "train" else evaluate


def measure(name, batch, mode, seconds):
    step = make_step(name, batch, mode)
    own = "/" in name or name.startswith("tiny-yolo")
    clock = time.process_time if own else time.perf_counter
    for _ in range(WARM_UP):
        step()
    times = []
    end = clock() + seconds
    while len(times) < MIN_STEPS or clock() < end:
        begin = clock()
        step()
        times.append(clock() - begin)
    times.sort()
    median = times[len(times) // 2]
    return {"model": name, "batch": batch, "mode": mode,
            "samples_per_s": round(batch / times[0], 2),
            "median_samples_per_s": round(batch / median, 2),
            "step_s": round(times[0], 9), "median_step_s": round(median, 9),
            "steps": len(times)}


def answer(line):
    """The reply to one line of --serve; what is wrong with it, if anything is."""
    try:
        name, batch, mode, seconds = line.split()
        batch, seconds = int(batch), float(seconds)
        known = name in torch_models.MODELS or name.split("/")[0] in torch_generators.KINDS
        if not known or mode not in ("train", "eval") or batch < 1:
            raise ValueError
    except ValueError:
        return {"error": f"'{line.strip()}' is not 'model batch train|eval seconds'"}
    return measure(name, batch, mode, seconds)


def say(record):
    print(json.dumps(record), flush=True)


def main():
    parser = argparse.ArgumentParser(description="PyTorch's speed on engram's models")
    parser.add_argument("--model", choices=sorted(torch_models.MODELS))
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--mode", choices=("train", "eval"), default="train")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--serve", action="store_true", help="answer lines of standard input")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    say(about())
    if args.serve:
        for line in iter(sys.stdin.readline, ""):
            say(answer(line))
    elif args.model:
        say(measure(args.model, args.batch, args.mode, args.seconds))
    else:
        for name, batch in TABLE:
            for mode in ("train", "eval"):
                say(measure(name, batch, mode, args.seconds))


if __name__ == "__main__":
    main()
