"""What is shown of a run on a terminal, and that nothing is elsewhere."""

import io

from engram.progress import Bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, stream):
    monkeypatch.setattr("sys.stderr", stream)
    bar = Bar("er", 3)
    bar.moment(1, 4, "clients", "training", 2, 8, 0.5)
    bar._next = 0.0
    bar.progress(2, 4, 0.25, 0.5, 10.0, True)
    bar.close()
    return stream.getvalue()


def test_bar_on_a_terminal(monkeypatch):
    text = shown(monkeypatch, Terminal())
    assert "er seed 3" in text and "round 0/4, training 2/8" in text
    assert "round 2/4, loss 0.250, accuracy 50.0 %" in text and text.endswith("\n")
    assert max(len(line) for line in text.replace("\r", "\n").split("\n")) < 90


def test_nothing_where_nobody_looks(monkeypatch):
    assert shown(monkeypatch, io.StringIO()) == ""
