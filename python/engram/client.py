"""What a method's hooks see of a client."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from . import _engram
from ._lent import Lent, rows_of, words
from ._views import Life, floats, view
from .graph import Graph, Node, Params


def _number(name: str, help: str) -> Any:
    return property(lambda self: _engram.client_value(self._p, name), doc=help)


class Client(Lent):
    """A client within one turn."""

    id = _number("id", "Its number.")
    round = _number("round", "The round, from 0.")
    epoch = _number("epoch", "The epoch within the round.")
    seed = _number("seed", "The run's seed.")
    step = _number("step", "Batches of this round so far.")
    has_trained = _number("has_trained", "It took part before.")
    told_boundary = _number("told_boundary", "A task begins and the scenario announces it.")
    n_params = _number("n_params", "Floats of the model, gaps between tensors included.")
    n_state = _number("n_state", "Floats of its statistics.")
    n_samples = _number("n_samples", "Samples it trains on this round.")
    batch = _number("batch", "Rows of the batch, replayed ones that join it included.")
    n_drawn = _number("n_drawn", "Rows of the batch that are not replayed.")
    n_classes = _number("n_classes", "Outputs of the head.")
    loss = _number("loss", "The sum over batches of the mean loss.")
    n_batches = _number("n_batches", "Batches trained on in this round.")
    lr = _number("lr", "The step size of this round.")
    stage = _number("stage", "Its stage.")
    task = _number("task", "The task it trains on.")
    left = _number("left", "The stage it took part in last, -1 if none.")
    first = _number("first", "It has not taken part in this stage before.")
    last = _number("last", "The stage ends with this round.")

    def __init__(self, pointer: Any) -> None:
        super().__init__(pointer)
        self.n = _engram.client_value(pointer, "n_params")
        table, *shape, self.n_features = _engram.client_net(pointer)
        self._lent.append(table)
        self.table = Params(table)
        self.input_shape: Tuple[int, ...] = tuple(shape)
        self.target_width = _engram.client_value(pointer, "target_width")
        self._target: Tuple[int, ...] = () if self.target_width == 1 else (self.target_width,)

    def _array(self, which: str, shape: Any) -> Any:
        found = self._views.get(which)
        self._life.check()
        if found is None:
            found = view(_engram.client_array(self._p, which), shape, self._life)
            self._views[which] = found
        return found

    def _fresh(self, which: str, shape: Any) -> Any:
        return view(_engram.client_array(self._p, which), shape, self._life)

    @property
    def param(self) -> Any:
        """Its model, flat; writable."""
        return self._array("p", (self.n,))

    @param.setter
    def param(self, value: Any) -> None:
        self._put(self.param, value)

    @property
    def grad(self) -> Any:
        """The batch's gradient, flat; writable: `client.grad += ...`."""
        return self._array("g", (self.n,))

    @grad.setter
    def grad(self, value: Any) -> None:
        self._put(self.grad, value)

    @staticmethod
    def _put(room: Any, value: Any) -> None:
        if value is not room:
            room[...] = value

    @property
    def state(self) -> Any:
        """Its statistics, flat; None if the network has none."""
        return self._array("s", (-1,))

    @property
    def global_param(self) -> Any:
        """The model it received; None without a global model."""
        return self._array("G", (self.n,))

    @property
    def global_state(self) -> Any:
        """The statistics it received."""
        return self._array("S", (-1,))

    @property
    def x(self) -> Any:
        """The rows of the batch, as fed to the network."""
        return self._fresh("x", (-1, *self.input_shape))

    @property
    def labels(self) -> Any:
        """Their labels; of data whose targets are boxes or numbers, these."""
        return self._fresh("y", (-1, *self._target))

    @property
    def logits(self) -> Any:
        """What the network answered, from the grad hook on: before this step."""
        return self._fresh("l", (-1, self.n_classes))

    def tensors(self, flat: Any) -> Dict[str, Any]:
        """A flat array's tensors by name, as views."""
        return self.table.tensors(flat)

    def note(self, name: str, value: float) -> None:
        """A number worth seeing: an event in the log, a curve on the page."""
        _engram.client_note(self._p, name, float(value))

    def keep(self, name: str, record: Any) -> None:
        """Keeps an array, a number or a dict of them for as long as the client lives."""
        _engram.client_keep(self._p, name, rows_of(record))
        self._kept(name)

    def recall(self, name: str) -> Any:
        """What was kept last under this name, None if nothing was; until the turn is over or it
        is kept anew."""
        return self._record(name, _engram.client_recall(self._p, name))

    def stage_model(self, name: str) -> Optional[Tuple[Any, Any]]:
        """In the download hook of training: parameters and statistics of the model that the
        client received when its stage began, kept under this name; None in its first stage."""
        found = _engram.client_stage_model(self._p, name)
        return None if found is None else (view(found[0], (self.n,), self._life),
                                           view(found[1], (-1,), self._life))

    def rng(self, draw: int = 0, stage: int = -1) -> np.random.Generator:
        """Random numbers of the method's own: another stream per draw, client, round and batch,
        or per stage; the same on any number of workers."""
        return np.random.Generator(
            np.random.Philox(key=words(_engram.client_stream(self._p, draw, stage))))

    def samples(self, of_batch: bool = False) -> List[Tuple[int, int]]:
        """(task, id) of all it trains on this round, or of the batch's."""
        return _engram.client_samples(self._p, of_batch)

    def stage_samples(self, stage: Optional[int] = None) -> List[Tuple[int, int]]:
        """(task, id) of all samples of one of its stages; without a number of what it has now."""
        return _engram.client_stage_samples(self._p, -1 if stage is None else stage)

    def past_classes(self) -> np.ndarray:
        """For each output whether its class is of earlier stages alone."""
        return np.frombuffer(_engram.client_past_classes(self._p), np.uint8).astype(bool)

    def add_sample(self, task: int, id: int) -> None:
        """In the samples hook: one more training sample for this round."""
        _engram.client_add_sample(self._p, task, id)

    def add_rows(self, x: Any, labels: Any) -> None:
        """In the samples hook: rows of the method's own to train on."""
        _engram.client_add_rows(self._p, floats(x, "x"), floats(labels, "labels"))

    def feed(self, samples: List[Tuple[int, int]]) -> Tuple[np.ndarray, np.ndarray]:
        """Samples as the network is fed them: x and labels."""
        x = np.empty((len(samples), *self.input_shape), np.float32)
        labels = np.empty((len(samples), *self._target), np.float32)
        _engram.client_feed(self._p, samples, None, x, labels)
        return x, labels

    @property
    def memory(self) -> Optional[Tuple[Any, Any]]:
        """Rows and labels of its memory; None if the experiment declares none."""
        found = _engram.client_memory(self._p)
        if found is None:
            return None
        n, _, _, x, labels = found
        if n == 0:
            return (np.empty((0, *self.input_shape), np.float32),
                    np.empty((0, *self._target), np.float32))
        if self._rows is None:
            self._rows = self._part("this array is of rows of the memory, which was changed")
        return view(x, (n, *self.input_shape), self._rows), view(labels, (n, *self._target), self._rows)

    _rows: Optional[Life] = None

    def fill_memory(self, x: Any, labels: Any) -> None:
        """Makes rows all that its memory holds (wishes.fills)."""
        self._fill_memory(x, labels, None)

    def herd(self, x: Any, labels: Any, features: Any) -> None:
        """Makes its memory one of exemplars: those it has, and for each label of the rows those
        whose mean of features is closest to that of all; each has as much room (wishes.fills)."""
        self._fill_memory(x, labels, floats(features, "features"))

    def _fill_memory(self, x: Any, labels: Any, features: Any) -> None:
        if self._rows is not None:
            x, labels = np.array(x), np.array(labels)
            self._rows.end()
            self._rows = None
        _engram.client_fill_memory(self._p, floats(x, "x"), floats(labels, "labels"), features)

    def gradient(self, x: Any, labels: Any = None, *, training: bool = True,
                 at: Any = None) -> Any:
        """The gradient of the mean loss of rows (x, labels) or of samples [(task, id)], at its
        model or at another; valid until the next gradient is asked for."""
        rows = x if isinstance(x, list) else floats(x, "x")
        y = None if labels is None else floats(labels, "labels")
        at = None if at is None else np.array(at, np.float32)
        return view(_engram.client_gradient(self._p, rows, y, training, at), (self.n,),
                    self._life)

    def replay_gradient(self, rows: int, draw: int = 0) -> Any:
        """The gradient of rows drawn from its memory; None while that is empty."""
        return view(_engram.client_replay_gradient(self._p, rows, draw), (self.n,), self._life)

    def look(self, x: Any, labels: Any = None, *, norms: bool = False, losses: bool = False,
             logits: bool = False, features: bool = False,
             at: Any = None) -> Dict[str, np.ndarray]:
        """What the network makes of rows (x, labels) or of samples [(task, id)] in its eval form:
        squared gradient norms, losses, logits, features. at: another model than its own, as
        parameters, or as parameters and statistics."""
        rows = x if isinstance(x, list) else floats(x, "x")
        y = None if labels is None else floats(labels, "labels")
        n = len(rows)  # type: ignore[arg-type]
        sizes = {"norms": (n,), "losses": (n,), "logits": (n, self.n_classes),
                 "features": (n, self.n_features)}
        wanted = {"norms": norms, "losses": losses, "logits": logits, "features": features}
        out = {k: np.empty(sizes[k], np.float32) for k, w in wanted.items() if w}
        param, state = at if isinstance(at, tuple) else (at, None)
        _engram.client_look(self._p, rows, y, *[out.get(k) for k in sizes],
                            *[None if v is None else floats(v, "at") for v in (param, state)])
        return out

    def input(self, name: str) -> Any:
        """In the fill hook: the memory of an input that the loss hook recorded."""
        memory, shape = _engram.client_input(self._p, self._prefix + name)
        return view(memory, shape, self._life)

    # In the loss hook.

    def replayed(self, g: Graph, i: int = 0) -> Tuple[int, Any, Any, Any]:
        """Rows, x, labels and logits of the i-th wished replay that stands apart; 0 rows while
        the memory is empty."""
        n, *nodes = _engram.client_replayed(self._p, g._p, i)
        return (n, *[None if p is None else Node(g, p) for p in nodes])  # type: ignore

    def _node(self, g: Graph, which: str, x: Optional[Node] = None) -> Node:
        return Node(g, _engram.client_node(self._p, g._p, which, x._p if x else None))

    def outputs(self, g: Graph, x: Node) -> Node:
        """The network's outputs for rows apart from the batch."""
        return self._node(g, "o", x)

    def outputs_of(self, g: Graph, features: Node) -> Node:
        """The same for features."""
        return self._node(g, "f", features)

    def counted(self, g: Graph, logits: Node) -> Node:
        """Logits as the training loss sees them."""
        return self._node(g, "c", logits)

    def features(self, g: Graph) -> Node:
        """The features of the batch."""
        return self._node(g, "b")

    def plain(self, g: Graph) -> Node:
        """The batch's mean cross entropy without any method's terms."""
        return self._node(g, "p")

    _prefix = ""
