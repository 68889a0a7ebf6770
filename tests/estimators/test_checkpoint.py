"""Checkpoints: a fit that was killed goes on to the same cores, and nothing foreign is read."""

import numpy as np
import pytest

from qtkm import ALS, QTKMClassifier, QTKMRegressor
from qtkm.estimators.choices.held_out import FOLDS, Fold
from qtkm.networks import flatten

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(200, 3)).round(2)
y = np.sin(5 * X[:, 0]) * X[:, 1] + 0.1 * RNG.normal(size=200)
SETTINGS = {
    "penalty": "ridge",
    "n_basis": 8, "period": 2, "alpha": 1e-5, "rank": 3, "random_state": 0, "tol": 0,
    "posterior": False,
}  # fmt: skip


def regressor(**changes):
    return QTKMRegressor(**{**SETTINGS, **changes})


def assert_same(one, other):
    for a, b in zip(flatten(one.cores_), flatten(other.cores_), strict=True):
        np.testing.assert_array_equal(a, b)
    assert one.history_["objective"] == other.history_["objective"]


PARTS = {
    "als": {},
    "als, momentum": {"solver": ALS(momentum=True)},
    "als, validation": {"early_stopping": True},
    "als, rows": {"max_bins": None, "alpha": 0.0},
    "train": {"network": "train"},
    "ring": {"network": "ring", "rank": 2},
    "graph": {"network": "tucker", "rank": 2, "n_basis": 4},
    "dmrg": {"network": "train", "solver": "dmrg"},
    "riemannian": {"network": "train", "solver": "riemannian"},
    "adam": {"solver": "adam"},
    "gauss_newton": {"solver": "gauss_newton"},
}


@pytest.mark.parametrize("changes", PARTS.values(), ids=PARTS.keys())
def test_a_fit_in_two_parts_ends_at_the_same_bits(tmp_path, changes):
    whole = regressor(max_iter=6, **changes).fit(X, y)
    regressor(max_iter=3, checkpoint=tmp_path / "parts", **changes).fit(X, y)
    rest = regressor(max_iter=6, checkpoint=tmp_path / "parts", **changes).fit(X, y)
    assert_same(rest, whole)
    assert rest.n_iter_ == whole.n_iter_
    np.testing.assert_array_equal(rest.predict(X), whole.predict(X))


def test_a_finished_fit_is_there_at_once(tmp_path):
    first = regressor(max_iter=4, checkpoint=tmp_path).fit(X, y)
    events = []
    again = regressor(max_iter=4, checkpoint=tmp_path, callbacks=events.append).fit(X, y)
    assert events == []
    assert_same(again, first)


def searched(**changes):
    return QTKMRegressor(**{"rank": 4, "random_state": 0, **changes})


def test_a_search_goes_on_after_its_last_trial(tmp_path, monkeypatch):
    whole = searched().fit(X, y)
    first = searched(checkpoint=tmp_path).fit(X, y)
    np.testing.assert_array_equal(first.predict(X), whole.predict(X))
    np.testing.assert_array_equal(first.predict(X, return_std=True)[1],
                                  whole.predict(X, return_std=True)[1])  # fmt: skip
    trials = sorted(tmp_path.glob("trial-*"))
    assert len(trials) > 4
    for path in [*trials[3:], *tmp_path.glob("epoch-*")]:
        path.unlink()
    trials[1].write_bytes(trials[1].read_bytes()[:-100])
    counts, fit = [], Fold.fit
    monkeypatch.setattr(Fold, "fit", lambda *given: counts.append(1) or fit(*given))
    rest = searched(checkpoint=tmp_path).fit(X, y)
    np.testing.assert_array_equal(rest.predict(X), whole.predict(X))
    assert [step["error"] for step in rest.history_["path"]] == [
        step["error"] for step in whole.history_["path"]
    ]
    assert len(counts) == FOLDS * (len(trials) - 2)
    counts.clear()
    searched(checkpoint=tmp_path).fit(X, y)
    assert counts == []
    with pytest.raises(ValueError, match="checkpoint of another fit: parameter penalty differ"):
        searched(checkpoint=tmp_path, penalty="rbf").fit(X, y)


def test_a_default_fit_has_the_same_bits_with_checkpoints(tmp_path):
    whole = QTKMRegressor(random_state=0).fit(X[:80], y[:80])
    for _ in range(2):
        found = QTKMRegressor(random_state=0, checkpoint=tmp_path).fit(X[:80], y[:80])
        np.testing.assert_array_equal(found.predict(X), whole.predict(X))


