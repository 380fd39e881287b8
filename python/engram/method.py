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
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _engram
from ._lent import Bundle
from ._views import Life, view
from .client import Client
from .graph import Graph, Node
from .options import help_of, option_row, options_of, word_of
from .server import Piece, Server, Sizes

TRAINING = "training"

CLIENT_HOOKS = ("loss", "form", "fill", "download", "task", "samples", "grad", "trained",
                "answer", "know_own")
SERVER_HOOKS = ("begin", "wants", "send", "send_one", "accept", "weight", "collect", "refine",
                "finish", "work", "model_of", "save", "know")
OTHER_HOOKS = ("sums", "outputs", "knows", "answers")  #: that have the options alone
LEAVINGS = {"vectors": 1, "figures": 2, "generators": 4}
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
        self.fills = False  #: it fills the memory itself: client.herd, client.fill_memory
        self.classes = False  #: it needs one class for each sample, not boxes or numbers
        self.sums = False  #: sums of answers to training do for it: see the hook sums
        self.images = False  #: rows must have pixels within [-1, 1]
        self.global_model = False  #: there must be a global model
        self.personal = False  #: every client keeps a model of its own
        self.plain_mean = False  #: uploads count alike in the mean
        self.shares_plain = False  #: takes weight off the batch's own cross entropy
        self.rests = False  #: `wants` may leave training out
        self.train: Optional[str] = None  #: what is trained, as model.train says it: "head"
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
    classes: int = 0  #: outputs of the head, once it is known
    tasks: int = 0  #: of the scenario, once it is known
    clients: int = 0  #: likewise
    hides: bool = False  #: the server learns sums of answers alone


class Asked:
    """What a method's own outputs and answers are recorded from."""

    def __init__(self, sizes: Any, net: Any, graph: Graph, nodes: Dict[str, Any],
                 known: Dict[str, Node]) -> None:
        self.net = Sizes.of(sizes)  #: what the network takes and gives
        self.features = nodes["features"]  #: [n, d]
        self.x = nodes.get("x")  #: in answers: [n, c, h, w]
        self.outputs = nodes.get("outputs")  #: in answers: [n, classes], the head's
        self.tasks = nodes.get("tasks")  #: in outputs: [n, tasks], 1 at each a row may be of
        self.known = known  #: in answers: what `knows` declared
        self._net, self._graph = net, graph

    def head(self, features: Node) -> Node:
        """The logits of the network's head for features."""
        return Node(self._graph, _engram.net_head(self._graph._p, self._net, False, features._p))

    def side(self, features: Node) -> Node:
        """The outputs of its second head (wishes.side)."""
        return Node(self._graph, _engram.net_head(self._graph._p, self._net, True, features._p))


