"""What a method's hooks see of the server, and of a piece of its work."""

from __future__ import annotations

from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple

import numpy as np

from . import _engram
from ._lent import Bundle, Lent, rows_of, words
from ._views import Life, floats, view
from .graph import Params


class Sizes(NamedTuple):
    """What a network takes and gives."""

    input_shape: Tuple[int, int, int]
    n_features: int
    classes: int

    @classmethod
    def of(cls, numbers: Tuple[int, ...]) -> "Sizes":
        return cls((numbers[0], numbers[1], numbers[2]), numbers[3], numbers[4])


class Server(Lent):
    """The server within one hook; vectors last for the run."""

    def __init__(self, pointer: Any) -> None:
        super().__init__(pointer)
        self._run = Life()

    def _about(self, i: int) -> Any:
        return _engram.server_about(self._p)[i]

    @property
    def round(self) -> int:
        """The round, from 0."""
        return self._about(0)

    @property
    def seed(self) -> int:
        """The run's seed."""
        return self._about(1)

    @property
    def n_clients(self) -> int:
        """All clients of the scenario."""
        return self._about(2)

    @property
    def n_params(self) -> int:
        """Floats of the model."""
        return self._about(3)

    @property
    def net(self) -> Sizes:
        """What the network takes and gives."""
        return Sizes.of(self._about(5))

    @property
    def param(self) -> Any:
        """The global model, flat."""
        return view(_engram.server_array(self._p, "p"), (-1,), self._life)

    @property
    def state(self) -> Any:
        """Its statistics, flat; None if the network has none."""
        return view(_engram.server_array(self._p, "s"), (-1,), self._life)

    def tensors(self, flat: Any) -> Dict[str, Any]:
        """A flat array's tensors by name, as views."""
        return Params(_engram.server_net(self._p)[0]).tensors(flat)

    def note(self, name: str, value: float) -> None:
        """A number worth seeing."""
        _engram.server_note(self._p, name, float(value))

    def rng(self, of: int = 0, draw: int = 0) -> np.random.Generator:
        """Random numbers of this round: another stream per draw and per `of`."""
        return np.random.Generator(
            np.random.Philox(key=words(_engram.server_stream(self._p, of, draw))))

    def vector(self, name: str) -> Any:
        """In begin: a vector like the model, zero at first, saved with every checkpoint."""
        return view(_engram.server_vector(self._p, name), (-1,), self._run)

    def keep(self, name: str, record: Any) -> None:
        """In save: what begin recalls."""
        _engram.server_keep(self._p, name, rows_of(record))
        self._kept(name)

    def recall(self, name: str) -> Any:
        """What was kept last under this name, None if nothing was."""
        return self._record(name, _engram.server_recall(self._p, name))

    def add_model(self, to: Bundle, param: Any, state: Any = None) -> None:
        """In model_of: adds a client's own model, which is copied."""
        _engram.server_add_model(self._p, to._p, floats(param, "param"),
                                 None if state is None else floats(state, "state"))

    def share(self, n: int, take: Callable[[int, Bundle], Any],
              give: Optional[Callable[[int], Dict[str, Any]]] = None,
              all: Optional[Dict[str, Any]] = None) -> None:
        """Has the work hook do n pieces, on all workers there are: each is given what `all` has
        and what give(i) returns; take(i, got) gets what it came to, in order."""
        def given(i: int) -> Any:
            return rows_of(give(i))  # type: ignore[misc]

        def taken(i: int, pointer: Any) -> None:
            life = Life(self._life)
            try:
                take(i, Bundle(pointer, life))
            finally:
                life.end()

        _engram.server_share(self._p, n, None if all is None else rows_of(all),
                             None if give is None else given, taken)

    def _over(self) -> None:
        """A hook is over: what it was given ends, the server's vectors last."""
        self._life.end()
        for name in list(self._records):
            self._kept(name)
        self._life = Life()

    def _end(self) -> None:
        super()._end()
        self._run.end()


class Piece:
    """A piece of the server's work, on any worker: i says which one."""

    def __init__(self, pointer: Any) -> None:
        self._p = pointer
        self.i, self.round, self.seed, sizes = _engram.piece_about(pointer)
        self.net = Sizes.of(sizes)

    def rng(self, of: int = 0, draw: int = 0) -> np.random.Generator:
        """The random numbers that server.rng has for the same arguments."""
        return np.random.Generator(
            np.random.Philox(key=words(_engram.piece_stream(self._p, of, draw))))
