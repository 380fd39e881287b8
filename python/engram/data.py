"""Arrays as data sets."""

from __future__ import annotations

from typing import Any, Optional, Sequence, Tuple

import numpy as np

from . import _engram

_PIECE = 1024


def _split(x: Any, y: Any, groups: Any, what: str) -> Tuple[Any, ...]:
    x = np.asarray(x)
    if x.dtype != np.uint8:
        if x.dtype.kind not in "fiub":
            raise TypeError(f"{what}: samples are {x.dtype}, not numbers")
        x = x.astype(np.float32, copy=False)
        for first in range(0, len(x), _PIECE):  # no large array beside a large one
            wrong = np.argwhere(~np.isfinite(x[first:first + _PIECE]))
            if len(wrong):
                place = [first + int(wrong[0][0]), *wrong[0][1:].tolist()]
                raise ValueError(f"{what}: the value at {place} is {x[tuple(place)]}")
    if x.ndim not in (2, 3, 4):
        raise ValueError(f"{what}: samples are [n, d], [n, h, w] or [n, c, h, w], not "
                         f"{list(x.shape)}")
    y = np.asarray(y)
    if y.dtype.kind not in "iu":
        raise TypeError(f"{what}: labels are whole numbers, not {y.dtype}")
    if y.shape != (len(x),):
        raise ValueError(f"{what}: {len(x)} samples need as many labels, not {list(y.shape)}")
    if len(y) and y.min() < 0:
        raise ValueError(f"{what}: label {y.min()} is below 0")
    shape = {2: (len(x), 1, 1, x.shape[-1]), 3: (len(x), 1, *x.shape[1:])}.get(x.ndim, x.shape)
    g = None if groups is None else np.ascontiguousarray(groups, np.int32)
    return (np.ascontiguousarray(x), shape, x.dtype == np.uint8,
            np.ascontiguousarray(y, np.int32), g)


def dataset(name: str, train: Tuple[Any, Any], test: Tuple[Any, Any], *,
            classes: Optional[int] = None, names: Optional[Sequence[str]] = None,
            groups: Any = None, help: str = "") -> str:
    """Makes arrays a data set that experiments name: train=(x, y), test=(x, y).

    x: [n, c, h, w], [n, h, w] or [n, d]; bytes, or floats. Contiguous bytes and float32 values
    are not copied: leave them as they are while runs use them. names: what the
    classes are called. groups: the natural owner of each training sample. The same name again stands for other arrays from then on.
    """
    rows = _split(*train, groups, "train"), _split(*test, None, "test")
    for row, (x, _) in zip(rows, (train, test)):
        if not len(x):
            raise ValueError("a data set needs samples to train on and to test on")
    if classes is None and names is not None:
        classes = len(names)
    top = 1 + max(int(row[3].max()) for row in rows)
    if classes is not None and classes < top:
        raise ValueError(f"label {top - 1} is none of {classes} classes")
    name = name.replace("-", "_")
    _engram.dataset_add(name, help or "arrays of a Python program", classes or top, *rows,
                        None if names is None else list(names))
    return name
