# golden_methods.py - single training steps of methods that replay drawings, and rounds of
# FedCIL's server, for tests/golden/fedcil-8.json, pfedgrp-8.json, target-8.json and others.
# SPDX-License-Identifier: Apache-2.0
#
# The steps are described in golden_generators.py; the networks are those of torch_methods.py. Two
# steps that are the same but for a pair of equal rows show what a KL divergence adds: that of
# equal rows is zero, and so is its gradient.
#
# fedcil-8.json has "server" beside them: rounds of uploads, each of them averaged and consolidated.
#   seed, options    of the Philox streams (seed, of, draw, test); of both networks and their Adam
#   steps            of each round
#   rounds[]         uploads (client, samples, now, past: labels; tasks: how many have ended;
#                    shift: what is added to the streams of both networks), losses (mean of the
#                    steps: generator, critic), gap (float against double: of losses, of tensors
#                    over their norm) and networks: for each its tensors after the round: name,
#                    norm, at
import torch

import golden_generators
import scenario_base
import torch_methods
from golden_formula import digits, entries, relative, short, stream
from golden_generators import CLASSES, GRAD_GAP, LOSS_GAP, first_values

FOR_TEST = 12  # the purpose of the streams, as in engram/rng.h


def fedcil_inputs(batch, shape):
    def rows(t, word, labels=None):
        images = {word: ((batch, *shape), t, 0, 1, 0)}
        return {**images, labels: ((batch,), t + 1, 0, 0, CLASSES)} if labels else images

    real = {**rows(1000, "x", "labels"), **rows(1010, "fedcil.fakes", "fedcil.fakes labels")}
    past = {**rows(1020, "fedcil.replay", "fedcil.replay labels"),
            **rows(1030, "fedcil.more", "fedcil.more labels")}
    alike = {**rows(1040, "fedcil.any", "fedcil.any labels"), **rows(1050, "fedcil.pair")}
    return {
        "first": real,
        "agreeing": {**real, **alike},
        "agreeing but for c2": {**real, **alike, **rows(1000, "fedcil.pair")},
        "replaying": {**real, **past},
        "replaying and agreeing": {**real, **past, **alike, **rows(1060, "fedcil.agree")},
        "replaying and agreeing but for c1": {**real, **past, **alike, **rows(1020, "fedcil.agree")},
        "lesson": {"noise": ((batch, 100), 1070, 0, 1.7, 0), "labels": ((batch,), 1071, 0, 0, CLASSES)},
        "critic twice": {**rows(1080, "now", "labels of now"), **rows(1082, "drawn", "labels of drawn"),
                         **rows(1084, "past", "labels of past"),
                         **rows(1086, "drawn too", "labels of drawn too")},
    }


def pfedgrp_inputs(batch, shape):
    given = {"x": ((batch, *shape), 1000, 0, 1, 0), "labels": ((batch,), 1001, 0, 0, CLASSES)}
    return {"pulled": {**given, "drawn": ((batch,), 1002, 0, 0, 2)},
            "without drawn rows": {**given, "drawn": ((batch,), -1, 0, 0, 0)}}


def data_free_inputs(kind):
    """A drawing is learned from noise; a client has 8 rows, and 6 drawn ones beside them."""
    past, features, anchors, drawn = torch_methods.DataFree.DRAWN, 128, 12, 6

    def inputs(batch, shape):
        drawing = {"noise": ((batch, torch_methods.DataFree.NOISE), 1000, 0, 1.7, 0)}
        client = {"x": ((batch, *shape), 1010, 0, 1, 0), "labels": ((batch,), 1011, 0, 0, CLASSES),
                  f"{kind}.x": ((drawn, *shape), 1012, 0, 1, 0)}
        if kind == "mfcl":
            client |= {"mfcl.targets": ((batch + drawn,), 1013, 0, 0, CLASSES),
                       "mfcl.head": ((CLASSES, features), 1014, 0, 0.1, 0),
                       "mfcl.batch": ((batch, features), 1015, 0.5, 0.5, 0),
                       "mfcl.drawn": ((drawn, features), 1016, 0.5, 0.5, 0)}
        else:
            drawing["labels"] = ((batch,), 1001, 0, 0, past)
            client[f"{kind}.told"] = ((drawn, CLASSES), 1017, 0, 2, 0)
        if kind == "lander":
            drawing["anchors"] = ((batch, anchors), 1002, 0, 1.7, 0)
            client |= {"lander.anchors": ((batch, anchors), 1018, 0, 1.7, 0),
                       "lander.side": ((drawn, anchors), 1019, 0, 1, 0)}
        return {"drawing": drawing, "client": client}
    return inputs


