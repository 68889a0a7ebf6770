"""Penalties: variances, families and what is learned of them."""

import numpy as np
import pytest

from qtkm import Categorical, Fourier, QTKMRegressor
from qtkm.features import WithGaps
from qtkm.penalties import RBF, REGISTRY, Family, Matern, Ridge

MAP = Fourier(n_basis=9, period=2.0, quantization=3)


@pytest.mark.parametrize("name", [name for name in REGISTRY if name != "ridge"])
@pytest.mark.parametrize("feature_map", [MAP, WithGaps(MAP)])
def test_all_members_of_a_family_have_unit_trace(name, feature_map):
    family = Family(REGISTRY[name](), feature_map)
    assert len(family.members) > 10
    np.testing.assert_allclose((1 / family.precisions).sum(axis=1), 1)
    for member, precision in zip(family.members, family.precisions, strict=True):
        np.testing.assert_allclose(member.precision(feature_map), precision)


def test_given_parameters_stay_and_others_are_chosen():
    members = Family(Matern(nu=0.5, length_scale=0.7), MAP).members
    assert {(m.nu, m.length_scale) for m in members} == {(0.5, 0.7)}
    assert len({m.share for m in members}) == len(members)
    assert Family(RBF(length_scale=1.0, share=0.5), MAP).members[0].share == 0.5
    assert Family(Ridge(), MAP).precisions is None


def test_of_pooled_categories_only_the_share_is_chosen():
    family = Family(Matern(), Categorical(4, pooled=True))
    assert len(family.members) == len({m.share for m in family.members}) > 2
    for member, precision in zip(family.members, family.precisions, strict=True):
        np.testing.assert_allclose(member.precision(Categorical(4, pooled=True)), precision)


def test_the_cheapest_member_costs_least():
    family = Family(Matern(), MAP)
    energies = np.random.default_rng(0).uniform(size=9)
    costs = [1 / m.variances(MAP.frequencies) @ energies for m in family.members]
    found = family.choose(energies, 0.0)
    assert found @ energies == pytest.approx(min(costs))
    assert family.member_of(found).get_params() == family.members[np.argmin(costs)].get_params()


@pytest.mark.parametrize(
    ("penalty", "message"),
    [
        (Matern(nu=0), "nu=0 of column 0 must be a finite number > 0"),
        (RBF(share=2.0), "share=2.0 of column 0 must be a number > 0 and <= 1"),
        (RBF(length_scale="long"), "length_scale='long' of column 0"),
        ("smooth", "penalty='smooth' is unknown"),
    ],
)
def test_penalties_that_make_no_sense_are_refused(penalty, message):
    with pytest.raises(ValueError, match=message):
        QTKMRegressor(penalty=penalty).fit(np.arange(4.0)[:, None], np.arange(4.0))


def wavy(n_rows=200):
    """One column that matters and changes quickly, one that does not matter."""
    X = np.random.default_rng(0).uniform(size=(n_rows, 2))
    return X, np.sin(20 * X[:, 0])


def settings(**more):
    return {"n_basis": 27, "period": 2.0, "quantization": 3, "rank": 2, "alpha": 1e-4,
            "penalty": "matern", "main_effects": False, "scaling": "range", "random_state": 0,
            "n_jobs": 1} | more  # fmt: skip


@pytest.mark.parametrize("momentum", [False, True])
def test_learning_never_raises_the_objective(momentum):
    from qtkm.solvers import ALS

    model = QTKMRegressor(**settings(solver=ALS(momentum=momentum))).fit(*wavy())
    values = np.array(model.history_["objective"])
    assert (np.diff(values) <= 1e-12 * values[0]).all()


def test_a_column_that_does_not_matter_gets_a_small_share():
    model = QTKMRegressor(**settings()).fit(*wavy())
    first, second = model.penalties_
    assert second.share < first.share
    assert f"share {second.share:g}" in model.summary()


def test_a_fixed_length_scale_stays():
    penalty = [Matern(length_scale=0.7), "ridge"]
    model = QTKMRegressor(**settings(penalty=penalty)).fit(*wavy())
    assert model.penalties_[0].length_scale == 0.7
    assert isinstance(model.penalties_[1], Ridge)


def test_a_further_fit_begins_where_the_last_one_ended():
    X, y = wavy()
    whole = QTKMRegressor(**settings(max_iter=6, tol=0)).fit(X, y)
    parts = QTKMRegressor(**settings(max_iter=3, tol=0, warm_start=True)).fit(X, y)
    last = parts.history_["objective"][-1]
    parts.fit(X, y)
    assert parts.history_["objective"][-1] == pytest.approx(whole.history_["objective"][-1])
    assert parts.history_["objective"][0] < last


def test_classes_are_told_apart_under_a_learned_prior():
    from qtkm import QTKMClassifier

    X, y = wavy()
    parameters = settings()
    model = QTKMClassifier(**parameters).fit(X, y > 0)
    assert model.score(X, y > 0) > 0.8
    assert np.all(np.diff(model.history_["objective"]) <= 0)
