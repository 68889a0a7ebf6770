"""The range of a column, what happens outside of it, and how finely it is read in the fit."""

import numpy as np
import pytest


def test_the_range_is_that_of_the_training_rows(make, X, y):
    model = make().fit(X, y)
    expected = list(zip(X.min(axis=0), X.max(axis=0), strict=True))
    assert [column["bounds"] for column in model.columns_] == expected


def test_given_bounds_are_the_range(make, X, y):
    for bounds in [(-3, 3), [(-3, 3)] * 3, np.array([[-3, 3]] * 3)]:
        model = make(bounds=bounds).fit(X, y)
        assert [column["bounds"] for column in model.columns_] == [(-3.0, 3.0)] * 3


def test_every_column_may_have_bounds_of_its_own(make, X, y):
    bounds = [(-1, 2), (-4, 4), (-2, 10)]
    model = make(bounds=bounds).fit(X, y)
    assert [column["bounds"] for column in model.columns_] == bounds
    assert model.score(X, y) > 0.8


def test_bounds_are_what_the_basis_sees(make, X, y):
    by_bounds = make(bounds=(-2, 4)).fit(X, y)
    by_hand = make(bounds=(0, 1)).fit((X + 2) / 6, y)
    np.testing.assert_allclose(by_bounds.predict(X), by_hand.predict((X + 2) / 6), atol=1e-6)


def outside(X):
    """Rows that leave the range, and the nearest ones in it."""
    return np.vstack([X + 50, X - 50, X * [1, 1, 9]]), X.min(axis=0), X.max(axis=0)


def test_outside_the_nearest_end_is_taken(make, X, y):
    model = make().fit(X, y)
    rows, low, high = outside(X)
    np.testing.assert_array_equal(model.predict(rows), model.predict(np.clip(rows, low, high)))


def test_outside_the_basis_may_continue(make, X, y):
    model = make(extrapolation="continue", period=2.0).fit(X, y)
    beyond = X + 2 * np.ptp(X, axis=0)  # one whole period further
    np.testing.assert_allclose(model.predict(beyond), model.predict(X), atol=1e-8)
    line = make(basis="power", n_basis=2, rank=1, extrapolation="continue", alpha=0)
    line.fit(X[:, :1], 3 * X[:, 0] + 1)
    np.testing.assert_allclose(line.predict([[10.0], [-10.0]]), [31.0, -29.0])


def test_outside_may_be_an_error(make, X, y):
    model = make(extrapolation="error").fit(X, y)
    model.predict(X)
    rows = X.copy()
    rows[7, 1] = 12.5
    with pytest.raises(ValueError, match=r"column 1 has the value 12.5, outside of its range \[-0"):
        model.predict(rows)


def test_the_rule_holds_for_training_rows_outside_of_given_bounds(make, X, y):
    clipped = make(bounds=(-0.5, 1.5)).fit(X, y)
    by_hand = make(bounds=(-0.5, 1.5)).fit(np.clip(X, -0.5, 1.5), y)
    np.testing.assert_array_equal(clipped.predict(X), by_hand.predict(X))
    assert (
        make(bounds=(-0.5, 1.5), extrapolation="continue", period=4.0).fit(X, y).score(X, y) > 0.8
    )
    with pytest.raises(ValueError, match=r"outside of its range \[-0.5, 1.5\].*'clip'.*`bounds`"):
        make(bounds=(-0.5, 1.5), extrapolation="error").fit(X, y)


def test_a_basis_that_overflows_outside_is_refused(make, X, y):
    settings = {"basis": "power", "n_basis": 64, "extrapolation": "continue"}
    with pytest.raises(ValueError, match=r"column 0 ranges from -0.9.*basis overflows; widen the"):
        make(bounds=(0, 1e-6), **settings).fit(X, y)
    model = make(**settings).fit(X, y)
    with pytest.raises(
        ValueError, match=r"response overflows in 1 of 2 rows, the first of them row"
    ):
        model.predict([X[0], [1e9, 0, 0]])


# -- bins -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fine():
    """Columns of 3000 and 5 distinct values."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(0, 10, size=3000), rng.integers(0, 5, size=3000)])
    return X, np.sin(X[:, 0]) * X[:, 1]


def test_bins_are_made_and_reported_where_there_are_too_many_values(make, fine):
    X, y = fine
    model = make(max_bins=256, n_basis=16, period=3.0).fit(X, y)
    first, second = model.columns_
    assert (first["binned"], first["n_grid"]) == (True, 256)
    assert first["bin_error"] == pytest.approx(np.pi * 16 / (2 * 3.0 * 256))
    assert (second["binned"], second["n_grid"], second["bin_error"]) == (False, 5, 0)


def test_auto_bins_so_finely_that_it_hardly_matters(make, fine):
    X, y = fine
    settings = {"n_basis": 16, "period": 2.0, "max_iter": 4, "alpha": 1e-3}
    binned, exact = make(**settings).fit(X, y), make(max_bins=None, **settings).fit(X, y)
    first = binned.columns_[0]
    assert first["binned"]
    assert 0 < first["bin_error"] <= 0.01
    assert (exact.columns_[0]["binned"], exact.columns_[0]["n_grid"]) == (False, 3000)
    assert exact.columns_[0]["bin_error"] == 0
    assert abs(binned.score(X, y) - exact.score(X, y)) < 1e-3


def test_more_basis_functions_get_more_bins(make, fine):
    X, y = fine
    few = make(n_basis=4, max_iter=1).fit(X, y).columns_[0]["n_grid"]
    many = make(n_basis=32, max_iter=1).fit(X, y).columns_[0]["n_grid"]
    assert few == 1024 < many < 3000


def test_as_many_bins_as_values_are_exact(make, fine):
    X, y = fine
    exact, enough = make(max_bins=None).fit(X, y), make(max_bins=3000).fit(X, y)
    np.testing.assert_array_equal(enough.predict(X), exact.predict(X))


def test_predictions_are_not_binned(make, fine):
    X, y = fine
    model = make(max_bins=8).fit(X, y)
    rows = np.column_stack([np.linspace(4, 4.5, 50), np.full(50, 3.0)])  # less than a bin
    assert len(np.unique(model.predict(rows))) == 50


def test_powers_report_their_own_error(make, fine):
    X, y = fine
    model = make(basis="power", n_basis=5, max_bins=100).fit(X, y)
    assert model.columns_[0]["bin_error"] == pytest.approx((5 - 1) / (2 * 100))
