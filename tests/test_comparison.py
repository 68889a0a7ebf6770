"""Models are compared on the same folds."""

import json
from functools import partial

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor

import qtkm
from qtkm import comparison
from tests.cli.commands import command

pandas = pytest.importorskip("pandas")


def make_rows(n=90):
    rng = np.random.default_rng(0)
    rows = pandas.DataFrame(rng.uniform(size=(n, 2)), columns=["wind", "sun"])
    rows["kind"] = rng.choice(["sea", "land"], n)
    rows["power"] = np.sin(5 * rows["wind"]) * rows["sun"] + (rows["kind"] == "sea")
    rows["level"] = np.where(rows["power"] > 0.6, "high", "low")
    rows.loc[rng.random(n) < 0.1, "sun"] = np.nan
    return rows


@pytest.fixture
def given_rank(monkeypatch):
    """Models without a search for rank and penalty, which takes seconds."""
    for name in ("QTKMRegressor", "QTKMClassifier"):
        quick = partial(getattr(qtkm, name), rank=2, alpha=1e-3)
        monkeypatch.setattr(comparison, name, quick)


def test_numbers_are_compared_on_the_same_folds(given_rank):
    rows = make_rows()
    more = {"mean": DummyRegressor()}
    found = qtkm.compare(rows[["wind", "sun", "kind"]], rows["power"], cv=2, models=more)
    assert found.names == ["qtkm", "ridge", "boosting", "kernel ridge", "Gaussian process", "mean"]
    assert np.isfinite(found.scores).all(), found.notes
    mean = dict(zip(found.names, found.mean, strict=True))
    assert mean["qtkm"] > mean["ridge"] > mean["mean"]
    frame = found.to_frame()
    assert frame["R²"].is_monotonic_decreasing
    assert "ridge" in repr(found)
    display = found.plot()
    assert len(display.ax_.texts) == len(found.names)


def test_times_and_nullable_numbers_are_numbers_for_all_models(given_rank):
    rows = make_rows().drop(columns=["level"])
    rows["when"] = pandas.Timestamp("2024-05-01") + pandas.to_timedelta(rows.index, unit="h")
    rows["since"] = rows["when"] - rows["when"][0]
    rows["count"] = pandas.array([None, *range(1, len(rows))], dtype="Int64")
    rows["is_new"] = pandas.array([None, *([True] * (len(rows) - 1))], dtype="boolean")
    rows["kind"] = rows["kind"].astype("category")
    before = rows.copy()
    target = rows.pop("power")
    found = qtkm.compare(rows, target, cv=2)
    assert np.isfinite(found.scores).all(), found.notes
    pandas.testing.assert_frame_equal(rows, before.drop(columns="power"))


def test_a_model_that_fails_leaves_the_others(given_rank):
    class Broken(DummyRegressor):
        def fit(self, X, y):
            raise TypeError("cannot be fitted")

    rows = make_rows()
    found = qtkm.compare(rows[["wind", "sun"]], rows["power"], cv=2, models={"own": Broken()})
    assert found.notes == ["own failed: cannot be fitted"]
    assert np.isfinite(found.scores[:-1]).all()


def test_the_command_compares_classes(tmp_path, capsys, given_rank):
    rows = make_rows().drop(columns="power")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    words = ["compare", tmp_path / "rows.csv", "--target", "level", "--folds", 2]
    assert command(*words, "--json", "--max-rows", 60, "--plot", tmp_path / "new" / "a.png") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["score_name"] == "accuracy"
    assert (facts["n_rows"], facts["n_used"]) == (90, 60)
    assert facts["notes"] == []
    assert (tmp_path / "new" / "a.png").exists()
    assert command(*words) == 0
    shown = capsys.readouterr()
    assert "logistic regression" in shown.out
    assert "2 folds of 90 rows" in shown.out


def test_a_model_that_fails_is_named(monkeypatch, given_rank):
    monkeypatch.setattr(comparison, "MOST_KERNEL", 10)
    monkeypatch.setattr(comparison, "MOST_PROCESS", 10)
    rows = make_rows(60)
    wrong = {"wrong": DummyRegressor(strategy="quantile")}
    found = qtkm.compare(rows[["wind", "kind"]], rows["power"], cv=2, models=wrong)
    assert any(note.startswith("wrong failed:") for note in found.notes)
    assert any(note.startswith("kernel ridge skipped") for note in found.notes)
    assert np.isnan(found.mean[-1])
