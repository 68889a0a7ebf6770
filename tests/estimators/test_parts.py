"""Parts by name or by object; shorthands that fill in, and those that contradict."""

import numpy as np
import pytest

from qtkm import ALS, CPD, Fourier, Power, QTKMClassifier, Squared
from qtkm.losses import Loss


def test_an_object_is_the_same_as_its_name(make, X, y):
    by_name = make(basis="power", n_basis=6, rank=2, residual="real", quantization="prime")
    by_object = make(
        basis=Power(6, "prime"), network=CPD(2), loss=Squared("real"), solver=ALS(1),
        n_basis="auto", rank="auto",
    )  # fmt: skip
    np.testing.assert_array_equal(by_name.fit(X, y).predict(X), by_object.fit(X, y).predict(X))


def test_an_object_takes_what_it_leaves_open_from_the_shorthands(make, X, y):
    model = make(basis=Fourier(period=3.0), n_basis=6, period="auto", quantization=None)
    fitted = model.fit(X, y).columns_[0]["basis"]
    expected = {"n_basis": 6, "period": 3.0, "quantization": None, "warp": None}
    assert fitted.get_params() == expected


def test_what_nobody_sets_is_chosen_and_reported(make, X, y):
    model = make(basis=[Fourier(), "fourier", "power"], n_basis="auto", period="auto",
                 rank="auto", alpha="auto").fit(X, y)  # fmt: skip
    first, second, third = (column["basis"] for column in model.columns_)
    assert first.get_params() == second.get_params()
    assert isinstance(first.n_basis, int)
    assert first.period >= 1
    assert third.n_basis == first.n_basis
    assert model.alpha_ > 0
    assert model.cores_[0][0].shape[1] == model.rank_ >= 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"basis": Fourier(n_basis=4), "n_basis": 8},
            r"n_basis=8 contradicts basis=Fourier\(n_basis=4\), whose n_basis is 4; set only one",
        ),
        ({"basis": Fourier(period=3.0)}, r"period=2.0 contradicts basis=Fourier\(period=3.0\)"),
        (
            {"basis": Fourier(quantization=None), "quantization": "prime"},
            "quantization='prime' contradicts .* whose quantization is None",
        ),
        (
            {"basis": ["fourier", Power(6), "power"], "n_basis": [8, 7, 6]},
            r"n_basis=7 contradicts basis=Power\(n_basis=6\)",
        ),
        ({"network": CPD(5)}, r"rank=3 contradicts network=CPD\(rank=5\), whose rank is 5"),
        (
            {"loss": Squared("complex"), "residual": "real"},
            r"residual='real' contradicts loss=Squared\(residual='complex'\)",
        ),
    ],
)
def test_a_shorthand_that_contradicts_an_object_is_an_error(make, X, y, settings, message):
    with pytest.raises(ValueError, match=message):
        make(**settings).fit(X, y)


@pytest.mark.parametrize(
    "settings",
    [
        {"basis": Fourier(n_basis=8, period=2), "quantization": 2},
        {"basis": Fourier(quantization=(2, 4)), "quantization": [2, 4]},
        {"basis": Fourier(quantization=np.array([2, 4])), "quantization": (2, 4)},
        {"network": CPD(3)},
        {"loss": Squared("real")},  # the shorthand is at its default and says nothing
        {"loss": Squared("real"), "residual": "real"},
        {"basis": Power(), "period": 3.0},  # powers have no period
    ],
)
def test_saying_the_same_twice_is_no_contradiction(make, X, y, settings):
    assert make(**settings).fit(X, y).score(X, y) > 0.5


def test_every_column_may_have_a_basis_of_its_own(make, X, y):
    bases = [Fourier(4, 1.5), "power", Fourier(12, 3.0, None)]
    model = make(basis=bases, n_basis="auto", period="auto").fit(X, y)
    fitted = [column["basis"] for column in model.columns_]
    assert [type(b) for b in fitted] == [Fourier, Power, Fourier]
    assert [len(cores) for cores in model.cores_][::2] == [2, 1]
    assert model.score(X, y) > 0.9


def test_numbers_and_periods_may_differ_by_column(make, X, y):
    model = make(n_basis=[2, 4, 8], period=[1.5, 2.0, 4.0]).fit(X, y)
    fitted = [column["basis"] for column in model.columns_]
    assert [(b.n_basis, b.period) for b in fitted] == [(2, 1.5), (4, 2.0), (8, 4.0)]
    assert [len(cores) for cores in model.cores_] == [1, 2, 3]


