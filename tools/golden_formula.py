# golden_formula.py - the numbers that golden.py and the C tests both compute, and what a file
# keeps of a tensor; see golden.py.
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import torch

N_ENTRIES = 64


def formula_hash(t, n):
    """h(t, j) for j = 0 .. n-1: 24-bit whole numbers, as uint32."""
    x = np.arange(n, dtype=np.uint64) * 2654435761 + (t * 40503 + 12345)
    x = x.astype(np.uint32)  # modulo 2^32, and so is all that follows
    x ^= x >> np.uint32(16)
    x *= np.uint32(2246822519)
    x ^= x >> np.uint32(13)
    x *= np.uint32(3266489917)
    x ^= x >> np.uint32(16)
    return x >> np.uint32(8)


def formula_value(t, n, base=0.0, scale=1.0):
    """base + scale * v(t, j) in float, each operation rounded."""
    if t < 0:
        return np.full(n, base, np.float32)
    v = formula_hash(t, n).astype(np.float32) / np.float32(1 << 23) - np.float32(1)
    return np.float32(base) + np.float32(scale) * v


def stream(t, shape, base=0.0, scale=1.0):
    """A tensor of stream t."""
    size = int(np.prod(shape))
    return torch.from_numpy(formula_value(t, size, base, scale).reshape(shape))


def entries(size):
    """The indices a file keeps of a tensor of this size."""
    n = min(size, N_ENTRIES)
    return [k * size // n for k in range(n)]


def digits(x):
    return float(f"{x:.9g}")


def short(x):
    """The shortest decimal that gives the same float, at most 9 digits."""
    return float(str(np.float32(x)))


def relative(a, b, size=None):
    """L2 distance of a to b over the norm of b, or over a size given."""
    a, b = np.asarray(a, np.float64).ravel(), np.asarray(b, np.float64).ravel()
    return float(np.linalg.norm(a - b) / max(size or np.linalg.norm(b), 1e-30))
