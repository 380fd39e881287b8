# golden_formula.py - the numbers that golden.py and the C tests both compute; see golden.py.
# SPDX-License-Identifier: Apache-2.0
import numpy as np


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
