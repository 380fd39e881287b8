"""Experiments and runs: carried out by the engine, read as arrays and tables."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import sys
import tempfile
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Union

import numpy as np

from . import _engram
from .method import is_python
from .model import Saved

FORMS = {"text": 0, "markdown": 1, "latex": 2, "csv": 3, "json": 4}


def _yaml(value: Any) -> str:
    """A value as YAML's flow form has it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_yaml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_yaml(v) for v in value) + "]"
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
        self.text = "".join(f"{key.replace('_', '-') if key == 'name' else key}: {_yaml(value)}\n"
                            for key, value in sections.items())
        self.text += "runs:\n" + "".join(f"  - {_yaml(run)}\n" for run in runs)
        self._file = _engram.parse(name, self.text)

    @property
    def labels(self) -> List[str]:
        """The labels of its runs."""
        return _engram.labels(self._file)

    def run(self, **how: Any) -> "Runs":
        """Carries out its runs; see eg.run."""
        return run(self, **how)


def _names(method: Any) -> List[str]:
    one = method if isinstance(method, (list, tuple)) else [method]
    return [m if isinstance(m, str) else m.name for m in one]


def _named(thing: Any) -> Any:
    if isinstance(thing, dict):
        return {k: _word(v) for k, v in thing.items()}
    return dict(name=_word(thing))


def _word(thing: Any) -> Any:
    return getattr(thing, "name") if isinstance(thing, type) else thing


class Run:
    """A finished run, or one as far as it has got, read from its folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        path = os.path.join(folder, "summary.json")
        self.summary: Dict[str, Any] = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                self.summary = json.load(f)
        self._arrays: Optional[Dict[str, np.ndarray]] = None

    @property
    def label(self) -> str:
        """The run's label."""
        return self._first("label")

    @property
    def seed(self) -> int:
        """Its seed."""
        return int(self._first("seed"))

    def _first(self, key: str) -> Any:
        if key in self.summary:
            return self.summary[key]
        return next(e[key] for e in self.events() if key in e)

    def __getitem__(self, name: str) -> Any:
        """A value of the summary: run["acc_final"]."""
        return self.summary[name]

    def events(self, kind: Optional[str] = None) -> Iterator[Dict[str, Any]]:
        """What happened, one dict per event."""
        with open(os.path.join(self.folder, "metrics.jsonl"), encoding="utf-8") as f:
            for line in f:
                event = json.loads(line)
                if kind is None or event.get("event") == kind:
                    yield event

    @property
    def arrays(self) -> Dict[str, np.ndarray]:
        """All curves as the engine exports them."""
        if self._arrays is None:
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "run.npz")
                _engram.export(self.folder, 2, path)
                with np.load(path) as arrays:
                    self._arrays = {k: arrays[k] for k in arrays.files}
        return self._arrays

    @property
    def accuracy(self) -> np.ndarray:
        """[evaluations, tasks]: NaN where nothing was measured."""
        return self.arrays["accuracy"]

    @property
    def loss(self) -> np.ndarray:
        """[rounds]: the mean training loss."""
        return self.arrays["loss"]

    @property
    def notes(self) -> Dict[str, np.ndarray]:
        """What the method noted: [(round, value), ...] per name."""
        found: Dict[str, List[Any]] = {}
        for event in self.events("note"):
            found.setdefault(event["name"], []).append((event["round"], event["value"]))
        return {name: np.array(rows, float) for name, rows in found.items()}

    @property
    def model(self) -> Saved:
        """The server's model at the end."""
        return Saved(os.path.join(self.folder, "model.safetensors"))

    def report(self, path: Optional[str] = None) -> str:
        """Writes the run's page; its path."""
        return Runs([self.folder]).report(path)

    def __repr__(self) -> str:
        accuracy = self.summary.get("acc_final")
        end = "unfinished" if not self.summary else (
            f"{100 * accuracy:.1f} %" if accuracy is not None else "finished")
        return f"<run {self.label}, seed {self.seed}: {end}>"


