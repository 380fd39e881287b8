"""What takes longer: memory over many runs and of large arrays, PyTorch, interrupts, notebooks."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import engram as eg
import numpy as np
import pytest
from conftest import SECTIONS

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from test_methods import PyIcarl, PyProx  # noqa: E402

ROOT = os.path.join(os.path.dirname(__file__), "..", "..", "..")


def held():
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_ten_thousand_runs_leave_memory_flat(tmp_path):
    """After a thousand have warmed it up, nine thousand more bring less than a megabyte."""
    small = dict(SECTIONS, scenario=dict(kind="class-incremental", clients=2, tasks=1, rounds=1,
                                         partition="iid"))
    del small["memory"]
    methods = ["fedavg", PyProx, ["fedavg"], "scaffold"]

    out = tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else tmp_path)

    def some(n):
        for i in range(n):
            made = eg.Experiment(name="tiny", method=methods[i % 4], **small)
            run = made.run(out=out, workers=1, progress=False, reuse=False,
                           resume=False)[0]
            assert run["params_sha256"] and run.accuracy.size
            shutil.rmtree(run.folder)

    some(1000)
    before = held()
    some(9000)
    print(f"\n{(held() - before) / 1e6:.2f} MB more after 9000 runs, of {before / 1e6:.0f} MB")
    os.rmdir(out)
    assert held() - before < 1 << 20


@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_gigabyte_is_not_copied(tmp_path, kind):
    """The peak grows by less than a tenth of the array while a run uses it."""
    n = (1 << 30) // (3 * 32 * 32 * np.dtype(kind).itemsize)
    x = np.zeros((n, 3, 32, 32), kind)
    for first in range(0, n, 4096):
        x[first:first + 4096] = np.random.default_rng(first).integers(0, 255, (1, 3, 32, 32))
    y = np.arange(n) % 4
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    eg.dataset("gigabyte", train=(x, y), test=(x[:400], y[:400]))
    sections = dict(SECTIONS, data=dict(name="gigabyte"), train=dict(batch=16, steps=2))
    run = eg.Experiment(name="large", method="fedavg", **sections).run(
        out=str(tmp_path), workers=1, progress=False)[0]
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    print(f"\n{x.nbytes / 1e6:.0f} MB of {x.dtype}: the peak grew by {more / 1e6:.0f} MB")
    assert run["params_sha256"] and more < x.nbytes / 10


def test_weights_go_through_torch_and_back(tmp_path):
    """The same answers to the last bit."""
    torch = pytest.importorskip("torch")
    sections = dict(SECTIONS, data=dict(name="glyphs", train=200, test=40), model="cnn-small")
    run = eg.Experiment(name="t", method="fedavg", **sections).run(out=str(tmp_path),
                                                                  progress=False)[0]
    state = {k: torch.from_numpy(v) for k, v in run.model.state_dict().items()}
    torch.save(state, str(tmp_path / "t.pt"))
    back = torch.load(str(tmp_path / "t.pt"))
    eg.save(str(tmp_path / "t.safetensors"), back, run.model.notes)
    again = eg.Saved(str(tmp_path / "t.safetensors"))
    x = np.random.default_rng(0).normal(size=(50, *run.model.net.input_shape)).astype("f")
    assert run.model.predict(x).tobytes() == again.predict(x).tobytes()
    w, b = state["conv1.weight"], state["conv1.bias"]
    g = eg.Graph(training=False)
    g.output("y", g.conv(g.input("x", x.shape), "conv1", *w.shape[0::2][:2]))
    plan = g.compile()
    for name, value in (("conv1.weight", w), ("conv1.bias", b)):
        plan.tensors[name][...] = value
    with torch.no_grad():
        theirs = torch.nn.functional.conv2d(torch.from_numpy(x), w, b).numpy()
    np.testing.assert_allclose(plan(x=x)["y"], theirs, rtol=1e-4, atol=1e-5)


RANDOM = """
import sys
import engram as eg
sys.path.insert(0, sys.argv[2])
from conftest import SECTIONS
from test_methods import PyIcarl, PyProx
scenario = dict(kind="class-incremental", clients=3, tasks=2, rounds=60, partition="iid")
for method in ("er", PyProx, PyIcarl):
    made = eg.Experiment(name="long", method=method, **dict(
        SECTIONS, scenario=scenario, model="cnn-small", data=dict(name="glyphs", train=240, test=40)))
    print(made.run(out=sys.argv[1], workers=2)[0]["params_sha256"], flush=True)
"""


def test_interrupts_at_random_moments(tmp_path, trials=100):
    """A hundred: each stops at a checkpoint, or comes too early or late; what goes on has the same bits."""
    here = os.path.join(os.path.dirname(__file__), "..")
    (tmp_path / "interrupted.py").write_text(RANDOM)
    words = [sys.executable, str(tmp_path / "interrupted.py"), "RUNS", here]
    whole = subprocess.run([w.replace("RUNS", "whole") for w in words], cwd=tmp_path, text=True,
                           capture_output=True, check=True).stdout.split()
    rng = np.random.default_rng(0)
    trials = int(os.environ.get("ENGRAM_INTERRUPTS", trials))
    for trial in range(trials):
        one = subprocess.Popen([w.replace("RUNS", f"runs{trial // 10}") for w in words],
                               cwd=tmp_path, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
        time.sleep(rng.uniform(0.2, 1.5))
        one.send_signal(signal.SIGINT)
        out, err = one.communicate(timeout=120)
        assert one.returncode in (0, 1, -signal.SIGINT), (one.returncode, err)
        assert one.returncode == 0 or "KeyboardInterrupt" in err, err
        assert out.split() == whole[:len(out.split())]
    for k in range((trials + 9) // 10):
        done = subprocess.run([w.replace("RUNS", f"runs{k}") for w in words], cwd=tmp_path,
                              text=True, capture_output=True, check=True)
        assert done.stdout.split() == whole


NOTEBOOKS = ["first_look", "own_data_and_sweep", "own_method"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_runs(tmp_path, name):
    """Executed anew from its text, with no error and no empty answer."""
    nbformat = pytest.importorskip("nbformat")
    execute = pytest.importorskip("nbconvert.preprocessors")
    with open(os.path.join(ROOT, "examples", name + ".ipynb"), encoding="utf-8") as f:
        book = nbformat.read(f, as_version=4)
    os.symlink(os.path.join(os.path.abspath(ROOT), "experiments"), tmp_path / "experiments")
    execute.ExecutePreprocessor(timeout=600, kernel_name="python3").preprocess(
        book, {"metadata": {"path": str(tmp_path)}})
    shown = [o for cell in book.cells if cell.cell_type == "code" for o in cell.outputs]
    html = " ".join(str(o.get("data", {}).get("text/html", "")) for o in shown)
    assert "<table" in html and "image/svg+xml" in html
    assert not [o for o in shown if o.output_type == "error"]
    nbconvert = pytest.importorskip("nbconvert")
    body, _ = nbconvert.HTMLExporter(template_name="basic").from_notebook_node(book)
    out = os.environ.get("ENGRAM_NOTEBOOKS", str(tmp_path))  # where they can be looked at
    with open(os.path.join(out, name + ".html"), "w", encoding="utf-8") as f:
        f.write(body)
