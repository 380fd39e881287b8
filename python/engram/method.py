"""A federated method as a class: both halves, in Python.

A hook is a method of the class with one of the names below; only those that are there are
called. A client's hooks run on a fresh object per turn, with the options as attributes; what
lasts is kept by name (client.keep). The server's run on one object per run.

    class FedProx(eg.Method):
        \"\"\"holds each client near the global model\"\"\"
        mu = eg.option(0.01, 0, 1e3, "strength of the pull")

        def grad(self, client):
            client.grad += self.mu * (client.param - client.global_param)

Defining the class registers it: `method: fed_prox` in an experiment file, with a section
`fed_prox:` for its options. The arrays are the engine's memory, without a copy, and may be used
until the turn is over.
"""

from __future__ import annotations

import inspect
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _engram
from ._views import Life, View, floats, view
from .graph import Graph, Node, Params
from .options import help_of, option_row, options_of, word_of

TRAINING = "training"

CLIENT_HOOKS = ("loss", "form", "fill", "download", "task", "samples", "grad", "trained",
                "answer")
SERVER_HOOKS = ("begin", "wants", "send", "send_one", "accept", "weight", "collect", "refine",
                "finish", "save")
OFFERS = {"boundaries": 1, "task_ids": 2, "common_tasks": 4, "task_classes": 8,
          "test_tasks": 16}


class Replay(NamedTuple):
    """Rows of the client's memory drawn for every batch: joined to it, or apart from it, then
    with labels and stored logits if these are wanted."""

    rows: int
    joins: bool = False
    labels: bool = False
    logits: bool = False


class Exchange(NamedTuple):
    """One more question to all clients in every round, after training. sum: only the mean of
    the answers is used; everyone: clients without data now are asked, too."""

    name: str
    sum: bool = False
    everyone: bool = False


class Wishes:
    """What a method wishes of the run: set attributes in setup."""

    def __init__(self) -> None:
        self.offers: Sequence[str] = ()  #: of OFFERS: what the scenario must offer
        self.memory = False  #: the experiment must declare a memory
        self.logits = False  #: whose rows keep the outputs they were stored with
        self.insert_once = False  #: and which is offered each sample once per stage
        self.images = False  #: rows must have pixels within [-1, 1]
        self.global_model = False  #: there must be a global model
        self.personal = False  #: every client keeps a model of its own
        self.plain_mean = False  #: uploads count alike in the mean
        self.shares_plain = False  #: takes weight off the batch's own cross entropy
        self.rests = False  #: `wants` may leave training out
        self.side = 0  #: outputs of a second head on the features
        self.uploads: Sequence[str] = ()  #: vectors like the model in every upload
        self.replays: Sequence[Replay] = ()
        self.exchanges: Sequence[Exchange] = ()

    def _dict(self) -> Dict[str, Any]:
        unknown = [o for o in self.offers if o not in OFFERS]
        if unknown:
            raise ValueError(f"a scenario offers {', '.join(OFFERS)}, not {unknown[0]}")
        known = set(vars(Wishes()))
        strange = [k for k in vars(self) if k not in known]
        if strange:
            raise AttributeError(f"there is no wish '{strange[0]}'; there are "
                                 f"{', '.join(sorted(known))}")
        return dict(vars(self), offers=sum(OFFERS[o] for o in self.offers),
                    uploads=list(self.uploads), replays=[r._asdict() for r in self.replays],
                    exchanges=[e._asdict() for e in self.exchanges])


class Setting(NamedTuple):
    """What is known of the run when setup is asked."""

    optimizer: str
    lr: float
    momentum: float
    weight_decay: float
    epochs: int
    batch: int
    interval: int
    known: bool  #: the scenario is known: the run begins


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


def _row(name: str, value: Any) -> Tuple[str, Any, Any]:
    if np.ndim(value) == 0:
        return name, (), float(value)
    array = floats(value, name)
    return name, array.shape, array


def _rows(record: Any) -> List[Tuple[str, Any, Any]]:
    if isinstance(record, dict):
        return [_row(name, value) for name, value in record.items()]
    return [_row("value", record)]


class _Lent:
    """What a half sees: a pointer that is lent, and views that end with it."""

    def __init__(self, pointer: Any) -> None:
        self._p = pointer
        self._life = Life()
        self._views: Dict[str, Any] = {}
        self._bundles: List[Any] = []

    def _record(self, pointer: Any) -> Any:
        """A recalled record: a bundle; one array or number kept alone comes back as such."""
        if pointer is None:
            return None
        self._bundles.append(pointer)
        bundle = Bundle(pointer, self._life)
        return bundle["value"] if list(bundle) == ["value"] else bundle

    def _end(self) -> None:
        self._life.alive = False
        for pointer in self._bundles:
            _engram.end(pointer)


