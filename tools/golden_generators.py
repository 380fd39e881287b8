# golden_generators.py - single training steps of generators, for tests/golden/<kind>-<side>.json.
# SPDX-License-Identifier: Apache-2.0
#
# A file holds
#   kind, options, shape [c, h, w], classes   what engram makes
#   learners[]     for each network its tensors: name, t, base, scale (see golden.py)
#   steps[]        program (what engram calls the step), learner (whose gradient it takes), batch,
#                  inputs (name, size, t, base, scale, and mod: whole numbers below it, if not 0),
#                  loss, gap (float against double: of the loss, and the largest relative L2
#                  distance of a gradient), floor (a hundredth of the largest gradient's norm,
#                  which is added to each one's: a bias before batch norm has a gradient of zero),
#                  and grads: name, norm, at (as in golden.py)
#   draw           n drawings of noise from the Philox stream (seed, 0, 0, noise), in eval form, with
#                  labels 0, 1, ...: gap (of the largest pixel) and at, the entries of all of them
# Every step begins with the same weights and statistics.
import math

import torch
from torch import nn

import scenario_base
import torch_generators
import torch_methods
from golden_formula import digits, entries, formula_hash, relative, short, stream

LOSS_GAP, GRAD_GAP = 1e-4, 1e-4  # what the C tests allow


def wgan_inputs(batch, shape):
    return {"critic": {"real": ((batch, *shape), 1000, 0, 1, 0), "noise": ((batch, 100), 1001, 0, 1.7, 0),
                       "share": ((batch,), 1002, 0.5, 0.5, 0)},
            "fool": {"noise": ((batch, 100), 1003, 0, 1.7, 0)}}


def acgan_inputs(batch, shape):
    return {"critic": {"now": ((batch, *shape), 1000, 0, 1, 0),
                       "labels of now": ((batch,), 1001, 0, 0, CLASSES),
                       "drawn": ((batch, *shape), 1002, 0, 1, 0),
                       "labels of drawn": ((batch,), 1003, 0, 0, CLASSES)},
            "fool": {"noise": ((batch, 100), 1004, 0, 1.7, 0),
                     "labels": ((batch,), 1005, 0, 0, CLASSES)}}


def ddpm_inputs(batch, shape, width=8):
    return {"denoise": {"noisy": ((batch, *shape), 1000, 0, 1.5, 0), "time": ((batch, width), 1001, 0, 1, 0),
                        "noise": ((batch, *shape), 1002, 0, 1.7, 0)}}


# name: kind, options that both sides get, the batch and the image, inputs of every step and
# which network's gradient it takes
CASES = {
    "acgan-8": ("acgan", {"width": 8}, 4, (1, 8, 8), acgan_inputs, {"critic": 1, "fool": 0}),
    "acgan-32": ("acgan", {"width": 8}, 4, (3, 32, 32), acgan_inputs, {"critic": 1, "fool": 0}),
    "ddpm-8": ("ddpm", {"width": 8, "steps": 50, "sample_steps": 1}, 4, (1, 8, 8), ddpm_inputs, {"denoise": 1}),
    "ddpm-16": ("ddpm", {"width": 8, "multipliers": "1,2", "blocks": 2, "steps": 50,
                          "sample_steps": 3}, 4,
                (3, 16, 16), ddpm_inputs, {"denoise": 1}),
    "wgan-gp-8": ("wgan-gp", {"width": 8}, 4, (1, 8, 8), wgan_inputs, {"critic": 1, "fool": 0}),
    "wgan-gp-28": ("wgan-gp", {}, 4, (1, 28, 28), wgan_inputs, {"critic": 1, "fool": 0}),
}
CLASSES = 10
N_DRAWN, DRAW_SEED = 3, 5
FOR_NOISE = 11  # the purpose of the stream, as in engram/rng.h


def first_values(number, network):
    """{name: (t, base, scale)} of every tensor of a network."""
    values, norms = {}, set()
    for name, module in network.named_modules():
        if isinstance(module, (nn.BatchNorm2d, nn.InstanceNorm2d, nn.GroupNorm)):
            norms.add(name)
    for t, (name, p) in enumerate(network.named_parameters()):
        layer, kind = name.rsplit(".", 1)
        if layer in norms:
            start = (1.0 if kind == "weight" else 0.0, 0.1)
        else:
            start = (0.0, digits(1 / math.sqrt(p[0].numel())))
        values[name] = (100 * number + t, *start)
    for name, _ in network.named_buffers():
        if not name.endswith("num_batches_tracked"):
            values[name] = (-1, 1.0 if name.endswith("var") else 0.0, 0.0)
    return values


def fill(t, shape, base, scale, mod):
    if mod:
        return torch.from_numpy((formula_hash(t, math.prod(shape)) % mod).reshape(shape).astype("f4"))
    return stream(t, shape, base, scale)


def prepare(case, dtype):
    """The kind with its first values."""
    kind, options, _, shape, _, _ = case
    kinds = {**torch_generators.KINDS, **torch_methods.KINDS}
    machine = kinds[kind](shape[0], shape[1], CLASSES, **options)
    for i, network in enumerate(machine.networks):
        state = network.state_dict()
        with torch.no_grad():
            for name, (t, base, scale) in first_values(i, network).items():
                state[name].copy_(stream(t, tuple(state[name].shape), base, scale))
        network.to(dtype)
    return machine


