# golden_ops.py - PyTorch's conventions, op by op, for tests/golden/ops.json.
# SPDX-License-Identifier: Apache-2.0
#
# Each case holds
#   op, case    what it is; args: its settings, named as in PyTorch
#   in          name: {shape, t, base, scale, mod}: element j is base + scale * v(t, j) in
#               float or, where mod is not 0, base + scale * (h(t, j) mod mod)
#   out         name: {shape, value}
#   grad        name: values of d sum(y * v(9000)) / d input, y the first output
# Everything is computed in double from inputs rounded to float, and written with 12 digits.
import numpy as np
import torch
import torch.nn.functional as F

from golden_formula import formula_hash, formula_value

DY = 9000
GAP = 1e-9  # relative, for compare


class Case:
    """One case under construction: inputs get their t in the order they are asked for."""

    def __init__(self, op, case, first_t, args):
        self.next_t = first_t
        self.tensors = {}
        self.json = {"op": op, "case": case, "args": args, "in": {}, "out": {}, "grad": {}}

    def make(self, name, shape, base=0.0, scale=1.0, mod=0, grad=True):
        t, n = self.next_t, int(np.prod(shape))
        self.next_t += 1
        if mod:
            index = (formula_hash(t, n) % mod).astype(np.float32)
            value = np.float32(base) + np.float32(scale) * index
        else:
            value = formula_value(t, n, base, scale)
        x = torch.from_numpy(value.reshape(shape)).double().requires_grad_(grad)
        self.tensors[name] = x
        self.json["in"][name] = {"shape": list(shape), "t": t, "base": base, "scale": scale,
                                 "mod": mod}
        return x

    def done(self, y, **others):
        """Records the outputs, the first of which is differentiated."""
        dy = torch.from_numpy(formula_value(DY, y.numel())).double().reshape(y.shape)
        (y * dy).sum().backward()
        for name, value in dict(y=y, **others).items():
            self.json["out"][name] = {"shape": list(value.shape), "value": numbers(value)}
        for name, x in self.tensors.items():
            if x.grad is not None:
                self.json["grad"][name] = numbers(x.grad)


def numbers(x):
    return [float(f"{v:.12g}") for v in x.detach().numpy().ravel()]


def batch_norm(c, shape, training, momentum=0.1, eps=1e-5):
    n = shape[1]
    x = c.make("x", shape, 0.5, 2.0)
    weight, bias = c.make("weight", (n,), 1.0, 0.25), c.make("bias", (n,))
    mean = c.make("running_mean", (n,), grad=False)
    var = c.make("running_var", (n,), 1.0, 0.5, grad=False)
    mean, var = mean.clone(), var.clone()
    y = F.batch_norm(x, mean, var, weight, bias, training, momentum, eps)
    c.done(y, running_mean=mean, running_var=var)


