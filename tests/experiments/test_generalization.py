"""The generalization experiment on a small made-up set, and what its curves say."""

import re
import shutil
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from qtkm.datasets import REGISTRY
from qtkm.experiments import generalization, runs
from qtkm.experiments import generalization as protocol
from qtkm.experiments.generalization import curve, draw
from qtkm.experiments.runs import Options, draw_rows

SMALL = protocol.CurveProtocol(
    sets=("yacht", "banana"), seeds=(0, 1), tkm_ranks=(1, 2), qtkm_ranks=(1, 2, 4),
    n_frequencies=3, max_iter=8, window=4,
)  # fmt: skip


def made_up(name):
    def load(return_X_y, as_frame, data_home):
        rng = np.random.default_rng(len(name))
        X = rng.uniform(size=(60, 2))
        return X, np.sin(5 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=60)

    return load


@pytest.fixture
def data(monkeypatch):
    draw_rows.cache_clear()
    for name in SMALL.sets:
        monkeypatch.setitem(REGISTRY, name, made_up(name))
    yield
    draw_rows.cache_clear()


def options(folder):
    return Options(folder, n_jobs=1, progress=False, command="qtkm reproduce")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run that was made once, to be read and not to be written to."""
    folder = tmp_path_factory.mktemp("finished")
    with pytest.MonkeyPatch.context() as patch:
        for name in SMALL.sets:
            patch.setitem(REGISTRY, name, made_up(name))
        draw_rows.cache_clear()
        generalization.run(options(folder), protocol=SMALL)
    return folder


@pytest.fixture
def again(finished, tmp_path, monkeypatch):
    """A folder with what a run left; figures are not drawn again, which takes seconds."""
    monkeypatch.setattr(generalization.runs, "save_figures", lambda folder, drawn: {})
    return shutil.copytree(finished, tmp_path / "again")


def test_results_figures_and_page_are_written(finished):
    names = {file.name for file in finished.iterdir()}
    assert {"generalization.csv", "generalization_krr.csv", "generalization.md"} <= names
    for kind in ("test", "train"):
        assert (finished / f"generalization_{kind}.png").read_bytes().startswith(b"\x89PNG")
        assert (finished / f"generalization_{kind}.pdf").read_bytes().startswith(b"%PDF")
    text = (finished / "generalization.md").read_text()
    assert len(re.findall(r"^\*\*\d\. ", text, re.MULTILINE)) == 5
    assert "`qtkm reproduce`" in text


def test_a_second_run_fits_nothing(data, again, monkeypatch):
    before = (again / "generalization.csv").read_text()

    def fail(**_):
        raise AssertionError("fitted again")

    for name in ("fit_krr", "fit_one"):
        monkeypatch.setattr(protocol, name, fail)
    notes = again / "generalization.settings.json"
    notes.write_text(re.sub(r"\d{4}-\d\d-\d\d", "1999-12-31", notes.read_text("utf-8")), "utf-8")
    page = generalization.run(options(again), protocol=SMALL)
    assert (again / "generalization.csv").read_text() == before
    assert "on 1999-12-31 with" in page.read_text("utf-8")  # when the fits were made


def test_a_panel_shows_where_the_models_can_be_compared():
    def line(sizes, errors):
        index = pd.Index(sizes, name="n_parameters")
        return pd.DataFrame({"mean": errors, "deviation": 0.0, "error": 0.0}, index=index)

    curves = {"TKM": line([20, 40, 60], [0.87, 0.2, 0.1]),
              "QTKM": line([10, 20, 40], [0.79, 0.15, 0.12]),
              "RFF": line([1, 10, 60], [1.0, 0.9, 0.15])}  # fmt: skip
    krr = [{"set": "yacht", "rows": 50, "columns": 3, "test_mse": 0.11}]
    ax = draw({"yacht": curves}, pd.DataFrame(krr), "test_mse").axes[0]
    low, high = ax.get_ylim()
    assert 0.05 < low < 0.1
    assert 0.2 < high < 0.4
    assert ax.get_xlim()[0] < 10
    assert ax.get_xlim()[1] > 60


def test_more_splits_add_to_what_is_there(data, again):
    first = (again / "generalization.csv").read_text().splitlines()
    generalization.run(options(again), protocol=SMALL, splits=2)
    both = (again / "generalization.csv").read_text().splitlines()
    assert both[: len(first)] == first
    assert len(both) - 1 == 2 * (len(first) - 1)


def test_both_models_begin_at_the_same_function(data):
    """One epoch apart from equal starts, the quantized model is a special case of the other."""
    arguments = {"alpha": 1e-3, "period": 1.5, "data_home": None, "seed": 3, "split": 0}
    one = protocol.CurveProtocol(sets=("yacht",), max_iter=1)
    rows = draw_rows("yacht", 0, 0.2, None)
    start = runs.quantized_start([protocol.RADICES] * 2, 2, 3)
    full = runs.unquantized(start)
    assert [len(column) for column in full] == [1, 1]
    errors = [
        protocol.fit_one(set="yacht", model=model, size=2, protocol=one, **arguments)
        for model in ("TKM", "QTKM")
    ]
    assert errors[0]["n_parameters"] == 2 * 16 * 2
    assert errors[1]["n_parameters"] == 2 * 8 * 2
    assert all(0 < e["train_mse"] < np.var(rows.y_train) for e in errors)


def line(means, n_parameters=None, deviation=0.01, count=10):
    rng = np.random.default_rng(0)
    sizes = 10 * np.array(n_parameters or range(1, len(means) + 1))
    errors = np.concatenate([mean + deviation * rng.standard_normal(count) for mean in means])
    rows = {"set": "a", "model": "b", "n_parameters": sizes.repeat(count), "test_mse": errors}
    return curve(pd.DataFrame(rows), "a", "b")


def test_curves_are_compared_at_equal_numbers_of_parameters_below_the_rows():
    ours, theirs = line([0.5, 0.4, 0.9], [1, 2, 4]), line([0.6, 0.1], [2, 4])
    found = protocol.compare(ours, theirs, n_rows=30)
    assert (found.n_compared, found.n_ahead, found.holds) == (1, 1, True)
    assert found.gap == pytest.approx(1 / 3, abs=0.05)
    found = protocol.compare(ours, theirs, n_rows=50)
    assert (found.n_compared, found.n_ahead, found.n_clearly_behind) == (2, 1, 1)
    assert not protocol.compare(ours, theirs, n_rows=5).holds


def test_double_descent_is_a_rise_between_two_falls():
    assert protocol.descends_twice(line([1.0, 0.5, 0.8, 0.4]))
    assert not protocol.descends_twice(line([1.0, 0.5, 0.8, 0.9]))
    assert not protocol.descends_twice(line([1.0, 0.5, 0.4, 0.3]))
    assert not protocol.descends_twice(line([1.0, 0.5, 0.51, 0.4], deviation=0.1))


def test_a_turning_point_is_where_more_parameters_stop_helping():
    assert protocol.turning_point(line([1.0, 0.5, 0.8])) == 20
    assert protocol.turning_point(line([1.0, 0.5, 0.3])) == np.inf


def test_a_fit_has_converged_when_a_window_gains_nothing():
    history = SimpleNamespace(objective=[1.0, 0.5, 0.5, 0.4999])
    progress = SimpleNamespace(event="epoch", history=history)
    assert protocol.Converged(2, 1e-3)(progress)
    assert not protocol.Converged(2, 1e-5)(progress)
    assert not protocol.Converged(4, 1e-1)(progress)
