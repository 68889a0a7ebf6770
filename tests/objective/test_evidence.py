"""The likeliest prior: the likelihood is that of a Gaussian process, and its slopes are right."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import kernels

from qtkm.engines.remote import serial
from qtkm.objective.evidence import CONSTANT, JITTER, Candidate, Likelihood, learn, matern

NONE = np.full(4, np.nan)


def make_rows(n=30, seed=0, scaling="half"):
    """Rows of two columns of numbers, one with gaps, a cycle and three categories."""
    rng = np.random.default_rng(seed)
    places = rng.uniform(size=(n, 4))
    places[:, 3] = rng.integers(0, 3, n)
    missing = np.zeros((n, 4), dtype=bool)
    missing[:5, 0] = True
    is_number, is_cyclic = np.arange(4) < 3, np.arange(4) == 2
    plain = places * is_number
    return Candidate(
        places, plain, missing, is_number, is_cyclic, NONE, NONE, NONE, 0.1, scaling
    )  # fmt: skip


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, 4.5, np.inf])
def test_the_kernel_is_that_of_scikit_learn(nu):
    distance = np.linspace(0, 3, 50)
    expected = kernels.Matern(1.0, nu=nu)(np.zeros((1, 1)), distance[:, None])[0]
    value, slope = matern(distance, nu)
    np.testing.assert_allclose(value, expected, atol=1e-7)
    step = 1e-6
    longer, shorter = (matern(distance * np.exp(-s), nu)[0] for s in (step, -step))
    np.testing.assert_allclose(slope, (longer - shorter) / (2 * step), atol=1e-8)


def test_slopes_are_those_of_finite_differences():
    rng = np.random.default_rng(0)
    target, weight = rng.standard_normal((30, 2)), rng.integers(1, 3, 30).astype(float)
    likelihood = Likelihood(
        make_rows(), target, weight, np.array([0.5, 1.5, 4.5, 1.5]), 0.7, serial
    )
    at = likelihood.start + 0.3 * rng.standard_normal(len(likelihood.start))
    slopes = approx_fprime(at, lambda point: likelihood(point)[0], 1e-6)
    np.testing.assert_allclose(likelihood(at)[1], slopes, rtol=1e-4, atol=1e-4)


def test_it_is_the_likelihood_of_a_gaussian_process():
    rng = np.random.default_rng(1)
    rows = make_rows(12)
    rows.missing[:] = False
    target, weight = rng.standard_normal((12, 1)), np.ones(12)
    likelihood = Likelihood(rows, target, weight, np.full(4, 1.5), 0.0, serial)
    at = likelihood.start
    scale, (product, slope, noise, smooth) = np.exp(at[0]), np.exp(at[-4:])
    kernel, total = np.full((12, 12), product), np.zeros((12, 12))
    for d in range(4):
        distance = np.abs(rows.places[:, d, None] - rows.places[:, d])
        if d == 2:
            distance = np.abs(np.sin(np.pi * distance)) / np.pi
        own = matern(distance / scale, 1.5)[0] if d < 3 else (distance == 0).astype(float)
        kernel, total = kernel * (0.5 + 0.5 * own), total + own
    z = (rows.plain - rows.plain.mean(axis=0))[:, :3] / rows.plain.std(axis=0)[:3]
    whole = kernel + slope * z @ z.T + smooth * total / 4 + CONSTANT
    whole += (noise + JITTER) * np.eye(12)
    expected = multivariate_normal(np.zeros(12), whole).logpdf(target[:, 0])
    constant = 0.5 * 12 * np.log(2 * np.pi)
    assert -likelihood(at)[0] == pytest.approx(expected + constant)


def test_a_weight_of_two_is_a_row_that_occurs_twice():
    rng = np.random.default_rng(4)
    rows, target = make_rows(10), rng.standard_normal((10, 1))
    twice = rows.take(np.repeat(np.arange(10), 2))
    merged = Likelihood(rows, target, np.full(10, 2.0), np.full(4, 0.5), 0.0, serial)
    # slopes see the mean and spread of the columns, which repetition leaves as they are
    repeated = Likelihood(
        twice, np.repeat(target, 2, axis=0), np.ones(20), np.full(4, 0.5), 0.0, serial
    )
    first, second = merged.start, merged.start.copy()
    second[-2] += 0.5
    changes = [each(second)[0] - each(first)[0] for each in (merged, repeated)]
    assert changes[0] == pytest.approx(changes[1], abs=1e-5)


def test_a_column_that_says_nothing_gets_a_long_scale_and_given_values_stay():
    rng = np.random.default_rng(2)
    rows = make_rows(200)
    rows.missing[:] = False
    rows.scales = np.array([np.nan, np.nan, 0.7, np.nan])
    target = np.sin(7 * rows.places[:, :1]) * np.cos(5 * rows.places[:, :1])
    target = target / target.std() + 0.05 * rng.standard_normal((200, 1))
    prior = learn([rows], target, np.ones(200), 0.0, serial)
    assert prior.scales[2] == pytest.approx(0.7)
    assert prior.shares[0] * prior.scales[1] > 2 * prior.shares[1] * prior.scales[0]
    assert prior.noise == pytest.approx(0.05**2, rel=1.0)


def test_a_warp_is_chosen_where_it_makes_the_target_likelier():
    rng = np.random.default_rng(3)
    plain, moved = make_rows(150, scaling="range"), make_rows(150, scaling="half")
    plain.places[:, 0] = moved.places[:, 0] ** 8
    target = np.sin(9 * moved.places[:, :1]) + 0.1 * rng.standard_normal((150, 1))
    for candidates in ([plain, moved], [moved, plain]):
        prior = learn(candidates, target / target.std(), np.ones(150), 0.0, serial)
        assert prior.scaling == "half"
        assert {each["scaling"] for each in prior.tried} == {"half", "range"}
