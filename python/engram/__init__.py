"""engram: federated continual learning. Runs, data, networks and methods from Python.

    import engram as eg
    runs = eg.run("experiments/demo.yaml", only=["er", "er+fed-a-gem"], seeds=range(3))
    runs.table()

The engine is the C library libengram; this package adds no computation of its own.
"""

from . import _engram
from ._engram import Error
from .data import dataset
from .graph import (Graph, Init, Net, Node, Optimizer, Params, Plan, Window, constant, normal,
                    ops, uniform)
from .method import (Bundle, Client, Exchange, Method, Replay, Server, Setting, Wishes,
                     add_scaled, dot)
from .model import Model, Saved, load, save
from .options import option
from .run import Experiment, Run, Runs, read, run

__version__: str = _engram.version
__commit__: str = _engram.commit

__all__ = ["Bundle", "Client", "Error", "Exchange", "Experiment", "Graph", "Init", "Method",
           "Model", "Net", "Node", "Optimizer", "Params", "Plan", "Replay", "Run", "Runs",
           "Saved", "Server", "Setting", "Window", "Wishes", "add_scaled", "constant", "dataset", "dot", "load", "members",
           "normal", "ops", "option", "read", "run", "save", "uniform"]


def members(family: str) -> dict:
    """Names and help of what the engine has: methods, models, "data sets", metrics, ..."""
    return _engram.members(family)