def take(case, program, learner, inputs, dtype):
    """The loss of one step, and {name: gradient}."""
    machine = prepare(case, dtype)
    step = getattr(machine, program.replace(" ", "_"))
    loss = step(**{n: fill(*given_as(i)).to(dtype) for n, i in inputs.items()})
    network = machine.networks[learner]
    grads = torch.autograd.grad(loss, list(network.parameters()), allow_unused=True)
    names = [name for name, _ in network.named_parameters()]
    return loss.item(), {n: g.double().numpy() for n, g in zip(names, grads) if g is not None}


def given_as(described):
    shape, t, base, scale, mod = described
    return t, shape, base, scale, mod


def record_step(case, program, learner, inputs):
    loss, grads = take(case, program, learner, inputs, torch.float32)
    exact, exact_grads = take(case, program, learner, inputs, torch.float64)
    norms = {n: relative(g, 0 * g, 1) for n, g in exact_grads.items()}
    floor = 1e-2 * max(norms.values())
    return {"program": program, "learner": learner, "batch": case[2],
            "inputs": [{"name": n, "size": math.prod(shape), "t": t, "base": base, "scale": scale,
                        "mod": mod} for n, (shape, t, base, scale, mod) in inputs.items()],
            "loss": exact,
            "gap": {"loss": abs(loss - exact),
                    "grad": max(relative(grads[n], g, norms[n] + floor)
                                for n, g in exact_grads.items())},
            "floor": digits(floor),
            "grads": [{"name": n, "norm": digits(norms[n]),
                       "at": [short(g.ravel()[i]) for i in entries(g.size)]}
                      for n, g in exact_grads.items()]}


def drawings(case, dtype):
    machine = prepare(case, dtype)
    noise = scenario_base.Rng(DRAW_SEED, 0, 0, FOR_NOISE)
    noise = [noise.normal() for _ in range(N_DRAWN * machine.n_noise)]
    machine.networks[0].eval()
    with torch.no_grad():
        noise = torch.tensor(noise, dtype=torch.float32).to(dtype)
        return machine.draw(noise.reshape(N_DRAWN, -1), torch.arange(N_DRAWN)).double().numpy()


def record_draw(case):
    images = drawings(case, torch.float64)
    return {"n": N_DRAWN, "seed": DRAW_SEED,
            "gap": digits(abs(drawings(case, torch.float32) - images).max()),
            "at": [short(images.ravel()[i]) for i in entries(images.size)]}


def record_steps(case):
    """All of a file but drawings."""
    kind, options, batch, shape, inputs, learners = case
    machine = prepare(case, torch.float32)
    text = "".join(f" {k}={v}" for k, v in options.items())
    return {"kind": kind, "options": f"batch={batch}{text}", "shape": list(shape), "classes": CLASSES,
            "learners": [[{"name": n, "t": t, "base": base, "scale": scale}
                          for n, (t, base, scale) in first_values(i, network).items()]
                         for i, network in enumerate(machine.networks)],
            "steps": [record_step(case, program, learners[program], given)
                      for program, given in inputs(batch, shape).items()]}


def record(case):
    return {**record_steps(case), "draw": record_draw(case)}


def report_steps(name, content):
    for step in content["steps"]:
        loss, grad = max(step["gap"]["loss"], 1e-30), max(step["gap"]["grad"], 1e-30)
        print(f"{name:14} {step['program']:9} {loss:9.1e} {LOSS_GAP / loss:7.0f}x "
              f"{grad:10.1e} {GRAD_GAP / grad:7.0f}x")


def report(name, content):
    report_steps(name, content)
    gap = max(content["draw"]["gap"], 1e-30)
    print(f"{name:14} {'draw':9} {gap:9.1e} {LOSS_GAP / gap:7.0f}x")


def compare_steps(name, new, old):
    """Complaints about a file, within a tenth of what the C tests allow."""
    for key in ("kind", "options", "shape", "classes", "learners"):
        if new[key] != old.get(key):
            return [f"{name}: {key} is {old.get(key)}, not {new[key]}"]
    bad = []
    for a, b in zip(new["steps"], old["steps"]):
        if a["inputs"] != b["inputs"] or not abs(a["loss"] - b["loss"]) <= LOSS_GAP / 10:
            bad.append(f"{name}: {a['program']} costs {b['loss']}, not {a['loss']}")
        bad += [f"{name}: {a['program']}: {g['name']} differs" for g, h in zip(a["grads"], b["grads"])
                if g["name"] != h["name"]
                or relative(h["at"], g["at"], g["norm"] + a["floor"]) > GRAD_GAP / 10]
    return bad if len(new["steps"]) == len(old["steps"]) else bad + [f"{name}: other steps"]


def compare(name, new, old):
    bad = compare_steps(name, new, old)
    if max(abs(a - b) for a, b in zip(new["draw"]["at"], old["draw"]["at"])) > LOSS_GAP / 10:
        bad.append(f"{name}: drawings differ")
    return bad
