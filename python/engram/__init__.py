"""engram: federated continual learning. Runs, data, networks and methods from Python.

    import engram as eg
    runs = eg.run("experiments/demo.yaml", only=["er", "er+fed-a-gem"], seeds=range(3))
    runs.table()

The engine is the C library libengram; this package adds no computation of its own.
"""

from . import _engram
from ._engram import Error
from ._lent import Bundle
from ._views import View, add_scaled, dot
from .client import Client
from .cluster import rank
from .data import dataset
from .experiment import Experiment
from .graph import (Graph, Init, Net, Node, Optimizer, Params, Plan, Region, Window, constant,
                    normal, ops, uniform)
from .method import Asked, Exchange, Method, Replay, Setting, Wishes
from .model import Model, Saved, load, save
from .options import option
from .remote import join, serve
from .results import Chart, Run, Runs, read
from .run import run
from .server import Piece, Server, Sizes

__version__: str = _engram.version
__commit__: str = _engram.commit

__all__ = ["Asked", "Bundle", "Chart", "Client", "Error", "Exchange", "Experiment", "Graph",
           "Init", "Method", "Model", "Net", "Node", "Optimizer", "Params", "Piece", "Plan",
           "Region", "Replay", "Run", "Runs", "Saved", "Server", "Setting", "Sizes", "View", "Window",
           "Wishes", "add_scaled", "constant", "dataset", "dot", "join", "load", "members",
           "normal", "ops", "option", "rank", "read", "run", "save", "serve", "uniform"]


def members(family: str) -> dict:
    """Names and help of what the engine has: methods, models, "data sets", metrics, ..."""
    return _engram.members(family)