def glfc_inputs(batch, shape):
    return {"balanced": {"x": ((batch, *shape), 1000, 0, 1, 0), "labels": ((batch,), 1001, 0, 0, CLASSES),
                         "glfc.old": ((batch, 1), 1002, 0, 0, 2),
                         "glfc.told": ((batch, CLASSES), 1003, 0.5, 0.5, 0)}}


SYNTHESIS = {"statistics": 10, "sure": 0.5, "contrast": 1}
OF_DATA_FREE = {"drawing": 0, "client": 1}

CASES = {
    "target-8": ("target", {**SYNTHESIS, "distil": 25}, 8, (3, 8, 8), data_free_inputs("target"),
                 OF_DATA_FREE),
    "lander-8": ("lander", {**SYNTHESIS, "anchor": 5, "bound": 0.015, "new": 0.2, "old": 0.4, "anchors": 12},
                 8, (3, 8, 8), data_free_inputs("lander"), OF_DATA_FREE),
    "mfcl-8": ("mfcl", {"white": True, "sharpness": 2, "even": 3, "statistics": 0.5, "smooth": 2,
                        "head": 1, "distil": 0.1}, 8, (3, 8, 8), data_free_inputs("mfcl"), OF_DATA_FREE),
    "glfc-8": ("glfc", {}, 8, (1, 8, 8), glfc_inputs, {"balanced": 0}),
    "fedcil-8": ("fedcil", {"width": 8}, 8, (1, 8, 8), fedcil_inputs,
                 dict.fromkeys(fedcil_inputs(8, (1, 8, 8)), 1) | {"lesson": 0}),
    "pfedgrp-8": ("pfedgrp", {"pull": 0.3}, 8, (1, 8, 8), pfedgrp_inputs,
                  {"pulled": 0, "without drawn rows": 0}),
}

# Two rounds of the first task, so that Adam goes on, and one of the second, whose past is drawn
# by what the second round sent. A class is seen by one client or by both, or by none.
ROWS, STEPS, SEED = 32, 2, 7
ADAM = {"lr": 1e-3, "beta1": 0.5, "beta2": 0.99, "weight_decay": 1e-2}
DRAW_PLAN, DRAW_ROWS, DRAW_STEPS = range(3)
ROUNDS = [
    [{"client": 0, "samples": 10, "now": [0, 1, 2], "past": [], "tasks": 0, "shift": 200},
     {"client": 3, "samples": 30, "now": [2, 5], "past": [], "tasks": 0, "shift": 400}],
    [{"client": 0, "samples": 10, "now": [0, 1, 2], "past": [], "tasks": 0, "shift": 600},
     {"client": 3, "samples": 30, "now": [2, 5], "past": [], "tasks": 0, "shift": 800}],
    [{"client": 0, "samples": 20, "now": [5, 6], "past": [0, 1, 2], "tasks": 1, "shift": 2000},
     {"client": 3, "samples": 40, "now": [0, 7], "past": [2, 5], "tasks": 1, "shift": 2200}],
]