def _number(name: str, help: str) -> Any:
    return property(lambda self: _engram.client_value(self._p, name), doc=help)


class Client(_Lent):
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
        self._bundles.append(table)
        self.table = Params(table)
        self.input_shape: Tuple[int, ...] = tuple(shape)

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
        """Their labels."""
        return self._fresh("y", (-1,))

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
        _engram.client_keep(self._p, name, _rows(record))

    def recall(self, name: str) -> Any:
        """What was kept last under this name, None if nothing was."""
        return self._record(_engram.client_recall(self._p, name))

    def rng(self, draw: int = 0, stage: int = -1) -> np.random.Generator:
        """Random numbers of the method's own: another stream per draw, client, round and batch,
        or per stage; the same on any number of workers."""
        return np.random.Generator(
            np.random.Philox(key=_words(_engram.client_stream(self._p, draw, stage))))

    def samples(self, of_batch: bool = False) -> List[Tuple[int, int]]:
        """(task, id) of all it trains on this round, or of the batch's."""
        return _engram.client_samples(self._p, of_batch)

    def add_sample(self, task: int, id: int) -> None:
        """In the samples hook: one more training sample for this round."""
        _engram.client_add_sample(self._p, task, id)

    def add_rows(self, x: Any, labels: Any) -> None:
        """In the samples hook: rows of the method's own to train on."""
        _engram.client_add_rows(self._p, floats(x, "x"), floats(labels, "labels"))

    def feed(self, samples: List[Tuple[int, int]]) -> Tuple[np.ndarray, np.ndarray]:
        """Samples as the network is fed them: x and labels."""
        x = np.empty((len(samples), *self.input_shape), np.float32)
        labels = np.empty(len(samples), np.float32)
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
            return np.empty((0, *self.input_shape), np.float32), np.empty(0, np.float32)
        return (view(x, (n, *self.input_shape), self._life), view(labels, (n,), self._life))

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
             logits: bool = False, features: bool = False) -> Dict[str, np.ndarray]:
        """What the network makes of rows in its eval form: squared gradient norms, losses,
        logits, features."""
        rows = x if isinstance(x, list) else floats(x, "x")
        y = None if labels is None else floats(labels, "labels")
        n = len(rows)  # type: ignore[arg-type]
        sizes = {"norms": (n,), "losses": (n,), "logits": (n, self.n_classes),
                 "features": (n, self.n_features)}
        wanted = {"norms": norms, "losses": losses, "logits": logits, "features": features}
        out = {k: np.empty(sizes[k], np.float32) for k, w in wanted.items() if w}
        _engram.client_look(self._p, rows, y, *[out.get(k) for k in sizes])
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


def _words(pair: Tuple[int, int]) -> np.ndarray:
    return np.array(pair, np.uint64)


class Server(_Lent):
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
            np.random.Philox(key=_words(_engram.server_stream(self._p, of, draw))))

    def vector(self, name: str) -> Any:
        """In begin: a vector like the model, zero at first, saved with every checkpoint."""
        return view(_engram.server_vector(self._p, name), (-1,), self._run)

    def keep(self, name: str, record: Any) -> None:
        """In save: what begin recalls."""
        _engram.server_keep(self._p, name, _rows(record))

    def recall(self, name: str) -> Any:
        """What was kept last under this name, None if nothing was."""
        return self._record(_engram.server_recall(self._p, name))

    def _end(self) -> None:
        super()._end()
        self._run.alive = False


def dot(a: Any, b: Any) -> float:
    """a.b of two flat vectors, by the engine's kernel: the bits that methods in C get."""
    return _engram.dot(floats(a), floats(b))


def add_scaled(y: Any, a: float, x: Any) -> None:
    """y += a x in place, by the engine's kernel; y is a flat float32 array."""
    if isinstance(y, View):
        y._life.check()
    _engram.add_scaled(y, float(a), floats(x))


