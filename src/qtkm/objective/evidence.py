"""The prior of the full-rank model that the rows themselves make likeliest.

A Gaussian process with the kernel

    k(x, x') = product·Π_d ((1 - a_d) + a_d·k_d) + smooth·mean_d k_d + slope·Σ_d z_d·z_d' + constant

has main effects (slopes z_d of the standardized columns and smooth functions) beside all
interactions.  Length scale and share a_d of every column, the four variances and the noise are
those of the largest marginal likelihood of some rows, times a weak prior that lets scales grow with
the number of columns.  Smoothness, and whether columns are warped, are compared by it, too.

The largest likelihood favours many parameters: interactions of all columns describe a few rows of a
linear truth, or of noise, best.  So kernels without some of the parts are compared by their
evidence, the likelihood integrated over the parameters in Laplace's approximation.
Evidence for the numbers here is in docs/decisions/0021-evidence.md.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.optimize import minimize
from scipy.special import expit

from ..protocols import Kept, Run, Span

Array = NDArray[np.float64]

#: smoothness to compare; the first is the start of the others
SMOOTHNESS = (1.5, 0.5, 4.5)
#: most and fewest rows that priors are compared on and that the best is refined on, and pairs of
#: rows times columns between them
COMPARED, REFINED = (300, 120, 4e5), (600, 250, 2e6)
#: steps of the first prior, of the others, and of the best
FIRST_STEPS, STEPS, LAST_STEPS = 40, 12, 20
#: logarithms of the length scale at the start for one column, and its standard deviation
SCALE, SCALE_SPREAD = math.log(0.6), 1.7
#: for every variance, noise third, its logarithm at the start, the standard deviation, and its ends
VARIANCES = ((0.0, 2.5, -9.0, 6.0), (-1.0, 3.0, -9.0, 6.0), (-3.0, np.inf, -14.0, 2.0),
             (-1.0, 3.0, -9.0, 6.0))  # fmt: skip
#: ends of the logarithms of length scales and of the logits of shares, whose spread is SHARE_SPREAD
SCALES, SHARES, SHARE_SPREAD = (-3.5, 3.0), (-7.0, 7.0), 2.0
#: variance of the intercept, and what keeps the kernel's matrix from being singular
CONSTANT, JITTER = 1.0, 1e-8
#: failed factorization: so unlikely that a search turns back
REFUSED = 1e10
#: parts of the kernels that are compared: product, slopes, noise, smooth main effects
PARTS = ((True, True, True, True), (False, True, True, True), (False, True, True, False),
         (False, False, True, False))  # fmt: skip
#: most that integration over a parameter takes from the logarithm of the evidence, about
MOST_TAKEN = 3.0
#: what differences of evidence are divided by, since priors are rough guesses, and the least weight
#: and the largest one, since no table is quite linear
TEMPERATURE, LEAST_WEIGHT, MOST_WEIGHT = 4.0, 0.05, 0.6


def matern(distance: Array, nu: float) -> tuple[Array, Array]:
    """Return the Matérn kernel at distances over the length scale, and its slope by log(scale)."""
    slope, value = np.array(distance, dtype=np.float64), np.empty(np.shape(distance))
    _matern(slope, nu, value)
    return value, slope


def _matern(t: Array, nu: float, value: Array) -> None:
    """Write the kernel into `value`, and its slope in place of the distances `t`."""
    if np.isinf(nu):
        t *= t
        np.exp(np.multiply(t, -0.5, out=value), out=value)
        t *= value
        return
    degree = round(nu - 0.5)
    t *= math.sqrt(2 * degree + 1)
    decay = np.exp(np.negative(t, out=value), out=value)
    if degree == 0:
        t *= decay
        return
    factor = _polynomial(t, degree)
    slope = _polynomial(t, degree - 1, 1 / (2 * degree - 1)) if degree > 1 else 1.0
    t *= t
    t *= decay
    t *= slope
    value *= factor


def _polynomial(t: Array, degree: int, factor: float = 1.0) -> Array:
    """Return what multiplies exp(-t) in the Matérn kernel of smoothness degree + 1/2."""
    factor *= math.factorial(degree) / math.factorial(2 * degree)
    value = np.full_like(t, factor * 2.0**degree)
    for i in range(1, degree + 1):
        value *= t
        value += factor * math.perm(degree + i, i) * math.comb(degree, i) * 2.0 ** (degree - i)
    return value


@dataclass
class Candidate:
    """Columns of some rows as a prior sees them, and parameters that are given."""

    places: Array  # (n, D): warped values; numbers of categories
    plain: Array  # (n, D): values whose slopes are main effects; zero for categories
    missing: NDArray[np.bool_]  # (n, D): these differ from other values by `gap_share`
    is_number: NDArray[np.bool_]  # (D,): whether a column has a length scale, or categories
    is_cyclic: NDArray[np.bool_]  # (D,): whether the ends of the box meet
    #: given parameters (D,), NaN where they are to be learned
    scales: Array
    shares: Array
    smoothness: Array
    gap_share: float
    #: what the places were made with
    scaling: str = "half"

    def take(self, rows: NDArray[np.int64] | Span) -> "Candidate":
        """Return the same for some rows."""
        places, plain, missing = self.places[rows], self.plain[rows], self.missing[rows]
        return replace(self, places=places, plain=plain, missing=missing)


@dataclass
class Prior:
    """What was learned; `tried` has the priors that were compared, with their evidence."""

    parameters: Array
    smoothness: Array
    is_open: NDArray[np.bool_]
    scaling: str
    tried: list[Kept] = field(default_factory=list)
    #: the best prior with fewer parts, and its weight in a mean of both
    simpler: "Prior | None" = None
    weight: float = 0.0

    @property
    def _n(self) -> int:
        return (len(self.parameters) - 4) // 2

    @property
    def scales(self) -> Array:
        """Length scales of the columns, in units of the box."""
        return np.exp(self.parameters[: self._n])

    @property
    def shares(self) -> Array:
        """Parts of the columns that are not constant."""
        return 1 / (1 + np.exp(-self.parameters[self._n : -4]))

    @property
    def variances(self) -> Array:
        """Variances of the product, the slopes, the noise and the smooth main effects."""
        return np.exp(self.parameters[-4:])

    @property
    def noise(self) -> float:
        """Variance of the noise."""
        return float(self.variances[2])

    @property
    def n_learned(self) -> int:
        """Number of parameters that the kernel depends on."""
        is_there = self.variances > 0
        return int(is_there.sum()) + 2 * self._n * bool(is_there[0] or is_there[3])

    def describe(self) -> list[Kept]:
        """Return it as plain values, first what all columns share, then what each has."""
        product, slope, noise, smooth = self.variances.tolist()
        shared = {"scaling": self.scaling, "product": product, "slope": slope, "smooth": smooth}
        own = zip(self.smoothness.tolist(), self.scales.tolist(), self.shares.tolist(), strict=True)
        return [
            {**shared, "noise": noise},
            *({"nu": nu, "length_scale": scale, "share": share} for nu, scale, share in own),
        ]

    def rough(self) -> "Prior":
        """Return the same prior with the least smoothness, where that may be chosen."""
        least = min(SMOOTHNESS)
        return replace(self, smoothness=np.where(self.is_open, least, self.smoothness))

    def scaled(self, factor: float, noise: float) -> "Prior":
        """Return the same prior with other length scales and noise."""
        parameters = self.parameters.copy()
        parameters[: self._n] += math.log(factor)
        parameters[-2] = math.log(noise)
        return replace(self, parameters=parameters)


class Likelihood:
    """Marginal likelihood of some rows; pairs of rows are the lower triangle of their matrix."""

    def __init__(
        self, rows: Candidate, target: Array, weight: Array, smoothness: Array,
        has_copies: bool, run: Run, parts: Sequence[bool] = PARTS[0],
    ):  # fmt: skip
        n, self.n_columns = rows.places.shape
        #: further copies of rows
        self.repeated = target.shape[1] * float(weight.sum() - n) if has_copies else 0.0
        self.target, self.weight, self.smoothness = target, weight, smoothness
        self.run = run
        first, second = np.tril_indices(n)
        #: places of the pairs in the matrix
        self.pairs = first * n + second
        self.is_diagonal = first == second
        self.distances: list[NDArray] = []
        self.gaps = np.ones(len(first))
        for d in range(self.n_columns):
            distance = np.abs(rows.places[first, d] - rows.places[second, d])
            if rows.is_cyclic[d]:
                distance = np.abs(np.sin(np.pi * distance)) / np.pi
            self.distances.append(distance if rows.is_number[d] else distance > 0)
            differs = rows.missing[first, d] != rows.missing[second, d]
            if differs.any():
                self.gaps *= 1 - rows.gap_share * differs
        spread = rows.plain.std(axis=0)
        z = (rows.plain - rows.plain.mean(axis=0)) / np.where(spread > 0, spread, np.inf)
        self.linear = (z @ z.T).ravel()[self.pairs]
        #: kernels of the columns and their slopes, which become the changes of the matrix by shares
        #: and scales: kept from call to call, because the system takes longer to provide new memory
        #: than to fill it
        self.own, self.factor, self.change = np.zeros((3, self.n_columns, len(first)))
        #: parts of the matrix that the variances belong to
        self.terms = np.zeros((4, len(first)))
        #: which of the variances are not zero
        self.parts = np.array(parts)
        start, spread, low, high = np.array(VARIANCES).T
        count = self.n_columns
        scale = SCALE + 0.5 * math.log(count)
        self.start = np.concatenate([np.full(count, scale), np.zeros(count), start])
        deviation = np.repeat([SCALE_SPREAD, SHARE_SPREAD], count)
        self.spread = np.concatenate([deviation, spread])
        with np.errstate(divide="ignore"):
            given = np.concatenate([
                np.log(rows.scales), np.log(rows.shares / (1 - rows.shares)).clip(*SHARES)
            ])  # fmt: skip
        ends = np.repeat([SCALES, SHARES], count, axis=0)
        ends = np.where(np.isnan(given)[:, None], ends, given[:, None])
        self.ends = np.concatenate([ends, np.column_stack([low, high])])
        is_free = np.append(np.repeat(parts[0] or parts[3], 2 * count), self.parts)
        #: parameters that are learned, and that the kernel depends on
        self.is_free = is_free & (self.ends[:, 0] < self.ends[:, 1])

    def _matrix(self, parameters: Array) -> tuple[Array, Array]:
        """Return the matrix, and pairs of the variances' parts; `own`, `change` become changes."""
        count, n = self.n_columns, len(self.target)
        scales, shares = np.exp(parameters[:count]), 1 / (1 + np.exp(-parameters[count:-4]))
        product, slope, noise, smooth = variances = self.parts * np.exp(parameters[-4:])
        pairs = self.terms
        np.multiply(self.gaps, product, out=pairs[0])
        np.multiply(self.linear, slope, out=pairs[1])
        pairs[2, self.is_diagonal] = noise / self.weight
        pairs[3] = 0

        def compute(d: int) -> None:
            if self.distances[d].dtype == bool:
                np.subtract(1.0, self.distances[d], out=self.own[d])
            else:
                np.multiply(self.distances[d], 1 / scales[d], out=self.change[d])
                _matern(self.change[d], self.smoothness[d], self.own[d])
            np.multiply(self.own[d], shares[d], out=self.factor[d])
            self.factor[d] += 1 - shares[d]

        def differentiate(d: int) -> None:
            apart = np.divide(pairs[0], self.factor[d], out=self.factor[d])
            np.subtract(pairs[0], apart, out=self.own[d])
            self.own[d] *= 1 - shares[d]
            apart *= shares[d]
            apart += smooth / count
            self.change[d] *= apart

        if variances[0] or variances[3]:
            self.run(compute, range(count))
            for factor, own in zip(self.factor, self.own, strict=True):
                pairs[0] *= factor
                pairs[3] += own
            pairs[3] *= smooth / count
            self.run(differentiate, range(count))
        matrix = np.zeros((n, n))
        total = pairs[0] + pairs[1]
        total += pairs[2]
        total += pairs[3]
        total += CONSTANT
        matrix.ravel()[self.pairs] = total
        matrix[np.diag_indices(n)] += JITTER
        return matrix, pairs

    def __call__(self, parameters: Array) -> tuple[float, Array]:
        """Return -log(likelihood · prior) and its gradient."""
        n_outputs = self.target.shape[1]
        matrix, pairs = self._matrix(parameters)
        # LAPACK reads columns first: the lower triangle is the upper one there
        root, failed = lapack.dpotrf(matrix.T, lower=0, clean=0, overwrite_a=1)
        if failed:
            return REFUSED, np.zeros_like(parameters)
        solved = lapack.dpotrs(root, self.target, lower=0)[0]
        value = 0.5 * float((self.target * solved).sum())
        value += n_outputs * float(np.log(np.diagonal(root)).sum())
        value += 0.5 * self.repeated * float(parameters[-2])
        inverse = lapack.dpotri(root, lower=0, overwrite_c=1)[0].T
        slopes = (n_outputs * inverse - solved @ solved.T).ravel()[self.pairs]
        slopes[self.is_diagonal] *= 0.5
        gradient = np.concatenate([each @ slopes for each in (self.change, self.own, pairs)])
        gradient[-2] += 0.5 * self.repeated
        away = np.where(self.is_free, parameters - self.start, 0) / self.spread
        gradient = np.where(self.is_free, gradient, 0) + away / self.spread
        return value + 0.5 * float(away @ away), gradient

    def evidence(self, parameters: Array) -> float:
        """Logarithm of the evidence around the best parameters, with Fisher's information.

        Integration takes log(det(I + information·spread²)) / 2 from log(likelihood · prior).
        """
        free = np.flatnonzero(self.is_free)
        matrix, pairs = self._matrix(parameters)
        try:
            root = np.linalg.inv(np.linalg.cholesky(matrix))
        except np.linalg.LinAlgError:
            return -REFUSED
        changes = np.concatenate([self.change, self.own, pairs])[free]
        twice = np.where(self.is_diagonal, 1.0, math.sqrt(2.0))

        def whiten(i: int) -> None:
            change = np.zeros_like(matrix)
            change.ravel()[self.pairs] = changes[i]
            change += np.tril(change, -1).T
            changes[i] = (root @ change @ root.T).ravel()[self.pairs] * twice

        self.run(whiten, range(len(free)))
        information = 0.5 * self.target.shape[1] * (changes @ changes.T)
        spread = np.where(np.isfinite(self.spread), self.spread, 1.0)[free]
        taken = np.linalg.slogdet(np.eye(len(free)) + spread[:, None] * information * spread)[1]
        return -self(parameters)[0] - 0.5 * float(taken)

    def maximise(self, start: Array | None, steps: int) -> tuple[Array, float]:
        """Return the best parameters after some steps, and the logarithm of their likelihood."""
        begin = np.clip(self.start if start is None else start, *self.ends.T)
        found = minimize(self, begin, jac=True, method="L-BFGS-B", bounds=self.ends,
                         options={"maxiter": steps})  # fmt: skip
        return found.x, -float(found.fun)