def fill_network(number, network, shift, dtype):
    state = network.state_dict()
    with torch.no_grad():
        for name, (t, base, scale) in first_values(number, network).items():
            t = t + shift if t >= 0 else t
            state[name].copy_(stream(t, tuple(state[name].shape), base, scale))
    return network.to(dtype)


def sent(case, upload, dtype):
    """The two networks of an upload."""
    networks = golden_generators.prepare(case, dtype).networks
    return [fill_network(i, n, upload["shift"], dtype) for i, n in enumerate(networks)]


class Server:
    """FedCIL's server: what it keeps, and what a round does to its two networks."""

    def __init__(self, case, dtype):
        self.case, self.dtype = case, dtype
        self.machine = golden_generators.prepare(case, dtype)
        self.adams = [torch.optim.Adam(n.parameters(), ADAM["lr"], (ADAM["beta1"], ADAM["beta2"]),
                                       weight_decay=ADAM["weight_decay"]) for n in self.machine.networks]
        self.known, self.kept = set(), {}

    def noise(self, rng, n):
        values = [rng.normal() for _ in range(n * self.machine.n_noise)]
        return torch.tensor(values, dtype=torch.float32).reshape(n, -1).to(self.dtype)

    def labels(self, rng, of, n):
        return torch.tensor([of[rng.below(len(of))] for _ in range(n)])

    def average(self, uploads, networks):
        """Means by samples; a class's outputs over those who have seen it."""
        whole = sum(u["samples"] for u in uploads)
        for i, mine in enumerate(self.machine.networks):
            for name, to in mine.state_dict().items():
                values = [n[i].state_dict()[name] for n in networks]
                if not to.is_floating_point():
                    continue
                mean = sum(u["samples"] / whole * v for u, v in zip(uploads, values))
                for k in range(CLASSES if i == 1 and name.startswith("classes") else 0):
                    seen = [(u["samples"], v) for u, v in zip(uploads, values)
                            if k in u["now"] + u["past"]]
                    if seen:
                        mean[k] = sum(s * v[k] for s, v in seen) / sum(s for s, _ in seen)
                to.copy_(mean)

    def pool(self, uploads, half):
        """Rows of all steps, each by a client that has its label: of now, or of the past."""
        rng = scenario_base.Rng(SEED, half, DRAW_PLAN, FOR_TEST)
        has = [u["past" if half else "now"] for u in uploads]
        of = sorted(set(sum(has, [])))
        if not of:
            return None
        n = STEPS * ROWS
        labels = self.labels(rng, of, n)
        by = []
        for label in labels.tolist():
            givers = [i for i, h in enumerate(has) if label in h]
            by.append(givers[rng.below(len(givers))])
        x = torch.zeros(n, *self.machine.shape, dtype=self.dtype)
        for i, u in enumerate(uploads):
            rows = [k for k in range(n) if by[k] == i]
            rng = scenario_base.Rng(SEED, 2 * u["client"] + half, DRAW_ROWS, FOR_TEST)
            generator = self.kept[u["client"]]["last" if half else "now"].eval()
            x[rows] = generator(self.noise(rng, len(rows)), labels[rows])
        return x, labels

    def draw(self, rng):
        labels = self.labels(rng, sorted(self.known), ROWS)
        return self.machine.networks[0](self.noise(rng, ROWS), labels).detach(), labels

    def step(self, rng, pools, number):
        generator, critic = self.adams
        rows = {}
        for pool, real, drawn in zip(pools, ("now", "past"), ("drawn", "drawn too")):
            x, labels = (p[number * ROWS:(number + 1) * ROWS] for p in pool)
            rows[real], rows[f"labels of {real}"] = x, labels
            rows[drawn], rows[f"labels of {drawn}"] = self.draw(rng)
        loss = (self.machine.critic_twice if len(pools) > 1 else self.machine.critic)(**rows)
        critic.zero_grad()
        loss.backward()
        critic.step()
        labels = self.labels(rng, sorted(self.known), ROWS)
        fooled = self.machine.fool(self.noise(rng, ROWS), labels)
        generator.zero_grad()
        fooled.backward()
        generator.step()
        return fooled.item(), loss.item()

    def round(self, uploads):
        """The mean losses of its steps."""
        networks = [sent(self.case, u, self.dtype) for u in uploads]
        for u, n in zip(uploads, networks):
            before = self.kept.get(u["client"], {})
            ended = before and u["tasks"] != before["tasks"]
            self.kept[u["client"]] = {"now": n[0], "tasks": u["tasks"],
                                      "last": before["now"] if ended else before.get("last")}
            self.known |= set(u["now"]) | set(u["past"])
        with torch.no_grad():
            self.average(uploads, networks)
            pools = [p for p in (self.pool(uploads, 0), self.pool(uploads, 1)) if p]
        rng = scenario_base.Rng(SEED, 0, DRAW_STEPS, FOR_TEST)
        losses = [self.step(rng, pools, i) for i in range(STEPS)]
        return [sum(each) / STEPS for each in zip(*losses)]

    def tensors(self):
        """[{name: values}] of both networks."""
        return [{name: v.double().numpy().copy() for name, v in n.state_dict().items()
                 if v.is_floating_point()} for n in self.machine.networks]


