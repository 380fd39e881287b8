#!/usr/bin/python3
# golden.py - golden values from PyTorch for engram's tests: writes tests/golden/*.json.
# SPDX-License-Identifier: Apache-2.0
#
#   tools/golden.py            writes every file that a pattern names (default: all)
#   tools/golden.py --check    computes them again and compares with the files
#   tools/golden.py --double   also runs everything in double and prints the gaps to float
#
# Needs Debian's python3-torch. Values are those of the float run; its last digits depend on the
# machine and the BLAS, which is why --check and the C tests compare within tolerances.
#
# The formula (tests/golden_formula.h has it in C). With 32-bit unsigned arithmetic,
#   x = j * 2654435761 + t * 40503 + 12345; x ^= x >> 16; x *= 2246822519; x ^= x >> 13;
#   x *= 3266489917; x ^= x >> 16; h(t, j) = x >> 8; v(t, j) = 2 (h / 2^24 - 0.5)
# v is exact in float. Element j of stream t is then base + scale * v in float, two roundings.
#   weights and biases  t = place among the trained tensors in PyTorch's order, from 0;
#                       base 0, scale 1/sqrt(fan_in of the layer)
#   batch norm          weight base 1, scale 0.1; bias base 0, scale 0.1, t as above;
#                       running mean 0, running variance 1 (scale 0)
#   inputs              t = 1000 + step, base 0, scale 1: a new batch for every step from 0
#   labels              t = 2000 + step: h mod classes
#   dropout masks       t = 3000 + step (channels [n, 20]), 4000 + step ([n, 50]):
#                       2 where h is even, else 0 (p = 0.5)
#
# A file <model>-<run>.json holds
#   model, run, optimizer (kind, lr, momentum, weight_decay), batch, sample (its shape), classes,
#   losses[steps]         the loss before each update
#   losses_double[steps]  the same in double, where the file was made with --double
#   tensors[]             name, shape, t, base, scale (the initial values), and after the last
#                         step norm (L2) and at: the entries floor(k * size / 64), k < 64, or
#                         all of a smaller tensor. t is -1 for running statistics.
# ops.json is described in golden_ops.py.
import argparse
import fnmatch
import json
import math
import os
import sys

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"  # sums in one order

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import golden_ops  # noqa: E402
import torch_models  # noqa: E402
from golden_formula import formula_hash, formula_value  # noqa: E402

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "golden")
CLASSES = torch_models.CLASSES
N_ENTRIES = 64
LIMIT = 100_000  # bytes a file

# What the C tests allow; --check and the float-to-double gaps have to stay well below.
LOSS_GAP, TENSOR_GAP = 1e-4, 1e-3

SGD = {"kind": "sgd", "lr": 0.05, "momentum": 0.0, "weight_decay": 0.0}
OPTIMIZERS = {
    "sgd": SGD,
    "momentum": dict(SGD, momentum=0.9, weight_decay=5e-4),
    "adam": {"kind": "adam", "lr": 1e-3, "momentum": 0.0, "weight_decay": 1e-4},
    "adamw": {"kind": "adamw", "lr": 1e-3, "momentum": 0.0, "weight_decay": 0.01},
}


def runs():
    """(model, run, optimizer, batch, steps) of every file."""
    for model in ("mlp", "cnn"):
        for name, optimizer in OPTIMIZERS.items():
            yield model, name, optimizer, 32, 10
    yield "cnn-small", "sgd", dict(SGD, lr=0.01), 32, 10
    for model in ("resnet18-thin", "resnet18"):
        yield model, "sgd", dict(SGD, lr=0.001), 32, 10
        yield model, "adam", dict(OPTIMIZERS["adam"], weight_decay=0.0), 32, 2


def make_optimizer(o, parameters):
    if o["kind"] == "sgd":
        return torch.optim.SGD(parameters, o["lr"], o["momentum"], weight_decay=o["weight_decay"])
    kind = torch.optim.Adam if o["kind"] == "adam" else torch.optim.AdamW
    return kind(parameters, o["lr"], weight_decay=o["weight_decay"])


