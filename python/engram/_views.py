"""Arrays of the engine's memory, which may be used for as long as they are lent.

A View is an ndarray without a copy. When its lending is over, everything one does with it, and
with slices of it, raises engram.Error: it never reads memory that the engine has given back.
What is computed from views is an ordinary array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _engram


class Life:
    """Whether what was lent may still be used."""

    __slots__ = ("alive",)

    def __init__(self) -> None:
        self.alive = True

    def check(self) -> None:
        if not self.alive:
            raise _engram.Error("this array was lent for a turn that is over: keep a copy of it, "
                                "array.copy()")


def _plain(x: Any) -> Any:
    if type(x) is View:
        x._life.check()
        return np.ndarray.view(x, np.ndarray)
    if isinstance(x, (tuple, list)):
        return type(x)(_plain(item) for item in x)
    return x


class View(np.ndarray):
    """An array that is lent."""

    _life: Life = Life()  # what is made of a view in passing is nobody's memory

    def __array_finalize__(self, parent: Any) -> None:
        if type(parent) is View:
            self._life = parent._life

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **how: Any) -> Any:
        out = how.get("out")
        if out is not None:
            how["out"] = tuple(_plain(x) for x in out)
        result = getattr(ufunc, method)(*[_plain(x) for x in inputs], **how)
        return out[0] if out is not None and len(out) == 1 else result

    def __array_function__(self, function: Any, types: Any, args: Any, how: Any) -> Any:
        return function(*_plain(args), **{key: _plain(value) for key, value in how.items()})

    def __getitem__(self, index: Any) -> Any:
        self._life.check()
        return np.ndarray.__getitem__(self, _plain(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        self._life.check()
        np.ndarray.__setitem__(self, _plain(index), _plain(value))

    def copy(self, order: Any = "C") -> Any:
        return _plain(self).copy(order)

    def astype(self, *args: Any, **how: Any) -> Any:
        return _plain(self).astype(*args, **dict(how, copy=True))

    def __reduce__(self) -> Any:
        return _plain(self).copy().__reduce__()


def _checked(name: str) -> Any:
    method = getattr(np.ndarray, name)

    def call(self: View, *args: Any, **how: Any) -> Any:
        self._life.check()
        return method(self, *args, **how)

    call.__name__ = name
    call.__doc__ = method.__doc__
    return call


_OWN = {"copy", "astype", "__array_finalize__", "__array_ufunc__", "__array_function__",
        "__getitem__", "__setitem__", "__reduce__"}
_DUNDERS = ("__iter__", "__contains__", "__float__", "__int__", "__bool__", "__complex__",
            "__index__", "__copy__", "__deepcopy__", "__array__", "__str__", "__repr__",
            "__len__", "__reduce_ex__")
for _name in dir(np.ndarray):
    if _name not in _OWN and callable(getattr(np.ndarray, _name)) and \
            (not _name.startswith("__") or _name in _DUNDERS):
        setattr(View, _name, _checked(_name))


def view(memory: Any, shape: Any, life: Life) -> Any:
    """An array of lent memory, or None for None."""
    if memory is None:
        return None
    array = np.frombuffer(memory, np.float32).reshape(shape).view(View)
    array._life = life
    return array


def floats(x: Any, what: str = "an array") -> np.ndarray:
    """x as contiguous float32 values, without a copy where it is that already."""
    x = np.asarray(_plain(x))
    if x.dtype.kind not in "fiub":
        raise TypeError(f"{what} holds {x.dtype}, not numbers")
    return np.ascontiguousarray(x, np.float32).reshape(x.shape)
