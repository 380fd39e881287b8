"""Methods written in Python end with the bits of those in C."""

import inspect

import engram as eg
import icarl
import numpy as np
import pytest
from icarl import PyIcarl


class PyProx(eg.Method):
    """holds each client near the global model"""

    mu = eg.option(0.01, 0, 1e3, "strength of the pull")

    def grad(self, client):
        client.grad += np.float32(self.mu) * (client.param - client.global_param)


class PyScaffold(eg.Method):
    """corrects every gradient by the clients' drift"""

    uploads, leaves = ["py_scaffold.change"], ["vectors"]

    def download(self, client, got):
        own = client.recall("py_scaffold")
        self.all, self.own = got["py_scaffold.control"], 0 if own is None else own

    def grad(self, client):
        client.grad += self.all - self.own

    def answer(self, client, to):
        scale = np.float32(1 / (client.n_batches * client.lr))
        change = (client.global_param - client.param) * scale - self.all
        to["py_scaffold.change"] = change
        client.keep("py_scaffold", self.own + change)

    def begin(self, server):
        self.control = server.vector("py_scaffold")

    def send(self, server, to):
        to["py_scaffold.control"] = self.control

    def collect(self, server, client, got):
        self.control += np.float32(1 / server.n_clients) * got["py_scaffold.change"]


class PyEr(eg.Method):
    """batches are joined by rows from the memory"""

    draws_as = "er"
    memory = True
    replays = [eg.Replay(32, joins=True)]


class PyFedAGem(eg.Method):
    """projects gradients that conflict with the clients' mean memory gradient"""

    draws_as = "fed_a_gem"
    memory = True
    exchanges = [eg.Exchange("reference", sum=True, everyone=True)]
    lasts, reference = ["reference"], None

    def download(self, client, got):
        self.reference = got.get("py_fed_a_gem.reference")

    def grad(self, client):
        g, r = client.grad, self.reference
        if r is None:
            return
        along = eg.dot(g, r)
        if along < 0:
            eg.add_scaled(g, -along / eg.dot(r, r), r)

    def answer(self, client, to, exchange):
        if exchange == "reference":
            gradient = client.replay_gradient(32)
            if gradient is not None:
                to["py_fed_a_gem.reference"] = gradient

    def send(self, server, to):
        if self.reference is not None:
            to["py_fed_a_gem.reference"] = self.reference

    def collect(self, server, client, got, exchange):
        if exchange == "reference":
            self.reference = got["py_fed_a_gem.reference"].copy()


class PyShared(eg.Method):
    """a shared body with a last layer of its own for every task"""

    def setup(self, setting, wishes):
        wishes.offers = ["task_ids"]
        wishes.side = setting.tasks * setting.classes or 1

    def outputs(self, g, asked):
        n, tasks = asked.tasks.shape
        heads = eg.ops.reshape(asked.side(asked.features), (n, tasks, asked.net.classes))
        shift = eg.ops.reshape(asked.tasks * 1e4 - 1e4, (n, tasks, 1))
        return eg.ops.reshape(eg.ops.max(heads + shift, 1), (n, asked.net.classes))


PAIRS = [("shared", PyShared), ("fedprox", PyProx), ("scaffold", PyScaffold), ("er", PyEr),
         (["er", "fed-a-gem"], ["er", PyFedAGem]), ("icarl", PyIcarl)]


@pytest.mark.parametrize("in_c, in_python", PAIRS)
def test_method_in_python_has_the_bits_of_that_in_c(carry_out, in_c, in_python):
    wanted = carry_out(in_c)
    for run in (carry_out(in_python), carry_out(in_python, out="two", workers=2)):
        assert run["params_sha256"] == wanted["params_sha256"]
        np.testing.assert_array_equal(run.accuracy, wanted.accuracy)
    assert carry_out("fedavg", out="other")["params_sha256"] != wanted["params_sha256"]


def lines_of(*things):
    return sum(bool(line.strip()) for thing in things
               for line in inspect.getsource(thing).splitlines())


def test_methods_are_short():
    assert lines_of(PyScaffold) < 30
    assert lines_of(icarl) < 60


def test_what_the_server_lasts_with_comes_back_whole(carry_out):
    seen = []

    class Lasting(eg.Method):
        """keeps an array, a number, a dict and nothing"""

        lasts = ["array", "number", "table", "nothing"]

        def begin(self, server):
            seen.append((self.array, self.number, self.table, self.nothing))
            self.array, self.number = np.arange(6.0).reshape(2, 3), 0.1
            self.table = dict(a=np.ones(2), b=7.0)

    carry_out(Lasting, how=dict(progress=lambda round, *_: round < 2))
    carry_out(Lasting)
    assert seen[0] == (None, None, None, None)
    array, number, table, nothing = seen[1]
    np.testing.assert_array_equal(array, np.arange(6).reshape(2, 3))
    assert number == 0.1 and table["b"] == 7 and list(table["a"]) == [1, 1] and nothing is None


