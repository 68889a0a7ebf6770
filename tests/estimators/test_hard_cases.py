"""Hard cases: a right answer, or a clear error."""

import numpy as np
import pytest

from qtkm import QTKMRegressor, QTKMRegressorCV
from qtkm.features import Fourier
from tests.covering import covered

SIZES = [1e300, 1e-300, 1e-320]


def relative_error(model, X, y):
    """Root mean square error, relative to the spread of y; for numbers of any size."""
    shift = -np.frexp(np.abs(y).max())[1]
    a, b = np.ldexp(model.predict(X), shift), np.ldexp(y, shift)
    return np.sqrt(np.mean((a - b) ** 2)) / b.std()


def test_one_column(X):
    x = X[:, :1]
    y = np.exp(-(x[:, 0] ** 2))
    model = QTKMRegressor(random_state=0).fit(x, y)
    assert relative_error(model, x, y) < 0.05


@pytest.mark.filterwarnings("ignore:Constant columns", "ignore:X has one row")
@pytest.mark.parametrize("alpha", ["auto", 0.0, 1.0])
@pytest.mark.parametrize("normalize_y", [True, False])
def test_one_row(alpha, normalize_y):
    model = QTKMRegressor(alpha=alpha, normalize_y=normalize_y, penalty="ridge").fit(
        [[1.0, 2.0]], [3.0]
    )
    prediction = model.predict([[1.0, 2.0], [5.0, -7.0]])
    assert prediction[0] == prediction[1]  # the box has no width
    if normalize_y or alpha == 0:
        assert prediction[0] == pytest.approx(3.0)
    else:
        assert 0 < prediction[0] < 3.0


@pytest.mark.parametrize("alpha", [0.0, 1e-3])
def test_two_rows_are_met(alpha):
    X, y = [[0.0, 1.0], [2.0, 0.0]], [1.0, 5.0]
    model = QTKMRegressor(alpha=alpha, random_state=0, max_iter=200, tol=0, penalty="ridge").fit(
        X, y
    )
    np.testing.assert_allclose(model.predict(X), y, atol=0.1 if alpha else 1e-6)


@pytest.mark.filterwarnings("ignore:Constant columns", "ignore:X has one row")
@pytest.mark.parametrize("basis", ["fourier", "power"])
def test_one_distinct_value_in_a_column(make, X, y, basis):
    constant = X.copy()
    constant[:, 1] = 42.0
    model = make(basis=basis).fit(constant, y)
    assert model.columns_[1]["n_grid"] == 1
    assert [column["basis"].n_features for column in model.columns_] == [8, 1, 8]
    other = constant.copy()
    other[:, 1] = -1.0
    np.testing.assert_array_equal(model.predict(other), model.predict(constant))
    without = make(basis=basis).fit(X[:, [0, 2]], y)
    assert relative_error(model, constant, y) < 1.2 * relative_error(without, X[:, [0, 2]], y)


@pytest.mark.filterwarnings("ignore:Constant columns", "ignore:X has one row")
def test_a_constant_column_keeps_a_basis_of_its_own(make, X, y):
    constant = X.copy()
    constant[:, 1] = 42.0
    for given in ({"n_basis": [4, 4, 4]}, {"basis": Fourier(n_basis=4), "n_basis": "auto"}):
        model = make(**given).fit(constant, y)
        assert model.columns_[1]["basis"].n_basis == 4
    model = make(quantization=[4, 4], n_basis=16).fit(constant, y)  # which one function has not
    assert model.columns_[1]["basis"].radices == (1,)
    assert "42 in every row" in model.summary()
    assert "42 to 42" not in model.summary()


@pytest.mark.filterwarnings("ignore:Constant columns", "ignore:X has one row")
def test_a_search_knows_constant_columns(X, y):
    constant = X.copy()
    constant[:, 1] = 42.0
    search = QTKMRegressorCV(
        alphas=[1e-3], n_basis=[4, 8], periods=[4.0], ranks=[2, 3], random_state=0
    ).fit(constant, y)
    chosen = search.best_params_["n_basis"]
    assert [c["basis"].n_basis for c in search.best_estimator_.columns_] == [chosen, 1, chosen]


