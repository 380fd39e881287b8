"""Carries out experiments."""

from __future__ import annotations

import os
import re
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Union

from . import _engram
from .cluster import Cluster, cluster
from .experiment import Experiment, yaml
from .method import is_python
from .progress import Bar, Interrupts
from .results import Runs


def _settings(set: Optional[Dict[str, Any]]) -> List[str]:
    """As --set has them: several values with commas between."""
    lists = {k: v if isinstance(v, (list, tuple)) else [v] for k, v in (set or {}).items()}
    return [f"{k}=" + ",".join(v if isinstance(v, str) else yaml(v) for v in values)
            for k, values in lists.items()]


def _has_python_method(text: str) -> bool:
    found = re.search(r"^method:\s*(.*(?:\n\s*- .*)*)", text, re.M)
    return found is not None and any(is_python(w) for w in re.findall(r"[\w+-]+", found[1]))


def open_file(experiment: Union[str, "os.PathLike[str]", Experiment]) -> Any:
    """The engine's own of an experiment, or of a path."""
    if isinstance(experiment, Experiment):
        return experiment._file
    return _engram.open(os.fspath(experiment))


def run(experiment: Union[str, "os.PathLike[str]", Experiment], *,
        only: Union[None, str, Sequence[str]] = None, seeds: Iterable[int] = (0,),
        set: Optional[Dict[str, Any]] = None, out: str = "runs", workers: int = 0,
        threads: int = 0, data_dir: Optional[str] = None, transport: Optional[str] = None,
        reuse: bool = True, resume: bool = True, progress: Union[bool, Callable[..., Any]] = True,
        say: Optional[Callable[[str], Any]] = None) -> Runs:
    """Carries out runs of an experiment file, or of an Experiment, and reads them.

    only: labels, all without it. set: settings over the file's, {"optimizer.lr": 0.05}; a list of
    values makes a run for each. Finished runs are read and not carried out again (reuse);
    unfinished ones go on from their checkpoint (resume). workers clients work at once (0: one per
    core), each with so many threads; no result changes. With methods written in Python several
    workers are processes, so that their hooks run side by side. progress: a bar, or a function
    of (round, n_rounds, loss, accuracy, seconds, evaluated) that may return False to stop at a
    checkpoint. Ctrl-C stops there too, and the same call goes on from it. Under mpirun all ranks
    carry out each run together.
    """
    file = open_file(experiment)
    labels = [only] if isinstance(only, str) else list(only or _engram.labels(file))
    ranks = cluster()
    folders: List[str] = []
    for label in labels:
        for one in _engram.sweep(file, label, _settings(set)):
            for seed in seeds:
                job = Job(one, int(seed), workers, out, data_dir, transport, resume, progress, say,
                          threads)
                folders.append(ranks.run(job, reuse) if ranks else job.run(reuse))
    return Runs(folders, [file])


class Job:
    """One run to be carried out."""

    def __init__(self, one: Any, seed: int, workers: int, out: str, data_dir: Optional[str],
                 transport: Optional[str], resume: bool, progress: Any, say: Any,
                 threads: int = 0) -> None:
        self.one, self.seed, self.workers, self.out = one, seed, workers, out
        self.threads = threads
        self.data_dir, self.transport, self.resume = data_dir, transport, resume
        self.progress, self.say = progress, say
        self.folder = _engram.folder(one, out, seed)
        _, self.label, self.text, _ = _engram.about(one)

    @property
    def is_finished(self) -> bool:
        return os.path.exists(self.folder) and _engram.is_finished(self.folder)

    def run(self, reuse: bool) -> str:
        """Carries it out, unless it is finished; its folder."""
        if not (reuse and self.is_finished):
            transport = self.transport
            if transport is None and self.workers != 1 and _has_python_method(self.text):
                transport = "processes"
            self.carry_out(transport=transport)
        return self.folder

    def carry_out(self, *, transport: Optional[str] = None, ranks: Optional["Cluster"] = None,
                  listen: Any = None, more: Any = ()) -> None:
        """Carries it out, shown and with Ctrl-C as it should be."""
        bar = Bar(self.label, self.seed) if self.progress is True else None
        shown = bar.progress if bar else self.progress or None
        with Interrupts(more) as interrupts:
            def call(*facts: Any) -> Any:
                answer = shown(*facts) if shown else None
                return False if interrupts.asked else answer

            def loading(*facts: Any) -> Any:
                return False if interrupts.asked else None

            def fleet(*facts: Any) -> Any:
                return False if interrupts.asked or listen[-1](*facts) is False else None

            try:
                there = os.path.exists(self.folder)
                _engram.run(self.one, self.seed, self.workers, self.threads, self.out,
                            self.data_dir, there and self.resume, False, transport, -1, call,
                            bar.moment if bar else None, loading, self.say,
                            ranks.handle if ranks else None,
                            (*listen[:-1], fleet) if listen else None, interrupts.held())
            finally:
                if bar:
                    bar.close()
        if interrupts.asked:
            raise KeyboardInterrupt(f"{self.folder} stopped at a checkpoint: the same call goes on")
