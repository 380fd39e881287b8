"""Whatever goes wrong is an exception with one sentence, and nothing crashes."""

import os
import pickle
import signal
import threading

import engram as eg
import numpy as np
import pytest
from engram.method import CLIENT_HOOKS, OTHER_HOOKS, SERVER_HOOKS


COMPANIONS = {
    "fill": dict(loss=lambda self, client, g, loss: loss),
    "form": dict(loss=lambda self, client, g, loss: loss),
    "work": dict(finish=lambda self, server: server.share(1, lambda i, got: None)),
    "know": dict(knows=lambda self, net: dict(a=np.zeros(2)),
                 answers=lambda self, g, asked: asked.outputs),
    "know_own": dict(knows=lambda self, net: dict(a=np.zeros(2)),
                     setup=lambda self, setting, wishes: setattr(wishes, "personal", True),
                     answers=lambda self, g, asked: asked.outputs),
    "sums": dict(setup=lambda self, setting, wishes: setattr(wishes, "sums", True),
                 answer=lambda self, client, to: None),
    "knows": dict(answers=lambda self, g, asked: asked.outputs),
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("hook", CLIENT_HOOKS + SERVER_HOOKS + OTHER_HOOKS)
def test_exception_in_a_hook_ends_the_run_and_is_the_cause(carry_out, hook, workers):
    def fails(self, *args, **how):
        raise ZeroDivisionError(f"in {hook}")

    hooks = {**COMPANIONS.get(hook, {}), hook: fails, "__doc__": "fails on purpose"}
    how = dict(secure=dict(kind="plain")) if hook == "sums" else {}
    if workers == 2:
        method = type("FailsAway", (eg.Method,), hooks)
        with pytest.raises(eg.Error, match=f"ZeroDivisionError: in {hook} .test_wrong.py"):
            carry_out(method, workers=2, **how)
        return
    method = type(f"Fails{hook.title().replace('_', '')}", (eg.Method,), hooks)
    with pytest.raises(eg.Error) as caught:
        carry_out(method, **how)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert f"in {hook}" in str(caught.value.__cause__)
    if hook in ("grad", "task", "trained", "samples"):
        for word in ("client", "round 1", method.name, "test_wrong.py"):
            assert word in str(caught.value)
    assert carry_out("fedavg", out="after")["params_sha256"]  # the next run is as any


def test_exception_in_a_process_of_its_own_names_the_line(carry_out):
    class FailsAway(eg.Method):
        """fails on purpose"""

        def grad(self, client):
            raise ZeroDivisionError("away")

    with pytest.raises(eg.Error, match=r"ZeroDivisionError: away \(test_wrong.py:\d+\)"):
        carry_out(FailsAway, workers=2)


def test_views_raise_once_their_turn_is_over(carry_out):
    kept = []

    class Keeps(eg.Method):
        """keeps what it is lent"""

        def grad(self, client):
            kept[:] = [client.grad, client.grad[3:9], client.param.reshape(2, -1), client.x,
                       client]

        def collect(self, server, client, got):
            kept.append(got)

    carry_out(Keeps)
    grad, part, shaped, x, client = kept[:5]
    uses = [lambda: grad + 1, lambda: part.sum(), lambda: np.dot(part, part), lambda: shaped[0],
            lambda: x.copy(), lambda: str(grad), lambda: np.concatenate([grad, grad]),
            lambda: part.__setitem__(0, 1.0), lambda: client.grad, lambda: client.id,
            lambda: grad.tolist(), lambda: float(part[0]), lambda: np.add(1, 1, out=part[:1]),
            lambda: list(part), lambda: kept[5]["param"], lambda: client.note("a", 1),
            lambda: client.tensors(grad), lambda: grad.__iadd__(1)]
    for use in uses:
        with pytest.raises(eg.Error, match="is over"):
            use()


def test_nothing_reaches_past_a_view_to_its_memory(carry_out):
    kept = []

    class Reaches(eg.Method):
        """tries every way to the memory itself"""

        def grad(self, client):
            grad, x = client.grad, client.x
            for way in (memoryview, bytes, np.frombuffer, lambda v: v.data, lambda v: v.ctypes,
                        lambda v: v.base, lambda v: v.flat, lambda v: v.flags,
                        lambda v: v.__array_interface__, lambda v: v.setflags(write=True)):
                with pytest.raises((TypeError, AttributeError, ValueError)):
                    way(grad)
            before = np.asarray(grad)
            before += 1
            assert not np.may_share_memory(np.asarray(grad), before)
            assert (np.asarray(grad) != before).all()
            kept[:] = [np.split(grad, [4]), np.reshape(grad, (-1, 1)), grad.T, grad.view(np.int32),
                       np.ravel(x), x.swapaxes(0, 1), next(iter(x)), np.squeeze(x), grad[None],
                       np.broadcast_to(grad, (2, len(grad))), grad.real,
                       client.tensors(grad)["head.bias"]]

    carry_out(Reaches)
    flat = kept[0] + kept[1:]
    assert len(flat) == 13 and all(isinstance(view, eg.View) for view in flat)
    for view in flat:
        with pytest.raises(eg.Error, match="is over"):
            view.sum()
        assert repr(view) == "<an array that was lent>"


def test_views_compute_as_arrays_do(carry_out):
    class Computes(eg.Method):
        """compares views with copies"""

        def grad(self, client):
            v, a = client.grad, client.grad.copy()
            assert type(a) is np.ndarray and type(v) is eg.View and len(v) == len(a)
            for f in (np.sum, np.linalg.norm, np.sort, lambda x: x @ x, lambda x: (x > 0).sum(),
                      lambda x: x.max(), lambda x: 2 / (1 + x ** 2), lambda x: x[x > 0], np.abs,
                      lambda x: np.where(x > 0, x, 0), lambda x: x.dot(x), lambda x: -x,
                      lambda x: np.concatenate([x, x]), lambda x: x.astype(float), list,
                      lambda x: np.einsum("i,i", x, x), lambda x: np.add.reduce(x)):
                np.testing.assert_allclose(f(v), f(a), rtol=1e-6)
            assert str(v) == str(a) and repr(v) == repr(a)
            b = a.copy()
            for change in (lambda x: x.__iadd__(1), lambda x: x.__setitem__(slice(3), 7),
                           lambda x: np.multiply(x, 2, out=x), lambda x: np.add.at(x, [1, 1], 1),
                           lambda x: x.fill(3), lambda x: np.copyto(x, b)):
                change(v)
                change(a)
                np.testing.assert_array_equal(v, a)
            assert np.add(v, 1, out=v) is v and pickle.loads(pickle.dumps(v)).sum() == v.sum()
            client.grad = b

    assert carry_out(Computes)["params_sha256"] == carry_out("fedavg")["params_sha256"]


def test_record_that_is_kept_anew_ends_views_of_the_last(carry_out):
    class Anew(eg.Method):
        """keeps a record while it uses the last"""

        def trained(self, client):
            client.keep("anew", np.zeros(5))
            last = client.recall("anew")
            client.keep("anew", last + 1)
            with pytest.raises(eg.Error, match="'anew', which was kept anew"):
                last.sum()
            assert client.recall("anew").sum() == 5

        def save(self, server):
            server.keep("anew", dict(a=np.ones(3)))
            last = server.recall("anew")["a"]
            server.keep("anew", dict(a=last + 1))
            with pytest.raises(eg.Error, match="kept anew"):
                last.sum()

    carry_out(Anew)


def test_memory_that_is_filled_anew_ends_views_of_its_rows(carry_out):
    class Fills(eg.Method):
        """fills its memory itself"""

        def setup(self, setting, wishes):
            wishes.memory = wishes.fills = True

        def trained(self, client):
            x, labels = client.feed(client.samples()[:4])
            client.fill_memory(x, labels)
            rows, y = client.memory
            np.testing.assert_array_equal(rows, x)
            client.fill_memory(rows[:2], y[:2])
            with pytest.raises(eg.Error, match="rows of the memory"):
                rows.sum()
            assert len(client.memory[0]) == 2
            with pytest.raises(eg.Error):
                client.fill_memory(np.zeros((99, *client.input_shape)), np.zeros(99))

    carry_out(Fills)


def test_plans_inputs_stay_when_the_plan_is_gone():
    g = eg.Graph()
    g.output("y", 2 * g.input("x", (1000, 1000)))
    room = g.compile().input("x")
    room[...] = 3
    assert room.sum() == 3e6


def test_what_is_computed_from_views_is_ones_own(carry_out):
    kept = []

    class Copies(eg.Method):
        """keeps copies"""

        def grad(self, client):
            kept[:] = [client.grad.copy(), client.grad * 2, np.abs(client.param)]

    carry_out(Copies)
    assert np.isfinite(sum(float(k.sum()) for k in kept))


def test_graph_of_a_hook_is_lent_too(carry_out):
    kept = []

    class Records(eg.Method):
        """keeps its graph"""

        def loss(self, client, g, loss):
            kept[:] = [g, loss]
            return loss + 0.0

    carry_out(Records)
    for use in (lambda: kept[1] + 1, lambda: kept[0].input("x", (1,)),
                lambda: eg.ops.relu(kept[1])):
        with pytest.raises(eg.Error, match="is over"):
            use()


@pytest.mark.parametrize("wrong, error, words", [
    (dict(train=(np.zeros((4, 3)), np.zeros(3, int)), test=(np.zeros((2, 3)), [0, 1])),
     ValueError, "4 samples need as many labels"),
    (dict(train=(np.zeros((4, 3)), np.zeros(4)), test=(np.zeros((2, 3)), [0, 1])),
     TypeError, "labels are whole numbers, not float64"),
    (dict(train=(np.full((4, 3), np.nan), [0, 1, 0, 1]), test=(np.zeros((2, 3)), [0, 1])),
     ValueError, r"the value at \[0, 0\] is nan"),
    (dict(train=(np.zeros((4, 3)), [0, 1, -1, 0]), test=(np.zeros((2, 3)), [0, 1])),
     ValueError, "label -1 is below 0"),
    (dict(train=(np.zeros((4, 3, 2, 2, 2)), [0, 1, 1, 0]), test=(np.zeros((2, 3)), [0, 1])),
     ValueError, "samples are"),
    (dict(train=(np.array(["a"] * 4), [0, 1, 1, 0]), test=(np.zeros((2, 3)), [0, 1])),
     TypeError, "not numbers"),
    (dict(train=(np.zeros((0, 3)), np.zeros(0, int)), test=(np.zeros((2, 3)), [0, 1])),
     ValueError, "needs samples"),
    (dict(train=(np.zeros((4, 3)), [0, 1, 2, 3]), test=(np.zeros((2, 3)), [0, 1]), classes=2),
     ValueError, "label 3 is none of 2 classes"),
])
def test_wrong_arrays_are_refused(wrong, error, words):
    with pytest.raises(error, match=words):
        eg.dataset("wrong", **wrong)


def test_wrong_things_put_into_a_bundle_or_an_array_are_refused(carry_out):
    tries = []

    class Puts(eg.Method):
        """puts what cannot be"""

        def answer(self, client, to):
            for name, value in (("puts.a", "text"), ("puts.b", [object()]), ("bad\"name", [1.0])):
                with pytest.raises((eg.Error, TypeError, ValueError)):
                    to[name] = value
                tries.append(name)
            with pytest.raises(ValueError):
                client.param = np.zeros(3)
            with pytest.raises(ValueError):
                client.gradient(np.zeros(5), np.zeros(1))
            with pytest.raises(ValueError, match="there is no sample"):
                client.feed([(99, 0)])
            with pytest.raises(ValueError):
                client.global_param[0] = 1

    carry_out(Puts)
    assert len(tries) == 3 * 12


def test_arrays_need_not_be_contiguous_or_writable(carry_out):
    class Strided(eg.Method):
        """gives slices and read-only arrays"""

        def answer(self, client, to):
            to["strided.a"] = np.arange(20.0)[::2]
            fixed = np.ones(3, np.float32)
            fixed.flags.writeable = False
            to["strided.b"] = fixed

        def collect(self, server, client, got):
            np.testing.assert_array_equal(got["strided.a"], np.arange(0, 20, 2))
            np.testing.assert_array_equal(got["strided.b"], [1, 1, 1])

    carry_out(Strided)


def test_numbers_that_are_not_finite_leave_the_upload_out(carry_out):
    class Nan(eg.Method):
        """sends NaN"""

        uploads = ["nan.v"]

        def answer(self, client, to):
            to["nan.v"] = np.full(client.n_params, np.nan if client.id == 0 else 1)

    run = carry_out(Nan)
    left_out = [e for e in run.events() if e.get("event") == "left_out"]
    assert left_out and all(e["client"] == 0 for e in left_out)


def test_accept_leaves_out_what_it_refuses(carry_out):
    class Strict(eg.Method):
        """takes nothing from client 1"""

        def accept(self, server, client, got):
            return "not from this one" if client == 1 else None

    left_out = [e for e in carry_out(Strict).events() if e.get("event") == "left_out"]
    assert len(left_out) == 4
    assert all(e["client"] == 1 and "not from this one" in str(e) for e in left_out)


def test_node_of_another_graph_is_refused():
    a, b = eg.Graph(), eg.Graph()
    with pytest.raises(ValueError, match="another graph"):
        eg.ops.add(a.input("x", (2,)), b.input("x", (2,)))


def test_ops_refuse_wrong_arguments():
    x = eg.Graph().input("x", (2, 3))
    with pytest.raises(eg.Error, match="linear"):
        eg.ops.linear(x, x.graph.input("w", (4, 5)), None)
    with pytest.raises(TypeError, match="takes"):
        eg.ops.relu(x, 1, 2)
    with pytest.raises(AttributeError, match="no op"):
        eg.ops.nonsense(x)
    with pytest.raises((TypeError, ValueError)):
        eg.ops.reshape(x, "no shape")


def test_keyboard_interrupt_stops_at_a_checkpoint(carry_out):
    class Slow(eg.Method):
        """waits for the interrupt"""

        def task(self, client):
            if client.round == 0 and client.id == 0:
                threading.Timer(0.01, os.kill, (os.getpid(), signal.SIGINT)).start()

    scenario = dict(kind="class-incremental", clients=3, tasks=2, rounds=2000,
                    partition="iid")
    with pytest.raises(KeyboardInterrupt):
        carry_out(Slow, scenario=scenario)


def test_forked_process_may_run_too(carry_out):
    child = os.fork()
    if child == 0:
        try:
            carry_out("fedavg", out="child")
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert carry_out("fedavg", out="child")["params_sha256"] == \
        carry_out("fedavg", out="parent")["params_sha256"]


def test_unknown_names_are_said(carry_out, tmp_path):
    with pytest.raises(eg.Error, match="no method"):
        carry_out("no-such-method")
    with pytest.raises(eg.Error):
        eg.run(str(tmp_path / "nothing.yaml"))
    with pytest.raises(eg.Error, match="there is no run"):
        eg.read(str(tmp_path))
    with pytest.raises(KeyError, match="with seed 5"):
        runs = eg.Runs([carry_out("fedavg").folder])
        runs["fedavg", 5]
