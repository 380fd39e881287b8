"""How a run's progress is shown, and what Ctrl-C does meanwhile."""

from __future__ import annotations

import html
import shutil
import signal
import sys
import threading
import time
from typing import Any, Dict, List


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None  # type: ignore[attr-defined]
    return type(shell).__name__ == "ZMQInteractiveShell"


class Bar:
    """A line of progress on a terminal, a bar in a notebook; nothing elsewhere."""

    def __init__(self, label: str, seed: int) -> None:
        self.title = f"{label} seed {seed}"
        self.notebook = _in_notebook()
        self.terminal = not self.notebook and sys.stderr.isatty()
        self._handle: Any = None
        self._next = 0.0
        self._facts = ""
        self._done = (0, 1)

    def progress(self, round: int, n_rounds: int, loss: float, accuracy: float, seconds: float,
                 evaluated: bool) -> None:
        known = f", accuracy {100 * accuracy:.1f} %" if accuracy >= 0 else ""
        self._facts, self._done = f"loss {loss:.3f}{known}", (round, max(n_rounds, 1))
        self._show("", seconds, round == n_rounds)

    def moment(self, round: int, n_rounds: int, at: str, what: str, done: int, of: int,
               seconds: float) -> None:
        self._done = (round - 1, max(n_rounds, 1))
        self._show(f"{what or at} {done}/{of}" if of else what or at, seconds, False)

    def _show(self, where: str, seconds: float, last: bool) -> None:
        now = time.monotonic()
        if not (self.terminal or self.notebook) or (now < self._next and not last):
            return
        self._next = now + 0.2
        done, of = self._done
        left = f", {seconds * (of - done) / done:.0f} s left" if 0 < done < of else ""
        text = ", ".join(x for x in (f"round {done}/{of}", self._facts, where) if x)
        text += f", {seconds:.0f} s{left}"
        if self.notebook:
            self._html(f'<progress value="{done}" max="{of}"></progress> '
                       f"{html.escape(self.title)}: {html.escape(text)}")
        else:
            full = 20 * done // of
            line = f"{self.title} [{'=' * full}{' ' * (20 - full)}] {text}"
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r{line[:width]}\x1b[K")
            sys.stderr.flush()

    def _html(self, text: str) -> None:
        from IPython.display import HTML, display  # type: ignore[import]
        if self._handle is None:
            self._handle = display(HTML(text), display_id=True)
        else:
            self._handle.update(HTML(text))

    def close(self) -> None:
        if self.terminal and self._next:
            sys.stderr.write("\n")


class Interrupts:
    """While the engine works: Ctrl-C asks it to stop at a checkpoint; once more raises."""

    def __init__(self, more: Any = ()) -> None:
        self.asked = False
        self._numbers = [signal.SIGINT, *more]
        self._before: Dict[int, Any] = {}

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            for number in self._numbers:
                if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
                    self._before[number] = signal.signal(number, self._on)
        return self

    def __exit__(self, *why: Any) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on(self, number: int, frame: Any) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        sys.stderr.write("\nengram: stopping after this round; once more stops as soon as a hook "
                         "or a callback runs\n")

    @staticmethod
    def held() -> List[int]:
        """The signals that have a handler: none may run on a thread that computes."""
        return [int(s) for s in signal.valid_signals() if callable(signal.getsignal(s))]
