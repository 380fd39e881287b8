"""Arrays of the engine's memory, which may be used for as long as they are lent.

A View behaves as an ndarray and is computed with in place, without a copy, but it is none: no
buffer can be taken of it, and whatever shows the same memory (a slice, a reshaped form) is a
View again. So when the lending is over, everything one does with it raises engram.Error, and
nothing is left that could read memory the engine has given back. What is computed from views is
an ordinary array, and so is np.asarray(view): a copy.
"""

from __future__ import annotations

from typing import Any, Iterator, Optional

import numpy as np

from . import _engram


class Life:
    """Whether what was lent may still be used: it ends by itself, or with that of which it is a
    part. keeper is what the memory belongs to, and lasts as long as a view of it."""

    __slots__ = ("_alive", "_whole", "_keeper", "_why")

    def __init__(self, whole: Optional["Life"] = None, keeper: Any = None,
                 why: str = "this array was lent for a turn that is over") -> None:
        self._alive = True
        self._whole = whole
        self._keeper = keeper
        self._why = why

    @property
    def alive(self) -> bool:
        return self._alive and (self._whole is None or self._whole.alive)

    def end(self) -> None:
        self._alive = False

    def check(self) -> None:
        if not self._alive:
            raise _engram.Error(f"{self._why}: keep a copy of it, array.copy()")
        if self._whole is not None:
            self._whole.check()


def _plain(x: Any) -> Any:
    if type(x) is View:
        return x._now()
    if type(x) in (tuple, list):
        return type(x)(_plain(item) for item in x)
    return x


def _views_of(x: Any) -> Iterator[Any]:
    if type(x) is View:
        yield x
    elif type(x) in (tuple, list):
        for item in x:
            yield from _views_of(item)


def _lent(result: Any, sources: Any) -> Any:
    """What a function gave for views: arrays of their memory are views again."""
    if isinstance(result, np.ndarray):
        for source in sources:
            if np.may_share_memory(result, source._array):
                return source if result is source._array else View(result, source._life)
    elif type(result) in (tuple, list):
        return type(result)(_lent(item, sources) for item in result)
    return result


# What would hand out the memory itself, or change whom it belongs to.
_HIDDEN = {"base", "ctypes", "data", "dump", "flags", "flat", "resize", "setfield", "setflags"}
_SHOWN = {name for name in dir(np.ndarray) if not name.startswith("_")} - _HIDDEN


class View(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that is lent."""

    __slots__ = ("_array", "_life")

    def __init__(self, array: np.ndarray, life: Life) -> None:
        self._array = array
        self._life = life

    def _now(self) -> np.ndarray:
        self._life.check()
        return self._array

    def __array__(self, dtype: Any = None) -> np.ndarray:
        return np.array(self._now(), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **how: Any) -> Any:
        out = how.get("out")
        result = getattr(ufunc, method)(*_plain(inputs), **{k: _plain(v) for k, v in how.items()})
        return out[0] if out is not None and len(out) == 1 else out or result

    def __array_function__(self, function: Any, types: Any, args: Any, how: Any) -> Any:
        result = function(*_plain(args), **{key: _plain(value) for key, value in how.items()})
        return _lent(result, [*_views_of(args), *_views_of(list(how.values()))])

    def __getattr__(self, name: str) -> Any:
        if name not in _SHOWN:
            raise AttributeError(f"a lent array has no '{name}': take a copy of it, array.copy()")
        value = getattr(self._now(), name)
        if not callable(value):
            return _lent(value, [self])

        def call(*args: Any, **how: Any) -> Any:
            method = getattr(self._now(), name)
            result = method(*_plain(args), **{key: _plain(v) for key, v in how.items()})
            return _lent(result, [self, *_views_of(list(how.values()))])

        call.__name__, call.__doc__ = name, value.__doc__
        return call

    def __dir__(self) -> Any:
        return sorted({*super().__dir__(), *_SHOWN})

    def __getitem__(self, index: Any) -> Any:
        return _lent(self._now()[_plain(index)], [self])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._now()[_plain(index)] = _plain(value)

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self)):
            yield self[i]

    def __len__(self) -> int:
        return len(self._now())

    def __contains__(self, value: Any) -> bool:
        return value in self._now()

    def __bool__(self) -> bool:
        return bool(self._now())

    def __int__(self) -> int:
        return int(self._now())

    def __float__(self) -> float:
        return float(self._now())

    def __str__(self) -> str:
        return str(self._now())

    def __repr__(self) -> str:
        return repr(self._array) if self._life.alive else "<an array that was lent>"

    def __copy__(self) -> np.ndarray:
        return self._now().copy()

    def __deepcopy__(self, memo: Any) -> np.ndarray:
        return self._now().copy()

    def __reduce__(self) -> Any:
        return self._now().copy().__reduce__()


def view(memory: Any, shape: Any, life: Life) -> Any:
    """An array of lent memory, or None for None."""
    if memory is None:
        return None
    return View(np.frombuffer(memory, np.float32).reshape(shape), life)


def floats(x: Any, what: str = "an array") -> np.ndarray:
    """x as contiguous float32 values, without a copy where it is that already."""
    x = np.asarray(_plain(x))
    if x.dtype.kind not in "fiub":
        raise TypeError(f"{what} holds {x.dtype}, not numbers")
    return np.ascontiguousarray(x, np.float32).reshape(x.shape)


def dot(a: Any, b: Any) -> float:
    """a.b of two flat vectors, by the engine's kernel: the bits that methods in C get."""
    return _engram.dot(floats(a), floats(b))


def add_scaled(y: Any, a: float, x: Any) -> None:
    """y += a x in place, by the engine's kernel; y is a flat float32 array."""
    _engram.add_scaled(_plain(y), float(a), floats(x))
