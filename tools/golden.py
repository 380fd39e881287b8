#!/usr/bin/python3
# golden.py - golden values from PyTorch for engram's tests: writes tests/golden/*.json.
# SPDX-License-Identifier: Apache-2.0
#
#   tools/golden.py [PATTERN]...   writes the files so named, as in 'cnn-*' or ops, or all
#   tools/golden.py --check        computes them again and compares with the files
#
# Needs Debian's python3-torch. Values are those of a float run; its last digits depend on the
# machine and the BLAS, which is why --check and the C tests compare within tolerances. When a
# file is written, the run is repeated in double and the gap printed: a run whose gap is not
# well below the tolerances tests nothing. (Double convolutions need a fast BLAS: all files
# take three minutes with libopenblas0-pthread, much longer with the reference BLAS.)
#
# The formula (tests/golden_formula.h has it in C). With 32-bit unsigned arithmetic,
#   x = j * 2654435761 + t * 40503 + 12345; x ^= x >> 16; x *= 2246822519; x ^= x >> 13;
#   x *= 3266489917; x ^= x >> 16; h(t, j) = x >> 8; v(t, j) = 2 (h / 2^24 - 0.5)
# v is exact in float. Element j of stream t is then base + scale * v in float, two roundings.
#   weights and biases  t = place among the trained tensors in PyTorch's order, from 0;
#                       base 0, scale 1/sqrt(fan_in of the layer), 4/sqrt(fan_in) for the
#                       convolutions of a ResNet (see below)
#   batch norm          weight base 1, scale 0.1; bias base 0, scale 0.1, t as above;
#                       running mean 0, running variance 1 (t = -1: scale 0)
#   inputs              t = 1000 + step, base 0, scale 1: a new batch for every step from 0
#   labels              t = 2000 + step: h mod classes
#   dropout masks       t = 3000 + step for the first of a network, 4000 + step for the second:
#                       with p = 1 / d, 0 where h mod d = d - 1, else d / (d - 1)
#
# A file <model>-<run>.json holds
#   model, run, batch, sample (its shape), classes,
#   engram                the model and its options there, if it goes by another name
#   optimizer             kind, lr, momentum, weight_decay
#   losses[steps]         the loss before each update
#   losses_double[steps]  the same when all is computed in double
#   gap                   float against double: largest loss gap, largest relative L2 distance
#                         of a tensor (to its norm) and of an update (to moved)
#   tensors[]             name, shape, t, base, scale (the initial values), and after the last
#                         step norm (L2), moved (L2 distance from the initial values) and at:
#                         the entries floor(k * size / 64), k < 64, or all of a smaller tensor
# ops.json is described in golden_ops.py, the steps of generators in golden_generators.py, those of
# methods in golden_methods.py.
#
# Why these settings. A relu or a maximum that rounding tips the other way changes a gradient
# by up to a percent, and Adam turns the sign of a gradient near zero into a whole step, so hot
# runs differ between PyTorch's own float and double: momentum 0.9 with lr 0.05 on cnn by 4e-3,
# Adam with lr 1e-3 on resnet18 by 1e-2 after two steps. Nor may a run hang on a thread: with
# Adam and lr 1e-4, noise of 2e-6 in the second convolution of cnn, which is what any other
# order of sums makes, moved a loss by 1.0e-4 to 1.6e-4 in 7 of 12 runs of PyTorch itself; with
# lr 3e-5 noise of 5e-6 moved it by 2.7e-5 at most. SGD with lr 0.05 has one such place too: in
# one of 8 runs noise of 2e-6 moved the bias of that convolution by 1.1e-3 of its norm. A ResNet's gradients grow as its
# weights shrink: with scale 1/sqrt(fan_in), ten steps of SGD 0.001 already reach a loss gap of
# 1e-4; with four times that (the same function, thanks to batch norm) 1e-6. Weight decay is so
# strong that a missing one moves a tensor by more than seven times the tolerance. In a ResNet
# most tensors move by less than the tolerance: only the update shows if a gradient is right.
import argparse
import fnmatch
import json
import math
import os
import sys

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"  # sums in one order
sys.dont_write_bytecode = True

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import golden_generators  # noqa: E402
import golden_methods  # noqa: E402
import golden_ops  # noqa: E402
import torch_models  # noqa: E402
from golden_formula import (  # noqa: E402
    digits, entries, formula_hash, formula_value, relative, short, stream)

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "golden")
CLASSES = torch_models.CLASSES
LIMIT = 100_000  # bytes per file

# What the C tests allow; --check and the float-to-double gaps have to stay well below.
LOSS_GAP, TENSOR_GAP = 1e-4, 1e-3