class Method:
    """A part of a run's method. See the module's text for its hooks."""

    name = ""  #: as in files; without it the class's name
    offers: Sequence[str] = ()  #: what the scenario must offer, of OFFERS
    memory = False  #: the experiment must declare a memory
    uploads: Sequence[str] = ()
    replays: Sequence[Replay] = ()
    exchanges: Sequence[Exchange] = ()

    lasts: Sequence[str] = ()  #: the server's attributes that checkpoints keep, None at first
    leaves: Sequence[str] = ()  #: what its answers take away from a client, of LEAVINGS
    bound = False  #: an upper or lower bound, not a contender
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
        function = getattr(self, hook, None)
        if function is None:
            return None
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
        self._told("fill", 0, client)

    def _outputs(self, sizes: Any, net: Any, graph: Any, nodes: List[Any]) -> Any:
        return self._record("outputs", sizes, net, graph, nodes, ("features", "tasks"), ())

    def _knows(self, sizes: Any, exchange: int, bundle: Any) -> None:
        Bundle(bundle, Life()).update(self.knows(Sizes.of(sizes)))  # type: ignore[attr-defined]

    def _sums(self, sizes: Any, exchange: int, bundle: Any) -> None:
        Bundle(bundle, Life()).update(self._told("sums", exchange, Sizes.of(sizes)) or {})

    def _answers(self, sizes: Any, net: Any, graph: Any, nodes: List[Any]) -> Any:
        knows = getattr(self, "knows", None)
        return self._record("answers", sizes, net, graph, nodes, ("x", "features", "outputs"),
                            knows(Sizes.of(sizes)) if knows else ())

    def _record(self, hook: str, sizes: Any, net: Any, graph: Any, pointers: List[Any],
                names: Sequence[str], known: Any) -> Any:
        g = Graph(_p=graph, _prefix=self.name + ".")
        nodes = [Node(g, p) for p in pointers]
        asked = Asked(sizes, net, g, dict(zip(names, nodes)),
                      dict(zip(known, nodes[len(names):])))
        out = getattr(self, hook)(g, asked)
        if not isinstance(out, Node):
            raise TypeError(f"{hook} must return a node, not {type(out).__name__}")
        return out._p

    def _work(self, piece: Any, got: Any, to: Any) -> None:
        life = Life()
        try:
            self.work(Piece(piece), Bundle(got, life),  # type: ignore[attr-defined]
                      Bundle(to, life))
        finally:
            life.end()

    def _know_own(self, client: Client, _: int, exchange: int, bundle: Any) -> None:
        self._told("know_own", 0, client, Bundle(bundle, Life(client._life)))

    def _download(self, client: Client, _: int, exchange: int, bundle: Any) -> None:
        client._lent.append(bundle)
        self._told("download", exchange, client, Bundle(bundle, client._life))

    def _answer(self, client: Client, _: int, exchange: int, bundle: Any) -> None:
        self._told("answer", exchange, client, Bundle(bundle, client._life))

    def _hook(self, server: Server, hook: str, exchange: int, *args: Any) -> Any:
        try:
            return self._told(hook, exchange, server, *args)
        finally:
            server._over()

    def _begin(self, server: Server) -> None:
        kept = server.recall(self.name + ".lasts") if self.lasts else None
        for name in self.lasts:
            setattr(self, name, _unpacked(name, {} if kept is None else kept))
        self._hook(server, "begin", 0)

    def _save(self, server: Server) -> None:
        if self.lasts:
            server.keep(self.name + ".lasts", {
                key: value for name in self.lasts
                for key, value in _packed(name, getattr(self, name))})
        self._hook(server, "save", 0)

    def _wants(self, server: Server, exchange: int) -> bool:
        wanted = self._hook(server, "wants", exchange)
        return True if wanted is None else bool(wanted)

    def _finish(self, server: Server, exchange: int) -> None:
        self._hook(server, "finish", exchange)

    def _send(self, server: Server, _: int, exchange: int, bundle: Any) -> None:
        self._hook(server, "send", exchange, Bundle(bundle, Life(server._life)))

    def _send_one(self, server: Server, client: int, exchange: int, bundle: Any) -> None:
        self._hook(server, "send_one", 0, client, Bundle(bundle, Life(server._life)))

    def _know(self, server: Server, _: int, exchange: int, bundle: Any) -> None:
        self._hook(server, "know", 0, Bundle(bundle, Life(server._life)))

    def _model_of(self, server: Server, client: int, exchange: int, bundle: Any) -> None:
        self._hook(server, "model_of", 0, client, Bundle(bundle, Life(server._life)))

    def _of_client(self, server: Server, hook: str, client: int, exchange: int,
                   bundle: Any) -> Any:
        life = Life()
        try:
            return self._hook(server, hook, exchange, client, Bundle(bundle, life))
        finally:
            life.end()

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
            life.end()


def _packed(name: str, value: Any) -> List[Tuple[str, Any]]:
    """An attribute as rows of a record: nothing for None, a row per item of a dict."""
    if isinstance(value, dict):
        return [(f"{name}.{key}", item) for key, item in value.items()]
    return [] if value is None else [(name, value)]


def _unpacked(name: str, kept: Any) -> Any:
    own = {key: np.array(kept[key]) if np.ndim(kept[key]) else kept[key] for key in kept
           if key == name or key.startswith(name + ".")}
    return own.get(name, {key[len(name) + 1:]: value for key, value in own.items()} or None)


_methods: Dict[str, type] = {}


def _register(cls: Any) -> None:
    """Adds the class to the engine's methods, or puts it in the place of the one of its name
    that it defines anew (in a notebook, say)."""
    strange = [x for x in cls.leaves if x not in LEAVINGS]
    if strange:
        raise ValueError(f"{cls.name}: what leaves a client is of {', '.join(LEAVINGS)}, not "
                         f"{strange[0]}")
    if cls.lasts:
        setattr(cls, "begin", getattr(cls, "begin", None) or (lambda self, server: None))
    hooks = [h for h in CLIENT_HOOKS + SERVER_HOOKS + OTHER_HOOKS
             if callable(getattr(cls, h, None))]
    cls._takes_exchange = frozenset(
        h for h in hooks if "exchange" in inspect.signature(getattr(cls, h)).parameters)
    rows = [option_row(k, o) for k, o in options_of(cls).items()]
    _engram.method_add(cls, cls.name, help_of(cls), rows, hooks, cls.draws_as,
                       sum(LEAVINGS[x] for x in cls.leaves), cls.bound)
    _methods[cls.name] = cls


def is_python(name: str) -> bool:
    """Whether a method of this name is written in Python."""
    return name.replace("-", "_") in _methods