def test_a_classifier_goes_on_too(tmp_path):
    labels = np.where(y > np.median(y), "late", "early")
    settings = {**SETTINGS, "checkpoint": tmp_path / "parts"}
    whole = QTKMClassifier(**{**settings, "checkpoint": tmp_path / "whole"}, max_iter=4)
    QTKMClassifier(**settings, max_iter=2).fit(X, labels)
    assert_same(QTKMClassifier(**settings, max_iter=4).fit(X, labels), whole.fit(X, labels))


def test_two_files_are_kept_and_no_partial_ones(tmp_path):
    regressor(max_iter=5, checkpoint=tmp_path).fit(X, y)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "epoch-000004.qtkm",
        "epoch-000005.qtkm",
    ]


def test_a_damaged_file_is_left_for_the_one_before(tmp_path):
    whole = regressor(max_iter=6, checkpoint=tmp_path / "whole").fit(X, y)
    folder = tmp_path / "damaged"
    regressor(max_iter=4, checkpoint=folder).fit(X, y)
    newest = folder / "epoch-000004.qtkm"
    newest.write_bytes(newest.read_bytes()[:-10])
    with pytest.warns(
        UserWarning, match=r"epoch-000004.qtkm is damaged.* resumes from epoch-000003"
    ):
        rest = regressor(max_iter=6, checkpoint=folder).fit(X, y)
    assert_same(rest, whole)


def test_only_damaged_files_are_an_error(tmp_path):
    regressor(max_iter=2, checkpoint=tmp_path).fit(X, y)
    for file in tmp_path.iterdir():
        data = bytearray(file.read_bytes())
        data[-5] ^= 1
        file.write_bytes(data)
    with pytest.raises(ValueError, match=r"No checkpoint in .* can be read.*checksum.*start over"):
        regressor(max_iter=4, checkpoint=tmp_path).fit(X, y)


@pytest.mark.parametrize(
    ("changes", "rows", "differ"),
    [
        ({"alpha": 1e-4}, slice(None), "parameter alpha"),
        ({"random_state": 1}, slice(None), "parameter random_state, start"),
        ({}, slice(100), "rows"),
    ],
)
def test_a_checkpoint_of_another_fit_is_refused(tmp_path, changes, rows, differ):
    regressor(max_iter=2, checkpoint=tmp_path).fit(X, y)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with pytest.raises(ValueError, match=rf"checkpoint of another fit: {differ} differ"):
        regressor(max_iter=4, checkpoint=tmp_path, **changes).fit(X[rows], y[rows])
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_lbfgs_continues_from_the_cores_of_its_checkpoint(tmp_path):
    first = regressor(solver="lbfgs", max_iter=3, checkpoint=tmp_path).fit(X, y)
    rest = regressor(solver="lbfgs", max_iter=8, checkpoint=tmp_path).fit(X, y)
    assert rest.history_["objective"][:3] == first.history_["objective"]
    assert rest.n_iter_ == 8
    assert (np.diff(rest.history_["objective"]) <= 0).all()
    whole = regressor(solver="lbfgs", max_iter=8).fit(X, y)
    np.testing.assert_allclose(rest.history_["objective"][-1], whole.history_["objective"][-1], 0.2)


def test_a_solver_that_keeps_no_state_says_so(tmp_path):
    class Forgetful(ALS):
        state = None

    with pytest.raises(ValueError, match="Forgetful cannot write checkpoints"):
        regressor(solver=Forgetful(), checkpoint=tmp_path).fit(X, y)


def test_seconds_between_checkpoints_are_kept_except_at_the_end(tmp_path):
    regressor(max_iter=6, checkpoint=tmp_path, checkpoint_seconds=1000).fit(X, y)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "epoch-000001.qtkm",
        "epoch-000006.qtkm",
    ]


@pytest.mark.parametrize("value", [3, ["a"]])
def test_a_checkpoint_is_a_path(value):
    with pytest.raises(ValueError, match="must be the path of a folder"):
        regressor(checkpoint=value).fit(X, y)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match="is a file; use a folder"):
        regressor(checkpoint=tmp_path / "file").fit(X, y)
    assert (tmp_path / "file").read_text() == "mine"
