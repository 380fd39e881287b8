"""Servers, devices, and the ranks of mpirun, each a process of its own."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import engram as eg
import pytest
from conftest import SECTIONS
from test_methods import PyProx, PyScaffold

HEAD = """
import sys
import engram as eg
import numpy as np
from conftest import SECTIONS
from test_methods import PyProx, PyScaffold
"""


def script(folder, name, text):
    path = folder / name
    path.write_text(HEAD + textwrap.dedent(text))
    return str(path)


def start(*words, **how):
    env = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    env["PYTHONPATH"] = os.pathsep.join([os.path.dirname(__file__), env["PYTHONPATH"]])
    return subprocess.Popen(words, env=env, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, **how)


def python(path, *words, **how):
    return start(sys.executable, path, *words, **how)


SERVER = """
run = eg.serve(eg.Experiment(name="tiny", method=PyScaffold, **SECTIONS), seed=0,
               listen="127.0.0.1:0", keys="keys", patience=20, progress=False,
               own_data=len(sys.argv) > 1, say=lambda text: None,
               ready=lambda url: print(url, flush=True))
print(run["params_sha256"])
"""
DEVICE = """
print(eg.join(sys.argv[1], int(sys.argv[2]), key="keys", state="state" + sys.argv[2],
              say=lambda text: None, allow=["vectors"], model="model" + sys.argv[2]))
"""
OWN = """
def mine(client):
    rng = np.random.default_rng(client)
    labels = rng.integers(0, 4, 100)
    return rng.normal(size=(100, *SHAPE)) + labels[:, None, None, None], labels

SHAPE = [int(n) for n in sys.argv[3].split(",")]
print(eg.join(sys.argv[1], int(sys.argv[2]), key="keys", state="state" + sys.argv[2],
              say=lambda text: None, data=mine, classes=4))
"""


@pytest.fixture
def served(tmp_path):
    """Serves with devices; what the server said at its end, and each device."""
    processes = []

    def served(device, *words, more=()):
        server = python(script(tmp_path, "server.py", SERVER), *words, cwd=tmp_path)
        processes.append(server)
        url = server.stdout.readline().strip()
        path = script(tmp_path, "device.py", device)
        devices = [python(path, url, str(k), *more, cwd=tmp_path) for k in range(3)]
        processes.extend(devices)
        said = [p.communicate(timeout=300) for p in devices]
        out, err = server.communicate(timeout=300)
        assert server.returncode == 0, err
        return out.strip(), said

    yield served
    for p in processes:
        if p.poll() is None:
            p.kill()
            p.communicate()


def test_devices_end_with_the_bits_of_one_machine(carry_out, served, tmp_path):
    sha, devices = served(DEVICE)
    assert [out.strip() for out, _ in devices] == ["4", "4", "4"], devices
    alone = carry_out(PyScaffold, out="alone")
    assert sha == alone["params_sha256"]
    for k in range(3):
        for name, value in eg.load(str(tmp_path / f"model{k}")).items():
            assert value.tobytes() == alone.model.state_dict()[name].tobytes()


def test_devices_may_bring_arrays_of_their_own(carry_out, served):
    shape = carry_out("fedavg").model.net.input_shape
    sha, devices = served(OWN, "own", more=[",".join(map(str, shape))])
    assert [out.strip() for out, _ in devices] == ["4", "4", "4"], devices
    assert sha != carry_out(PyScaffold, out="alone")["params_sha256"]


def test_device_says_what_is_wrong(tmp_path):
    with pytest.raises(eg.Error, match="nowhere"):
        eg.join("http://127.0.0.1:1", 0, key=str(tmp_path / "nowhere"), patience=0.1)
    with pytest.raises(TypeError, match="belong together"):
        eg.serve(eg.Experiment(method="fedavg", **SECTIONS), cert="a.pem")
    with pytest.raises(ValueError, match="one run is served at a time, not 2"):
        eg.serve(eg.Experiment(method="fedavg", **SECTIONS),
                 set={"optimizer.lr": [0.1, 0.2]})


RANKS = """
if eg.rank() > 0:
    print("not shown")
made = eg.Experiment(name="tiny", method=METHOD, **SECTIONS)
runs = made.run(out="runs", seeds=range(2), progress=False)
runs = made.run(out="runs", seeds=range(3), progress=False)
print(runs[0]["params_sha256"], len(runs), eg.rank())
"""


def mpirun(tmp_path, text):
    if not shutil.which("mpirun"):
        pytest.skip("mpirun is not there")
    path = script(tmp_path, "ranks.py", text)
    done = start("mpirun", "--oversubscribe", "-n", "2", sys.executable, path, cwd=tmp_path)
    out, err = done.communicate(timeout=300)
    return done.returncode, out, err


def test_ranks_of_mpirun_carry_out_runs_together(carry_out, tmp_path):
    code, out, err = mpirun(tmp_path, RANKS.replace("METHOD", "PyProx"))
    assert (code, out.split()) == (0, [carry_out(PyProx, out="alone")["params_sha256"], "3", "0"]), err


def test_exception_on_a_rank_is_said_once(tmp_path):
    text = """
class Fails(eg.Method):
    '''fails on purpose'''
    def grad(self, client):
        if client.id == 1:
            raise ZeroDivisionError("of a rank")
    """
    code, out, err = mpirun(tmp_path, text + RANKS.replace("METHOD", "Fails"))
    assert code != 0 and not out
    assert "ZeroDivisionError: of a rank" in err


LONG = """
scenario = dict(kind="class-incremental", clients=3, tasks=2, rounds=250, partition="iid")
made = eg.Experiment(name="long", method="fedavg", data=dict(name="glyphs", train=240, test=40),
                     model="cnn-small", scenario=scenario, train=dict(batch=16))
print("begins", flush=True)
try:
    print(made.run(out=sys.argv[1], workers=2)[0]["params_sha256"])
except KeyboardInterrupt as e:
    print("stopped", e)
"""


@pytest.mark.parametrize("delay", [0.0, 0.13, 0.31])
def test_interrupted_at_any_moment_a_run_goes_on_with_the_same_bits(tmp_path, delay):
    path = script(tmp_path, "long.py", LONG)
    one = python(path, "interrupted", cwd=tmp_path)
    assert one.stdout.readline().strip() == "begins"
    time.sleep(delay)
    one.send_signal(signal.SIGINT)
    out, err = one.communicate(timeout=300)
    assert one.returncode == 0 and "Traceback" not in err, err
    again, whole = python(path, "interrupted", cwd=tmp_path), python(path, "whole", cwd=tmp_path)
    sha = [p.communicate(timeout=300)[0].split()[-1] for p in (again, whole)]
    assert len(sha[0]) == 64 and sha[0] == sha[1]
    assert "stopped" in out


def test_interrupt_while_a_plan_runs_is_an_exception():
    g = eg.Graph()
    x = g.input("x", (8, 16, 32, 32))
    g.output("y", g.conv(g.conv(x, "a", 32, 3, padding=1), "b", 32, 3, padding=1))
    plan = g.compile()
    for _ in range(10):
        signal.setitimer(signal.ITIMER_REAL, 0.003)
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                while True:
                    plan()
        finally:
            signal.signal(signal.SIGALRM, before)
