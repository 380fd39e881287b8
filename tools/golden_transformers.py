#!/usr/bin/python3
# golden_transformers.py - values of DeiT-Tiny's own weights, of a prompt's and of low-rank factors'
# gradients, and of methods with prompts in a small network, from PyTorch, for engram's tests.
# SPDX-License-Identifier: Apache-2.0
#
#   tools/golden_transformers.py         writes tests/golden/prompts.json and texts.json
#   tools/golden_transformers.py FILE    of timm's deit_tiny_patch16_224 as safetensors: writes
#                                        tests/golden/deit-tiny.json too
#
# DeiT-Tiny's images are 32x32, from the formula of golden_formula.py, and scaled to 224 within the
# network; the gradients are of the sum of squares of the features. Of the methods there are the
# loss, with what they add to it, the features, and the gradients of all that is trained.
import json
import os
import struct
import sys

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"
sys.dont_write_bytecode = True

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import golden  # noqa: E402
import torch_models  # noqa: E402
from golden_formula import digits, entries, formula_hash, short, stream  # noqa: E402

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "golden")
IMAGES, PROMPTS, RANK, ALPHA = 20, 3, 2, 4

# Rows of the methods' batch, and the tasks that each may be of; the tasks met.
ROWS, WIDTH, CLASSES = 5, 40, 10
GAIN = 4.0  # on the first values of linear layers, so that images choose different prompts
OPEN = [[0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 0, 1], [1, 0, 0]]
MET = [1, 1, 0]


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


def encode(model, tokens, prefixes):
    """What the blocks make of tokens, with keys and values [n, m, 2 w] beside those of some."""
    for i, block in enumerate(model.blocks):
        tokens = block(tokens, prefixes.get(i))
    return model.norm(tokens)


def l2p(model, x, given):
    """6 prompts of 3 tokens, the best 2 of each image, keys pulled by 0.5."""
    prompt, key = given("l2p.prompt", (6, 3, WIDTH)), given("l2p.key", (6, WIDTH))
    query = encode(model, model.tokens(x), {})[:, 0].detach()
    rows, pull = [], 0
    for i in range(ROWS):
        near = torch.stack([F.cosine_similarity(query[i], k, dim=0) for k in key])
        best = near.argsort(descending=True)[:2]
        pull = pull + near[best].sum() / ROWS
        tokens = torch.cat((prompt[best].reshape(1, 6, WIDTH), model.tokens(x[i:i + 1])), 1)
        rows.append(encode(model, tokens, {})[:, :6].mean(1))
    return torch.cat(rows), -0.5 * pull


def l2p_batch(model, x, given):
    """The same with the 2 prompts that most images of the batch would choose."""
    prompt, key = given("l2p.prompt", (6, 3, WIDTH)), given("l2p.key", (6, WIDTH))
    query = encode(model, model.tokens(x), {})[:, 0].detach()
    near = F.normalize(query, dim=1) @ F.normalize(key, dim=1).T
    votes = torch.bincount(near.topk(2, 1).indices.ravel(), minlength=6)
    best = sorted(range(6), key=lambda k: (-int(votes[k]), k))[:2]
    chosen = prompt[best].reshape(1, 6, WIDTH).expand(ROWS, -1, -1)
    tokens = encode(model, torch.cat((chosen, model.tokens(x)), 1), {})
    return tokens[:, :6].mean(1), -0.5 * near[:, best].sum() / ROWS


def dualprompt(model, x, given):
    """3 tasks; 2 keys and values for all in the first block, 3 of each task's in the second."""
    general = given("dualprompt.general", (1, 1, 2, 2 * WIDTH))
    expert = given("dualprompt.expert", (3, 1, 3, 2 * WIDTH))
    key = given("dualprompt.key", (3, WIDTH))
    query = encode(model, model.tokens(x), {})[:, 0].detach()
    rows, pull = [], 0
    for i in range(ROWS):
        near = [F.cosine_similarity(query[i], k, dim=0) for k in key]
        task = max((t for t in range(3) if OPEN[i][t]), key=lambda t: float(near[t]))
        pull = pull + near[task] / ROWS
        tokens = model.tokens(x[i:i + 1])
        rows.append(encode(model, tokens, {0: general[0], 1: expert[task]})[:, 0])
    return torch.cat(rows), -pull


