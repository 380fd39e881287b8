"""A server for devices, and a device: eg.serve and eg.join."""

from __future__ import annotations

import os
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from . import _engram
from .data import dataset
from .experiment import Experiment
from .progress import Interrupts
from .results import Run
from .run import Job, _settings, open_file


class _Fleet:
    """What a person should see of the devices, each thing once or every ten seconds."""

    def __init__(self, say: Callable[[str], Any]) -> None:
        self.say = say
        self.there, self.next = -1, 0.0

    def __call__(self, kind: str, n: int, wanted: int, clients: List[int], seconds: float,
                 text: str) -> None:
        if kind == "waits" and (n != self.there or seconds >= self.next):
            self.there, self.next = n, seconds + 10
            self.say(f"{n} of {wanted} devices are there, for {seconds:.0f} seconds")
        elif kind == "back":
            self.there, self.next = -1, 0.0
            self.say(f"{n} devices are there again: the run goes on")
        elif kind == "late":
            self.say(f"no answer for {seconds:.0f} seconds from clients "
                     + ", ".join(map(str, clients)))
        elif kind == "says":
            self.say(text)


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def serve(experiment: Union[str, "os.PathLike[str]", Experiment], label: Optional[str] = None, *,
          seed: int = 0, listen: str = "127.0.0.1:8443", keys: str = "engram-keys.txt",
          cert: Optional[str] = None, cert_key: Optional[str] = None, at_least: int = 0,
          give_up: float = 0, patience: float = 0, deadline: float = 0, memory: int = 0,
          audit: Optional[str] = None, members: Optional[str] = None, own_data: bool = False,
          mixed: bool = False,
          set: Optional[Dict[str, Any]] = None, out: str = "runs",
          data_dir: Optional[str] = None, resume: bool = True,
          progress: Union[bool, Callable[..., Any]] = True,
          ready: Optional[Callable[[str], Any]] = None,
          say: Callable[[str], Any] = _print) -> Run:
    """Is the server of one run, whose clients are devices that join it; reads the run at its end.

    The arguments are the options of `engram serve` (docs/devices.md): keys is a file with a
    secret word per device, made if it is missing; without a certificate (cert, cert_key) only
    this machine can reach the server. ready(url) is called once it listens, say(sentence) with
    what a person may want to know. Ctrl-C stops at a checkpoint, and the same call goes on.
    """
    if (cert is None) != (cert_key is None):
        raise TypeError("cert and cert_key belong together")
    runs = _engram.sweep(open_file(experiment), label, _settings(set))
    if len(runs) != 1:
        raise ValueError(f"one run is served at a time, not {len(runs)}: label chooses it")
    job = Job(runs[0], int(seed), 0, out, data_dir, None, resume, progress, say)
    told = ready or (lambda url: say(f"listening on {url}; the keys of devices are in {keys}"))
    mask = os.umask(0o077)  # what devices and the run are is its owner's affair
    try:
        if not job.is_finished:
            job.carry_out(listen=(listen, cert, cert_key, keys, at_least, give_up, patience,
                                  deadline, memory, audit, members, own_data, mixed, told,
                                  _Fleet(say)))
    finally:
        os.umask(mask)
    return Run(job.folder)


def join(url: str, client: int = -1, *, key: str, data: Any = None, classes: Optional[int] = None,
         set: Optional[Dict[str, Any]] = None, own_data: bool = False, ca: Optional[str] = None,
         state: str = "engram-state", data_dir: Optional[str] = None,
         allow: Optional[Sequence[str]] = None, patience: float = 0,
         members: Optional[str] = None, identity: Optional[str] = None,
         code: Optional[str] = None, model: Optional[str] = None,
         progress: Optional[Callable[..., Any]] = None,
         say: Callable[[str], Any] = _print) -> int:
    """Is a device, one client of a run that is served, until the run is over; how many turns it
    took. A method or network of the run that is written in Python must be defined here too.

    data: arrays (x, y) of its own to train on, or a function that is called with the client's
    number and returns them; shapes and classes must be the server's, which serves with own_data.
    own_data without arrays: set names the data. The other arguments are the options of `engram
    join` (docs/devices.md): key is a file with its secret word, or made on enrolling
    with a code; without a number of the client the key says which it is; allow is what may leave
    this machine beside the model, of "vectors", "figures", "generators"; model a file that gets
    the global model at the end. progress is called with
    (round, n_rounds, exchange or None, turns so far), and may return False to leave.
    """
    settings = dict(set or {})
    if data is not None:
        own_data = True
        settings["data"] = _own(data, client, classes)
    mask = os.umask(0o077)
    try:
        with Interrupts() as interrupts:
            def moment(*facts: Any) -> Any:
                answer = progress(*facts) if progress else None
                return False if interrupts.asked else answer

            n_turns = _engram.join(url, client, key, ca, state, data_dir, _settings(settings),
                                   own_data, None if allow is None else ",".join(allow),
                                   float(patience), members, identity, code, model,
                                   moment, say, interrupts.held())
    finally:
        os.umask(mask)
    if interrupts.asked:
        raise KeyboardInterrupt(f"left after {n_turns} turns: the same call goes on")
    return n_turns


def _own(data: Any, client: int, classes: Optional[int]) -> str:
    """Arrays as a data set that this device alone has; it tests on nothing."""
    x, y = data(client) if callable(data) else data
    return dataset(f"device_{client}", train=(x, y), test=(x[:1], y[:1]), classes=classes,
                   help="arrays of this device")
