"""What an experiment file says, from keywords."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Any, List, Optional, Sequence

import numpy as np

from . import _engram

if TYPE_CHECKING:
    from .results import Runs


def yaml(value: Any) -> str:
    """A value as YAML's flow form has it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {yaml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(yaml(v) for v in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, np.integer, np.floating)):
        return repr(value.item() if isinstance(value, np.generic) else value)
    return json.dumps(str(value), ensure_ascii=False)


class Experiment:
    """What an experiment file says, from keywords: data, model, scenario, method and settings.

        eg.Experiment(data="mine", model="cnn-small", method=["er", "fed-a-gem"],
                      scenario=dict(kind="class-incremental", clients=8, tasks=4, rounds=5),
                      memory=dict(kind="reservoir", size=200))

    runs=[dict(label=..., method=...), ...] describes several instead of method. A method may be
    a class of eg.Method.
    """

    def __init__(self, *, name: str = "experiment", data: Any, model: Any, scenario: dict,
                 method: Any = None, label: Optional[str] = None,
                 runs: Optional[Sequence[dict]] = None, **sections: Any) -> None:
        if (method is None) == (runs is None):
            raise TypeError("give a method, or several runs")
        if runs is None:
            runs = [dict(label=label or "+".join(_names(method)), method=method)]
        runs = [dict(run, method=_names(run["method"])) for run in runs]
        runs = [dict({"label": "+".join(run["method"])}, **run) for run in runs]
        sections = dict(name=name, data=_named(data), model=_named(model), scenario=scenario,
                        **{k.rstrip("_"): v for k, v in sections.items()})
        self.text = "".join(f"{key.replace('_', '-') if key == 'name' else key}: {yaml(value)}\n"
                            for key, value in sections.items())
        self.text += "runs:\n" + "".join(f"  - {yaml(run)}\n" for run in runs)
        self._file = _engram.parse(name, self.text)

    @property
    def labels(self) -> List[str]:
        """The labels of its runs."""
        return _engram.labels(self._file)

    def run(self, **how: Any) -> "Runs":
        """Carries out its runs; see eg.run."""
        from .run import run
        return run(self, **how)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


def _names(method: Any) -> List[str]:
    one = method if isinstance(method, (list, tuple)) else [method]
    return [m if isinstance(m, str) else m.name for m in one]


def _named(thing: Any) -> Any:
    if isinstance(thing, dict):
        return {k: _word(v) for k, v in thing.items()}
    return dict(name=_word(thing))


def _word(thing: Any) -> Any:
    return getattr(thing, "name") if isinstance(thing, type) else thing
