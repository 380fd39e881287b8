"""Philox streams, published label counts and a little YAML, for scenario_digest.py."""
import functools
import math
import os
import re
import subprocess

M32 = 0xFFFFFFFF
PROGRAM = os.environ.get("ENGRAM", os.path.join(os.path.dirname(__file__),
                                                 "../build/release/engram"))


def philox(c0, c1, c2, c3, k0, k1):
    for _ in range(10):
        p, q = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (q >> 32) ^ c1 ^ k0, q & M32, (p >> 32) ^ c3 ^ k1, p & M32
        k0, k1 = (k0 + 0x9E3779B9) & M32, (k1 + 0xBB67AE85) & M32
    return c0, c1, c2, c3


class Rng:
    def __init__(self, seed, client, rnd, purpose):
        self.key = philox(client, rnd, purpose, 0, seed & M32, seed >> 32)[:2]
        self.block = 0
        self.spare = None  # every draw takes 64 bits, so a block holds two

    def u64(self):
        if self.spare is not None:
            x, self.spare = self.spare, None
            return x
        a, b, c, d = philox(self.block & M32, self.block >> 32, 0, 0, *self.key)
        self.block += 1
        self.spare = c | d << 32
        return a | b << 32

    def below(self, n):
        reject = (1 << 64) % n
        x = self.u64()
        while x < reject:
            x = self.u64()
        return x % n

    def unit(self):
        return (self.u64() >> 11) * 2.0**-53

    def uniform(self, low, high):
        return low + (high - low) * self.unit()

    def normal(self):
        u = self.unit()
        v = self.unit()
        return math.sqrt(-2 * math.log(1 - u)) * math.cos(6.283185307179586 * v)

    def gamma(self, shape):
        if shape < 1:
            g = self.gamma(shape + 1)
            return g * math.pow(1 - self.unit(), 1 / shape)
        d = shape - 1.0 / 3
        c = 1 / math.sqrt(9 * d)
        while True:
            x = self.normal()
            v = 1 + c * x
            if v <= 0:
                continue
            v = v * v * v
            if math.log(1 - self.unit()) < 0.5 * x * x + d - d * v + d * math.log(v):
                return d * v

    def dirichlet(self, a, n):
        g = [self.gamma(a) for _ in range(n)]
        total = in_order(g)
        if total <= 0:
            g = [0.0] * n
            g[self.below(n)] = 1.0
            return g
        return [x / total for x in g]

    def shuffle(self, items):
        for i in range(len(items) - 1, 0, -1):
            j = self.below(i + 1)
            items[i], items[j] = items[j], items[i]


def in_order(values):
    """The plain sum, first to last; newer versions of sum() compensate rounding."""
    total = 0.0
    for x in values:
        total += x
    return total


@functools.lru_cache(maxsize=None)
def published():
    """Label counts by name: (classes, training, test, owners); a number is spread evenly.

    They are data, not a rule, so the program is asked for them.
    """
    lines = subprocess.run([PROGRAM, "data", "counts"], check=True, capture_output=True, text=True)
    out = {}
    for line in lines.stdout.splitlines():
        name, *rest = line.split()
        counts = [[int(n) for n in word.split(",")] for word in rest]
        out[name] = [c[0] if len(c) == 1 else c for c in counts]
    return out


class Source:
    """Sample numbers of each class; class after class, so they are ranges."""

    def __init__(self, name):
        classes, train, test, self.owners = published()[name]
        self.classes = classes
        self.train = self.ranges(train)
        self.test = self.ranges(test)

    def ranges(self, counts):
        if isinstance(counts, int):
            n, extra = divmod(counts, self.classes)
            counts = [n + (k < extra) for k in range(self.classes)]
        out, at = [], 0
        for n in counts:
            out.append(range(at, at + n))
            at += n
        return out


def parse_value(text):
    text = text.strip()
    if text.startswith("{"):
        pairs = [p.split(":", 1) for p in text[1:-1].split(",") if p.strip()]
        return {k.strip().replace("-", "_"): parse_value(v) for k, v in pairs}
    if text.startswith("["):
        return [parse_value(v) for v in re.findall(r"\{[^}]*\}|[^,]+", text[1:-1])]
    return text


def parse_file(path):
    """The part of YAML the scenario files use: two levels, flow collections, comments."""
    root, inner = {}, None
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.split("#", 1)[0].rstrip()
            if not line:
                continue
            key, value = line.split(":", 1)
            if line.startswith(" "):
                inner[key.strip().replace("-", "_")] = parse_value(value)
            elif value.strip():
                root[key] = parse_value(value)
            else:
                root[key] = inner = {}
    return root
