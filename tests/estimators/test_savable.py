"""Whatever was fitted can be saved, and comes back with the same bits."""

import datetime

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qtkm
from qtkm import QTKMClassifier, QTKMRegressor, losses
from tests.estimators.same import assert_same

N_ROWS = 30
TEXT = st.text(st.characters(), max_size=4)  # also such as no file may hold
#: kinds of categories, each with a strategy of one of them
KINDS = {
    "floats": st.floats(allow_nan=False),
    "floats or missing": st.floats() | st.none(),
    "whole numbers": st.integers(-(2**62), 2**62),
    "bools": st.booleans(),
    "text": TEXT,
    "text or missing": TEXT | st.none(),
    "bytes": st.binary(max_size=3),
    "days": st.dates(),
    "times": st.datetimes(),
    "of all kinds": st.integers(-9, 9) | TEXT | st.dates() | st.none() | st.booleans(),
}
LABELS = {
    "floats": st.integers(-9, 9).map(float),
    "whole numbers": st.integers(-(2**62), 2**62),
    "text": TEXT,
}


@st.composite
def category_columns(draw):
    """Give a column of up to twenty categories, as objects or of the type they have."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    distinct = draw(st.lists(KINDS[kind], min_size=1, max_size=20))
    rows = np.arange(N_ROWS) % len(distinct)
    if draw(st.booleans()) and kind in ("floats", "whole numbers", "bools"):
        return np.array(distinct)[rows]
    column = np.empty(N_ROWS, dtype=object)
    column[:] = [distinct[row] for row in rows]
    return column


@st.composite
def number_columns(draw):
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    kind = draw(st.sampled_from(["float64", "float32", "int16", "bool", "uint64"]))
    size = draw(st.sampled_from([0, 1, 1e-200, 1e200])) if kind == "float64" else 7
    return (size * rng.uniform(0.1, 1, N_ROWS)).astype(kind)


@st.composite
def problems(draw):
    """Give rows, targets, weights and a model for them."""
    numbers = draw(st.lists(number_columns(), min_size=1, max_size=2))
    categories = draw(st.lists(category_columns(), min_size=1, max_size=2))
    columns = [*numbers, *categories]
    frame = pandas.DataFrame(
        {d: pandas.Series(values, dtype=values.dtype) for d, values in enumerate(columns)}
    )
    names = draw(st.lists(TEXT, min_size=len(columns), max_size=len(columns), unique=True))
    frame.columns = pandas.Index(names, dtype=object)
    if not draw(st.booleans()):
        rows = np.empty(frame.shape, dtype=object)
        for d, column in enumerate(columns):
            rows[:, d] = column
    else:
        rows = frame
    changes = {
        "network": draw(st.sampled_from(["cpd", "cpd", "train", "ring", "tucker"])),
        "alpha": draw(st.sampled_from([0.0, 1e-3])),
        "normalize_y": draw(st.booleans()),
        "basis": draw(st.sampled_from(["fourier", "power"])),
        "dtype": draw(st.sampled_from(["float64", "float32"])),
        "early_stopping": draw(st.booleans()),
    }
    rng = np.random.default_rng(1)
    if draw(st.booleans()):
        target = rng.normal(size=(N_ROWS, draw(st.integers(1, 2))))
        target = target[:, 0] if draw(st.booleans()) else target
        kind = QTKMRegressor
    else:
        del changes["normalize_y"]
        own = LABELS[draw(st.sampled_from(sorted(LABELS)))]
        labels = draw(st.lists(own, min_size=2, max_size=3, unique=True))
        target = np.array(labels)[np.arange(N_ROWS) % len(labels)]
        names = sorted(name for name, loss in losses.REGISTRY.items() if loss.for_classes)
        kind, changes["loss"] = QTKMClassifier, draw(st.sampled_from(names))
    return rows, target, kind(
        n_basis=4, period=2.0, rank=2, max_iter=2, random_state=0, n_jobs=1,
        categorical_features=list(range(len(numbers), len(columns))), **changes,
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(max_examples=40)
@given(problems())
def test_what_was_fitted_can_be_saved_and_is_the_same(tmp_path_factory, problem):
    rows, target, model = problem
    model.fit(rows, target)
    path = tmp_path_factory.getbasetemp() / "savable.qtkm"
    model.save(path)
    loaded = qtkm.load(path)
    assert_same(loaded, model)
    assert_same(loaded.predict(rows), model.predict(rows))
    first = path.read_bytes()
    loaded.save(path)
    assert path.read_bytes() == first


@pytest.mark.parametrize("n_categories", [2, 42])
@pytest.mark.parametrize("of", [float, int, str, lambda k: datetime.date(2024, 1, 1 + k % 28)])
def test_categories_come_back_however_many_they_are(tmp_path, n_categories, of):
    column = np.array([of(k % n_categories) for k in range(84)], dtype=object)
    rows = np.column_stack([np.linspace(0, 1, 84).astype(object), column])
    model = QTKMRegressor(rank=2, n_basis=4, max_iter=2, categorical_features=[1], penalty="ridge")
    model.fit(rows, np.arange(84.0)).save(tmp_path / "a.qtkm")
    loaded = qtkm.load(tmp_path / "a.qtkm")
    assert_same(loaded.columns_[1]["categories"], model.columns_[1]["categories"])
    assert_same(loaded.predict(rows), model.predict(rows))
