"""The engine alone: graphs, plans, networks, files."""

import subprocess
import sys

import engram as eg
import numpy as np
import pytest


def test_every_op_is_there_with_its_help():
    names = dir(eg.ops)
    assert set(names) == set(eg.members("ops"))
    for name in names:
        assert eg.members("ops")[name] in getattr(eg.ops, name).__doc__


def test_gradients_of_gradients():
    g = eg.Graph()
    x = g.input("x", (3,))
    first = g.gradients(eg.ops.sum(x ** 3), [x])[0]
    second = g.gradients(eg.ops.sum(first), [x])[0]
    g.output("first", first)
    g.output("second", second)
    out = g.compile()(x=[1, 2, 3])
    np.testing.assert_allclose(out["first"], [3, 12, 27], rtol=1e-6)
    np.testing.assert_allclose(out["second"], [6, 12, 18], rtol=1e-6)


def test_region_reaches_its_op():
    g = eg.Graph()
    region = eg.Region(2, 2, 3, ((0.2, 0.3), (0.5, 0.5)))
    outputs = g.input("outputs", (1, 2 * 2 * 2 * (5 + 3)))
    truth = eg.ops.region_truth(outputs, g.input("boxes", (1, 10)), region)
    assert truth.shape[:2] == (1, 2) and truth.shape[3:] == (2, 2)
    with pytest.raises(TypeError, match="a Region was expected"):
        eg.ops.region_truth(outputs, g.input("b", (1, 5)), 7)
    with pytest.raises(TypeError):
        eg.ops.region_truth(outputs, g.input("c", (1, 5)), region._replace(anchors=((1,),)))


def test_operators_are_numpys():
    g = eg.Graph()
    a, b = g.input("a", (2, 3)), g.input("b", (2, 3))
    made = {"add": a + b, "sub": 1 - a, "mul": 2 * a * b, "div": a / b, "over": 1 / b,
            "neg": -a, "pow": a ** 2, "mean": eg.ops.mean(a, 1), "all": eg.ops.sum(a)}
    for name, node in made.items():
        g.output(name, node)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 3)), rng.normal(size=(2, 3)) + 3
    out = g.compile()(a=x, b=y)
    wanted = {"add": x + y, "sub": 1 - x, "mul": 2 * x * y, "div": x / y, "over": 1 / y,
              "neg": -x, "pow": x ** 2, "mean": x.mean(1, keepdims=True)}
    for name, value in wanted.items():
        np.testing.assert_allclose(out[name], value, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(float(np.squeeze(out["all"])), x.sum(), rtol=1e-5)


def test_training_comes_near_the_least_squares():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(64, 5)).astype(np.float32)
    y = x @ rng.normal(size=(5, 2)).astype(np.float32)
    g = eg.Graph()
    out = g.linear(g.input("x", x.shape), "fc", 2)
    loss = eg.ops.mse(out, g.input("y", y.shape))
    g.output("loss", loss)
    g.backward(loss)
    plan = g.compile(seed=3)
    adam = eg.Optimizer(plan, "adam", lr=0.05)
    losses = []
    for _ in range(400):
        losses.append(float(plan(x=x, y=y)["loss"]))
        adam.step()
    assert losses[-1] < 1e-3 < losses[0]
    solved = np.linalg.lstsq(np.c_[x, np.ones(64)], y, rcond=None)[0]
    np.testing.assert_allclose(plan.tensors["fc.weight"], solved[:5].T, atol=0.05)


def test_network_in_python_trains_like_the_engines(carry_out):
    class Hidden(eg.Model):
        """one hidden layer"""

        width = eg.option(16, 1, 999, "hidden units")

        def forward(self, g, x):
            return eg.ops.relu(g.linear(g.flatten(x), "hidden.0", self.width))

    ours = carry_out("fedavg", model=dict(name=Hidden, width=32))
    theirs = carry_out("fedavg", model=dict(name="mlp", depth=1, width=32), out="theirs")
    assert {v.shape for v in ours.model.state_dict().values()} == \
        {v.shape for v in theirs.model.state_dict().values()}
    assert ours["acc_task_il"] > 0.6
    with pytest.raises(eg.Error, match="width"):
        carry_out("fedavg", model=dict(name=Hidden, width=0), out="wrong")


def test_forward_that_is_wrong_is_said(carry_out):
    class Flat(eg.Model):
        """gives no features"""

        def forward(self, g, x):
            return x

    with pytest.raises(eg.Error) as caught:
        carry_out("fedavg", model=Flat)
    assert "features [n, d]" in str(caught.value) + str(caught.value.__cause__)


def test_files_come_back_to_the_bit(tmp_path):
    rng = np.random.default_rng(2)
    tensors = {"a": rng.normal(size=(3, 4)).astype(np.float32), "b.c": np.float32(7),
               "d": np.zeros((0, 2), np.float32)}
    path = str(tmp_path / "t.safetensors")
    eg.save(path, tensors, {"by": "a test"})
    back = eg.load(path)
    assert set(back) == set(tensors)
    for name in tensors:
        assert back[name].tobytes() == np.asarray(tensors[name]).tobytes()
        assert back[name].shape == np.shape(tensors[name])


def test_saved_model_answers_as_its_weights_say(carry_out):
    model = carry_out("fedavg").model
    state = model.state_dict()
    x = np.random.default_rng(3).normal(size=(9, *model.net.input_shape)).astype(np.float32)
    wanted = x.reshape(9, -1) @ state["head.weight"].T + state["head.bias"]
    np.testing.assert_allclose(model.predict(x, batch=4), wanted, rtol=1e-5, atol=1e-5)
    assert model.notes["network"] == "mlp"


def test_import_brings_nothing_but_numpy():
    code = ("import sys, numpy; before = set(sys.modules); import engram; "
            "print([m for m in set(sys.modules) - before if m.split('.')[0] in "
            "('pandas', 'torch', 'scipy', 'matplotlib')])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          check=True)
    assert done.stdout.strip() == "[]"