def coda_prompt(model, x, given, ortho=0.1):
    """6 components for 3 tasks, of which 2 were met; 2 keys and values in both blocks."""
    query = encode(model, model.tokens(x), {})[:, 0].detach()
    prefixes, off = {}, 0
    for b in range(2):
        parts = given(f"coda_prompt.component.{b}", (6, 2 * 2 * WIDTH))[:4]
        key = given(f"coda_prompt.key.{b}", (6, WIDTH))[:4]
        attention = given(f"coda_prompt.attention.{b}", (6, WIDTH))[:4]
        asked = torch.einsum("bd,kd->bkd", query, attention)
        weight = torch.einsum("bkd,kd->bk", F.normalize(asked, dim=2), F.normalize(key, dim=1))
        prefixes[b] = torch.einsum("bk,kl->bl", weight, parts).reshape(ROWS, 2, 2 * WIDTH)
        for rows in (parts, key, attention):
            off = off + ((rows @ rows.T - torch.eye(4)) ** 2).mean()
    return encode(model, model.tokens(x), prefixes)[:, 0], ortho * off


def prompted(name, method, scale):
    """One method's record: its tensors' streams are 500, 501, ... in the order of asking."""
    model, sample = torch_models.build("vit")
    first, tensors = {}, {}
    for n, (t, base, size) in golden.first_values(model).items():
        gain = GAIN if n.startswith("blocks.") and "norm" not in n else 1.0
        first[n] = (t, base, float(np.float32(gain * size)))
    state = model.state_dict()
    with torch.no_grad():
        for tensor, (t, base, size) in first.items():
            state[tensor].copy_(stream(t, tuple(state[tensor].shape), base, size))
    for p in model.parameters():
        p.requires_grad_(False)
    for p in model.head.parameters():
        p.requires_grad_(True)

    def given(tensor, shape):
        if tensor not in tensors:
            value = stream(500 + len(tensors), shape, scale=scale).requires_grad_()
            tensors[tensor] = (500 + len(tensors), value)
        return tensors[tensor][1]

    x = stream(1000, (ROWS,) + sample)
    labels = torch.from_numpy((formula_hash(2000, ROWS) % CLASSES).astype(np.int64))
    features, more = method(model, x, given)
    loss = F.cross_entropy(model.head(features), labels) + more
    loss.backward()
    gradients = [dict(summary(n, v.grad), t=t, scale=digits(scale))
                 for n, (t, v) in tensors.items()]
    gradients += [dict(summary("head." + n, v.grad), t=first["head." + n][0],
                       scale=digits(first["head." + n][2]))
                  for n, v in model.head.named_parameters()]
    frozen = [{"name": n, "t": t, "base": b, "scale": digits(s)}
              for n, (t, b, s) in first.items() if not n.startswith("head.")]
    return {"method": name, "loss": digits(loss.item()), "more": digits(float(more)),
            "features": summary("features", features), "frozen": frozen,
            "gradients": gradients}


def write_prompts():
    half = float(np.float32(0.5))
    records = [prompted("l2p", l2p, 1.0), prompted("l2p", l2p_batch, 1.0),
               prompted("dualprompt", dualprompt, 1.0),
               prompted("coda_prompt", coda_prompt, half),
               prompted("coda_prompt", lambda *of: coda_prompt(*of, ortho=0.0), half)]
    with open(os.path.join(FOLDER, "prompts.json"), "w") as f:
        text = json.dumps({"runs": records}, separators=(",", ":"))
        f.write(text.replace('{"name"', '\n{"name"') + "\n")


