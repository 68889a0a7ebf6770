"""Saved models: they come back as they were, bit for bit, and what cannot is said when saving."""

import datetime
import os
import pickle
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import qtkm
from qtkm import QTKMClassifier, QTKMRegressor, features
from tests.estimators.same import assert_same

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 2, size=(60, 3)).round(2)
Y = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2], X[:, 0] - X[:, 2] ** 2])
y = Y[:, 0]
THREE = np.digitize(y, [-0.5, 0.8])
SETTINGS = {
    "penalty": "ridge",
    "n_basis": 4,
    "period": 2.0,
    "rank": 2,
    "alpha": 1e-3,
    "max_iter": 3,
    "random_state": 0,
}
#: cores of three columns with two digits each
START = [[RNG.normal(size=(2, 2)) * (1 + 1j) for _ in range(2)] for _ in range(3)]
MIXED = [None if k % 7 == 0 else ("a", "b", 3, 2.5, True)[k % 5] for k in range(60)]
GRAPH = qtkm.Graph(
    {"a": [(0, 0), (0, 1)], 7: [(1, 0)], ("b", 1): [(1, 1), "outputs"], "c": [(2, 0), (2, 1)]},
    [("one", ("a", 7), 2), ("two", (7, ("b", 1)), 2), ("all", ("a", ("b", 1), "c"), 2)],
)


#: of a generator of random numbers
ADDRESS = re.compile("0x[0-9A-F]+")


def with_categories(values):
    table = X.astype(object)
    table[:, 1] = values
    return table


def case(rows=X, target=y, kind=QTKMRegressor, **changes):
    return rows, target, kind(**{**SETTINGS, **changes})


def labelled(labels, **changes):
    return case(target=np.asarray(labels)[THREE], kind=QTKMClassifier, **changes)