@pytest.mark.parametrize("quantization", [2, 3, "prime", None, (6, 4)])
def test_quantization_changes_the_cores_and_not_the_features(make, X, y, quantization):
    model = make(n_basis=24, quantization=quantization).fit(X, y)
    assert [np.prod([len(core) for core in cores]) for cores in model.cores_] == [24] * 3
    assert model.score(X, y) > 0.9


def test_nested_parameters_can_be_set(make):
    model = make(basis=Fourier(), network=CPD())
    model.set_params(basis__n_basis=4, network__rank=7)
    assert (model.basis.n_basis, model.network.rank) == (4, 7)
    assert model.get_params()["basis__n_basis"] == 4


def test_more_sweeps_a_pass_lower_the_objective_no_less(make, X, y):
    once = make(solver=ALS(1), max_iter=2, tol=0).fit(X, y)
    often = make(solver=ALS(4), max_iter=2, tol=0).fit(X, y)
    assert often.history_["objective"][-1] < once.history_["objective"][-1]


def test_given_cores_are_where_the_fit_starts(make, X, y):
    half = make(max_iter=4, tol=0).fit(X, y)
    rest = make(max_iter=4, tol=0, init=half.cores_).fit(X, y)
    whole = make(max_iter=8, tol=0).fit(X, y)
    np.testing.assert_allclose(
        half.history_["objective"] + rest.history_["objective"],
        whole.history_["objective"],
        rtol=1e-6,
    )


@pytest.mark.parametrize("network", ["cpd", "tucker"])
def test_cores_with_main_effects_are_where_a_fit_starts(make, X, y, network):
    settings = {"network": network, "rank": 2, "penalty": "matern", "main_effects": True}
    half = make(**settings, max_iter=2, tol=0).fit(X, y)
    rest = make(**settings, max_iter=2, tol=0, init=half.cores_).fit(X, y)
    assert rest.history_["objective"][-1] < half.history_["objective"][-1]


def test_given_cores_bring_their_rank_and_are_not_changed(make, X, y):
    cores = make(rank=5).fit(X, y).cores_
    copies = [[core.copy() for core in column] for column in cores]
    model = make(init=cores, rank="auto").fit(X, y)
    assert model.rank_ == 5
    for column, column_copy in zip(cores, copies, strict=True):
        for core, copy in zip(column, column_copy, strict=True):
            np.testing.assert_array_equal(core, copy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda cores: cores[:2], "must be a list of 3 entries.* got a list of 2"),
        (
            lambda cores: [cores[0][:2], *cores[1:]],
            "column 0 must be a list of 3 entries, one for each",
        ),
        (
            lambda cores: [cores[0][0], *cores[1:]],
            "column 0 must be a list of 3 entries, one for each",
        ),
        (
            lambda cores: [*cores[:2], [cores[2][0][:, :2], *cores[2][1:]]],
            r"core of column 2, level 0 has shape \(2, 2\); expected \(2, 3\)",
        ),
        (
            lambda cores: [[core * np.nan for core in column] for column in cores],
            "core of column 0, level 0 must be an array of finite numbers",
        ),
        (
            lambda cores: [[["a"], ["b"], ["c"]], *cores[1:]],
            "core of column 0, level 0 must be an array of finite numbers",
        ),
    ],
)
def test_cores_that_do_not_belong_are_refused(make, X, y, change, message):
    cores = make().fit(X, y).cores_
    with pytest.raises(ValueError, match=message):
        make(init=change(cores)).fit(X, y)


def test_complex_cores_do_not_start_a_real_model(make, X, y):
    cores = make().fit(X, y).cores_
    with pytest.raises(ValueError, match="complex, but all features are real; give its real part"):
        make(basis="power", init=cores).fit(X, y)
    real = [[core.real for core in column] for column in cores]
    assert make(basis="power", init=real).fit(X, y).score(X, y) > 0.5


class Absolute(Loss):
    """A loss of a user's own, of numbers."""


def test_a_loss_of_numbers_does_not_tell_classes_apart(X):
    labels = np.where(X[:, 0] > X[:, 0].mean(), "a", "b")
    with pytest.raises(ValueError, match=r"loss=Absolute\(\) is not for classification; use"):
        QTKMClassifier(loss=Absolute()).fit(X, labels)