# Hugging Face's names of a block's layers: query, key, value, out, norm, two linear layers, norm.
NAMES = {
    "distilbert": ("distilbert", "transformer.layer", "attention.q_lin attention.k_lin "
                   "attention.v_lin attention.out_lin sa_layer_norm ffn.lin1 ffn.lin2 "
                   "output_layer_norm"),
    "bert-base": ("bert", "encoder.layer", "attention.self.query attention.self.key "
                  "attention.self.value attention.output.dense attention.output.LayerNorm "
                  "intermediate.dense output.dense output.LayerNorm"),
}
LENGTHS, MOST, PIECES, TEXT_WIDTH, TEXT_HEADS, TEXT_HIDDEN = (7, 4, 1, 5), 7, 40, 16, 2, 24


def texts(preset):
    """The record of a network of two blocks on four texts; it drops nothing."""
    root, layer, parts = NAMES[preset]
    parts, tensors, w = parts.split(), {}, TEXT_WIDTH

    def get(name, shape, base=0.0, scale=0.3):
        if name not in tensors:
            scale = float(np.float32(scale))
            value = stream(700 + len(tensors), shape, base, scale).requires_grad_()
            tensors[name] = (700 + len(tensors), base, scale, value)
        return tensors[name][3]

    def linear(name, x, out):
        weight = get(name + ".weight", (out, x.shape[-1]))
        return F.linear(x, weight, get(name + ".bias", (out,)))

    def norm(name, x):
        weight = get(name + ".weight", (w,), 1.0, 0.1)
        return F.layer_norm(x, (w,), weight, get(name + ".bias", (w,), 0.0, 0.1), 1e-12)

    n = len(LENGTHS)
    ids = torch.from_numpy((formula_hash(1000, n * MOST) % PIECES).astype(np.int64))
    rows = []
    for i, length in enumerate(LENGTHS):  # one by one, cut to its length: no masks
        own = ids.reshape(n, MOST)[i, :length]
        h = get(f"{root}.embeddings.word_embeddings.weight", (PIECES, w))[own]
        h = h + get(f"{root}.embeddings.position_embeddings.weight", (9, w))[:length]
        if preset == "bert-base":
            h = h + get(f"{root}.embeddings.token_type_embeddings.weight", (2, w))[0]
        h = norm(f"{root}.embeddings.LayerNorm", h)
        for b in range(2):
            at = [f"{root}.{layer}.{b}.{part}" for part in parts]
            q, k, v = (linear(at[j], h, w).reshape(length, TEXT_HEADS, -1).transpose(0, 1)
                       for j in range(3))
            scores = (q @ k.transpose(1, 2) / (w // TEXT_HEADS) ** 0.5).softmax(-1)
            read = (scores @ v).transpose(0, 1).reshape(length, w)
            h = norm(at[4], h + linear(at[3], read, w))
            h = norm(at[7], h + linear(at[6], F.gelu(linear(at[5], h, TEXT_HIDDEN)), w))
        rows.append(h[0])
    features = torch.stack(rows)
    labels = torch.from_numpy((formula_hash(2000, n) % CLASSES).astype(np.int64))
    loss = F.cross_entropy(linear("classifier", features, CLASSES), labels)
    loss.backward()
    return {"preset": preset, "loss": digits(loss.item()),
            "features": summary("features", features),
            "gradients": [dict(summary(name, v.grad), t=t, base=base, scale=digits(scale))
                          for name, (t, base, scale, v) in tensors.items()]}


def write_texts():
    with open(os.path.join(FOLDER, "texts.json"), "w") as f:
        text = json.dumps({"runs": [texts(p) for p in NAMES]}, separators=(",", ":"))
        f.write(text.replace('{"name"', '\n{"name"') + "\n")


def main():
    torch.set_num_threads(1)
    write_prompts()
    write_texts()
    if len(sys.argv) < 2:
        return
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
    out = os.path.join(FOLDER, "deit-tiny.json")
    text = json.dumps({"logits": rows, "gradients": gradients}, separators=(",", ":"))
    with open(out, "w") as f:
        f.write(text.replace('{"name"', '\n{"name"') + "\n")


if __name__ == "__main__":
    main()