def test_own_answers_are_what_is_tested(carry_out):
    class OneClass(eg.Method):
        """answers one class, which the server knows"""

        def knows(self, net):
            return dict(prior=np.zeros((1, net.classes)))

        def know(self, server, to):
            to["prior"] = 1e3 * (np.arange(server.net.classes) == 2)[None]

        def answers(self, g, asked):
            assert asked.x.shape[0] == asked.features.shape[0] == asked.outputs.shape[0]
            return 0 * asked.outputs + asked.known["prior"]

    run, plain = carry_out(OneClass), carry_out("fedavg", out="plain")
    np.testing.assert_array_equal(run.loss, plain.loss)
    confusion = run.confusion
    assert confusion[:, 2].sum() == confusion.sum() > 0
    assert (plain.confusion[:, 2].sum() != plain.confusion.sum())


@pytest.mark.parametrize("how", [dict(transport="threads"), dict(transport="processes")])
def test_work_of_the_server_is_shared_out(carry_out, how):
    class Shares(eg.Method):
        """has workers add up"""

        def finish(self, server):
            sums = []
            server.share(5, lambda i, got: sums.append((i, got["sum"], got["draw"])),
                         give=lambda i: dict(mine=np.full(3, i)), all=dict(base=10.0))
            server.note("sum", sum(s for _, s, _ in sums))
            assert [i for i, _, _ in sums] == list(range(5))
            assert [d for _, _, d in sums] == [server.rng(i).random() for i in range(5)]

        def work(self, piece, got, to):
            to["sum"] = got["base"] + float(got["mine"].sum())
            to["draw"] = piece.rng(piece.i).random()

    notes = carry_out(Shares, workers=2, how=how).notes["sum"]
    assert set(notes[:, 1]) == {80.0}


def test_model_of_a_client_may_be_the_servers(carry_out):
    class Owned(eg.Method):
        """gives every client a model of its own"""

        def setup(self, setting, wishes):
            wishes.personal = True

        def model_of(self, server, client, to):
            server.add_model(to, np.full(server.n_params, client + 1, np.float32))

        def download(self, client, got):
            assert client.round > 0 or set(np.unique(client.param)) <= {0, client.id + 1}

    carry_out(Owned)


def test_threads_and_processes_agree(carry_out):
    threads = carry_out(PyScaffold, out="a", workers=2, how=dict(transport="threads"))
    processes = carry_out(PyScaffold, out="b", workers=2, how=dict(transport="processes"))
    assert threads["params_sha256"] == processes["params_sha256"]


@pytest.mark.parametrize("method", [PyProx, PyScaffold, PyEr, PyFedAGem, ["er", PyFedAGem],
                                    ["er", "fed-a-gem"], PyIcarl])
def test_run_that_was_stopped_goes_on_with_the_same_bits(carry_out, method):
    whole = carry_out(method, out="whole")
    stopped = carry_out(method, out="halves",
                        how=dict(progress=lambda round, *_: round < 2))
    assert not stopped.summary
    again = carry_out(method, out="halves")
    assert again["params_sha256"] == whole["params_sha256"]
    np.testing.assert_array_equal(again.accuracy, whole.accuracy)


def test_options_reach_every_half_and_are_checked(carry_out):
    seen = []

    class Options(eg.Method):
        """an option of each kind"""

        real = eg.option(0.5, 0, 1, "a real number")
        whole = eg.option(3, 1, 9, "a whole number")
        on = eg.option(False, help="a switch")
        word = eg.option("plain", help="a text")
        kind = eg.option("soft", help="a choice", choices=["hard", "soft"])

        def trained(self, client):
            seen.append((self.real, self.whole, self.on, self.word, self.kind))

        def begin(self, server):
            seen.append((self.real, self.whole, self.on, self.word, self.kind))

    carry_out(Options, options=dict(real=0.25, on=True, kind="hard"))
    assert set(seen) == {(0.25, 3, True, "plain", "hard")}
    with pytest.raises(eg.Error, match="whole: 10 is outside"):
        carry_out(Options, out="wrong", options=dict(whole=10))


def test_notes_come_back_as_arrays(carry_out):
    class Noting(eg.Method):
        """notes its round"""

        def trained(self, client):
            client.note("moved", client.round + 0.5)

    notes = carry_out(Noting).notes["moved"]
    assert notes.shape == (12, 2)
    np.testing.assert_array_equal(notes[:, 1], notes[:, 0] - 0.5)