@pytest.mark.filterwarnings("ignore:Constant columns", "ignore:X has one row")
def test_all_columns_of_one_value_predict_the_mean(make, y):
    model = make().fit(np.ones((len(y), 2)), y)
    np.testing.assert_allclose(model.predict([[1.0, 1.0], [0.0, 9.0]]), y.mean(), rtol=1e-3)


@pytest.mark.parametrize("value", [0.0, 2.5, -1e300, 1e-300, 0.1 + 0.2])
@pytest.mark.parametrize("alpha", [0.0, 1e-3])
def test_a_constant_target_is_predicted_as_it_is(make, X, value, alpha):
    model = make(alpha=alpha).fit(X, np.full(len(X), value))
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-15)
    assert model.status_ == "converged"


@covered
@pytest.mark.parametrize("alpha", [0.0, 1e-3])
@pytest.mark.parametrize("residual", ["complex", "real"])
@pytest.mark.parametrize("max_bins", ["auto", None])
def test_a_response_that_is_exactly_zero(make, X, alpha, residual, max_bins):
    settings = {"alpha": alpha, "residual": residual, "max_bins": max_bins}
    model = make(normalize_y=False, **settings).fit(X, np.zeros(len(X)))
    assert not model.predict(X).any()
    assert model.history_["objective"][-1] == 0


def test_some_targets_that_are_exactly_zero(make, X, y):
    model = make(normalize_y=False).fit(X, np.where(X[:, 0] > 0.5, y, 0.0))
    assert np.isfinite(model.predict(X)).all()
    assert np.all(np.diff(model.history_["objective"]) <= 0)


@pytest.mark.parametrize("normalize_y", [True, False])
def test_going_on_from_a_model_of_nothing_starts_anew(make, X, y, normalize_y):
    model = make(warm_start=True, normalize_y=normalize_y).fit(X, np.zeros(len(X)))
    assert model.fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("basis", ["fourier", "power"])
def test_rank_one_is_a_product_of_functions(make, X, basis):
    y = (1 + X[:, 0]) * (2 - X[:, 1]) * (X[:, 2] + 3)
    settings = {"normalize_y": False, "alpha": 1e-8, "max_iter": 50, "quantization": None}
    model = make(basis=basis, rank=1, **settings).fit(X, y)
    assert relative_error(model, X, y) < 0.02


@covered
@pytest.mark.parametrize("alpha", [0.0, 1e-10, 1e-3])
@pytest.mark.parametrize("residual", ["complex", "real"])
@pytest.mark.parametrize("basis", ["fourier", "power"])
def test_more_parameters_than_rows(make, X, y, alpha, residual, basis):
    settings = {"basis": basis, "residual": residual, "rank": 12, "n_basis": 16}
    model = make(alpha=alpha, **settings).fit(X[:20], y[:20])
    assert model.n_parameters_ > 20
    assert relative_error(model, X[:20], y[:20]) < 0.2
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("settings", [
    {}, {"residual": "real"}, {"basis": "power"}, {"max_bins": None}, {"max_bins": 16},
    {"quantization": None}, {"dtype": "float32"}, {"init": "random"}, {"rank": 1},
])  # fmt: skip
def test_without_a_penalty_the_objective_is_the_error_and_falls(make, X, y, settings):
    model = make(alpha=0, **settings).fit(X, y)
    updates = np.array(model.history_["objective_updates"])
    assert np.all(np.diff(updates) <= 1e-6 * updates[0])
    assert relative_error(model, X, y) ** 2 <= updates[-1] + 0.05
    assert relative_error(model, X, y) < 0.8


def test_without_a_penalty_for_several_outputs(make, X, y):
    model = make(alpha=0, rank=6).fit(X, np.column_stack([y, y**2]))
    assert model.score(X, np.column_stack([y, y**2])) > 0.9


@covered
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("max_bins", ["auto", 16, None])
@pytest.mark.parametrize("extrapolation", ["clip", "continue", "error"])
def test_inputs_of_any_size(make, X, y, size, max_bins, extrapolation):
    settings = {"max_bins": max_bins, "extrapolation": extrapolation}
    expected = make(**settings).fit(X, y).predict(X)
    model = make(**settings).fit(X * size, y)
    np.testing.assert_allclose(
        model.predict(X * size), expected, atol=0.2 if size < 1e-310 else 1e-6
    )