def first_values(model):
    """{name: (t, base, scale)} of every tensor, scale as a float's value."""
    fan_in, norms = {}, set()
    for name, module in model.named_modules():
        if isinstance(module, (torch.nn.Linear, torch.nn.Conv2d)):
            fan_in[name] = module.weight[0].numel()
        elif isinstance(module, torch.nn.BatchNorm2d):
            norms.add(name)
    values = {}
    for t, (name, _) in enumerate(model.named_parameters()):
        layer, kind = name.rsplit(".", 1)
        if layer in norms:
            values[name] = (t, 1.0 if kind == "weight" else 0.0, float(np.float32(0.1)))
        else:
            values[name] = (t, 0.0, float(np.float32(1 / math.sqrt(fan_in[layer]))))
    for name, _ in model.named_buffers():
        if not name.endswith("num_batches_tracked"):
            values[name] = (-1, 1.0 if name.endswith("var") else 0.0, 0.0)
    return values


def stream(t, shape, base=0.0, scale=1.0):
    size = int(np.prod(shape))
    return torch.from_numpy(formula_value(t, size, base, scale).reshape(shape))


def mask(t, shape):
    h = formula_hash(t, int(np.prod(shape)))
    return torch.from_numpy(np.where(h % 2 == 0, 2, 0).astype(np.float32).reshape(shape))


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
        if model_name == "cnn-small":
            model.masks = (mask(3000 + step, (batch, 20)).to(dtype),
                           mask(4000 + step, (batch, 50)).to(dtype))
        update.zero_grad()
        loss = F.cross_entropy(model(x), labels)
        loss.backward()
        update.step()
        losses.append(loss.item())
    state = model.state_dict()
    return losses, {name: state[name].double().numpy() for name in start}, start


def entries(size):
    return range(size) if size <= N_ENTRIES else [k * size // N_ENTRIES for k in range(N_ENTRIES)]


def digits(x):
    return float(f"{x:.9g}")


def short(x):
    """The shortest decimal that gives the same float, at most 9 digits."""
    return float(str(np.float32(x)))


def summary(name, value, start):
    t, base, scale = start
    flat = value.ravel()
    return {"name": name, "shape": list(value.shape), "t": t, "base": base,
            "scale": digits(scale), "norm": digits(np.linalg.norm(flat)),
            "at": [short(flat[i]) for i in entries(flat.size)]}


def relative(a, b):
    """L2 distance of a to b over the norm of b."""
    a, b = np.asarray(a, np.float64).ravel(), np.asarray(b, np.float64).ravel()
    return float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30))


def record(model, run, optimizer, batch, steps, double):
    """The content of a file; prints the gaps between float and double when asked to."""
    losses, values, start = train(model, optimizer, batch, steps, torch.float32)
    out = {"model": model, "run": run, "optimizer": optimizer, "batch": batch,
           "sample": list(torch_models.MODELS[model][1]), "classes": CLASSES,
           "losses": losses, "tensors": [summary(n, v, start[n]) for n, v in values.items()]}
    if double:
        losses64, values64, _ = train(model, optimizer, batch, steps, torch.float64)
        out["losses_double"] = losses64
        loss_gap = max(abs(a - b) for a, b in zip(losses, losses64))
        gap, worst = max((relative(values[n], values64[n]), n) for n in values)
        print(f"{model:14} {run:9} {losses[0]:8.4f} {losses[-1]:8.4f} {loss_gap:9.1e} "
              f"{LOSS_GAP / max(loss_gap, 1e-30):8.0f}x {gap:9.1e} {TENSOR_GAP / gap:8.0f}x "
              f"{worst}", flush=True)
    return out


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
            bad.append(f"{name}: {b['name']} differs by {relative(b['at'], a['at']):.1e}")
    return bad


def write(path, content):
    text = json.dumps(content, separators=(",", ":")) + "\n"
    text = text.replace('{"name"', '\n{"name"').replace('{"op"', '\n{"op"')
    if len(text) > LIMIT:
        sys.exit(f"{path}: {len(text)} bytes are more than {LIMIT}")
    with open(path, "w") as f:
        f.write(text)
    print(f"{os.path.relpath(path)}: {len(text)} bytes")


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
    parser.add_argument("pattern", nargs="*", default=["*"], help="files, as in 'cnn-*' or 'ops'")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--double", action="store_true", help="run in double as well")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.double:
        print(f"{'model':14} {'run':9} {'loss 0':>8} {'last':>8} {'loss gap':>9} {'margin':>9} "
              f"{'tensor gap':>10} {'margin':>8} worst tensor")
    bad, seen = [], 0
    for model, run, optimizer, batch, steps in runs():
        name = f"{model}-{run}"
        if any(fnmatch.fnmatch(name, p) for p in args.pattern):
            content = record(model, run, optimizer, batch, steps, args.double)
            bad += settle(name, content, args.check, compare)
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
