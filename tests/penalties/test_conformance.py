"""What every registered penalty must do, and a user's own."""

import numpy as np
import pytest
from sklearn.base import clone

from qtkm.features import Categorical, Fourier, Power
from qtkm.penalties import REGISTRY, Matern, Penalty, Ridge
from tests import dense
from tests.problems import make_cores, make_map, make_objective, make_penalty

#: those that have variances of their own
PRIORS = [name for name in REGISTRY if make_penalty(name).variances(np.zeros(1)) is not None]
MAPS = [Fourier(1, 1.5), Fourier(8, 1.5), Fourier(27, 4.0, 3), Fourier(4096, 1.0), Power(6)]

each_penalty = pytest.mark.parametrize("name", REGISTRY)
each_prior = pytest.mark.parametrize("name", PRIORS)
each_map = pytest.mark.parametrize("feature_map", MAPS, ids=str)


@each_prior
@each_map
@pytest.mark.parametrize("length_scale", [1e-3, 0.3, 100.0])
@pytest.mark.parametrize("share", [1e-3, 0.5, 1.0])
def test_variances_are_positive_and_sum_to_one(name, feature_map, length_scale, share):
    penalty = make_penalty(name, length_scale=length_scale, share=share)
    variances = penalty.variances(feature_map.frequencies)
    assert variances.shape == (feature_map.n_features,)
    assert (variances > 0).all()
    assert variances.sum() == pytest.approx(1, rel=1e-9)
    np.testing.assert_allclose(penalty.precision(feature_map) * variances, 1)


@each_prior
@each_map
def test_variances_fall_with_the_frequency_whatever_its_sign(name, feature_map):
    frequencies = feature_map.frequencies
    penalty = make_penalty(name)
    variances = penalty.variances(frequencies)
    order = np.argsort(np.abs(frequencies), kind="stable")
    assert (np.diff(variances[order]) <= 1e-15).all()
    paired = np.concatenate([frequencies, -frequencies])
    both = penalty.variances(paired)
    np.testing.assert_array_equal(both[: len(frequencies)], both[len(frequencies) :])


@each_prior
def test_a_shorter_length_scale_gives_more_to_high_frequencies(name):
    frequencies = Fourier(9, 2.0).frequencies
    short, long = (
        make_penalty(name, length_scale=scale, share=1.0).variances(frequencies)
        for scale in (0.1, 1.0)
    )
    assert short[0] > long[0]
    assert short[4] < long[4]


@each_prior
@pytest.mark.parametrize("share", [0.1, 0.7])
def test_the_rest_of_a_share_goes_to_the_constant(name, share):
    frequencies = Fourier(8, 2.0).frequencies
    whole, part = (make_penalty(name, share=s).variances(frequencies) for s in (1.0, share))
    expected = share * whole
    expected[4] += 1 - share
    np.testing.assert_allclose(part, expected, rtol=1e-12)


def test_the_matern_kernel_with_nu_of_one_half_is_exponential():
    """Σ s·cos(ωΔ) over a long period is exp(-Δ/ℓ) but for what lies beyond the last frequency."""
    feature_map, distance = Fourier(20_001, 20.0), np.linspace(0, 1.5, 7)
    variances = Matern(0.5, 0.4, 1.0).variances(feature_map.frequencies)
    kernel = np.cos(np.outer(distance, feature_map.frequencies)) @ variances
    np.testing.assert_allclose(kernel, np.exp(-distance / 0.4), atol=1e-3)


def test_the_rbf_kernel_is_a_gaussian_of_the_distance():
    feature_map, distance = Fourier(2001, 20.0), np.linspace(0, 1.5, 7)
    variances = REGISTRY["rbf"](0.4, 1.0).variances(feature_map.frequencies)
    kernel = np.cos(np.outer(distance, feature_map.frequencies)) @ variances
    np.testing.assert_allclose(kernel, np.exp(-0.5 * (distance / 0.4) ** 2), atol=1e-9)


def test_ridge_is_the_norm_of_the_weights():
    assert Ridge().precision(Fourier(8, 2.0)) is None
    given, none = (make_objective([make_map("fourier", 8)], penalty=p) for p in (Ridge(), None))
    cores = make_cores(given)
    expected = np.sum(np.abs(dense.tensor(given, cores)) ** 2)
    assert given.at(cores).penalty() == pytest.approx(expected, rel=1e-12)
    assert given.value(given.at(cores)) == none.value(none.at(cores))


@each_penalty
def test_functions_without_frequencies_are_all_alike(name):
    assert make_penalty(name).precision(Categorical(4)) is None


@each_penalty
def test_a_penalty_passes_its_own_check_and_can_be_cloned(name):
    penalty = make_penalty(name)
    penalty.check("column 0")
    assert repr(clone(penalty)) == repr(penalty)
    for parameter in penalty.get_params():
        assert parameter in type(penalty).__doc__


@each_prior
@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("length_scale", 0, "length_scale=0 of height must be a finite number > 0"),
        ("length_scale", np.inf, "length_scale=inf of height must be a finite number > 0"),
        ("length_scale", "long", "length_scale='long' of height must be a finite number > 0"),
        ("share", 0, "share=0 of height must be a number > 0 and <= 1"),
        ("share", 1.5, "share=1.5 of height must be a number > 0 and <= 1"),
        ("share", True, "share=True of height must be a number > 0 and <= 1"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused(name, parameter, value, message):
    with pytest.raises(ValueError, match=message):
        make_penalty(name, **{parameter: value}).check("height")


@pytest.mark.parametrize("nu", [0, -1.5, np.nan, "smooth"])
def test_a_smoothness_that_makes_no_sense_is_refused(nu):
    with pytest.raises(ValueError, match=f"nu={nu!r} of height must be a finite number > 0"):
        Matern(nu, 0.3, 1.0).check("height")


class Even(Penalty):
    """A user's own: functions of odd number have a tenth of the variance of the others."""

    def variances(self, frequencies):
        odd = np.arange(len(frequencies)) % 2 == 1
        variances = np.where(odd, 0.1, 1.0)
        return variances / variances.sum()


@pytest.mark.parametrize("network", ["cpd", "train", "ring", "graph"])
def test_a_penalty_of_a_users_own_needs_only_variances(network):
    objective = make_objective(
        [make_map("fourier", 8), make_map("power", 4)], penalty=Even(), network=network
    )
    cores = make_cores(objective)
    iterate = objective.at(cores)
    values = [objective.value(iterate)]
    assert values[0] == pytest.approx(dense.value(objective, cores), rel=1e-10)
    for block in objective.blocks:
        values += objective.update(iterate, block)
    assert (np.diff(values) <= 1e-10 * values[0]).all()
    assert values[-1] == pytest.approx(dense.value(objective, iterate.cores), rel=1e-9)


def test_a_penalty_without_variances_says_so():
    class Empty(Penalty):
        pass

    with pytest.raises(NotImplementedError, match="Empty has no variances"):
        Empty().precision(Fourier(4, 2.0))
