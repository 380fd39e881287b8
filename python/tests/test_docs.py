"""The blocks of Python in docs/python.md run as they stand, smaller."""

import os
import re

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SMALLER = [('set={"optimizer.lr": 0.05}', 'set={"optimizer.lr": 0.05, "scale": 0.02}, progress=False'),
           ("range(3)", "range(1), progress=False"), ("epochs=3", "epochs=1"),
           ('model="cnn-small"', 'model=dict(name="mlp", depth=0)'),
           ("range(1), progress=False,\n", "range(1),\n")]


def test_blocks_of_the_document_run(tmp_path, monkeypatch):
    with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as f:
        blocks = re.findall(r"^```python\n(.*?)^```", f.read(), re.M | re.S)
    monkeypatch.chdir(tmp_path)
    os.symlink(os.path.join(ROOT, "experiments"), "experiments")
    rng = np.random.default_rng(0)
    y, yt = np.arange(3200) % 8, np.arange(80) % 8
    known = dict(x=rng.normal(size=(3200, 1, 28, 28)).astype("f"), y=y,
                 xt=rng.normal(size=(80, 1, 28, 28)).astype("f"), yt=yt,
                 data=rng.normal(size=(64, 5)), targets=rng.normal(size=(64, 2)))
    run = [b for b in blocks if "eg.serve" not in b]
    assert len(run) == len(blocks) - 1 == 5
    for block in run:
        for whole, part in SMALLER:
            block = block.replace(whole, part)
        exec(compile(block, "docs/python.md", "exec"), known)
    assert known["runs"][0]["acc_final"] > 0 and os.path.exists("er.html")
    assert "fed_prox" in known["made"].text and known["plan"].tensors["fc.weight"].shape == (2, 5)
