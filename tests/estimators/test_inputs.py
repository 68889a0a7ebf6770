"""What may be passed as X: arrays of any kind, frames; and what is said about the rest."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from qtkm import QTKMClassifier, QTKMRegressor

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


@pytest.fixture
def whole(X):
    """X in whole numbers that any type can hold."""
    return np.rint(10 * X)


@pytest.fixture
def expected(make, whole, y):
    return make().fit(whole, y).predict(whole)


def read_only_memory_map(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


@pytest.mark.parametrize(
    "convert",
    [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: np.tile(X, 2)[:, :3],
        lambda X: X.astype(np.float32),
        lambda X: X.astype(np.float16),
        lambda X: X.astype(np.longdouble),
        lambda X: X.astype(np.int8),
        lambda X: X.astype(np.int64),
        lambda X: X.astype(object),
        lambda X: X.astype(">f8"),
        lambda X: X.tolist(),
        lambda X: tuple(map(tuple, X)),
        pd.DataFrame,
        lambda X: pd.DataFrame(X, columns=["b", "a", "c"]),
        lambda X: pd.DataFrame(X.astype(np.int32), columns=["b", "a", "c"]),
        lambda X: pd.DataFrame(X, columns=["b", "a", "c"]).astype("Int64"),
        lambda X: pd.DataFrame(X, columns=["b", "a", "c"]).astype("Float64"),
        lambda X: pd.DataFrame(X, columns=["b", "a", "c"]).astype("float32[pyarrow]"),
        lambda X: pd.DataFrame(X, columns=["b", "a", "c"], index=np.arange(len(X)) % 7),
        lambda X: pd.DataFrame(X, columns=["b", "a", "c"]).astype("Sparse[float]"),
        lambda X: pd.DataFrame(X, columns=["collect", "iloc", "dtype"]),
        lambda X: pl.DataFrame(X, schema=["b", "a", "c"]),
        lambda X: pl.DataFrame(X.astype(np.int16), schema=["b", "a", "c"]),
    ],
)
def test_numbers_in_any_wrapping_are_the_same_numbers(make, whole, y, expected, convert):
    given = convert(whole)
    np.testing.assert_array_equal(make().fit(given, y).predict(given), expected)


def test_a_large_array_is_not_copied(make):
    X = np.random.default_rng(0).uniform(size=(150_000, 8))
    y = X[:, 0]
    model = make(max_iter=1, n_basis=2, early_stopping=False, posterior=False, n_jobs=1)
    # what has to be compiled takes memory, too
    model.fit(X[:10_000], y[:10_000]).predict(X[:20_000])
    tracemalloc.start()
    model.fit(X, y)
    _, fit_peak = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    model.predict(X)
    _, predict_peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert fit_peak < 1.5 * X.nbytes  # codes, sort orders and targets, and one column at a time
    assert predict_peak - before < 0.5 * X.nbytes


def test_memory_that_cannot_be_written_is_only_read(make, whole, y, expected, tmp_path):
    given = read_only_memory_map(whole, tmp_path)
    target = y.copy()
    target.flags.writeable = False
    np.testing.assert_array_equal(make().fit(given, target).predict(given), expected)


@pytest.mark.parametrize(
    "convert", [list, pd.Series, pl.Series, np.float32, lambda y: y.astype(object)]
)
def test_targets_and_weights_in_any_wrapping(make, X, y, convert):
    whole = np.rint(8 * y)
    weight = 1 + np.arange(len(y)) % 3
    expected = make().fit(X, whole, weight).predict(X)
    np.testing.assert_array_equal(make().fit(X, convert(whole), weight).predict(X), expected)
    if convert is not np.float32:
        np.testing.assert_array_equal(make().fit(X, whole, convert(weight)).predict(X), expected)


def test_a_frame_of_targets_gives_several_outputs(make, X, y):
    frame = pd.DataFrame({"u": y, "v": -y})
    assert make().fit(X, frame).predict(X).shape == (len(y), 2)
    assert make().fit(X, pl.from_pandas(frame)).predict(X).shape == (len(y), 2)


def test_single_precision_data_are_close_to_double(make, X, y):
    double, single = make().fit(X, y), make().fit(X.astype(np.float32), y.astype(np.float32))
    np.testing.assert_allclose(single.predict(X), double.predict(X), atol=1e-3)


def test_single_precision_passes_are_close_to_double(make, X, y):
    double, single = make().fit(X, y), make(dtype="float32").fit(X, y)
    np.testing.assert_allclose(single.predict(X), double.predict(X), atol=1e-2)
    assert single.cores_[0][0].dtype == np.complex128


@pytest.mark.parametrize("module", ["pandas", "polars"])
def test_names_are_remembered_and_compared(make, X, y, module):
    frame = pd.DataFrame(X, columns=["b", "a", "c"])
    swapped = frame[["a", "b", "c"]]
    if module == "polars":
        frame, swapped = pl.from_pandas(frame), pl.from_pandas(swapped)
    model = make().fit(frame, y)
    assert list(model.feature_names_in_) == ["b", "a", "c"]
    assert [column["name"] for column in model.columns_] == ["b", "a", "c"]
    np.testing.assert_array_equal(model.predict(swapped), model.predict(frame))
    other = frame.rename(columns={"a": "A"}) if module == "pandas" else frame.rename({"a": "A"})
    message = "lacks 1 of the 3 columns that the model was fitted to: 'a'. Other columns .* 'A'"
    with pytest.raises(ValueError, match=message):
        model.predict(other)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(X)


def test_columns_without_names_are_numbered(make, X, y):
    model = make().fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    assert [column["name"] for column in model.columns_] == ["x0", "x1", "x2"]


def test_another_number_of_columns_is_refused(model, X, y):
    with pytest.raises(ValueError, match="X has 2 features, but QTKMRegressor is expecting 3"):
        model.fit(X, y).predict(X[:, :2])


def frame_with(X, **columns):
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(**columns)


def hole(X, value, column=1):
    X = X.copy()
    X[[3, 5], column] = value
    return X


REFUSED = {
    "infinity": (lambda X: hole(X, -np.inf, 2), "infinity: 2 of the 120 values of column 2"),
    "overflow in the sum": (lambda X: hole(X * 8e307, np.inf), "infinity: 2 of the 120 values"),
    "complex": (lambda X: X + 1j, "Complex data not supported: X contains complex128; use sep"),
    "complex column": (
        lambda X: frame_with(X, z=1j),
        "Complex data not supported: column 'z' contains complex128",
    ),
    "text": (
        lambda X: frame_with(X, kind="red"),
        "column 'kind' holds values such as 'red', not numbers .*declare it with categorical_fea",
    ),
    "text in polars": (
        lambda X: pl.from_pandas(frame_with(X, kind="red")),
        "column 'kind' holds values such as 'red', not numbers .*declare it with categorical_fea",
    ),
    "text in an array": (
        lambda X: frame_with(X, kind="red").to_numpy(),
        "column 3 holds values such as 'red', not numbers .*declare it with categorical_features",
    ),
    "array of text": (lambda X: np.full(X.shape, "red"), "column 0 holds values such as 'red'"),
    "categories": (
        lambda X: frame_with(X, kind=pd.Categorical(["red"] * len(X))),
        "column 'kind' holds values such as 'red'",
    ),
    "dates as text": (
        lambda X: frame_with(X, day="20.05.2013"),
        "column 'day' holds dates or times as text, such as '20.05.2013'; convert it with pandas",
    ),
    "one dimension": (lambda X: X[:, 0], "Expected 2D array, got 1D array instead"),
    "three dimensions": (lambda X: X[:, :, None], "Found array with dim 3"),
    "a number": (lambda X: 3.0, "Expected 2D array, got scalar array instead"),
    "no rows": (lambda X: X[:0], r"0 sample\(s\)"),
    "no rows in a frame": (lambda X: frame_with(X)[:0], r"0 sample\(s\) \(shape=\(0, 3\)\)"),
    "no columns": (lambda X: X[:, :0], r"0 feature\(s\)"),
    "no columns in a frame": (lambda X: frame_with(X)[[]], r"0 feature\(s\) \(shape=\(120, 0\)\)"),
    "too few rows": (lambda X: X[:50], "X and y have inconsistent numbers of rows: 50 and 120"),
    "lazy": (
        lambda X: pl.from_pandas(frame_with(X)).lazy(),
        r"X is a LazyFrame, which is lazy; pass X.collect\(\)",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_not_a_table_of_numbers_is_refused(model, X, y, what):
    change, message = REFUSED[what]
    with pytest.raises(ValueError, match=message):
        model.fit(change(X), y)


def test_what_was_not_refused_in_the_fit_is_refused_in_predictions(model, X, y):
    model.fit(X, y)
    with pytest.raises(ValueError, match="infinity: 2 of the 120 values of column 1"):
        model.predict(hole(X, np.inf))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda X: sparse.csr_array(X), TypeError, r"Sparse data was passed.*toarray\(\)"),
        (
            lambda X: np.array([[{}, 1.0]] * len(X), dtype=object),
            TypeError,
            r"column 0 holds object values, not numbers \(float\(\) argument must be a string",
        ),
    ],
)
def test_what_cannot_be_numbers_at_all_is_a_type_error(model, X, y, change, error, message):
    with pytest.raises(error, match=message):
        model.fit(change(X), y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda y: None, "requires y to be passed, but the target y is None"),
        (lambda y: np.full(len(y), "late"), "y must be numeric .*'late'.*encode the target"),
        (lambda y: y + 1j, "Complex data not supported: y is complex"),
        (lambda y: np.where(y > 1, np.nan, y), "Input y contains NaN: .* of the 120 values"),
        (lambda y: np.where(y > 1, np.inf, y), "Input y contains infinity: .* of the 120 values"),
        (lambda y: y[:, None, None], "Found array with dim 3"),
        (lambda y: y[:7], "X and y have inconsistent numbers of rows: 120 and 7"),
        (lambda y: 3.0, "[Ss]ingleton array|scalar"),
    ],
)
def test_targets_that_are_none_are_refused(model, X, y, change, message):
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, change(y))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(7), r"sample_weight has shape \(7,\); give one number for each of the 120"),
        (np.ones((120, 2)), r"sample_weight has shape \(120, 2\)"),
        (np.full(120, -2.0), r"negative entries \(minimum -2\); weights must be >= 0"),
        (np.zeros(120), "zero for every row; give some rows a positive weight"),
        (np.full(120, np.nan), "Input sample_weight contains NaN: 120 of the 120 values"),
        (["heavy"] * 120, "sample_weight must be numeric .*'heavy'.*give one number per row"),
    ],
)
def test_weights_that_are_none_are_refused(model, X, y, weight, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, weight)


def test_all_columns_that_cannot_be_used_are_told_at_once(make, y):
    frame = pd.DataFrame({
        "a": np.arange(120.0), "b": ["text"] * 120, "c": np.where(y > 1, np.inf, y),
        "d": np.full(120, np.inf), "e": np.arange(120),
    })  # fmt: skip
    with pytest.raises(ValueError, match="3 columns of X cannot be used:\n") as refused:
        make().fit(frame, y)
    lines = str(refused.value).splitlines()[1:]
    starts = ["column 'b' holds", "Input X contains infinity", "Input X contains infinity"]
    for line, start in zip(lines, starts, strict=True):
        assert line.startswith(f"  {start}")
    assert "of column 'c', the first in row" in lines[1]
    assert "of column 'd', the first in row 0 (from 0)." in lines[2]


def test_of_very_many_unfit_columns_the_first_are_told(make, y):
    with pytest.raises(ValueError, match="25 columns of X cannot be used") as refused:
        make().fit(np.full((120, 25), np.inf), y)
    lines = str(refused.value).splitlines()
    assert len(lines) == 12
    assert lines[-1] == "  … and 15 more"


def test_a_missing_target_is_told_with_its_row(make, X, y):
    y = y.copy()
    y[7] = np.nan
    with pytest.raises(ValueError, match=r"1 of the 120 values of y, .* row 7 \(from 0\)"):
        make().fit(X, y)


# -- rows that tell little --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "target"), [(QTKMRegressor, [2.5, 2.5]), (QTKMClassifier, ["a", "b"])]
)
@pytest.mark.parametrize("bounds", [None, [(0, 5), (0, 5)]])
def test_rows_that_are_all_equal_are_told_of(kind, target, bounds):
    model = kind(random_state=0, bounds=bounds)
    with pytest.warns(UserWarning, match="one row, or all rows are equal") as caught:
        model.fit([[1.0, 2.0], [1.0, 2.0]], target)
    assert caught[0].filename == __file__


def test_one_row_is_told_of():
    with pytest.warns(UserWarning, match="one row, or all rows are equal, so all pred"):
        model = QTKMRegressor(random_state=0).fit([[1.0, 2.0]], [3.0])
    np.testing.assert_allclose(model.predict([[1.0, 2.0], [7.0, 0.0]]), 3.0)


@pytest.mark.parametrize("categorical", [None, [0, 2]])
def test_columns_of_one_value_are_named(X, y, categorical):
    frame = pd.DataFrame({"a": 1.0, "b": X[:, 0], "c": 3})
    model = QTKMRegressor(
        max_iter=2, random_state=0, categorical_features=categorical, penalty="ridge"
    )
    message = "Constant columns have no effect: column 'a', column 'c'. Remove them"
    with pytest.warns(UserWarning, match=message):
        model.fit(frame, y)
