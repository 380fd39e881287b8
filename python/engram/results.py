"""Runs as they are looked at: values, arrays, tables, charts, pages."""

from __future__ import annotations

import base64
import csv
import html
import io
import json
import os
import re
import tempfile
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence

import numpy as np

from . import _engram
from .model import Saved

FORMS = {"text": 0, "markdown": 1, "latex": 2, "csv": 3, "json": 4}


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
    def client_loss(self) -> np.ndarray:
        """[rounds, clients]: each client's training loss; NaN where it took no part that counts."""
        rounds = list(self.events("round"))
        n_clients = next(self.events("start"))["clients"]
        out = np.full((len(rounds), n_clients), np.nan)
        for row, event in zip(out, rounds):
            for client, loss in zip(event["clients"], event.get("losses", [])):
                row[client] = np.nan if loss is None else loss
        return out

    @property
    def held(self) -> Dict[int, np.ndarray]:
        """{round: [classes]}: rows per client in the memories of those for whom a task ended."""
        n_classes = next(self.events("start"))["classes"]
        found = {}
        for event in self.events("round"):
            if "held" in event:
                rows = np.zeros(n_classes)
                rows[:len(event["held"])] = event["held"]
                found[event["round"]] = rows / event["held_by"]
        return found

    @property
    def confusion(self) -> np.ndarray:
        """[classes, classes]: how many test samples of a row's class got a column's, last."""
        return self.arrays["confusion"]

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

    def chart(self, name: str = "accuracy") -> "Chart":
        """One chart of its page, as notebooks show it."""
        return Chart([self.folder], name)

    def _repr_html_(self) -> str:
        shown = f"<p>{html.escape(repr(self))}</p>"
        return shown + self.chart()._repr_html_() if self.summary else shown

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
            return Rows(typed)
        return pandas.DataFrame(typed)

    def to_latex(self, **how: Any) -> str:
        """The table as a tabular with the rules of booktabs."""
        return self.text("latex", **how)

    def report(self, path: Optional[str] = None) -> str:
        """Writes the page about these runs; its path."""
        path = path or os.path.join(os.path.dirname(self.folders[0]) or ".", "report.html")
        _engram.report(self.folders, self._files, path)
        return path

    def chart(self, name: str = "compare") -> "Chart":
        """One chart of the page, as notebooks show it: "compare", "accuracy", ...; an unknown name
        is answered with those there are."""
        return Chart(self.folders, name)

    def __repr__(self) -> str:
        return self.text() if self.folders else "no runs"

    def _repr_html_(self) -> str:
        """The table as `engram compare` prints it."""
        if not self.folders:
            return "no runs"
        lines = [[c.strip() for c in line.strip().strip("|").split("|")]
                 for line in self.text("markdown").splitlines()]
        rows = [line for line in lines if len(line) > 1 and set("".join(line)) - set("-: ")]
        below = [line[0].removeprefix("- ") for line in lines if len(line) == 1 and line[0]]
        return _table(rows[0], rows[1:]) + "".join(f"<p>{_inline(text)}</p>" for text in below)


class Rows(List[Dict[str, Any]]):
    """A table where there is no pandas: a dict for each row."""

    def _repr_html_(self) -> str:
        return _table(list(self[0]) if self else [],
                      [["" if v is None else str(v) for v in row.values()] for row in self])


class Chart:
    """A chart of the page as SVG."""

    def __init__(self, folders: Sequence[str], name: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "chart.svg")
            _engram.chart(list(folders), name, path)
            with open(path, encoding="utf-8") as f:
                self.svg = f.read()

    def save(self, path: str) -> str:
        """Writes it to a file; the path."""
        with open(path, "w", encoding="utf-8") as f:
            f.write(self.svg)
        return path

    def _repr_html_(self) -> str:
        """As an image, so that its style stays its own."""
        data = base64.b64encode(self.svg.encode()).decode()
        return f'<img alt="chart" src="data:image/svg+xml;base64,{data}">'

    def __repr__(self) -> str:
        return f"<chart of {len(self.svg)} bytes of SVG>"


def _inline(text: str) -> str:
    """A cell of Markdown as HTML: bold is all there is in it."""
    return re.sub(r"\*\*(.*?)\*\*", r"<b>\1</b>", html.escape(text))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(f"<{tag}>{_inline(c)}</{tag}>" for c in row)

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells('th', head)}</tr></thead><tbody>{body}</tbody></table>"


def _typed(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text if text else None


def read(*folders: str) -> Runs:
    """Runs that were carried out before, by their folders."""
    for folder in folders:
        if not os.path.exists(os.path.join(folder, "metrics.jsonl")):
            raise _engram.Error(f"{folder}: there is no run")
    return Runs(folders)