def test_random_numbers_do_not_depend_on_workers(carry_out):
    class Noisy(eg.Method):
        """adds noise"""

        def grad(self, client):
            client.grad += client.rng(1).normal(0, 0.01, client.grad.shape).astype(np.float32)

    one = carry_out(Noisy)["params_sha256"]
    assert carry_out(Noisy, out="two", workers=2)["params_sha256"] == one
    assert carry_out(Noisy, out="team", how=dict(threads=2))["params_sha256"] == one
    assert carry_out("fedavg", out="none")["params_sha256"] != one


def test_loss_is_recorded_and_its_inputs_are_filled(carry_out):
    class Decay(eg.Method):
        """a term with an input that changes from batch to batch"""

        def loss(self, client, g, loss):
            strength = g.input("strength", (1, 1))
            w = g.param("head.weight", client.tensors(client.param)["head.weight"].shape)
            return loss + eg.ops.sum(strength * w * w)

        def fill(self, client):
            client.input("strength")[...] = 0.05 * (client.step % 2)

    class ByHand(eg.Method):
        """the same gradient, written out"""

        def grad(self, client):
            w = client.tensors(client.param)["head.weight"]
            client.tensors(client.grad)["head.weight"][...] += (
                np.float32(2 * np.float32(0.05 * (client.step % 2))) * w)

    a, b = carry_out(Decay).model.state_dict(), carry_out(ByHand).model.state_dict()
    plain = carry_out("fedavg").model.state_dict()
    np.testing.assert_allclose(a["head.weight"], b["head.weight"], rtol=1e-4, atol=1e-6)
    assert np.abs(a["head.weight"] - plain["head.weight"]).max() > 1e-3


def test_looking_at_rows_agrees_with_numpy(carry_out):
    checked = []

    class Looking(eg.Method):
        """compares what the engine computes with NumPy"""

        def trained(self, client):
            x, y = client.feed(client.samples()[:7])
            found = client.look(x, y, losses=True, logits=True, norms=True)
            t = client.tensors(client.param)
            logits = x.reshape(7, -1) @ t["head.weight"].T + t["head.bias"]
            p = np.exp(logits - logits.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            np.testing.assert_allclose(found["logits"], logits, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(found["losses"], -np.log(p[np.arange(7), y.astype(int)]),
                                       rtol=1e-4, atol=1e-5)
            d = p.copy()
            d[np.arange(7), y.astype(int)] -= 1
            norms = (d ** 2).sum(1) * ((x.reshape(7, -1) ** 2).sum(1) + 1)
            np.testing.assert_allclose(found["norms"], norms, rtol=1e-3, atol=1e-6)
            mean = client.tensors(client.gradient(x, y))["head.bias"]
            np.testing.assert_allclose(mean, d.mean(0), rtol=1e-3, atol=1e-5)
            checked.append(client.id)

    carry_out(Looking)
    assert set(checked) == {0, 1, 2}


def test_rows_of_ones_own_are_trained_on(carry_out):
    class Adding(eg.Method):
        """adds a row"""

        def samples(self, client):
            client.add_rows(np.ones((2, *client.input_shape)), [0, 1])

    assert carry_out(Adding)["params_sha256"] != carry_out("fedavg")["params_sha256"]


def test_class_may_be_defined_again(carry_out):
    def define(step):
        class Again(eg.Method):
            """scales the gradient"""

            def grad(self, client):
                client.grad *= np.float32(step)

        return Again

    one = carry_out(define(1), out="a")["params_sha256"]
    assert carry_out(define(0.5), out="b")["params_sha256"] != one
    assert carry_out("fedavg", out="c")["params_sha256"] == one


def test_class_may_be_defined_again_with_other_hooks_and_options(carry_out):
    class Grows(eg.Method):
        """does nothing yet"""

    one = carry_out(Grows, out="a")["params_sha256"]

    class Grows(eg.Method):  # noqa: F811
        """scales the gradient"""

        by = eg.option(0.5, 0, 1, "the factor")

        def grad(self, client):
            client.grad *= np.float32(self.by)

    assert carry_out(Grows, out="b", grows=dict(by=1.0))["params_sha256"] == one
    assert carry_out(Grows, out="c")["params_sha256"] != one


def test_refusals_are_one_sentence(carry_out):
    class Needy(eg.Method):
        """needs task ids and a quick learner"""

        def setup(self, setting, wishes):
            if setting.lr < 0.5:
                raise ValueError("set optimizer.lr to at least 0.5")

    with pytest.raises(eg.Error, match="needy: .*set optimizer.lr to at least 0.5"):
        carry_out(Needy)
