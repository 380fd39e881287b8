#!/usr/bin/python3
# golden_transformers.py - values of DeiT-Tiny's own weights, of a prompt's and of low-rank factors'
# gradients, from PyTorch, for engram's tests: writes tests/golden/deit-tiny.json.
# SPDX-License-Identifier: Apache-2.0
#
#   tools/golden_transformers.py FILE    of timm's deit_tiny_patch16_224 as safetensors
#
# Images are 32x32, from the formula of golden_formula.py, and scaled to 224 within the network.
# The gradients are of the sum of squares of the features.
import json
import os
import struct
import sys

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"
sys.dont_write_bytecode = True

import numpy as np  # noqa: E402
import torch  # noqa: E402

import torch_models  # noqa: E402
from golden_formula import digits, entries, short, stream  # noqa: E402

IMAGES, PROMPTS, RANK, ALPHA = 20, 3, 2, 4


def load(path, model):
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    head, state = json.loads(data[8:8 + n]), {}
    for name, t in head.items():
        if name != "__metadata__":
            a, b = t["data_offsets"]
            raw = np.frombuffer(data[8 + n + a:8 + n + b], np.float32)
            state[name] = torch.from_numpy(raw.reshape(t["shape"]).copy())
    model.load_state_dict(state)


def summary(name, value):
    flat = value.detach().double().numpy().ravel()
    return {"name": name, "norm": digits(np.linalg.norm(flat)),
            "at": [short(flat[i]) for i in entries(flat.size)]}


def main():
    torch.set_num_threads(1)
    model, _ = torch_models.build("deit-tiny")
    load(sys.argv[1], model)
    for p in model.parameters():
        p.requires_grad_(False)
    x = stream(1000, (IMAGES, 3, 32, 32))
    logits = model(x)
    rows = [summary(str(i), logits[i]) for i in range(IMAGES)]

    prompt = stream(1, (1, PROMPTS, 192)).requires_grad_()
    tokens = torch.cat((prompt.expand(2, -1, -1), model.tokens(x[:2])), 1)
    features = model.encode(tokens)[:, :PROMPTS].mean(1)
    (features ** 2).sum().backward()
    gradients = [summary("prompt", prompt.grad)]

    a = stream(2, (RANK, 192), scale=0.1).requires_grad_()
    b = stream(3, (576, RANK), scale=0.1).requires_grad_()
    qkv = model.blocks[5].attn["qkv"]
    weight = qkv.weight
    del qkv.weight
    qkv.weight = weight + ALPHA / RANK * (b @ a)
    features = model.encode(model.tokens(x[:2]))[:, 0]
    (features ** 2).sum().backward()
    gradients += [summary("lora.A", a.grad), summary("lora.B", b.grad)]
    out = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "golden",
                       "deit-tiny.json")
    text = json.dumps({"logits": rows, "gradients": gradients}, separators=(",", ":"))
    with open(out, "w") as f:
        f.write(text.replace('{"name"', '\n{"name"') + "\n")


if __name__ == "__main__":
    main()
