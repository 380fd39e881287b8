#!/usr/bin/python3
# draw_torch.py - draws with generators of engram in PyTorch, and compares with engram's drawings.
# SPDX-License-Identifier: Apache-2.0
#
#   tools/draw_torch.py GENERATORS.safetensors DRAWINGS.safetensors [--client C] [--seed N]
#
# DRAWINGS is what `engram generate GENERATORS --out DRAWINGS.safetensors` wrote, with the same
# client and seed. The noise is computed here from the seed: normal numbers of the Philox stream
# (seed, row, 0, noise). Prints the largest difference of a pixel; fails if it exceeds 1e-4.
import argparse
import json
import math
import re
import struct
import sys

sys.dont_write_bytecode = True

import torch  # noqa: E402

import scenario_base  # noqa: E402
import torch_generators  # noqa: E402

FOR_NOISE = 11  # the purpose of the stream, as in engram/rng.h
TOLERANCE = 1e-4


def load(path):
    """{name: tensor} and the notes of a safetensors file of floats."""
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n])
    notes = header.pop("__metadata__", {})
    body = bytearray(data[8 + n:])
    tensors = {}
    for name, t in header.items():
        begin, end = t["data_offsets"]
        values = torch.frombuffer(body[begin:end], dtype=torch.float32)
        tensors[name] = values.reshape(t["shape"]).clone()
    return tensors, notes


def machine_of(notes):
    """The kind with the options and shape that the notes tell."""
    channels, side, _ = (int(x) for x in notes["shape"].split("x"))
    options = re.findall(r"(\w+)=(?:\[([^]]*)\]|(\S*))", notes["options"])
    kind = notes["kind"].replace("_", "-")
    return torch_generators.KINDS[kind](channels, side, int(notes["classes"]),
                                        **{k: number(v or w) for k, v, w in options})


def number(text):
    try:
        return float(text) if "." in text or "e" in text else int(text)
    except ValueError:
        return text


def weights(tensors, client, label):
    """The tensors of a generator, by PyTorch's names."""
    place = f"client{client}." if client >= 0 else ""
    own = f"{place}class{label:.0f}."
    prefix = own if any(name.startswith(own) for name in tensors) else place
    return {name[len(prefix):]: t for name, t in tensors.items()
            if name.startswith(prefix) and not name[len(prefix):].startswith(("client", "class"))}


def main():
    parser = argparse.ArgumentParser(description="the same drawings by PyTorch")
    parser.add_argument("generators")
    parser.add_argument("drawings")
    parser.add_argument("--client", type=int, default=-1)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    tensors, notes = load(args.generators)
    drawn, _ = load(args.drawings)
    machine = machine_of(notes)
    network = machine.networks[0].eval()
    worst = 0.0
    for row, label in enumerate(drawn["labels"].tolist()):
        missing, extra = network.load_state_dict(weights(tensors, args.client, label), strict=False)
        if extra or any(not name.endswith("num_batches_tracked") for name in missing):
            sys.exit(f"row {row}: the names differ: {missing}, {extra}")
        stream = scenario_base.Rng(args.seed, row, 0, FOR_NOISE)
        n = drawn["images"].shape[1]
        noise = torch.tensor([stream.normal() for _ in range(n * machine.n_noise)])
        labels = torch.full((n,), max(label, 0))
        with torch.no_grad():
            images = machine.draw(noise.reshape(n, machine.n_noise), labels)
        worst = max(worst, (images - drawn["images"][row]).abs().max().item())
    print(f"{len(drawn['labels'])} rows, the largest difference of a pixel is {worst:.1e}")
    if not worst <= TOLERANCE or math.isnan(worst):
        sys.exit(1)


if __name__ == "__main__":
    main()
