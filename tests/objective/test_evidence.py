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
        make_rows(), target, weight, np.array([0.5, 1.5, 4.5, 1.5]), True, serial
    )
    at = likelihood.start + 0.3 * rng.standard_normal(len(likelihood.start))
    slopes = approx_fprime(at, lambda point: likelihood(point)[0], 1e-6)
    np.testing.assert_allclose(likelihood(at)[1], slopes, rtol=1e-4, atol=1e-4)


def dense(rows, at):
    """Matrix of a Gaussian process with one length scale, shares of one half, smoothness 3/2."""
    n, scale, (product, slope, noise, smooth) = len(rows.places), np.exp(at[0]), np.exp(at[-4:])
    kernel, total = np.full((n, n), product), np.zeros((n, n))
    for d in range(4):
        distance = np.abs(rows.places[:, d, None] - rows.places[:, d])
        if d == 2:
            distance = np.abs(np.sin(np.pi * distance)) / np.pi
        own = matern(distance / scale, 1.5)[0] if d < 3 else (distance == 0).astype(float)
        kernel, total = kernel * (0.5 + 0.5 * own), total + own
    z = (rows.plain - rows.plain.mean(axis=0))[:, :3] / rows.plain.std(axis=0)[:3]
    whole = kernel + slope * z @ z.T + smooth * total / 4 + CONSTANT
    return whole + (noise + JITTER) * np.eye(n)


def whole_rows(n):
    rows = make_rows(n)
    rows.missing[:] = False
    return rows


def test_it_is_the_likelihood_of_a_gaussian_process():
    rows, target = whole_rows(12), np.random.default_rng(1).standard_normal((12, 1))
    likelihood = Likelihood(rows, target, np.ones(12), np.full(4, 1.5), False, serial)
    at = likelihood.start
    whole = dense(rows, at)
    expected = multivariate_normal(np.zeros(12), whole).logpdf(target[:, 0])
    constant = 0.5 * 12 * np.log(2 * np.pi)
    assert -likelihood(at)[0] == pytest.approx(expected + constant)


def test_evidence_integrates_over_the_parameters_by_the_mean_curvature():
    rows = whole_rows(12)
    at = Likelihood(rows, np.zeros((12, 1)), np.ones(12), np.full(4, 1.5), False, serial).start
    # outputs whose mean square is that of the process: curvatures are their expected values
    target = np.sqrt(12) * np.linalg.cholesky(dense(rows, at))
    likelihood = Likelihood(rows, target, np.ones(12), np.full(4, 1.5), False, serial)
    curvature = approx_fprime(at, lambda point: likelihood(point)[1], 1e-5)
    curvature -= np.diag(1 / likelihood.spread**2)
    spread = np.minimum(likelihood.spread, 1e6)
    spread[-2] = 1.0  # of the noise, about which the prior says nothing
    taken = np.linalg.slogdet(np.eye(len(at)) + spread[:, None] * curvature * spread)[1]
    assert likelihood.evidence(at) == pytest.approx(-likelihood(at)[0] - taken / 2, rel=1e-4)


@pytest.mark.parametrize(
    ("truth", "parts"),
    [
        (lambda x: 0 * x[:, 0], [False, False, True, False]),
        (lambda x: x @ np.arange(1, 7), [False, True, True, False]),
        (lambda x: np.sin(4 * x).sum(axis=1), [False, None, True, True]),
        (lambda x: 3 * np.sin(4 * x[:, 0]) * np.cos(3 * x[:, 1]), None),
    ],
)
def test_kernels_with_fewer_parts_are_preferred_where_these_explain_the_rows(truth, parts):
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (120, 6))
    y = truth(x)[:, None] + 0.3 * rng.standard_normal((120, 1))
    none, numbers = np.full(6, np.nan), np.ones(6, dtype=bool)
    rows = Candidate(
        (x + 1) / 2, x, np.zeros(x.shape, dtype=bool), numbers, ~numbers, none, none, none, 0.1
    )
    prior = learn([rows], (y - y.mean()) / y.std(), np.ones(120), False, serial)
    if parts is None:
        assert prior.simpler is None
        return
    assert prior.weight > 0.5
    known = [each is None or (variance > 0) == each
             for each, variance in zip(parts, prior.simpler.variances, strict=True)]  # fmt: skip
    assert all(known)
    assert prior.simpler.n_learned == 12 * parts[3] + (prior.simpler.variances > 0).sum()


def test_a_weight_of_two_is_a_row_that_occurs_twice():
    rng = np.random.default_rng(4)
    rows, target = make_rows(10), rng.standard_normal((10, 1))
    twice = rows.take(np.repeat(np.arange(10), 2))
    merged = Likelihood(rows, target, np.full(10, 2.0), np.full(4, 0.5), True, serial)
    # slopes see the mean and spread of the columns, which repetition leaves as they are
    repeated = Likelihood(
        twice, np.repeat(target, 2, axis=0), np.ones(20), np.full(4, 0.5), False, serial
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
    prior = learn([rows], target, np.ones(200), False, serial)
    assert prior.scales[2] == pytest.approx(0.7)
    assert prior.shares[0] * prior.scales[1] > 2 * prior.shares[1] * prior.scales[0]
    assert prior.noise == pytest.approx(0.05**2, rel=1.0)


def test_a_warp_is_chosen_where_it_makes_the_target_likelier():
    rng = np.random.default_rng(3)
    plain, moved = make_rows(150, scaling="range"), make_rows(150, scaling="half")
    plain.places[:, 0] = moved.places[:, 0] ** 8
    target = np.sin(9 * moved.places[:, :1]) + 0.1 * rng.standard_normal((150, 1))
    for candidates in ([plain, moved], [moved, plain]):
        prior = learn(candidates, target / target.std(), np.ones(150), False, serial)
        assert prior.scaling == "half"
        assert {each["scaling"] for each in prior.tried} == {"half", "range"}
