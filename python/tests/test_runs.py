"""Runs, tables and data sets."""

import engram as eg
import numpy as np
import pytest
from conftest import SECTIONS


def arrays(seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(4, 16)) * 3
    y = rng.integers(0, 4, 300)
    yt = rng.integers(0, 4, 60)
    make = lambda y: (centres[y] + rng.normal(size=(len(y), 16))).astype(np.float32)
    return (make(y), y), (make(yt), yt)


def test_data_set_of_arrays_has_the_bits_of_the_same_as_npz(carry_out, tmp_path):
    (x, y), (xt, yt) = arrays()
    eg.dataset("mine", train=(x, y), test=(xt, yt))
    np.savez(tmp_path / "mine.npz", x_train=x.reshape(-1, 1, 1, 16), y_train=y,
             x_test=xt.reshape(-1, 1, 1, 16), y_test=yt)
    ours = carry_out("fedavg", data="mine")
    theirs = carry_out("fedavg", out="npz",
                       data=dict(name="npy", path=str(tmp_path / "mine.npz")))
    assert ours["params_sha256"] == theirs["params_sha256"]


def test_data_set_may_be_given_other_arrays(carry_out):
    eg.dataset("changing", *arrays(1))
    one = carry_out("fedavg", out="a", data="changing")["params_sha256"]
    eg.dataset("changing", *arrays(2))
    assert carry_out("fedavg", out="b", data="changing")["params_sha256"] != one


def test_classes_have_names(carry_out):
    eg.dataset("named", *arrays(), names=["a", "b", "c", "d e"])
    run = carry_out("fedavg", data="named")
    with open(run.report(), encoding="utf-8") as f:
        assert "d e" in f.read()
    with pytest.raises(eg.Error, match="3 names are not those of 4 classes"):
        eg.dataset("misnamed", *arrays(), names=["a", "b", "c"], classes=4)


def test_values_are_read_in_place_and_left_alone(carry_out):
    (x, y), test = arrays(3)
    before = x.copy()
    eg.dataset("left", train=(x, y), test=test)
    carry_out("fedavg", data=dict(name="left", share=0.5))
    np.testing.assert_array_equal(x, before)


def test_table_report_and_latex(tmp_path):
    made = eg.Experiment(name="tiny", runs=[dict(method="fedavg"), dict(method=["er"])],
                         **SECTIONS)
    assert made.labels == ["fedavg", "er"]
    runs = made.run(out=str(tmp_path), seeds=range(2), progress=False)
    assert len(runs) == 4 and runs["er", 1].seed == 1
    table = runs.table()
    rows = table if isinstance(table, list) else table.to_dict("records")
    assert [r["label"] for r in rows] == ["fedavg", "er"]
    mean = np.mean([runs["er", s]["acc_final"] for s in range(2)])
    np.testing.assert_allclose(rows[1]["acc_final"], mean, rtol=1e-6)
    assert "tabular" in runs.to_latex()
    assert "<table>" in runs._repr_html_() and "<td>er</td>" in runs._repr_html_()
    assert "<table>" in eg.results.Rows(rows)._repr_html_()
    assert "fedavg" in made._repr_html_()
    chart = runs.chart()
    assert chart.svg.count("<svg") == 1 and "image/svg+xml" in chart._repr_html_()
    assert "image/svg+xml" in runs[0]._repr_html_() and "fedavg" in runs[0]._repr_html_()
    with open(chart.save(str(tmp_path / "c.svg")), encoding="utf-8") as f:
        assert f.read() == chart.svg
    with pytest.raises(eg.Error, match="there is no chart 'nonsense'; there are"):
        runs.chart("nonsense")
    with open(runs.report(), encoding="utf-8") as f:
        assert "</html>" in f.read()


def test_arrays_of_a_run(carry_out):
    run = carry_out("fedavg")
    assert run.accuracy.shape == (3, 2) and run.loss.shape == (4,)
    np.testing.assert_allclose(run.accuracy[-1].mean(), run["acc_final"], rtol=1e-6)
    assert any(e["event"] == "round" for e in run.events())
    assert len(run.client_loss) == 4 and not np.isnan(run.client_loss).all(axis=1).any()
    assert (np.nanmin(run.client_loss, axis=1) <= run.loss + 1e-5).all()
    assert (np.nanmax(run.client_loss, axis=1) >= run.loss - 1e-5).all()
    assert run.held == {}


def test_what_memories_hold(carry_out):
    run = carry_out("er")
    assert list(run.held) == [2, 4]  # the rounds that end tasks
    first, last = run.held.values()
    assert (first > 0).sum() < (last > 0).sum() and 0 < first.sum() <= last.sum()


def test_finished_run_is_read_and_not_carried_out_again(carry_out):
    calls = []
    carry_out("fedavg", how=dict())
    carry_out("fedavg", how=dict(say=calls.append))
    assert not calls


def test_settings_and_labels_of_a_file(tmp_path):
    path = tmp_path / "e.yaml"
    path.write_text(eg.Experiment(name="tiny", runs=[dict(method="fedavg"), dict(method="er")],
                                  **SECTIONS).text)
    runs = eg.run(path, only="fedavg", set={"optimizer.lr": [0.1, 0.01]}, out=str(tmp_path / "r"),
                  progress=False)
    assert len(runs) == 2 and runs[0]["params_sha256"] != runs[1]["params_sha256"]


def test_many_runs_in_one_process_leave_memory_flat(carry_out):
    """A hundred warm it up; after five hundred more it holds at most 2 MB more."""
    import os

    def held():
        with open("/proc/self/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def some(n):
        for _ in range(n):
            carry_out("fedavg", how=dict(reuse=False, resume=False, seeds=[0]),
                      scenario=dict(kind="class-incremental", clients=2, tasks=2, rounds=1,
                                    partition="iid"), out=f"r{some.n}")
            some.n += 1

    some.n = 0
    some(20)
    before = held()
    some(60)
    assert held() - before < 2 << 20
