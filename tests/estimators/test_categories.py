"""Categorical columns: how they are declared, missing and unseen values, what they gain."""

import pickle

import numpy as np
import pytest

from qtkm import QTKMRegressor
from qtkm.estimators.columns import CategoryColumn, number_categories

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

EFFECT = {"apple": -1.0, "fig": 0.0, "pear": 2.0}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    fruit = rng.choice(list(EFFECT), size=150)
    size = rng.uniform(size=150)
    y = np.array([EFFECT[f] for f in fruit]) * (1 + size)
    return pd.DataFrame({"size": size, "fruit": fruit}), y


def declare(frame, how):
    """The frame, and categorical_features to go with it."""
    if how == "from_dtype":
        return frame.astype({"fruit": "category"}), "from_dtype"
    return frame, {"mask": [False, True], "indices": [1], "names": ["fruit"]}[how]


@pytest.mark.parametrize("how", ["mask", "indices", "names", "from_dtype"])
def test_a_column_can_be_declared_in_four_ways(make, table, how):
    frame, y = table
    reference = make(categorical_features=["fruit"]).fit(frame, y)
    given, declared = declare(frame, how)
    model = make(categorical_features=declared).fit(given, y)
    assert model.score(given, y) > 0.99
    np.testing.assert_array_equal(model.predict(given), reference.predict(frame))
    assert model.columns_[1]["categories"] == ["apple", "fig", "pear"]
    assert model.columns_[1]["bounds"] is None
    assert model.cores_[1][0].shape == (3, 3)


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical, pl.Enum(list(EFFECT))])
def test_polars_gives_the_same_as_pandas(make, table, dtype):
    frame, y = table
    expected = make(categorical_features=["fruit"]).fit(frame, y).predict(frame)
    polars = pl.from_pandas(frame).with_columns(pl.col("fruit").cast(dtype))
    declared = ["fruit"] if dtype == pl.String else "from_dtype"
    model = make(categorical_features=declared).fit(polars, y)
    np.testing.assert_array_equal(model.predict(polars), expected)
    np.testing.assert_array_equal(model.predict(frame), expected)


@pytest.mark.parametrize("convert", [lambda f: f.to_numpy(), lambda f: f.to_numpy().tolist()])
def test_arrays_of_objects_and_lists_work(make, table, convert):
    frame, y = table
    model = make(categorical_features=[1]).fit(convert(frame), y)
    expected = make(categorical_features=[1]).fit(frame, y).predict(frame)
    np.testing.assert_allclose(model.predict(convert(frame)), expected, rtol=1e-12)


def test_from_dtype_takes_text_of_a_string_type(make, X, y):
    fruit = np.where(X[:, 0] > 0, "apple", "pear")
    frame = pd.DataFrame({"x": X[:, 1], "fruit": pd.array(fruit, dtype="string")})
    model = make(categorical_features="from_dtype", bounds=None).fit(frame, y)
    assert model.columns_[1]["categories"] == ["apple", "pear"]
    with pytest.raises(ValueError, match="'from_dtype' takes columns of category or string type"):
        make(categorical_features="from_dtype").fit(frame.astype({"fruit": object}), y)


def test_from_dtype_takes_no_column_of_an_array(make, X, y):
    model = make(categorical_features="from_dtype").fit(X, y)
    np.testing.assert_array_equal(model.predict(X), make().fit(X, y).predict(X))


def test_numbers_can_be_categories(make, table):
    frame, y = table
    codes = frame.assign(fruit=frame["fruit"].map({"apple": 30, "fig": -5, "pear": 7}))
    model = make(categorical_features=[1]).fit(codes.to_numpy(), y)
    assert model.columns_[1]["categories"] == [-5.0, 7.0, 30.0]
    assert model.score(codes.to_numpy(), y) > 0.99
    whole = make(categorical_features=["fruit"]).fit(codes, y)
    np.testing.assert_allclose(whole.predict(codes), model.predict(codes.to_numpy()))


def test_only_categories_and_none_that_numeric_parameters_speak_of(make, table):
    frame, y = table
    both = frame.assign(twin=frame["fruit"])[["fruit", "twin"]]
    model = make(
        categorical_features=[0, 1], bounds=(5, 6), n_basis=[3, 5], basis=["categorical", "power"]
    ).fit(both, y)
    assert [column["basis"].n_categories for column in model.columns_] == [3, 3]
    assert model.score(both, y) > 0.5
    assert not np.iscomplexobj(model.cores_[0][0])


def test_missing_values_are_a_category(make, table):
    frame, y = table
    holes = frame.assign(fruit=frame["fruit"].where(frame["fruit"] != "fig"))
    model = make(categorical_features=["fruit"]).fit(holes, y)
    assert model.columns_[1]["categories"] == ["apple", "pear", None]
    assert model.score(holes, y) > 0.99
    expected = model.predict(holes[holes["fruit"].isna()])
    rows = holes[holes["fruit"].isna()].astype(object)
    for missing in (None, np.nan, float("nan"), pd.NA, pd.NaT):
        np.testing.assert_array_equal(model.predict(rows.assign(fruit=missing)), expected)


@pytest.mark.parametrize("how", ["pandas", "nullable", "polars", "numbers"])
def test_missing_values_of_all_kinds_of_frames(make, table, how):
    frame, y = table
    holes = frame.assign(fruit=frame["fruit"].where(frame["fruit"] != "fig"))
    given = {
        "pandas": lambda: holes.astype({"fruit": "category"}),
        "nullable": lambda: holes.astype({"fruit": "string"}),
        "polars": lambda: pl.from_pandas(holes),
        "numbers": lambda: holes.assign(fruit=holes["fruit"].map({"apple": 1.0, "pear": 2.0})),
    }[how]()
    model = make(categorical_features=["fruit"]).fit(given, y)
    expected = make(categorical_features=["fruit"]).fit(holes, y).predict(holes)
    np.testing.assert_array_equal(model.predict(given), expected)


