"""Missing values in numeric columns: an entry of their own, through every door."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import r2_score

from qtkm import QTKMClassifier, QTKMRegressor, load
from qtkm.inspection import importances, main_effects
from qtkm.limits import LIMITS

#: a fit of the kind that the defaults are made of
MODEL = {
    "main_effects": True, "penalty": "matern", "scaling": "half", "n_basis": 9, "quantization": 3,
    "period": 2.0, "rank": 4, "alpha": 1e-5, "max_iter": 8, "random_state": 0,
    "posterior": False,
}  # fmt: skip


@pytest.fixture
def rows():
    """Rows whose gaps in the first column tell something of the target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    gaps = rng.random(600) < 0.3
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + np.where(gaps, X[:, 1], 0) + gaps
    X[gaps, 0] = np.nan
    return X, y


def blanked(X, share, rng):
    """Rows with a part of the first column taken away at random."""
    return np.column_stack([np.where(rng.random(len(X)) < share, np.nan, X[:, 0]), X[:, 1:]])


def test_gaps_that_tell_nothing_cost_little():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1400, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=1400)
    X = blanked(X, 0.2, rng)
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    model = QTKMRegressor(rank=6, alpha=1e-4, posterior=False, random_state=0)
    train, test = slice(0, 400), slice(400, None)
    errors = [
        1 - model.fit(each[train], y[train]).score(each[test], y[test]) for each in (X, filled)
    ]
    assert errors[0] < 1.1 * errors[1]  # 1.17 where a gap has little to do with other values


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("is_told", [False, True], ids=["at random", "gaps tell something"])
def test_the_error_rises_smoothly_with_the_share_of_gaps(seed, is_told):
    train, test, errors, filled = slice(0, 500), slice(500, None), [], []
    model = QTKMRegressor(**MODEL | {"alpha": 1e-4})
    for share in (0.0, 0.1, 0.5, 0.9):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(2500, 4))
        y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=2500)
        X = blanked(X, share, rng)
        y += np.isnan(X[:, 0]) * (1 + X[:, 3]) * is_told
        mean = np.where(np.isnan(X), np.nanmean(X[train], axis=0), X)
        found = [
            1 - model.fit(each[train], y[train]).score(each[test], y[test])
            for each in (X, mean, X[:, 1:])
        ]
        errors.append(found[0])
        filled.append(found[1])
        assert found[0] < found[2]  # than without the column
    assert errors == sorted(errors)
    if is_told:
        assert errors[1] < 0.75 * filled[1]
        assert np.all(np.array(errors) < 1.001 * np.array(filled))


@pytest.mark.parametrize(
    "parameters",
    [
        {"network": "train", "rank": 2},
        {"network": "ring", "rank": 2},
        {"network": "block_term", "rank": 2, "n_basis": 3},
        {"basis": "power", "n_basis": 4, "quantization": 2},
        {"solver": "lbfgs"},
        {"solver": "gauss_newton"},
        {"rank": 0},
        {"main_effects": False, "penalty": "ridge"},
    ],
    ids=str,
)
def test_every_model_has_an_entry_for_gaps(rows, parameters, tmp_path):
    X, y = rows
    model = QTKMRegressor(**MODEL | parameters).fit(X, y)
    assert np.all(np.diff(model.history_["objective"]) < 1e-8)
    gap = np.array([[np.nan, 0.5, 0.0]])
    filled = np.array([[np.nanmedian(X[:, 0]), 0.5, 0.0]])
    assert abs(model.predict(gap) - model.predict(filled)) > 0.1
    model.save(tmp_path / "model.qtkm")
    np.testing.assert_array_equal(load(tmp_path / "model.qtkm").predict(X), model.predict(X))


def test_classes_are_told_by_gaps(rows):
    X, _ = rows
    labels = np.isnan(X[:, 0])
    parameters = {name: MODEL[name] for name in MODEL if name != "alpha"}
    assert QTKMClassifier(**parameters, alpha=1e-3).fit(X, labels).score(X, labels) > 0.98


def test_many_rows_are_predicted_as_few_are(rows, monkeypatch):
    X, y = rows
    model = QTKMRegressor(**MODEL).fit(X, y)
    few = model.predict(X)
    monkeypatch.setattr(LIMITS, "predict_rows", 100)
    np.testing.assert_allclose(model.predict(X), few, atol=1e-10)