class Method:
    """A part of a run's method. See the module's text for its hooks."""

    name = ""  #: as in files; without it the class's name
    offers: Sequence[str] = ()  #: what the scenario must offer, of OFFERS
    memory = False  #: the experiment must declare a memory
    uploads: Sequence[str] = ()
    replays: Sequence[Replay] = ()
    exchanges: Sequence[Exchange] = ()

    draws_as: Optional[str] = None  #: the method whose random numbers it has: another writing

    _kept: List[str] = []

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        if "name" not in vars(cls):
            cls.name = word_of(cls)
        cls._kept = []
        _register(cls)

    def setup(self, setting: Setting, wishes: Wishes) -> None:
        """Says what it wishes; raises what cannot work, in one sentence."""

    # What the core calls.

    @classmethod
    def _open(cls, options: Dict[str, Any]) -> "Method":
        self = cls()
        for name, value in options.items():
            setattr(self, name, value)
        return self

    def _see(self, kind: str, pointer: Any) -> Any:
        seen: Any = Client(pointer) if kind == "client" else Server(pointer)
        if kind == "client":
            seen._prefix = self.name + "."
        return seen

    def _setup(self, *facts: Any) -> Dict[str, Any]:
        wishes = Wishes()
        wishes.offers, wishes.memory = self.offers, self.memory
        wishes.uploads, wishes.replays = self.uploads, self.replays
        wishes.exchanges = self.exchanges
        self.setup(Setting(*facts), wishes)
        type(self)._exchange_names = [TRAINING] + [e.name for e in wishes.exchanges]
        return wishes._dict()

    _exchange_names: List[str] = [TRAINING]

    def _told(self, hook: str, exchange: int, *args: Any) -> Any:
        """Calls a hook that is of training alone unless it takes the exchange's name."""
        function = getattr(self, hook)
        if hook in type(self)._takes_exchange:
            return function(*args, exchange=self._exchange_names[exchange])
        return function(*args) if exchange == 0 else None

    _takes_exchange: frozenset = frozenset()

    def _loss(self, client: Client, graph: Any, loss: Any) -> Any:
        g = Graph(params=client.table, _p=graph, _prefix=client._prefix)
        out = self.loss(client, g, Node(g, loss))  # type: ignore[attr-defined]
        if not isinstance(out, Node):
            raise TypeError(f"loss must return a node, not {type(out).__name__}")
        return out._p

    def _fill(self, client: Client) -> None:
        self.fill(client)  # type: ignore[attr-defined]

    def _download(self, client: Client, _: int, exchange: int, bundle: Any) -> None:
        client._bundles.append(bundle)
        self._told("download", exchange, client, Bundle(bundle, client._life))

    def _answer(self, client: Client, _: int, exchange: int, bundle: Any) -> None:
        self._told("answer", exchange, client, Bundle(bundle, client._life))

    def _hook(self, server: Server, hook: str, exchange: int, *args: Any) -> Any:
        server._life = Life()
        try:
            return self._told(hook, exchange, server, *args)
        finally:
            server._life.alive = False

    def _begin(self, server: Server) -> None:
        self._hook(server, "begin", 0)

    def _save(self, server: Server) -> None:
        self._hook(server, "save", 0)

    def _wants(self, server: Server, exchange: int) -> bool:
        wanted = self._hook(server, "wants", exchange)
        return True if wanted is None else bool(wanted)

    def _finish(self, server: Server, exchange: int) -> None:
        self._hook(server, "finish", exchange)

    def _send(self, server: Server, _: int, exchange: int, bundle: Any) -> None:
        self._hook(server, "send", exchange, Bundle(bundle, Life()))

    def _send_one(self, server: Server, client: int, exchange: int, bundle: Any) -> None:
        self._hook(server, "send_one", 0, client, Bundle(bundle, Life()))

    def _of_client(self, server: Server, hook: str, client: int, exchange: int,
                   bundle: Any) -> Any:
        life = Life()
        try:
            return self._hook(server, hook, exchange, client, Bundle(bundle, life))
        finally:
            life.alive = False

    def _accept(self, server: Server, client: int, exchange: int, bundle: Any) -> Any:
        return self._of_client(server, "accept", client, exchange, bundle)

    def _collect(self, server: Server, client: int, exchange: int, bundle: Any) -> None:
        self._of_client(server, "collect", client, exchange, bundle)

    def _weight(self, server: Server, client: int, bundle: Any) -> float:
        return float(self._of_client(server, "weight", client, 0, bundle))

    def _refine(self, server: Server, param: Any, state: Any) -> None:
        life = Life()
        try:
            self._hook(server, "refine", 0, view(param, (-1,), life), view(state, (-1,), life))
        finally:
            life.alive = False


_methods: Dict[str, type] = {}


def _register(cls: Any) -> None:
    """Adds the class to the engine's methods, or puts it in the place of the one of its name
    that it defines anew (in a notebook, say)."""
    hooks = [h for h in CLIENT_HOOKS + SERVER_HOOKS if callable(getattr(cls, h, None))]
    cls._takes_exchange = frozenset(
        h for h in hooks if "exchange" in inspect.signature(getattr(cls, h)).parameters)
    rows = [option_row(k, o) for k, o in options_of(cls).items()]
    _engram.method_add(cls, cls.name, help_of(cls), rows, hooks, cls.draws_as)
    _methods[cls.name] = cls


def is_python(name: str) -> bool:
    """Whether a method of this name is written in Python."""
    return name.replace("-", "_") in _methods