NETWORKS = {name: case(network=name) for name in qtkm.networks.REGISTRY if name != "graph"}
MODELS = NETWORKS | {
    "graph": case(network=GRAPH, rank="auto", target=Y),
    "train, ranks": case(network="train", rank=(2, 3, 3, 2, np.int64(2))),
    "train, dmrg": case(network="train", rank="auto", solver=qtkm.DMRG(max_rank=4, tol=1e-6)),
    "train, riemannian": case(network="train", solver="riemannian"),
    "ring, outputs": case(network="ring", target=Y, rank=[2, 2, 2, 2, 2, 2, 2]),
    "cpd, outputs": case(target=Y),
    "one output, two dimensions": case(target=Y[:, :1]),
    "bases": case(basis=[qtkm.Fourier(6, quantization=(3, 2)), qtkm.Power(3), "fourier"],
                  n_basis=["auto", "auto", np.int32(4)]),
    "power": case(basis="power"),
    "momentum": case(solver=qtkm.ALS(momentum=True)),
    "gauss_newton": case(solver="gauss_newton"),
    "text": case(with_categories(np.array(["ä", "b", "", "$"])[THREE]), categorical_features=[1]),
    "mixed and missing": case(with_categories(MIXED), categorical_features=(False, True, False)),
    "days": case(with_categories([datetime.date(2024, 1, 1 + k % 3) for k in range(60)]),
                 categorical_features=np.array([1])),
    "float32": case(dtype=np.float32),
    "continue": case(extrapolation="continue", bounds=[(-2, 3), (-1, 2), (-1.0, 2.5)]),
    "early stopping": case(early_stopping=True, max_iter=12),
    "start": case(init=START, normalize_y=False),
    "generator": case(random_state=np.random.RandomState(3)),
    "constant": case(target=np.full(60, 2.5)),
    "labels of text": labelled(["low", "middle", "high"], class_weight={"low": 2, "high": 0.5}),
    "labels as objects": labelled(np.array(["low", "middle", "high"], dtype=object)),
    "labels as numbers": labelled([7, 2, 5], loss="squared"),
    "labels as floats": labelled(np.array([2.0, -1.0, 2.0], dtype=np.float16), loss="hinge"),
    "labels as bools": labelled([True, False, False], class_weight={True: 2.0}),
    "softmax of two": labelled(["no", "yes", "no"], loss=qtkm.Softmax("real")),
}  # fmt: skip


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Fit each model once; give rows, target, model and its file."""
    folder, done = tmp_path_factory.mktemp("models"), {}

    def get(name):
        if name not in done:
            rows, target, model = MODELS[name]
            model = clone(model).fit(rows, target)
            path = folder / f"{len(done)}.qtkm"
            model.save(path)
            done[name] = rows, target, model, path
        return done[name]

    return get


@pytest.mark.parametrize("name", MODELS)
def test_all_of_a_model_comes_back(saved, tmp_path, name):
    rows, target, model, path = saved(name)
    loaded = qtkm.load(path)
    assert_same(loaded, model)
    loaded.save(tmp_path / "again.qtkm")
    assert (tmp_path / "again.qtkm").read_bytes() == path.read_bytes()
    assert ADDRESS.sub("", repr(loaded)) == ADDRESS.sub("", repr(model))
    assert loaded.score(rows, target) == model.score(rows, target)
    for method in ("predict", "decision_function", "predict_proba", "predict_log_proba"):
        assert hasattr(loaded, method) == hasattr(model, method)
        if hasattr(model, method):
            assert_same(getattr(loaded, method)(rows), getattr(model, method)(rows))
    assert_same(pickle.loads(pickle.dumps(loaded)).predict(rows), model.predict(rows))


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_goes_on_as_the_first_would(saved, name):
    rows, target, model, path = saved(name)
    ones = [pickle.loads(pickle.dumps(model)), qtkm.load(path)]
    first, loaded = (one.set_params(warm_start=True, init="smooth") for one in ones)
    first.fit(rows, target)
    loaded.fit(rows, target)
    first.history_.pop("seconds")
    loaded.history_.pop("seconds")
    assert_same(loaded, first)


def test_ranks_that_the_fit_chose_come_back(saved):
    _, _, model, path = saved("train, dmrg")
    assert isinstance(model.rank_, list)
    assert qtkm.load(path).rank_ == model.rank_


def test_deviations_come_back_in_the_precision_of_their_products(tmp_path):
    model = QTKMRegressor(rank=2, max_iter=2, alpha=1e-3, random_state=0, n_jobs=1).fit(X, y)
    known = model._uncertainty
    single = replace(known.posterior, chain=known.posterior.chain.astype(np.float32))
    model._uncertainty = replace(known, posterior=single)
    model.save(tmp_path / "a.qtkm")
    loaded = qtkm.load(tmp_path / "a.qtkm")
    assert_same(loaded.predict(X, return_std=True), model.predict(X, return_std=True))


def test_what_may_be_written_to_stays_so(saved):
    *_, path = saved("cpd")
    loaded = qtkm.load(path)
    loaded.cores_[0][0][0, 0] = 0
    loaded._reading.scale.mean[0] = 0


@pytest.fixture
def frame():
    table = pd.DataFrame(X, columns=["ä", "b", "c"])
    table["kind"] = pd.Categorical(np.where(X[:, 0] > 0, "up", None), categories=["down", "up"])
    return table


def test_names_of_a_frame_are_known_again(frame, tmp_path):
    model = QTKMRegressor(**SETTINGS, categorical_features=frame.columns[3:]).fit(frame, y)
    model.save(tmp_path / "a.qtkm")
    loaded = qtkm.load(tmp_path / "a.qtkm")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    assert_same(loaded.feature_names_in_, model.feature_names_in_)
    assert loaded.columns_[3]["categories"] == ["up", None]
    swapped = frame[["b", "ä", "c", "kind"]]
    np.testing.assert_array_equal(loaded.predict(swapped), model.predict(frame))
    with pytest.raises(ValueError, match="kind"):
        loaded.predict(frame.drop(columns="kind"))


SCRIPT = """
import sys, warnings
warnings.simplefilter("error")
for name in ("pandas", "polars", "matplotlib"): sys.modules[name] = None
import numpy as np, qtkm
model = qtkm.load({path!r})
X = np.load({rows!r})
sys.stdout.buffer.write(model.predict(X).tobytes())
"""


def test_another_process_without_pandas_predicts_the_same(frame, tmp_path):
    path, rows = str(tmp_path / "a.qtkm"), str(tmp_path / "rows.npy")
    table = frame.rename(columns=dict(zip(frame.columns, range(4), strict=True)))
    table[3] = (table[3] == "up").astype(int)
    model = QTKMRegressor(**SETTINGS, categorical_features=pd.Index([3])).fit(table, y)
    model.save(path)
    np.save(rows, table.to_numpy(dtype=float))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(path=path, rows=rows)], capture_output=True
    )
    assert done.stderr == b""
    assert done.stdout == model.predict(np.load(rows)).tobytes()


def test_callbacks_and_checkpoints_stay_behind(tmp_path):
    model = QTKMRegressor(**SETTINGS, callbacks=[lambda _: False], checkpoint=tmp_path / "points")
    model.fit(X, y).save(tmp_path / "a.qtkm")
    loaded = qtkm.load(tmp_path / "a.qtkm")
    assert (loaded.callbacks, loaded.checkpoint) == (None, None)
    assert b"points" not in (tmp_path / "a.qtkm").read_bytes()
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


# -- what cannot be saved ---------------------------------------------------------------------


def test_a_model_without_a_fit_is_refused(tmp_path):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        QTKMRegressor().save(tmp_path / "a.qtkm")
    assert list(tmp_path.iterdir()) == []


class Mine(qtkm.Fourier):
    """A basis of a user."""


class MyRegressor(QTKMRegressor):
    """An estimator of a user."""


def test_a_class_of_a_user_is_saved_once_it_is_registered(tmp_path, monkeypatch):
    path = tmp_path / "a.qtkm"
    model = QTKMRegressor(Mine(), **SETTINGS).fit(X, y)
    with pytest.raises(TypeError, match=r"because of basis: Mine is .* qtkm\.features\.REGISTRY"):
        model.save(path)
    with monkeypatch.context() as patch:
        patch.setitem(features.REGISTRY, "mine", Mine)
        model.save(path)
        assert_same(qtkm.load(path), model)
    with pytest.raises(ValueError, match=r"a\.qtkm cannot be loaded: it needs 'mine' of qtkm\.fea"):
        qtkm.load(path)


def test_an_estimator_of_a_user_is_refused(tmp_path):
    model = MyRegressor(**SETTINGS).fit(X, y)
    with pytest.raises(TypeError, match="MyRegressor is a class that qtkm does not know"):
        model.save(tmp_path / "a.qtkm")


@pytest.mark.parametrize(
    "value",
    [pd.Interval(0, 1), pd.Timestamp("2024-01-01"), frozenset({1}), object()],
    ids=["interval", "timestamp", "set", "object"],
)
def test_categories_that_no_file_can_hold_are_named(tmp_path, value):
    table = with_categories([value, None] * 30)
    model = QTKMRegressor(**SETTINGS, categorical_features=[1])
    with pytest.warns(UserWarning, match="cannot be saved: column 1: a file cannot hold"):
        model.fit(table, y)
    with pytest.raises(TypeError, match="because of the categories of column 1: a file cannot"):
        model.save(tmp_path / "a.qtkm")


def test_a_model_that_was_broken_is_refused_when_saving(tmp_path):
    model = QTKMRegressor(**SETTINGS).fit(X, y)
    model.cores_[1][0] = model.cores_[1][0][:, :1]
    with pytest.raises(ValueError, match=r"could not be loaded again: a core has shape \(2, 1"):
        model.save(tmp_path / "a.qtkm")
    model = QTKMRegressor(**SETTINGS).fit(X, y).set_params(max_iter=0)
    with pytest.raises(ValueError, match="max_iter=0 must be"):
        model.save(tmp_path / "a.qtkm")


# -- places -----------------------------------------------------------------------------------


def test_a_folder_is_no_file(saved, tmp_path):
    _, _, model, _ = saved("cpd")
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it, such as"):
        model.save(tmp_path)
    with pytest.raises(IsADirectoryError, match="is a folder; give the path"):
        qtkm.load(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"nothing\.qtkm"):
        qtkm.load(tmp_path / "nothing.qtkm")


def test_a_place_that_cannot_be_written_is_named(saved, tmp_path, monkeypatch):
    _, _, model, _ = saved("cpd")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OSError, match=r"The model was not saved: .*file.a\.qtkm"):
        model.save(tmp_path / "file" / "a.qtkm")

    def full(_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("qtkm.storage.os.fsync", full)
    with pytest.raises(OSError, match=r"The model was not saved: No space left.*b\.qtkm"):
        model.save(tmp_path / "b.qtkm")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