def conv2d(c, size, out, kernel, **args):
    x = c.make("x", (2, 4, size, size))
    weight = c.make("weight", (out, 4 // args.get("groups", 1), kernel, kernel))
    c.done(F.conv2d(x, weight, c.make("bias", (out,)), **args))


def conv_transpose2d(c, size, out, kernel, **args):
    x = c.make("x", (2, 4, size, size))
    weight = c.make("weight", (4, out // args.get("groups", 1), kernel, kernel))
    c.done(F.conv_transpose2d(x, weight, c.make("bias", (out,)), **args))


def max_pool2d(c, size, **args):
    # Few values, so that windows have ties; all negative, so that padding is not zero.
    c.done(F.max_pool2d(c.make("x", (2, 2, size, size), -3.0, 1.0, 3), **args))


def avg_pool2d(c, size, **args):
    c.done(F.avg_pool2d(c.make("x", (2, 2, size, size)), count_include_pad=True, **args))


def amax(c, dim):
    c.done(c.make("x", (3, 4, 5), -1.0, 1.0, 3).amax(dim, keepdim=True))


def gelu(c):
    c.done(F.gelu(c.make("x", (3, 8), 0.0, 4.0)))


def kl_div(c, zeros):
    log_q = c.make("log_q", (3, 5), -1.5, 1.0)
    if zeros:  # they add nothing; their own gradient would be infinite
        p = c.make("p", (3, 5), 0.0, 0.25, 3, grad=False)
    else:  # rows need not sum to one
        p = c.make("p", (3, 5), 0.5, 0.25)
    c.done(F.kl_div(log_q, p, reduction="batchmean"))


def bce_with_logits(c):
    c.done(F.binary_cross_entropy_with_logits(c.make("logits", (3, 5), 0.0, 8.0),
                                              c.make("targets", (3, 5), 0.5, 0.5)))


def cross_entropy(c, soft):
    logits = c.make("logits", (4, 5), 0.0, 3.0)
    if soft:  # rows need not sum to one
        c.done(F.cross_entropy(logits, c.make("targets", (4, 5), 0.5, 0.5)))
    else:
        c.done(F.cross_entropy(logits, c.make("labels", (4,), mod=5, grad=False).long()))


def mse(c):
    c.done(F.mse_loss(c.make("a", (3, 4)), c.make("b", (3, 4))))


def layer_norm(c, shape, normalized, eps=1e-5):
    x = c.make("x", shape, 0.5, 2.0)
    weight, bias = c.make("weight", normalized, 1.0, 0.25), c.make("bias", normalized)
    c.done(F.layer_norm(x, normalized, weight, bias, eps))


def group_norm(c, groups, eps=1e-5):
    x = c.make("x", (2, 4, 3, 3), 0.5, 2.0)
    weight, bias = c.make("weight", (4,), 1.0, 0.25), c.make("bias", (4,))
    c.done(F.group_norm(x, groups, weight, bias, eps))


def instance_norm(c, eps=1e-5):
    x = c.make("x", (2, 3, 3, 3), 0.5, 2.0)
    weight, bias = c.make("weight", (3,), 1.0, 0.25), c.make("bias", (3,))
    c.done(F.instance_norm(x, weight=weight, bias=bias, eps=eps))


def normalize(c):
    c.done(F.normalize(c.make("x", (3, 5))))


def embedding(c):
    index = c.make("index", (6,), mod=4, grad=False)  # six of four: some repeat
    c.done(F.embedding(index.long(), c.make("table", (4, 3))))


def interpolate(c, **args):
    c.done(F.interpolate(c.make("x", (1, 2, 2, 3)), mode="nearest", **args))


CASES = [  # function, case, args
    (batch_norm, "train", {"shape": (4, 3, 2, 2), "training": True}),
    (batch_norm, "train momentum eps",
     {"shape": (2, 2, 3, 1), "training": True, "momentum": 0.3, "eps": 0.1}),
    (batch_norm, "eval", {"shape": (2, 3, 2, 2), "training": False}),
    (conv2d, "stride padding", {"size": 6, "out": 3, "kernel": 3, "stride": 2, "padding": 1}),
    (conv2d, "groups", {"size": 4, "out": 6, "kernel": 3, "padding": 1, "groups": 2}),
    (conv_transpose2d, "plain", {"size": 3, "out": 3, "kernel": 4, "stride": 2, "padding": 1}),
    (conv_transpose2d, "output padding 0",
     {"size": 3, "out": 3, "kernel": 3, "stride": 2, "padding": 1, "output_padding": 0}),
    (conv_transpose2d, "output padding 1",
     {"size": 3, "out": 3, "kernel": 3, "stride": 2, "padding": 1, "output_padding": 1}),
    (conv_transpose2d, "groups output padding 1",
     {"size": 3, "out": 6, "kernel": 3, "stride": 2, "padding": 1, "output_padding": 1,
      "groups": 2}),
    (max_pool2d, "ties", {"size": 5, "kernel_size": 2, "stride": 2}),
    (max_pool2d, "ties padding", {"size": 6, "kernel_size": 3, "stride": 2, "padding": 1}),
    (avg_pool2d, "plain", {"size": 5, "kernel_size": 2, "stride": 2}),
    (avg_pool2d, "padding", {"size": 6, "kernel_size": 3, "stride": 2, "padding": 1}),
    (amax, "ties share", {"dim": (0, 2)}),
    (gelu, "erf", {}),
    (kl_div, "batchmean", {"zeros": False}),
    (kl_div, "zero targets", {"zeros": True}),
    (bce_with_logits, "mean", {}),
    (cross_entropy, "labels", {"soft": False}),
    (cross_entropy, "soft labels", {"soft": True}),
    (mse, "mean", {}),
    (layer_norm, "last axis", {"shape": (2, 3, 5), "normalized": (5,)}),
    (layer_norm, "three axes", {"shape": (2, 2, 3, 3), "normalized": (2, 3, 3)}),
    (group_norm, "groups", {"groups": 2}),
    (instance_norm, "affine", {}),
    (normalize, "last axis", {}),
    (embedding, "repeated rows", {}),
    (interpolate, "nearest", {"scale_factor": 2}),
]


def cases():
    """All cases; inputs of case k have t = 5000 + 10 k, 5001 + 10 k, ..."""
    out = []
    for k, (op, name, args) in enumerate(CASES):
        c = Case(op.__name__, name, 5000 + 10 * k, args)
        op(c, **args)
        out.append(c.json)
    return {"dy": DY, "cases": out}


def near(a, b):
    """The same structure, with numbers that agree to GAP."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(near(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(near, a, b))
    if isinstance(a, (int, float)):
        return abs(a - b) <= GAP * (1 + abs(a))
    return a == b


def compare(name, new, old):
    if len(new["cases"]) != len(old["cases"]):
        return [f"{name}: {len(old['cases'])} cases, not {len(new['cases'])}"]
    return [f"{name}: {a['op']} {a['case']} differs"
            for a, b in zip(new["cases"], old["cases"]) if not near(a, b)]
