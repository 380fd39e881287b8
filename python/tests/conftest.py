"""What the tests share: a tiny experiment that takes milliseconds."""

import engram as eg
import pytest

SECTIONS = dict(data=dict(name="blobs", train=400, test=80, classes=4),
                model=dict(name="mlp", depth=0),
                scenario=dict(kind="class-incremental", clients=3, tasks=2, rounds=2,
                              partition="iid"),
                train=dict(batch=16), optimizer=dict(lr=0.1),
                memory=dict(kind="reservoir", size=40))


@pytest.fixture
def carry_out(tmp_path):
    """Carries out the tiny experiment with a method; the run."""

    def carry_out(method, out="runs", workers=1, how=None, **sections):
        made = eg.Experiment(name="tiny", method=method, **dict(SECTIONS, **sections))
        how = dict(dict(progress=False), **(how or {}))
        return made.run(out=str(tmp_path / out), workers=workers, **how)[0]

    return carry_out