def test_an_unseen_category_is_neutral(make, table):
    frame, y = table
    model = make(categorical_features=["fruit"]).fit(frame, y)
    rows = pd.DataFrame({"size": np.linspace(0, 1, 5), "fruit": "durian"})
    counts = frame["fruit"].value_counts()
    share = np.array([counts[f] for f in model.columns_[1]["categories"]]) / len(frame)
    expected = sum(
        share[i] * model.predict(rows.assign(fruit=f))
        for i, f in enumerate(model.columns_[1]["categories"])
    )
    np.testing.assert_allclose(model.predict(rows), expected)  # the response is linear in the core
    np.testing.assert_array_equal(model.predict(rows.assign(fruit=None)), model.predict(rows))


def test_the_neutral_row_counts_weights(make, table):
    frame, y = table
    weight = np.where(frame["fruit"] == "pear", 1.0, 1e-12)
    model = make(categorical_features=["fruit"]).fit(frame, y, weight)
    rows = frame.head(5)
    np.testing.assert_allclose(
        model.predict(rows.assign(fruit="durian")),
        model.predict(rows.assign(fruit="pear")),
        rtol=1e-6,
    )


def test_a_category_of_weightless_rows_is_unseen(make, table):
    frame, y = table
    weight = (frame["fruit"] != "fig").to_numpy().astype(float)
    model = make(categorical_features=["fruit"]).fit(frame, y, weight)
    assert model.columns_[1]["categories"] == ["apple", "pear"]
    rows = frame.head(5)
    np.testing.assert_array_equal(
        model.predict(rows.assign(fruit="fig")), model.predict(rows.assign(fruit="durian"))
    )


def test_a_category_of_validation_rows_alone_is_unseen(make):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.uniform(size=300), "fruit": rng.choice(["u", "v"], size=300)})
    y = frame["size"] + (frame["fruit"] == "u")
    settings = {"categorical_features": [1], "early_stopping": True, "random_state": 0}
    set_aside = np.random.RandomState(0).permutation(300)[:30]
    frame.loc[set_aside[0], "fruit"] = "w"
    model = make(**settings).fit(frame, y)
    assert model.columns_[1]["categories"] == ["u", "v", "w"]
    rows = frame.head(4)
    np.testing.assert_array_equal(
        model.predict(rows.assign(fruit="w")), model.predict(rows.assign(fruit="never seen"))
    )


def test_unused_categories_of_a_type_are_not_learned(make, table):
    frame, y = table
    wide = frame.assign(fruit=pd.Categorical(frame["fruit"], ["zz", *EFFECT, "aa"]))
    model = make(categorical_features="from_dtype").fit(wide, y)
    assert model.columns_[1]["categories"] == ["apple", "fig", "pear"]


def test_the_order_of_rows_does_not_matter(make, table):
    frame, y = table
    order = np.random.default_rng(1).permutation(len(y))
    a = make(categorical_features=["fruit"]).fit(frame, y)
    b = make(categorical_features=["fruit"]).fit(frame.iloc[order], y[order])
    np.testing.assert_array_equal(a.predict(frame), b.predict(frame))


@pytest.mark.filterwarnings("ignore:Constant columns", "ignore:X has one row")
def test_a_column_of_one_category(make, table):
    frame, y = table
    model = make(categorical_features=["fruit"]).fit(frame.assign(fruit="apple"), y)
    assert model.cores_[1][0].shape == (1, 3)
    assert np.isfinite(model.predict(frame)).all()


def test_values_that_cannot_be_categories_are_refused(make, table):
    frame, y = table
    lists = frame.assign(fruit=[[1, 2]] * len(frame))
    with pytest.raises(ValueError, match="column 'fruit' is categorical, but contains a value"):
        make(categorical_features=["fruit"]).fit(lists, y)


def test_a_name_that_is_no_column_is_refused_with_those_there_are(make, table):
    frame, y = table
    with pytest.raises(ValueError, match=r"contains 'nut', but columns of X are .*'size'"):
        make(categorical_features=["nut"]).fit(frame, y)


def test_categories_add_what_numbers_cannot_say(table):
    frame, y = table
    given = {"rank": 2, "alpha": 1e-5, "random_state": 0}
    model = QTKMRegressor(categorical_features=["fruit"], **given).fit(frame, y)
    without = QTKMRegressor(**given).fit(frame[["size"]], y)
    assert model.score(frame, y) > 0.99 > 0.5 > without.score(frame[["size"]], y)


def test_a_fitted_model_with_categories_can_be_pickled(make, table):
    frame, y = table
    model = make(categorical_features=["fruit"]).fit(frame, y)
    copy = pickle.loads(pickle.dumps(model))
    new = frame.assign(fruit=["durian", None, "fig"] * 50)
    np.testing.assert_array_equal(copy.predict(new), model.predict(new))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["b", "a", "b"], ["a", "b"]),
        ([3, 1, 2.5], [1, 2.5, 3]),
        ([True, False], [False, True]),
        (["b", None, float("nan")], ["b", None]),
        ([1, "1", 0], [0, 1, "1"]),  # numbers before text, each in order
        ([np.str_("a"), "a"], ["a"]),
        ([1, 1.0, np.int64(1)], [1]),
    ],
)
def test_categories_are_in_order_and_a_missing_one_is_last(values, expected):
    column = CategoryColumn("a", "a", number_categories(values))
    assert list(column.categories) == expected
    np.testing.assert_array_equal(column.codes_of(expected), np.arange(len(expected)))
    np.testing.assert_array_equal(column.codes_of(["nowhere"]), [-1])
