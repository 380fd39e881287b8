"""Record a computation, differentiate it, compile it, run it: the engine itself.

    g = eg.Graph()
    x = g.input("x", (32, 784))
    w = g.param("w", (10, 784), eg.uniform(0.1))
    loss = eg.ops.mean(eg.ops.linear(x, w, None) ** 2)
    g.output("loss", loss)
    g.backward(loss)
    plan = g.compile(seed=0)
    plan(x=batch)["loss"]          # and plan.grad, plan.param, plan.tensors
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _engram
from ._views import Life, floats, view


class Init(NamedTuple):
    """How a tensor gets its first values."""

    kind: int
    a: float
    mean: float = 0.0


def constant(value: float) -> Init:
    """Every first value the same."""
    return Init(0, float(value))


def uniform(a: float) -> Init:
    """First values uniform in [-a, a]."""
    return Init(1, float(a))


def normal(deviation: float, mean: float = 0.0) -> Init:
    """First values normal."""
    return Init(2, float(deviation), float(mean))


class Node:
    """A recorded result. + - * / ** @ and unary - record more."""

    __slots__ = ("graph", "_p", "shape")

    def __init__(self, graph: "Graph", pointer: Any) -> None:
        self.graph = graph
        self._p = pointer
        self.shape: Tuple[int, ...] = _engram.node_shape(graph._p, pointer)

    def _with(self, other: Any) -> "Node":
        if isinstance(other, Node):
            return other
        return self.graph.constant(self.shape[:0] + (1,) * len(self.shape), other)

    def __add__(self, other: Any) -> "Node":
        return _affine(self, 1.0, other) if _number(other) else ops.add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Node":
        return _affine(self, 1.0, -other) if _number(other) else ops.sub(self, other)

    def __rsub__(self, other: Any) -> "Node":
        return _affine(self, -1.0, other)

    def __mul__(self, other: Any) -> "Node":
        return _affine(self, other, 0.0) if _number(other) else ops.mul(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> "Node":
        return _affine(self, 1.0 / other, 0.0) if _number(other) else ops.div(self, other)

    def __rtruediv__(self, other: Any) -> "Node":
        return ops.div(self._with(other), self)

    def __neg__(self) -> "Node":
        return _affine(self, -1.0, 0.0)

    def __pow__(self, power: int) -> "Node":
        if power != int(power) or power < 1:
            raise ValueError(f"a power is a whole number from 1 on, not {power}")
        out = self
        for _ in range(int(power) - 1):
            out = ops.mul(out, self)
        return out

    def __matmul__(self, other: "Node") -> "Node":
        return ops.matmul(self, other)

    def __repr__(self) -> str:
        return f"Node{self.shape}"


def _number(x: Any) -> bool:
    return not isinstance(x, Node) and np.ndim(x) == 0


def _affine(x: Node, a: Any, b: Any) -> Node:
    return ops.affine(x, float(a), float(b))


class Window(NamedTuple):
    """The window of a convolution or a pooling. kernel 0: as the weights say."""

    kernel: int = 0
    stride: int = 1
    padding: int = 0
    groups: int = 1
    output_padding: int = 0


class Region(NamedTuple):
    """What a network that looks for boxes puts out, and how its loss weighs: cells, classes, and
    anchors as (width, height) in shares of the image."""

    rows: int
    columns: int
    classes: int
    anchors: Tuple[Tuple[float, float], ...]
    coordinates: float = 1.0
    object: float = 5.0
    background: float = 1.0
    kinds: float = 1.0
    ignore: float = 0.6


class _Ops:
    """All ops of the engine, each with its help as its docstring. Axes are a number or several,
    None for all; a window is eg.Window(kernel, stride, padding)."""

    def __dir__(self) -> List[str]:
        return [name[3:] for name in dir(_engram) if name.startswith("op_")]

    def __getattr__(self, name: str) -> Any:
        record = getattr(_engram, "op_" + name, None)
        if record is None:
            raise AttributeError(f"there is no op '{name}'")

        def op(*args: Any, **named: Any) -> Node:
            return _record(name, record, args, named)

        op.__name__ = name
        op.__doc__ = record.__doc__
        setattr(self, name, op)
        return op


def _words(record: Any) -> List[str]:
    return record.__doc__.partition("\n")[0].strip("()").split(", ")


def _record(name: str, record: Any, args: Sequence[Any], named: Dict[str, Any]) -> Node:
    words = _words(record)
    values = list(args) + [named.pop(w) for w in words[len(args):] if w in named]
    optional = {"b": None, "weight": None, "bias": None, "weights": None, "win": Window(),
                "axes": None}
    values += [optional[w] for w in words[len(values):] if w in optional]
    if named or len(values) != len(words):
        raise TypeError(f"{name} takes ({', '.join(words)})")
    graph = next((v.graph for v in _flat(values) if isinstance(v, Node)), None)
    if graph is None:
        graph = named.get("graph")
    if graph is None:
        raise TypeError(f"{name} needs a node of a graph")
    return Node(graph, record(graph._p, *[_lower(w, v) for w, v in zip(words, values)]))


def _flat(values: Sequence[Any]) -> List[Any]:
    return [x for v in values for x in (v if isinstance(v, (list, tuple)) else [v])]


def _lower(word: str, value: Any) -> Any:
    if isinstance(value, Node):
        return value._p
    if word == "axes":
        if value is None:
            return (1 << 32) - 1  # all there are
        return sum(1 << a for a in (value if isinstance(value, (list, tuple)) else [value]))
    if isinstance(value, (list, tuple)):
        return tuple(v._p if isinstance(v, Node) else v for v in value)
    return value


ops = _Ops()


class Params:
    """A table of tensors: trained ones share one flat array, those of state another."""

    def __init__(self, pointer: Any = None) -> None:
        self._p = pointer if pointer is not None else _engram.params_new()

    def table(self) -> List[Tuple[str, Tuple[int, ...], int, bool]]:
        """(name, shape, offset in the flat array, trained) of every tensor."""
        return _engram.params_table(self._p)[2]

    @property
    def lengths(self) -> Tuple[int, int]:
        """Floats of the flat array and of the state."""
        return _engram.params_table(self._p)[:2]

    def new(self, seed: int = 0) -> Tuple[np.ndarray, np.ndarray]:
        """Both arrays with first values."""
        n, n_state = self.lengths
        value, state = np.zeros(n, np.float32), np.zeros(n_state, np.float32)
        _engram.params_init(self._p, seed, value, state if n_state else None)
        return value, state

    def tensors(self, value: Any, state: Any = None) -> Dict[str, np.ndarray]:
        """Every tensor by its name, as a view of the flat arrays."""
        out = {}
        for name, shape, offset, trained in self.table():
            flat = value if trained else state
            if flat is not None:
                out[name] = flat[offset:offset + int(np.prod(shape))].reshape(shape)
        return out


class Graph:
    """A recording. Shapes are fixed; every element is a float."""

    def __init__(self, training: bool = True, params: Optional[Params] = None, *,
                 _p: Any = None, _prefix: str = "") -> None:
        self._p = _p if _p is not None else _engram.graph_new()
        self._prefix = _prefix
        self.params = params if params is not None else Params()
        self._names: Dict[str, Tuple[int, ...]] = {}
        self._outputs: List[str] = []
        self._bound: List[Params] = []
        if _p is None:
            _engram.graph_set_training(self._p, training)

    @property
    def training(self) -> bool:
        """Whether layers record their training form."""
        return _engram.graph_training(self._p)

    def node(self, pointer: Any) -> Node:
        return Node(self, pointer)

    def input(self, name: str, shape: Sequence[int]) -> Node:
        """A tensor to be filled before each run."""
        node = Node(self, _engram.graph_input(self._p, self._prefix + name, tuple(shape)))
        self._names[name] = node.shape
        return node

    def constant(self, shape: Sequence[int], value: float) -> Node:
        """Every element the same value."""
        return Node(self, _engram.graph_constant(self._p, tuple(shape), float(value)))

    def _tensor(self, name: str, shape: Sequence[int], init: Init, trained: bool) -> Node:
        return Node(self, _engram.graph_param(self._p, self.params._p, name, tuple(shape),
                                              init.kind, init.a, init.mean, trained))

    def param(self, name: str, shape: Sequence[int], init: Optional[Init] = None) -> Node:
        """A trained tensor. Without init its first values are PyTorch's: uniform within
        1/sqrt(fan in)."""
        if init is None:
            fan = int(np.prod(tuple(shape)[1:])) or 1
            init = uniform(1 / np.sqrt(fan))
        return self._tensor(name, shape, init, True)

    def state(self, name: str, shape: Sequence[int], init: Init = Init(0, 0.0)) -> Node:
        """A tensor that is not trained, such as batch norm's statistics."""
        return self._tensor(name, shape, init, False)

    def output(self, name: str, x: Node) -> None:
        """Keeps a value readable after a run."""
        _engram.graph_output(self._p, name, x._p)
        self._outputs.append(name)

    def gradients(self, y: Node, wrt: Sequence[Node]) -> List[Node]:
        """d(sum of y) / d(each), as graph: it can be differentiated again."""
        return [Node(self, p)
                for p in _engram.graph_gradients(self._p, y._p, [x._p for x in wrt])]

    def backward(self, loss: Node) -> None:
        """Records the gradient of loss for every trained tensor: plan.grad."""
        _engram.graph_backward(self._p, loss._p, self.params._p)

    def sample_norms(self, losses: Node) -> Node:
        """Squared norms of every sample's own gradient."""
        return Node(self, _engram.graph_sample_norms(self._p, losses._p, self.params._p))

    def forward(self, net: "Net", x: Node) -> Node:
        """The logits of a network of the engine's for x."""
        self.params = net.params
        return Node(self, _engram.net_forward(self._p, net._p, x._p))

    # Layers with their tensors, named as PyTorch names them.

    def linear(self, x: Node, name: str, outputs: int, bias: bool = True) -> Node:
        """x w^T + b with tensors name.weight and name.bias."""
        w = self.param(name + ".weight", (outputs, x.shape[1]))
        b = self.param(name + ".bias", (outputs,),
                       uniform(1 / np.sqrt(x.shape[1]))) if bias else None
        return ops.linear(x, w, b)

    def conv(self, x: Node, name: str, channels: int, kernel: int, stride: int = 1,
             padding: int = 0, groups: int = 1, bias: bool = True) -> Node:
        """A convolution with tensors name.weight and name.bias."""
        shape = (channels, x.shape[1] // groups, kernel, kernel)
        bound = 1 / np.sqrt(np.prod(shape[1:]))
        w = self.param(name + ".weight", shape, uniform(bound))
        b = self.param(name + ".bias", (channels,), uniform(bound)) if bias else None
        return ops.conv2d(x, w, b, Window(kernel, stride, padding, groups))

    def batch_norm(self, x: Node, name: str, eps: float = 1e-5, momentum: float = 0.1) -> Node:
        """Batch normalisation, in the graph's form."""
        c = (x.shape[1],)
        w = self.param(name + ".weight", c, Init(0, 1.0))
        b = self.param(name + ".bias", c, Init(0, 0.0))
        mean = self.state(name + ".running_mean", c)
        var = self.state(name + ".running_var", c, Init(0, 1.0))
        if not self.training:
            return ops.batch_norm_eval(x, mean, var, w, b, eps)
        return ops.batch_norm(x, ops.channel_stats(x, mean, var, momentum), w, b, eps)

    def flatten(self, x: Node) -> Node:
        """[n, ...] as [n, d]."""
        return ops.reshape(x, (x.shape[0], int(np.prod(x.shape[1:]))))

    def compile(self, seed: int = 0, value: Optional[np.ndarray] = None,
                state: Optional[np.ndarray] = None) -> "Plan":
        """A plan, with arrays of its own for the tensors, or with those that are given."""
        return Plan(self, seed, value, state)


class Plan:
    """A compiled graph with its arrays. One thread at a time."""

    def __init__(self, graph: Graph, seed: int, value: Optional[np.ndarray],
                 state: Optional[np.ndarray]) -> None:
        self.graph = graph
        self._p = _engram.graph_compile(graph._p)
        n, n_state = graph.params.lengths
        first, first_state = graph.params.new(seed) if value is None else (value, state)
        self.param = np.ascontiguousarray(first, np.float32)
        self.state = np.ascontiguousarray(
            first_state if first_state is not None else np.zeros(n_state), np.float32)
        self.grad = np.zeros(n, np.float32)
        if n or n_state:
            _engram.plan_bind(self._p, graph.params._p, self.param, self.grad,
                              self.state if n_state else None)
        self._steps = 0
        self.seed = seed

    def input(self, name: str) -> Any:
        """The memory of an input, to be filled."""
        found = _engram.plan_input(self._p, name)
        if found is None:
            raise KeyError(f"the graph has no input '{name}'")
        return view(found[0], found[1], Life(keeper=self._p))

    def output(self, name: str) -> np.ndarray:
        """An output of the last run: a copy."""
        found = _engram.plan_output(self._p, name)
        if found is None:
            raise KeyError(f"the graph has no output '{name}'")
        return np.frombuffer(found[0], np.float32).reshape(found[1]).copy()

    def __call__(self, **inputs: Any) -> Dict[str, np.ndarray]:
        """Fills the inputs, runs once, and gives the outputs."""
        for name, value in inputs.items():
            room, x = self.input(name), floats(value, name)
            if x.shape != room.shape:
                raise ValueError(f"{name} is {list(room.shape)}, not {list(x.shape)}")
            room[...] = x
        _engram.plan_seed(self._p, self.seed, self._steps)
        self._steps += 1
        _engram.plan_run(self._p)
        return {name: self.output(name) for name in self.graph._outputs}

    @property
    def tensors(self) -> Dict[str, np.ndarray]:
        """Every tensor by name, as views of param and state."""
        return self.graph.params.tensors(self.param, self.state)

    @property
    def flops(self) -> float:
        """Multiplications and additions of a run."""
        return _engram.plan_about(self._p)[0]

    def steps(self) -> List[Tuple[str, str, str]]:
        """(op, kernel, shape) of every step."""
        return _engram.plan_about(self._p)[2]


class Optimizer:
    """Moves a plan's parameters along its gradient: Optimizer(plan, "adam", lr=0.001)."""

    def __init__(self, plan: Plan, name: str = "sgd", **options: Any) -> None:
        self.plan = plan
        text = " ".join(f"{k}={v}" for k, v in options.items())
        self._p = _engram.optimizer_new(name, text, plan.param.size)

    def step(self) -> None:
        _engram.optimizer_step(self._p, self.plan.param, self.plan.grad, self.plan.param.size)


class Net:
    """A network of the engine's, by its name, for inputs [channels, height, width]."""

    def __init__(self, name: str, channels: int, height: int, width: int, classes: int,
                 **options: Any) -> None:
        text = " ".join(f"{k}={v}" for k, v in options.items()) or None
        self._take(_engram.net_new(name, channels, height, width, classes, text))

    def _take(self, made: Any) -> None:
        self._p, table, (self.name, *sizes) = made
        self.params = Params(table)
        self.input_shape = tuple(sizes[:3])
        self.classes = sizes[3]

    @classmethod
    def of_file(cls, path: str) -> "Net":
        net = cls.__new__(cls)
        net._take(_engram.net_load(path))
        return net
