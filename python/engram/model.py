"""Networks written in Python, saved models, and safetensors files."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from . import _engram
from ._views import floats
from .graph import Graph, Net, Node, Params
from .options import help_of, option_row, options_of, word_of

_TYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64,
          "I32": np.int32, "I16": np.int16, "I8": np.int8, "U8": np.uint8, "BOOL": np.bool_}


def load(path: str) -> Dict[str, np.ndarray]:
    """A safetensors file: every tensor by its name, PyTorch's for a model's."""
    return _read(path)[0]


def _read(path: str) -> Tuple[Dict[str, np.ndarray], Dict[str, str]]:
    rows, notes = _engram.tensors_load(os.fspath(path))
    return {name: np.frombuffer(data, _TYPES[kind]).reshape(shape).copy()
            for name, kind, shape, data in rows}, notes


def save(path: str, tensors: Dict[str, Any], notes: Optional[Dict[str, str]] = None) -> None:
    """Writes tensors (arrays, or what np.asarray takes, such as torch's) as float32."""
    rows = [(name, np.shape(value), floats(value, name)) for name, value in tensors.items()]
    _engram.tensors_save(os.fspath(path), rows, sorted((notes or {}).items()))


class Saved:
    """A model that a run saved. predict(x) gives its logits for x as the run fed it."""

    def __init__(self, path: str) -> None:
        self.path = os.fspath(path)
        self._plans: Dict[int, Any] = {}
        self._net: Optional[Net] = None

    def state_dict(self) -> Dict[str, np.ndarray]:
        """{PyTorch's name: array}."""
        return load(self.path)

    @property
    def notes(self) -> Dict[str, str]:
        """What the file says of itself: network, data set, classes, seed, version."""
        return _read(self.path)[1]

    @property
    def net(self) -> Net:
        """The network that the file is of."""
        if self._net is None:
            self._net = Net.of_file(self.path)
        return self._net

    def _plan(self, n: int) -> Any:
        if n not in self._plans:
            g = Graph(training=False)
            x = g.input("x", (n, *self.net.input_shape))
            g.output("logits", g.forward(self.net, x))
            length, state = self.net.params.lengths
            values = np.zeros(length, np.float32), np.zeros(state, np.float32)
            _engram.net_read(self.net._p, self.path, values[0], values[1] if state else None)
            self._plans[n] = g.compile(value=values[0], state=values[1])
        return self._plans[n]

    def predict(self, x: Any, batch: int = 256) -> np.ndarray:
        """Logits [n, classes] for rows [n, c, h, w] as the network is fed them: scaled and
        normalised as the run's data were."""
        x = floats(x, "x").reshape(-1, *self.net.input_shape)
        parts = [self._plan(len(x[i:i + batch]))(x=x[i:i + batch])["logits"]
                 for i in range(0, len(x), batch)]
        return np.concatenate(parts) if parts else np.zeros((0, self.net.classes), np.float32)


class Model:
    """A network as a class: forward records features [n, d] for x [n, c, h, w]; the engine adds
    the last linear layer, with an output per class.

        class Net(eg.Model):
            '''two layers'''
            width = eg.option(64, 1, 4096, "hidden units")

            def forward(self, g, x):
                return eg.ops.relu(g.linear(g.flatten(x), "hidden", self.width))

    Defining the class registers it under its name in lower case: model=dict(name="net",
    width=32).
    """

    name = ""  #: as in files; without it the class's name

    _kept: List[str] = []

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        if "name" not in vars(cls):
            cls.name = word_of(cls)
        cls._kept = []
        rows = [option_row(k, o) for k, o in options_of(cls).items()]
        _engram.model_add(cls, cls.name, help_of(cls), rows)

    def forward(self, g: Graph, x: Node) -> Node:
        """Records features [n, d] for x [n, c, h, w]."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    @classmethod
    def _features(cls, options: Dict[str, Any], graph: Any, table: Any, x: Any) -> Any:
        self = cls()
        for name, value in options.items():
            setattr(self, name, value)
        g = Graph(params=Params(table), _p=graph)
        out = self.forward(g, Node(g, x))
        if not isinstance(out, Node):
            raise TypeError(f"forward must return a node, not {type(out).__name__}")
        if len(out.shape) != 2:
            raise ValueError(f"forward must return features [n, d], not {list(out.shape)}")
        return out._p