class Runs(Sequence[Run]):
    """Several runs: by place, or by label and seed, runs["er", 0]; a table; a page."""

    def __init__(self, folders: Iterable[str], files: Sequence[Any] = ()) -> None:
        self.folders = list(folders)
        self._files = list(files)
        self._runs = [Run(folder) for folder in self.folders]

    def __len__(self) -> int:
        return len(self._runs)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            label, seed = key
            found = [r for r in self._runs if r.label == label and r.seed == seed]
            if not found:
                known = ", ".join(sorted({f"{r.label} with seed {r.seed}" for r in self._runs}))
                raise KeyError(f"there is no run {label} with seed {seed}; there is {known}")
            return found[0]
        if isinstance(key, str):
            return Runs([r.folder for r in self._runs if r.label == key], self._files)
        if isinstance(key, slice):
            return Runs(self.folders[key], self._files)
        return self._runs[key]

    def text(self, form: str = "text", *, sort: Optional[str] = None,
             against: Optional[str] = None, without: Optional[str] = None,
             columns: Optional[str] = None, published: bool = False) -> str:
        """The table as `engram compare` prints it: text, markdown, latex, csv or json."""
        return _engram.compare(self.folders, self._files, FORMS[form], sort, against, without,
                               columns, published)

    def table(self, **how: Any) -> Any:
        """The table as a pandas DataFrame if pandas is there, else as a list of dicts."""
        rows = list(csv.DictReader(io.StringIO(self.text("csv", **how))))
        typed = [{k: _typed(v) for k, v in row.items()} for row in rows]
        try:
            import pandas  # type: ignore[import]
        except ImportError:
            return typed
        return pandas.DataFrame(typed)

    def to_latex(self, **how: Any) -> str:
        """The table as a tabular with the rules of booktabs."""
        return self.text("latex", **how)

    def report(self, path: Optional[str] = None) -> str:
        """Writes the page about these runs; its path."""
        path = path or os.path.join(os.path.dirname(self.folders[0]) or ".", "report.html")
        _engram.report(self.folders, self._files, path)
        return path

    def __repr__(self) -> str:
        return self.text() if self.folders else "no runs"

    def _repr_html_(self) -> str:
        rows = list(csv.reader(io.StringIO(self.text("csv"))))
        cells = lambda tag, row: "".join(f"<{tag}>{_escape(c)}</{tag}>" for c in row)
        body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows[1:])
        return f"<table><thead><tr>{cells('th', rows[0])}</tr></thead><tbody>{body}</tbody></table>"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _typed(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text if text else None


class Bar:
    """A line of progress on a terminal or in a notebook; nothing elsewhere."""

    def __init__(self, label: str, seed: int) -> None:
        self.title = f"{label} seed {seed}"
        self.shown = sys.stderr.isatty() or "ipykernel" in sys.modules

    def progress(self, round: int, n_rounds: int, loss: float, accuracy: float, seconds: float,
                 evaluated: bool) -> None:
        if self.shown:
            done = 20 * round // max(n_rounds, 1)
            known = f" accuracy {100 * accuracy:.1f} %" if accuracy >= 0 else ""
            sys.stderr.write(f"\r{self.title} [{'=' * done}{' ' * (20 - done)}] {round}/{n_rounds}"
                             f" loss {loss:.3f}{known} {seconds:.0f} s ")
            sys.stderr.flush()

    def close(self) -> None:
        if self.shown:
            sys.stderr.write("\n")


def _settings(set: Optional[Dict[str, Any]]) -> List[str]:
    """As --set has them: several values with commas between."""
    lists = {k: v if isinstance(v, (list, tuple)) else [v] for k, v in (set or {}).items()}
    return [f"{k}=" + ",".join(v if isinstance(v, str) else _yaml(v) for v in values)
            for k, values in lists.items()]


def _has_python_method(text: str) -> bool:
    found = re.search(r"^method:\s*(.*(?:\n\s*- .*)*)", text, re.M)
    return found is not None and any(is_python(w) for w in re.findall(r"[\w+-]+", found[1]))


def run(experiment: Union[str, os.PathLike, Experiment], *,
        only: Union[None, str, Sequence[str]] = None, seeds: Iterable[int] = (0,),
        set: Optional[Dict[str, Any]] = None, out: str = "runs", workers: int = 0,
        data_dir: Optional[str] = None, transport: Optional[str] = None, reuse: bool = True,
        resume: bool = True, progress: Union[bool, Callable[..., Any]] = True,
        say: Optional[Callable[[str], Any]] = None) -> Runs:
    """Carries out runs of an experiment file, or of an Experiment, and reads them.

    only: labels, all without it. set: settings over the file's, {"optimizer.lr": 0.05}; a list of
    values makes a run for each. Finished runs are read and not carried out again (reuse);
    unfinished ones go on from their checkpoint (resume). With methods written in Python several
    workers are processes, so that their hooks run side by side. progress: a bar, or a function
    of (round, n_rounds, loss, accuracy, seconds, evaluated) that may return False to stop at a
    checkpoint. Ctrl-C stops there too.
    """
    if isinstance(experiment, Experiment):
        file = experiment._file
    else:
        file = _engram.open(os.fspath(experiment))
    labels = [only] if isinstance(only, str) else list(only or _engram.labels(file))
    folders: List[str] = []
    for label in labels:
        for one in _engram.sweep(file, label, _settings(set)):
            for seed in seeds:
                folders.append(_one(one, int(seed), out, workers, data_dir, transport, reuse,
                                    resume, progress, say))
    return Runs(folders, [file])


def _one(one: Any, seed: int, out: str, workers: int, data_dir: Optional[str],
         transport: Optional[str], reuse: bool, resume: bool, progress: Any,
         say: Any) -> str:
    folder = _engram.folder(one, out, seed)
    there = os.path.exists(folder)
    if there and reuse and _engram.is_finished(folder):
        return folder
    _, label, text, _ = _engram.about(one)
    if transport is None and workers != 1 and _has_python_method(text):
        transport = "processes"
    bar = Bar(label, seed) if progress is True else None
    call = bar.progress if bar else (progress or None)
    try:
        folder, stopped = _engram.run(one, seed, workers, out, data_dir, there and resume, False,
                                      transport, -1, call, None, say)
    finally:
        if bar:
            bar.close()
    return folder


def read(*folders: str) -> Runs:
    """Runs that were carried out before, by their folders."""
    for folder in folders:
        if not os.path.exists(os.path.join(folder, "metrics.jsonl")):
            raise _engram.Error(f"{folder}: there is no run")
    return Runs(folders)