def record_round(uploads, server, exact):
    losses, want = server.round(uploads), exact.round(uploads)
    off = max(relative(a[n], b[n]) for a, b in zip(server.tensors(), exact.tensors())
              for n in b if b[n].any())
    return {"uploads": uploads, "losses": want,
            "gap": {"loss": max(abs(a - b) for a, b in zip(losses, want)), "tensor": off},
            "networks": [[{"name": n, "norm": digits(relative(v, 0 * v, 1)),
                           "at": [short(v.ravel()[i]) for i in entries(v.size)]}
                          for n, v in network.items()] for network in exact.tensors()]}


def record(case):
    content = golden_generators.record_steps(case)
    if case[0] != "fedcil":
        return content
    server, exact = (Server(case, dtype) for dtype in (torch.float32, torch.float64))
    options = "".join(f" {k}={v}" for k, v in {**case[1], **ADAM}.items())
    content["server"] = {"seed": SEED, "steps": STEPS, "options": options.strip(),
                         "rounds": [record_round(r, server, exact) for r in ROUNDS]}
    return content


def report(name, content):
    golden_generators.report_steps(name, content)
    for i, r in enumerate(content.get("server", {"rounds": []})["rounds"]):
        gap = r["gap"]
        print(f"{name:14} {f'round {i}':9} {gap['loss']:9.1e} {LOSS_GAP / gap['loss']:7.0f}x "
              f"{gap['tensor']:10.1e} {GRAD_GAP / gap['tensor']:7.0f}x")


def compare_rounds(name, new, old):
    for key in ("seed", "steps", "options"):
        if new[key] != old.get(key):
            return [f"{name}: {key} is {old.get(key)}, not {new[key]}"]
    bad = []
    for i, (a, b) in enumerate(zip(new["rounds"], old["rounds"])):
        if a["uploads"] != b["uploads"] or relative(b["losses"], a["losses"]) > LOSS_GAP / 10:
            bad.append(f"{name}: round {i} costs {b['losses']}, not {a['losses']}")
        bad += [f"{name}: round {i}: {t['name']} differs"
                for old_tensors, tensors in zip(b["networks"], a["networks"])
                for u, t in zip(old_tensors, tensors)
                if u["name"] != t["name"] or relative(u["at"], t["at"], t["norm"] + 1e-3) > GRAD_GAP / 10]
    return bad if len(new["rounds"]) == len(old["rounds"]) else bad + [f"{name}: other rounds"]


def compare(name, new, old):
    bad = golden_generators.compare_steps(name, new, old)
    if "server" in new:
        bad += compare_rounds(name, new["server"], old.get("server", {}))
    return bad