SGD = {"kind": "sgd", "lr": 0.05, "momentum": 0.0, "weight_decay": 0.0}
ADAM = {"kind": "adam", "lr": 1e-4, "momentum": 0.0, "weight_decay": 0.01}
OPTIMIZERS = {
    "sgd": SGD,
    "momentum": dict(SGD, lr=0.02, momentum=0.9, weight_decay=0.05),
    "adam": ADAM,
    "adamw": dict(ADAM, kind="adamw", weight_decay=10.0),
}
MILDER = {"sgd": {"lr": 0.01},  # for cnn
          "adam": {"lr": 3e-5}, "adamw": {"lr": 3e-5, "weight_decay": 30.0}}


def runs():
    """(model, run, optimizer, batch, steps) of every file."""
    for name, optimizer in OPTIMIZERS.items():
        yield "mlp", name, optimizer, 32, 10
        yield "cnn", name, dict(optimizer, **MILDER.get(name, {})), 32, 10
    yield "cnn-small", "sgd", dict(SGD, lr=0.01), 32, 10
    yield "vit", "sgd", dict(SGD, lr=0.02), 10, 10
    yield "pfl-cnn", "sgd", dict(SGD, lr=0.02), 10, 10
    yield "resnet18-thin-stem", "sgd", dict(SGD, lr=0.001), 32, 10
    yield "tiny-yolo-cell", "sgd", dict(SGD, lr=0.005), 32, 10
    for model in ("resnet18-thin", "resnet18"):
        yield model, "sgd", dict(SGD, lr=0.001), 32, 10
        yield model, "adam", dict(ADAM, lr=3e-5, weight_decay=0.0), 32, 2


def make_optimizer(o, parameters):
    if o["kind"] == "sgd":
        return torch.optim.SGD(parameters, o["lr"], o["momentum"],
                               weight_decay=o["weight_decay"])
    kind = torch.optim.Adam if o["kind"] == "adam" else torch.optim.AdamW
    return kind(parameters, o["lr"], weight_decay=o["weight_decay"])


def first_values(model):
    """{name: (t, base, scale)} of every tensor, scale as a float's value."""
    fan_in, norms, batch_norms = {}, set(), False
    for name, module in model.named_modules():
        if isinstance(module, (torch.nn.Linear, torch.nn.Conv2d)):
            fan_in[name] = module.weight[0].numel()
        elif isinstance(module, (torch.nn.BatchNorm2d, torch.nn.LayerNorm)):
            norms.add(name)
            batch_norms |= isinstance(module, torch.nn.BatchNorm2d)
    values = {}
    for t, (name, _) in enumerate(model.named_parameters()):
        layer, _, kind = name.rpartition(".")
        if not layer:  # a token or positions
            values[name] = (t, 0.0, 0.5)
        elif layer in norms:
            values[name] = (t, 1.0 if kind == "weight" else 0.0, float(np.float32(0.1)))
        else:
            gain = 4 if batch_norms and layer != "fc" else 1
            values[name] = (t, 0.0, float(np.float32(gain / math.sqrt(fan_in[layer]))))
    for name, _ in model.named_buffers():
        if not name.endswith("num_batches_tracked"):
            values[name] = (-1, 1.0 if name.endswith("var") else 0.0, 0.0)
    return values


def mask(t, shape, one_in):
    h = formula_hash(t, int(np.prod(shape)))
    kept = np.where(h % one_in == one_in - 1, 0, one_in / (one_in - 1))
    return torch.from_numpy(kept.astype(np.float32).reshape(shape))


def train(model_name, optimizer, batch, steps, dtype):
    """Losses of each step, {name: tensor} at the end, {name: (t, base, scale)} at the start."""
    model, sample = torch_models.build(model_name)
    start = first_values(model)
    state = model.state_dict()
    with torch.no_grad():
        for name, (t, base, scale) in start.items():
            state[name].copy_(stream(t, tuple(state[name].shape), base, scale))
    model.to(dtype)
    update = make_optimizer(optimizer, model.parameters())
    losses = []
    for step in range(steps):
        x = stream(1000 + step, (batch,) + sample).to(dtype)
        labels = torch.from_numpy((formula_hash(2000 + step, batch) % CLASSES).astype(np.int64))
        model.masks = [mask(1000 * (3 + i) + step, (batch,) + shape, one_in).to(dtype)
                       for i, (shape, one_in) in enumerate(torch_models.MASKS.get(model_name, ()))]
        update.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        update.step()
        losses.append(loss.item())
    state = model.state_dict()
    return losses, {name: state[name].double().numpy() for name in start}, start


def summary(name, value, start):
    t, base, scale = start
    flat = value.ravel()
    first = formula_value(t, flat.size, base, scale)
    return {"name": name, "shape": list(value.shape), "t": t, "base": base,
            "scale": digits(scale), "norm": digits(np.linalg.norm(flat)),
            "moved": digits(np.linalg.norm(flat - first)),
            "at": [short(flat[i]) for i in entries(flat.size)]}