def test_a_gap_where_the_fit_had_none_is_neutral(rows):
    X, y = rows
    model = QTKMRegressor(**MODEL).fit(X[:, 1:], y)
    gap = np.array([[np.nan, 1.0]])
    with pytest.warns(UserWarning, match="missing in column 0, but none were in the fit"):
        found = model.predict(gap)
    median = np.array([[np.median(X[:, 1]), 1.0]])
    np.testing.assert_allclose(found, model.predict(median), atol=0.05)


@pytest.mark.parametrize("binned", [False, True])
def test_blocks_and_memory_give_the_same_bits(rows, tmp_path, binned):
    X, y = rows
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y)
    model = QTKMRegressor(**MODEL, max_bins=64 if binned else "auto")
    expected = model.fit(frame[list("abc")], y).predict(frame)
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    model.fit_dataset(tmp_path / "rows.parquet", target="y")
    np.testing.assert_array_equal(model.predict(frame), expected)
    limited = QTKMRegressor(**MODEL, max_bins=64 if binned else "auto", memory_limit="2GB")
    np.testing.assert_array_equal(limited.fit(X, y).predict(X), expected)


@pytest.mark.parametrize("value", [None, float("nan"), pd.NA])
def test_kinds_of_missing_values_are_the_same(rows, value):
    X, y = rows
    expected = QTKMRegressor(**MODEL).fit(X, y).predict(X)
    objects = X.astype(object)
    objects[np.isnan(X)] = value
    masked = np.ma.masked_invalid(X)
    columns = zip("abc", X.T, strict=True)
    frame = pd.DataFrame({name: pd.array(column, dtype="Float64") for name, column in columns})
    for same in (objects, masked, frame, pl.from_pandas(frame)):
        np.testing.assert_array_equal(QTKMRegressor(**MODEL).fit(same, y).predict(same), expected)


def test_a_column_that_is_missing_throughout_is_a_constant_one(rows):
    X, y = rows
    empty = np.column_stack([X, np.full(len(X), np.nan)])
    with pytest.warns(UserWarning, match="Constant columns have no effect: column 3"):
        model = QTKMRegressor(**MODEL).fit(empty, y)
    assert r2_score(y, model.predict(empty)) > 0.9


@pytest.mark.parametrize("parameters", [{}, {"main_effects": False}, {"network": "train"}], ids=str)
def test_effects_tell_what_a_missing_value_does(rows, parameters):
    X, y = rows
    model = QTKMRegressor(**MODEL | {"rank": 2} | parameters).fit(X, y)
    first, second, _ = main_effects(model, X)
    without = X.copy()
    without[:, 0] = np.nan
    assert first.missing == pytest.approx(model.predict(without).mean(), abs=1e-9)
    assert first.mean == pytest.approx(model.predict(X).mean(), abs=1e-9)
    assert second.missing is None
    assert np.isfinite(first.values).all()
    assert importances(model, X).total[0] > 0.1


# -- kinds of columns --------------------------------------------------------------------------


def test_columns_of_every_kind_are_the_same_through_every_door(tmp_path):
    rng = np.random.default_rng(0)
    n = 200
    days = pd.Timestamp("2013-01-01") + pd.to_timedelta(rng.integers(365 * 24, size=n), "h")
    frame = pd.DataFrame({
        "flag": rng.random(n) < 0.5, "count": rng.integers(5, size=n).astype(np.uint8),
        "when": days, "price": np.round(rng.random(n), 2),
        "nullable": pd.array(np.where(rng.random(n) < 0.2, None, 3), dtype="Int64"),
    })  # fmt: skip
    y = frame["flag"] + np.sin(days.hour / 24 * 6.28) + frame["price"]
    parameters = MODEL | {"cyclic": {"when": "day"}, "rank": 0}
    model = QTKMRegressor(**parameters).fit(frame, y.rename("y"))
    expected = model.predict(frame)
    assert r2_score(y, expected) > 0.99
    assert [column["holds"] for column in model.columns_].count("times") == 1
    arrow = pa.Table.from_pandas(frame)
    decimal = frame.assign(price=pd.array(frame["price"], dtype=pd.ArrowDtype(pa.float64())))
    for same in (pl.from_arrow(arrow), arrow.to_pandas(types_mapper=pd.ArrowDtype), decimal):
        np.testing.assert_array_equal(QTKMRegressor(**parameters).fit(same, y).predict(same),
                                      expected)  # fmt: skip
    for name in ("table.csv", "table.parquet"):
        table = frame.assign(y=y)
        path = tmp_path / name
        table.to_csv(path, index=False) if name.endswith("csv") else table.to_parquet(path)
        found = QTKMRegressor(**parameters).fit_dataset(path, target="y")
        np.testing.assert_allclose(found.predict(frame), expected, rtol=1e-9)
        assert found.target_names_ == ["y"]
    with pytest.raises(ValueError, match="'when' holds numbers, but the model was fitted to times"):
        model.predict(frame.assign(when=3.0))