def test_inputs_from_one_end_of_the_numbers_to_the_other(make, X, y):
    wide = (X - 0.5) / 1.5 * 1.7e308
    model = make().fit(wide, y)
    np.testing.assert_allclose(model.predict(wide), make().fit(X, y).predict(X), atol=0.01)


@pytest.mark.parametrize("size", SIZES)
def test_targets_of_any_size(make, X, y, size):
    model = make().fit(X, y * size)
    assert relative_error(model, X, y * size) == pytest.approx(
        relative_error(make().fit(X, y), X, y), rel=0.05
    )


def test_targets_from_one_end_of_the_numbers_to_the_other(make, X, y):
    wide = y / np.abs(y).max() * 1.5e308
    assert relative_error(make().fit(X, wide), X, wide) < 0.2


def test_targets_too_large_to_be_squared_as_given(make, X, y):
    with pytest.raises(ValueError, match=r"y reaches .*e\+300 .* use normalize_y=True"):
        make(normalize_y=False).fit(X, y * 1e300)


def test_targets_too_small_to_be_squared_as_given(make, X, y):
    prediction = make(normalize_y=False).fit(X, y * 1e-300).predict(X)
    assert np.abs(prediction).max() < 1e-290


def test_outputs_of_very_different_sizes(make, X, y):
    Y = np.column_stack([y * 1e200, -y * 1e-200, y])
    prediction = make().fit(X, Y).predict(X)
    np.testing.assert_allclose(prediction[:, 0] / 1e200, prediction[:, 2], atol=1e-6)
    np.testing.assert_allclose(-prediction[:, 1] * 1e200, prediction[:, 2], atol=1e-6)


def test_a_far_row_leaves_the_others_room(make, X, y):
    far = np.vstack([X, [[1e6, 1e6, 1e6]]])
    model = make().fit(far, np.append(y, 0.0))
    assert np.isfinite(model.predict(far)).all()


@pytest.mark.parametrize("basis", ["fourier", "power"])
def test_a_single_basis_function_is_a_constant(make, X, y, basis):
    model = make(basis=basis, n_basis=1).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y.mean(), atol=1e-12)
    assert [core.shape for core in model.cores_[0]] == [(1, 3)]


def test_a_single_basis_function_in_one_column_only(make, X, y):
    model = make(n_basis=[8, 1, 8]).fit(X, y)
    moved = X.copy()
    moved[:, 1] += 0.3
    np.testing.assert_allclose(model.predict(moved), model.predict(X), atol=1e-12)


@pytest.mark.parametrize("quantization", [2, 3, "prime", None])
@pytest.mark.parametrize("n_basis", [2, 7, 24, 60])
def test_any_number_of_basis_functions(make, X, y, n_basis, quantization):
    model = make(n_basis=n_basis, quantization=quantization, max_iter=3).fit(X, y)
    assert np.prod([len(core) for core in model.cores_[0]]) == n_basis
    assert np.isfinite(model.predict(X)).all()


def test_very_many_basis_functions(make, X, y):
    model = make(n_basis=2**40).fit(X, y)
    assert len(model.cores_[0]) == 40
    assert np.isfinite(model.predict(X)).all()


def test_a_period_of_exactly_the_box(make, X, y):
    model = make(period=1.0).fit(X, y)
    ends = np.repeat(X.mean(axis=0)[None], 2, axis=0)
    ends[:, 0] = X[:, 0].min(), X[:, 0].max()
    np.testing.assert_allclose(*model.predict(ends), rtol=1e-10)


def test_equal_rows_with_unequal_targets_have_their_mean(make):
    X = np.repeat(np.linspace(0, 1, 6)[:, None], 4, axis=0)
    y = np.tile([0.0, 1.0, 2.0, 5.0], 6) + np.repeat(np.arange(6), 4)
    model = make(alpha=0, n_basis=16, period=4, rank=2, max_iter=50, tol=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X[::4]), 2 + np.arange(6), atol=0.05)
    assert model.history_["objective"][-1] == pytest.approx(3.5 / y.var(), rel=1e-3)


def test_many_columns(make):
    X = np.random.default_rng(0).uniform(size=(100, 60))
    y = X[:, 0] + X[:, 1] ** 2
    model = make(alpha=1e-2, n_basis=4).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert np.all(np.diff(model.history_["objective"]) <= 0)