def record(model, run, optimizer, batch, steps):
    """The content of a file, as far as a float run gives it, and all values at the end."""
    losses, values, start = train(model, optimizer, batch, steps, torch.float32)
    content = {"model": model, "run": run, "optimizer": optimizer, "batch": batch,
               "sample": list(torch_models.MODELS[model][1]), "classes": CLASSES,
               "losses": losses, "losses_double": [], "gap": {},
               "tensors": [summary(n, v, start[n]) for n, v in values.items()]}
    if model in torch_models.AS_LAYERS:
        name, options = torch_models.AS_LAYERS[model]
        content["engram"] = {"model": name, "options": options}
    return content, values


def add_gaps(content, values):
    """Repeats the run of a file in double."""
    losses, exact, _ = train(content["model"], content["optimizer"], content["batch"],
                             len(content["losses"]), torch.float64)
    content["losses_double"] = losses
    moved = {t["name"]: t["moved"] for t in content["tensors"]}
    tensor, worst = max((relative(values[n], exact[n]), n) for n in exact)
    update = max(relative(values[n], exact[n], moved[n]) for n in exact)
    loss = max(abs(a - b) for a, b in zip(content["losses"], losses))
    content["gap"] = {"loss": float(f"{loss:.2g}"), "tensor": float(f"{tensor:.2g}"),
                      "update": float(f"{update:.2g}")}
    print(f"{content['model']:14} {content['run']:9} {loss:9.1e} {LOSS_GAP / loss:7.0f}x "
          f"{tensor:10.1e} {TENSOR_GAP / tensor:7.0f}x {update:10.1e}  {worst}")


def compare(name, new, old):
    """Complaints about a file, within a tenth of what the C tests allow."""
    for key in ("model", "run", "optimizer", "batch", "sample", "classes"):
        if new[key] != old.get(key):
            return [f"{name}: {key} is {old.get(key)}, not {new[key]}"]
    bad = [f"{name}: loss {i} is {b}, not {a}"
           for i, (a, b) in enumerate(zip(new["losses"], old["losses"]))
           if not abs(a - b) <= LOSS_GAP / 10]
    if len(new["losses"]) != len(old["losses"]) or len(new["tensors"]) != len(old["tensors"]):
        bad.append(f"{name}: another number of losses or tensors")
    for a, b in zip(new["tensors"], old["tensors"]):
        same = all(a[k] == b[k] for k in ("name", "shape", "t", "base", "scale"))
        if not same or len(a["at"]) != len(b["at"]):
            bad.append(f"{name}: {b['name']} is described otherwise")
        elif not (relative(b["norm"], a["norm"]) <= TENSOR_GAP / 10
                  and relative(b["at"], a["at"]) <= TENSOR_GAP / 10):
            bad.append(f"{name}: {b['name']} differs, its norm is {b['norm']}, not {a['norm']}")
    return bad


def write(path, content):
    text = json.dumps(content, separators=(",", ":")) + "\n"
    text = text.replace('{"name"', '\n{"name"').replace('{"op"', '\n{"op"')
    if len(text) > LIMIT:
        sys.exit(f"{path}: {len(text)} bytes are more than {LIMIT}")
    with open(path, "w") as f:
        f.write(text)


def settle(name, content, check, comparison):
    """Writes a file, or compares it with what is there."""
    path = os.path.join(FOLDER, name + ".json")
    if not check:
        write(path, content)
        return []
    if not os.path.exists(path):
        return [f"{name}: no such file"]
    with open(path) as f:
        return comparison(name, content, json.load(f))


def main():
    parser = argparse.ArgumentParser(description="golden values from PyTorch")
    parser.add_argument("pattern", nargs="*", default=["*"],
                        help="files, as in 'cnn-*' or ops")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if not args.check:
        print(f"{'model':14} {'run':9} {'loss gap':>9} {'margin':>8} {'tensor gap':>10} "
              f"{'margin':>8} {'update gap':>10}  worst tensor")
    bad, seen = [], 0
    for model, run, optimizer, batch, steps in runs():
        name = f"{model}-{run}"
        if any(fnmatch.fnmatch(name, p) for p in args.pattern):
            content, values = record(model, run, optimizer, batch, steps)
            if not args.check:
                add_gaps(content, values)
            bad += settle(name, content, args.check, compare)
            seen += 1
    for made_by in (golden_generators, golden_methods):
        for name, case in made_by.CASES.items():
            if any(fnmatch.fnmatch(name, p) for p in args.pattern):
                content = made_by.record(case)
                if not args.check:
                    made_by.report(name, content)
                bad += settle(name, content, args.check, made_by.compare)
                seen += 1
    if any(fnmatch.fnmatch("ops", p) for p in args.pattern):
        bad += settle("ops", golden_ops.cases(), args.check, golden_ops.compare)
        seen += 1
    for line in bad:
        print(line, file=sys.stderr)
    if not seen:
        sys.exit(f"no file is named {' or '.join(args.pattern)}")
    if args.check:
        print(f"{seen} files checked, {len(bad)} differences")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
