"""What hooks are lent: bundles, and what clients and servers share."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Tuple

import numpy as np

from . import _engram
from ._views import Life, floats, view


class Bundle:
    """Named arrays and numbers, as a dict has them."""

    def __init__(self, pointer: Any, life: Life) -> None:
        self._p = pointer
        self._life = life

    def get(self, name: str, default: Any = None) -> Any:
        found = _engram.bundle_get(self._p, name)
        if found is None:
            return default
        return found if isinstance(found, float) else view(found[0], found[1], self._life)

    def __getitem__(self, name: str) -> Any:
        found = self.get(name)
        if found is None:
            raise KeyError(f"there is no '{name}'; there is {', '.join(self) or 'nothing'}")
        return found

    def __setitem__(self, name: str, value: Any) -> None:
        _engram.bundle_put(self._p, *_row(name, value))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _engram.bundle_get(self._p, name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(_engram.bundle_names(self._p))

    def __len__(self) -> int:
        return len(_engram.bundle_names(self._p))

    def keys(self) -> List[str]:
        return list(self)

    def items(self) -> List[Tuple[str, Any]]:
        return [(name, self[name]) for name in self]

    def update(self, more: Any) -> None:
        """Adds all of a dict."""
        for name, value in more.items():
            self[name] = value


def _row(name: str, value: Any) -> Tuple[str, Any, Any]:
    if np.ndim(value) == 0:
        return name, (), float(value)
    array = floats(value, name)
    return name, array.shape, array


def rows_of(record: Any) -> List[Tuple[str, Any, Any]]:
    if isinstance(record, dict):
        return [_row(name, value) for name, value in record.items()]
    return [_row("value", record)]


class Lent:
    """What a half sees: a pointer that is lent, and views that end with it."""

    def __init__(self, pointer: Any) -> None:
        self._p = pointer
        self._life = Life()
        self._views: Dict[str, Any] = {}
        self._lent: List[Any] = []
        self._records: Dict[str, List[Tuple[Any, Life]]] = {}

    def _part(self, why: str) -> Life:
        return Life(self._life, why=why)

    def _record(self, name: str, pointer: Any) -> Any:
        """A recalled record: a bundle; one array or number kept alone comes back as such."""
        if pointer is None:
            return None
        life = self._part(f"this array is of the record '{name}', which was kept anew")
        self._records.setdefault(name, []).append((pointer, life))
        bundle = Bundle(pointer, life)
        return bundle["value"] if list(bundle) == ["value"] else bundle

    def _kept(self, name: str) -> None:
        """Another record stands in the place of the one of this name."""
        for pointer, life in self._records.pop(name, []):
            life.end()
            _engram.end(pointer)

    def _end(self) -> None:
        self._life.end()
        for name in list(self._records):
            self._kept(name)
        for pointer in self._lent:
            _engram.end(pointer)


def words(pair: Tuple[int, int]) -> np.ndarray:
    return np.array(pair, np.uint64)