def test_truth_values_have_effects(rows):
    X, y = rows
    frame = pd.DataFrame({"x": X[:, 1], "positive": X[:, 2] > 0})
    model = QTKMRegressor(**MODEL).fit(frame, y)
    effect = main_effects(model, frame)[1]
    as_numbers = frame.astype(float)
    assert np.array_equal(model.predict(frame), model.predict(as_numbers))
    assert np.array_equal(effect.effect, main_effects(model, as_numbers)[1].effect)


def test_a_cycle_joins_its_ends(rows):
    rng = np.random.default_rng(0)
    hours = rng.uniform(0, 24, size=(300, 1))
    y = np.cos(2 * np.pi * (hours[:, 0] - 3) / 24)
    model = QTKMRegressor(**MODEL, cyclic={0: 24}).fit(hours, y)
    ends = model.predict([[0.0], [24.0], [-24.0], [48.0]])
    np.testing.assert_allclose(ends, ends[0], atol=1e-9)
    with pytest.raises(ValueError, match="cyclic='day' of column 0, which contains numbers"):
        QTKMRegressor(cyclic={0: "day"}).fit(hours, y)


def test_text_that_is_a_number_is_read_with_a_sentence(rows):
    X, y = rows
    frame = pd.DataFrame({"a": X[:, 1], "b": X[:, 2].round(1).astype(str)})
    with pytest.warns(UserWarning, match="column 'b' contains numbers stored as text"):
        model = QTKMRegressor(**MODEL).fit(frame, y)
    with pytest.warns(UserWarning, match="stored as text"):
        text = model.predict(frame)
    np.testing.assert_array_equal(model.predict(frame.astype(float)), text)


def test_one_wild_value_does_not_spoil_a_column():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 1))
    y = np.sin(4 * X[:, 0])
    X[0], y[0] = 1e6, 0.0
    scores = [
        QTKMRegressor(**MODEL | {"n_basis": 27, "scaling": scaling})
        .fit(X[:400], y[:400])
        .score(X[400:], y[400:])
        for scaling in ("range", "half")
    ]
    assert scores[0] < 0.5
    assert scores[1] > 0.85


def test_a_wild_value_does_not_spoil_the_bins_of_many_values(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    X[0, 0], y[0] = 1e6, 0.0
    model = QTKMRegressor(**MODEL | {"n_basis": 27, "rank": 2})
    assert model.fit(X[:5000], y[:5000]).score(X[5000:], y[5000:]) > 0.9
    assert model.columns_[0]["binned"]
    # rows that are read in blocks have the same bins
    batches = [pd.DataFrame(X[a:b]).assign(y=y[a:b]) for a, b in ((0, 100), (100, 5000))]
    other = QTKMRegressor(**MODEL | {"n_basis": 27, "rank": 2}).fit_dataset(batches, target="y")
    assert np.array_equal(model.predict(X), other.predict(pd.DataFrame(X).rename(columns=str)))


# -- categories --------------------------------------------------------------------------------


def test_very_many_categories_are_fitted_without_main_effects(monkeypatch):
    monkeypatch.setattr("qtkm.features.maps.MOST_CATEGORIES", 10)
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-1, 1, size=600), rng.integers(30, size=600)])
    y = np.sin(3 * X[:, 0]) + rng.normal(size=30)[X[:, 1].astype(int)]
    model = QTKMRegressor(**MODEL, categorical_features=[1]).fit(X, y)
    assert model.score(X, y) > 0.95


def test_rare_categories_stay_near_the_mean():
    rng = np.random.default_rng(0)
    n, count = 400, 100
    kind = rng.integers(count, size=n)
    x = rng.uniform(-1, 1, size=n)
    y = np.sin(3 * x) + 0.05 * rng.normal(size=count)[kind] + 0.1 * rng.normal(size=n)
    X = np.column_stack([x, kind])
    model = MODEL | {"alpha": 1e-3}
    scores = [
        QTKMRegressor(**model | more).fit(X[:300, :d], y[:300]).score(X[300:, :d], y[300:])
        for d, more in (
            (1, {}),
            (2, {"categorical_features": [1]}),
            (2, {"categorical_features": [1], "penalty": ["matern", "ridge"]}),
        )
    ]
    assert scores[1] > scores[0] - 0.01
    assert scores[1] > scores[2]  # without pooling