def learn(
    candidates: Sequence[Candidate], target: Array, weight: Array, has_copies: bool, run: Run,
    are_all: bool = True,
) -> Prior | None:  # fmt: skip
    """Return the likeliest prior, or None where there is none.

    Candidates are the same rows under several scalings, in any order that says nothing.  Targets
    (n, n_outputs) are in units of their standard deviation; weights (n,) divide the noise and, if
    `has_copies`, say how often each row occurred.  Kernels with fewer parts are compared if these
    `are_all` rows of a table.
    """
    count, n_rows = candidates[0].places.shape[1], len(target)
    n_compared, n_refined = (
        int(np.clip(math.sqrt(2 * pairs / count), fewest, most))
        for most, fewest, pairs in (COMPARED, REFINED)
    )
    is_open = np.isnan(candidates[0].smoothness)

    def likelihood(
        candidate: Candidate, nu: float, most: int, parts: Sequence[bool] = PARTS[0]
    ) -> Likelihood:
        smoothness = np.where(is_open, nu, candidate.smoothness)
        rows, goal, own = candidate.take(slice(0, most)), target[:most], weight[:most]
        return Likelihood(rows, goal, own, smoothness, has_copies, run, parts)

    def maximise(
        candidate: Candidate, nu: float, most: int, start: Array | None, steps: int
    ) -> tuple[float, Candidate, float, Array]:
        found, merit = likelihood(candidate, nu, most).maximise(start, steps)
        return merit, candidate, nu, found

    start, steps, compared = None, FIRST_STEPS, []
    for candidate in candidates:
        for nu in SMOOTHNESS if is_open.any() else SMOOTHNESS[:1]:
            compared.append(maximise(candidate, nu, n_compared, start, steps))
            start, steps = compared[0][-1], STEPS
    best = max(compared, key=lambda each: each[0])
    if n_rows > n_compared:
        best = maximise(*best[1:3], n_refined, best[3], LAST_STEPS)
    merit, candidate, nu, found = best
    if merit <= -REFUSED:
        return None
    tried: list[Kept] = [
        {"scaling": each.scaling, "nu": nu, "evidence": merit} for merit, each, nu, _ in compared
    ]
    smoothness = np.where(is_open, nu, candidate.smoothness)
    prior = Prior(found, smoothness, is_open, candidate.scaling, tried)
    if are_all and n_rows <= n_refined:  # more rows may tell what these do not
        _simplify(prior, partial(likelihood, candidate, nu, n_rows), merit)
    return prior


def _simplify(
    prior: Prior, likelihood: Callable[[Sequence[bool]], Likelihood], merit: float
) -> None:
    """Find the best prior with fewer parts, and the weight that its evidence asks for."""
    found, others = prior.parameters, []
    for parts in PARTS[1:]:
        model = likelihood(parts)
        own, value = model.maximise(found, STEPS)
        others.append((value, model, own))
    if merit > max(value for value, *_ in others) + MOST_TAKEN * len(found):
        return
    values = [model.evidence(own) for _, model, own in others]
    best = int(np.argmax(values))
    gain = values[best] - likelihood(PARTS[0]).evidence(found)
    weight = min(MOST_WEIGHT, float(expit(gain / TEMPERATURE)))
    if weight > LEAST_WEIGHT:
        _, model, own = others[best]
        own[-4:][~model.parts] = -np.inf
        prior.simpler, prior.weight = replace(prior, parameters=own), weight
