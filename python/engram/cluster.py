"""The processes that mpirun started together, each with the same script.

All of them go through the script side by side, and carry out every run together: rank 0 decides
whether a run is there already, leads it, and writes it; the others take turns of its clients.
From the first eg.run on what the others print is not shown, and their exceptions are told by
rank 0.
"""

from __future__ import annotations

import atexit
import glob
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, Optional

from . import _engram
from ._errors import describe

if TYPE_CHECKING:
    from .run import Job

_SKIP, _RUN, _DONE, _FAILED = range(4)


class Cluster:
    """This process as one of them."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle
        self.rank, self.size = _engram.cluster_about(handle)
        self._n_runs = 0
        self._code = 0
        self._hook = sys.excepthook
        sys.excepthook = self._uncaught
        atexit.register(self._close)
        if self.rank > 0:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
                signal.signal(number, signal.SIG_IGN)
            sys.stdout = open(os.devnull, "w", encoding="utf-8")

    def run(self, job: "Job", reuse: bool) -> str:
        """Carries out a run together with the others; its folder."""
        self._n_runs += 1
        if self.rank == 0:
            self._lead(job, reuse)
        else:
            self._follow(job)
        return job.folder

    def _order(self, kind: int, job: "Job") -> None:
        _engram.cluster_order(self.handle, kind, self._n_runs, job.seed, 0)

    def _lead(self, job: "Job", reuse: bool) -> None:
        if reuse and job.is_finished:
            return self._order(_SKIP, job)
        self._order(_RUN, job)
        try:
            job.carry_out(ranks=self, more=(signal.SIGTERM, signal.SIGUSR1))
        except BaseException:
            self._order(_FAILED, job)
            raise
        self._order(_DONE, job)

    def _next(self, job: "Job") -> int:
        order = _engram.cluster_next(self.handle)
        if order is None:
            raise SystemExit(1)
        if order[1:3] != (self._n_runs, job.seed):
            raise _engram.Error(f"it is at run {self._n_runs} of its script, with seed {job.seed}, "
                                f"and rank 0 at run {order[1]} with seed {order[2]}: all ranks "
                                "must make the same calls of eg.run")
        return order[0]

    def _follow(self, job: "Job") -> None:
        if self._next(job) == _SKIP:
            return
        job.progress, job.say, job.resume = False, None, False
        job.carry_out(ranks=self)
        if self._next(job) == _FAILED:
            raise Elsewhere("the run has failed on rank 0")

    def _uncaught(self, kind: Any, e: BaseException, trace: Any) -> None:
        self._code = 1
        if self.rank == 0:
            self._hook(kind, e, trace)
        elif not isinstance(e, Elsewhere) and self.handle is not None:
            if not _engram.cluster_fail(self.handle, describe(e)):
                self._hook(kind, e, trace)

    def _close(self) -> None:
        handle, self.handle = self.handle, None
        sys.stdout.flush()
        sys.stderr.flush()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
            signal.signal(number, signal.SIG_IGN)
        try:
            code = _engram.cluster_close(handle, self._code)
        except _engram.Error as e:
            print(f"engram: {e}", file=sys.stderr)
            code = 1
        if code != self._code:
            sys.stderr.flush()
            os._exit(code)


class Elsewhere(_engram.Error):
    """What another rank has failed at, which says so."""


_here: Optional[Cluster] = None


def _find_module() -> None:
    """Where the build and an installation have the module for MPI."""
    package = os.path.dirname(os.path.abspath(__file__))
    for up in ("", "../..", "../../../engram", "../../../../engram"):
        place = os.path.normpath(os.path.join(package, up))
        if glob.glob(os.path.join(place, "engram_mpi.so")):
            os.environ.setdefault("ENGRAM_MODULES", place)
            return


def cluster() -> Optional[Cluster]:
    """The ranks of which this process is one; None if mpirun did not start it."""
    global _here
    if _here is None:
        _find_module()
        numbers = {signal.SIGINT, signal.SIGTERM, signal.SIGUSR1}
        # MPI has threads of its own, on which no handler is to run.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        try:
            handle = _engram.cluster_open()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if handle is not None:
            _here = Cluster(handle)
    return _here


def rank() -> int:
    """The number of this process among those that mpirun started; 0 without mpirun."""
    here = cluster()
    return here.rank if here else 0
