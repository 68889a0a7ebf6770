"""Uncertainty of predictions: standard deviations, intervals and samples.

A fit ends with its posterior (`qtkm.objective.posterior`): a variance v(x) of the response in
units of the noise.  Errors of the rows that a search or early stopping has held out determine
noise and scale:

    error² ~ noise + spread·v(x)

Without such rows both are RSS / (rows - effective parameters).  Errors of held-out rows divided by
their standard deviations are kept; conformal intervals use their quantiles.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats
from sklearn.utils.validation import check_is_fitted

from .. import losses, networks
from ..data import Shard
from ..objective import posterior as posteriors
from ..objective.objective import weight_of
from ..objective.posterior import Laplace, Posterior
from ..parameters import as_random_state, check_fraction, check_number, check_option
from . import defaults
from .inputs import read_columns
from .rows import are_measured_again, joined
from .working import run_by_steps

Array = NDArray[Any]

METHODS = ("auto", "posterior", "conformal")
#: minimum number of held-out rows for calibration, and most of them to use
FEWEST, MOST_HELD_OUT = 20, 800
#: largest ratio of parameters chosen by a search to rows, in the correction of errors
MOST_CHOSEN = 0.15
#: most basis functions of a column for a posterior
MOST_FUNCTIONS = 2**16
#: candidate fractions of noise in the variance, and degrees of freedom of Student's distribution
PARTS = np.concatenate([[0.02], np.linspace(0.05, 0.95, 19), [0.99]])
TAILS = (np.inf, 30.0, 12.0, 7.0, 5.0, 4.0, 3.0)
#: gain in log-likelihood that heavy tails must have over normal ones
LEAST_GAIN = 1.0
#: "auto" is conformal if this many held-out rows are outside the interval
BEYOND = 5
#: slots for sampling rows of remote shards
N_SLOTS, SLOTS_PER_ROW = 1 << 16, 4


@dataclass
class Uncertainty:
    """Distribution of the errors of a fitted model, in units of the scaled target.

    With g the posterior's factor of a row and output, std² = noise + spread·‖g‖², and errors have
    Student's distribution with this variance.  The half width of a conformal interval of coverage
    c, in units of std, is the ⌈(n + 1)·c⌉-th score.

    Attributes
    ----------
    posterior : Posterior
        Factor of the covariance of responses.
    noise : (n_outputs,) array
        Variance of a row of weight 1 around its response; zero for classes.
    spread : (n_outputs,) array
        Factor of the posterior's variances.
    tails : (n_outputs,) array
        Degrees of freedom of Student's distribution of errors; infinite for the normal one.
    scores : (n, n_outputs) array
        Absolute errors of held-out rows over their standard deviations, sorted.
    """

    posterior: Posterior
    noise: Array
    spread: Array
    tails: Array
    scores: Array


# -- at the end of a fit ----------------------------------------------------------------------


def why_not(model: Any, objective: Any) -> str | None:
    """Return why there is no posterior, or None if there is one."""
    if model.posterior is False:
        return "posterior=False was given; fit again with posterior='auto'"
    loss = objective.loss
    if not posteriors.is_possible(objective.network):
        return (
            f"network={model.network!r} does not support it; use 'cpd', 'train' or 'ring', or a "
            "conformal method such as MAPIE"
        )
    largest = max(math.prod(column.radices) for column in objective.columns)
    if largest > MOST_FUNCTIONS:
        return (
            f"a column has {largest:,} basis functions, more than {MOST_FUNCTIONS:,}; use a "
            "smaller n_basis"
        )
    known = loss.has_probabilities if loss.is_margin else isinstance(loss, losses.Squared)
    if not known or (loss.is_margin and not hasattr(loss, "curvature_product")):
        return (
            f"loss={model.loss!r} does not support it; use 'squared' for regression, 'logistic' or "
            "'softmax' for classes"
        )
    return None


def learn(model: Any, prepared: Any, result: Any, precisions: Sequence[Any]) -> Any:
    """Return the Uncertainty of a fitted model, or a text that explains why there is none.

    `prepared` is the solved fit; its objective is that of the result, with these `precisions`.
    """
    objective, inputs = prepared.objective, prepared.inputs
    reason = why_not(model, objective)
    if reason is not None:
        return reason
    rng = np.random.RandomState(0)  # the fit's own draws stay as they are
    loss, n_rows, n_outputs = objective.loss, objective.n_rows, objective.n_outputs
    judged = prepared.held_out
    if not judged and prepared.validation is not None:
        judged = [(None, prepared.validation, objective.at(result.cores, precisions))]
    count = max(1.0, n_rows / objective.total_weight)
    cores, network = result.cores, objective.network.fitted_to(result.cores)
    if prepared.member is not None:
        cores, own = prepared.member
        network = networks.Additive(networks.CPD(len(cores[0][0][0])), network.functions)
        precisions = objective.precisions if own is None else own
    laplace = Laplace(
        network, cores, precisions, inputs.maps, inputs.frequencies,
        objective.alpha, count * objective.total_weight, loss,
    )  # fmt: skip
    most = n_rows if model.posterior is True else laplace.affordable(n_rows)
    shard, group, weight = _gather(objective, judged, most, rng)
    values = [column.values[shard.codes[:, d]] for d, column in enumerate(objective.columns)]
    weight = count * weight
    is_out = group >= 0
    # of squared losses only rows that were held out matter, if there are enough
    is_needed = not loss.is_quadratic or is_out.sum() < FEWEST
    responses = np.zeros(shard.target.shape)
    if is_needed:
        whole = objective.at(result.cores, precisions[: len(objective.columns)])
        responses = whole.responses(shard).real
    part = 1.0
    if judged and judged[0][0] is not None and not loss.is_margin:
        part -= sum(map(weight_of, judged[0][1])) / objective.total_weight
    given = values, shard.target, weight, group, responses
    found, variances = laplace.solve(*given, rng, part)
    unseen = responses.copy()
    for number, (_, _, iterate) in enumerate(judged):
        own = np.flatnonzero(group == number)
        if len(own):  # another fold may have copies of all of its rows
            unseen[own] = iterate.responses(shard.take(own)).real
    if loss.is_margin:
        return _of_classes(loss, found, unseen[is_out], shard.target[is_out], variances[is_out])
    margin = defaults.prediction_margin(model) if hasattr(model, "prediction_margin") else None
    if margin is not None and prepared.reading.target_range is not None:
        bounds = np.array(prepared.reading.bounds(margin))
        unseen = np.clip(unseen, *prepared.reading.scale.apply(bounds))
    errors = (shard.target - unseen)[is_out]
    # a search has chosen these numbers by the rows that it held out, so their errors are too small
    errors = errors / np.sqrt(1 - min(prepared.n_chosen / n_rows, MOST_CHOSEN))
    if len(errors) >= FEWEST:
        own = np.ones(len(shard)) if shard.weight is None else count * shard.weight
        return _calibrated(found, errors, variances[is_out], own[is_out])
    total = weight.sum()
    squares = weight @ (shard.target - responses) ** 2
    left = total - found.freedom / n_outputs * total / laplace.total
    noise = squares / max(left, 0.1 * total)
    return Uncertainty(found, noise, noise, np.full(n_outputs, np.inf), np.empty((0, n_outputs)))


def _gather(
    objective: Any, judged: Sequence[Any], most: float, rng: np.random.RandomState
) -> tuple[Shard, Array, Array]:
    """Return rows for the posterior, their groups, and the number of rows each represents.

    Folds are training rows as well, one group each.  Other held-out rows have zero weight: they
    are only scored.  Where inputs and targets have few values, each copy is a row like any other.
    """
    shards, engine = objective.shards, objective.engine
    is_expanded = bool(judged) and judged[0][0] is not None and are_measured_again(shards[0])
    if len(judged) > 1:
        if is_expanded:
            parts = [_expanded(joined(held_out)) for _, held_out, _ in judged]
            shard, group = joined(parts), np.repeat(np.arange(len(parts)), list(map(len, parts)))
        else:  # copies of a row are one row of one group
            (shard,) = shards
            group = np.full(len(shard), -1)
            for number, (rows, _, _) in enumerate(judged):
                group[rows] = number
        if most < len(shard):
            kept = np.sort(rng.permutation(len(shard))[: int(most)])
            shard, group = shard.take(kept), group[kept]
        return shard, group, _shared(shard, objective)
    if not judged:
        train = sampled(shards, most, engine, rng)
        return train, np.full(len(train), -1), _shared(train, objective)
    ((rows, held_out, _),) = judged
    aside = sampled(held_out, MOST_HELD_OUT, engine, rng)
    if is_expanded:  # rows that were held out have copies that were not
        aside, rows = _expanded(aside), None
    train = sampled(shards, max(most - len(aside), most // 2), engine, rng, rows)
    group = np.repeat([-1, 0], [len(train), len(aside)])
    weight = np.concatenate([_shared(train, objective), np.zeros(len(aside))])
    return joined([train, aside]), group, weight


def _expanded(shard: Shard) -> Shard:
    """Return a shard with a row per copy."""
    if shard.weight is None:
        return shard
    rows = shard.take(np.repeat(np.arange(len(shard)), shard.weight.astype(np.int64)))
    rows.weight = None
    return rows


def _shared(shard: Shard, objective: Any) -> Array:
    """Return weights of sampled rows, scaled to the total weight of all rows."""
    weight = np.ones(len(shard)) if shard.weight is None else shard.weight
    return weight * (objective.total_weight / weight.sum())


def sampled(
    shards: Any, most: float, engine: Any, rng: np.random.RandomState, but: Array | None = None
) -> Shard:
    """Sample up to `most` rows of shards, excluding the rows `but` of the first shard."""
    if not getattr(shards, "are_here", True):
        return hashed(shards, min(most, posteriors.SAMPLE), engine)
    ends = np.cumsum([len(shard) for shard in shards])
    kept = np.arange(ends[-1])
    if but is not None and len(but) < len(shards[0]):
        kept = np.delete(kept, but)
    if len(kept) > most:  # chosen first: all rows side by side would take as much again
        kept = kept[np.sort(rng.permutation(len(kept))[: int(most)])]
    parts = np.split(kept, np.searchsorted(kept, ends[:-1]))
    return joined([
        shard if len(part) == len(shard) else shard.take(part - end + len(shard))
        for shard, part, end in zip(shards, parts, ends, strict=True)
    ])  # fmt: skip


def hashed(shards: Any, most: float, engine: Any) -> Shard:
    """Sample about `most` rows by a hash of their values, independent of their partition.

    Each row goes into one of many slots, and slots with exactly one row are returned.
    """
    n_rows = float(engine.sum(_count, shards)[0])
    n_slots = max(N_SLOTS, int(SLOTS_PER_ROW * most))
    count, taken, n_codes = engine.sum(_SamplePass(min(1.0, 1.1 * most / n_rows), n_slots), shards)
    taken = taken[count == 1]
    codes, target, weight = np.split(taken, [len(n_codes), taken.shape[1] - 1], axis=1)
    return Shard(
        codes.astype(np.uint32), np.ascontiguousarray(target),
        None if (weight == 1).all() else weight[:, 0].copy(),
        tuple(int(n) for n in n_codes // len(shards)),
    )  # fmt: skip


def _count(shard: Shard, run: Any) -> Array:
    return np.array([float(len(shard))])


@dataclass
class _SamplePass:
    """Pass that puts a fraction of the rows into slots by their hash."""

    part: float
    n_slots: int

    def __call__(self, shard: Shard, run: Any) -> tuple[Array, ...]:
        mixed = np.zeros(len(shard), dtype=np.uint64)
        for column in (*shard.codes.T.astype(np.uint64), *shard.target.T.view(np.uint64)):
            mixed = (mixed ^ column) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        chosen = np.flatnonzero((mixed >> np.uint64(32)) < np.uint64(self.part * (2**32 - 1)))
        slots = (mixed[chosen] % np.uint64(self.n_slots)).astype(np.int64)
        weight = np.ones(len(shard)) if shard.weight is None else shard.weight
        rows = np.column_stack([each[chosen] for each in (shard.codes, shard.target, weight)])
        taken = np.zeros((self.n_slots, rows.shape[1]))
        taken[slots] = rows
        count = np.bincount(slots, minlength=self.n_slots).astype(np.float64)
        return count, taken, np.array(shard.n_codes, dtype=np.float64)


def _calibrated(
    posterior: Posterior, errors: Array, variances: Array, weight: Array
) -> Uncertainty:
    """Return maximum-likelihood noise, spread and tails for errors of held-out rows."""
    found, scores = [], []
    for error, variance in zip(errors.T, variances.T, strict=True):
        noise, spread, tail = calibrate(error, variance, weight)
        found.append((noise, spread, tail))
        scores.append(error / np.sqrt(noise / weight + spread * variance))
    noise, spread, tails = np.ascontiguousarray(np.array(found).T)
    order = np.ascontiguousarray(np.sort(np.abs(np.array(scores)), axis=1).T)
    return Uncertainty(posterior, noise, spread, tails, order)


def calibrate(error: Array, variance: Array, weight: Array) -> tuple[float, float, float]:
    """Fit noise, spread and degrees of freedom to errors: error² ~ noise/weight + spread·variance.

    Infinite degrees of freedom mean the normal distribution.
    """
    unit = max(float(variance.mean()), 1e-300)
    parts = PARTS[:, None]
    shape = parts / weight + (1 - parts) * variance / unit  # (n_parts, n)
    # errors that are alike everywhere do not tell noise from model: the posterior itself does
    expected = np.clip(1 / (1 + unit), PARTS[0], PARTS[-1])
    prior = -0.5 * (special.logit(PARTS) - special.logit(expected)) ** 2
    best = None
    for tail in TAILS:
        size = np.maximum((error**2 / shape).mean(axis=1), 1e-300)
        for _ in range(0 if np.isinf(tail) else 30):  # each step raises the likelihood
            ratio = error**2 / (shape * size[:, None])
            size = np.maximum(((tail + 1) / (tail + ratio) * error**2 / shape).mean(axis=1), 1e-300)
        merit = log_density(error, size[:, None] * shape, tail).sum(axis=1) + prior
        at = int(np.argmax(merit))
        if best is None or merit[at] > best[0] + LEAST_GAIN:
            scale = size[at] / (1 - 2 / tail)
            noise, spread = scale * PARTS[at], scale * (1 - PARTS[at]) / unit
            best = merit[at], noise, spread, tail
    assert best is not None
    return float(best[1]), float(best[2]), float(best[3])


def log_density(error: Array, square: Array, tail: float) -> Array:
    """Return the log density of errors; `square` is the squared scale, not the variance."""
    return stats.t.logpdf(error, tail, scale=np.sqrt(square))


def _of_classes(
    loss: Any, posterior: Posterior, responses: Array, target: Array, variances: Array
) -> Uncertainty:
    """Return the Uncertainty whose averaged probabilities fit held-out rows best."""
    spread = 1.0
    if len(responses) >= FEWEST:
        choices = np.concatenate([[0.0], 2.0 ** np.arange(-4, 5)])
        values = [loss.value(flattened(responses, c * variances), target).mean() for c in choices]
        spread = float(choices[int(np.argmin(values))])
    nothing = np.zeros(posterior.tangents.n_outputs)
    scores = np.empty((0, len(nothing)))
    return Uncertainty(posterior, nothing, nothing + spread, nothing + np.inf, scores)


def flattened(responses: Array, variances: Array) -> Array:
    """Return responses whose probabilities approximate the mean over a normal distribution.

    Uses the similarity of the logistic function and the normal distribution function (MacKay, "The
    evidence framework applied to classification networks", 1992).
    """
    return responses / np.sqrt(1 + np.pi / 8 * variances)


# -- predictions ------------------------------------------------------------------------------


class Uncertain:
    """Mixin for estimators with a posterior."""

    _uncertainty: Any = None

    def _known_uncertainty(self) -> Uncertainty:
        """Return the Uncertainty, or raise a ValueError that explains why there is none."""
        check_is_fitted(self)
        found = self._uncertainty
        if isinstance(found, Uncertainty):
            return found
        reason = found or "it was saved by a version of qtkm without posteriors; fit it again"
        raise ValueError(f"The model has no posterior: {reason}.")

    @property
    def _has_posterior(self) -> bool:
        return isinstance(self._uncertainty, Uncertainty)

    @property
    def effective_parameters_(self) -> float:
        """Effective number of parameters, those determined by the data."""
        if not self._has_posterior:
            raise AttributeError("Without a posterior, effective_parameters_ is undefined.")
        return float(self._uncertainty.posterior.freedom)

    def _values(self, X: Any) -> tuple[Any, int]:
        """Return a function from slices to values of rows, and the number of rows."""
        inputs: Any = self._reading.inputs  # type: ignore[attr-defined]
        plain = inputs.plain(read_columns(self, X, reset=False))
        return lambda part: (inputs.maps, inputs.values(plain, part)), len(plain[0])

    def _by_steps(self, X: Any, width: int, function: Callable[..., Array]) -> Array:
        """Return function(maps, values) of all rows, (n, width), computed in steps on threads."""
        values, n_rows = self._values(X)
        out = np.empty((n_rows, width))

        def fill(bounds: tuple[int, int]) -> None:
            part = slice(*bounds)
            out[part] = function(*values(part))

        run_by_steps(fill, n_rows, self.n_jobs)  # type: ignore[attr-defined]
        return out

    def _variances(self, X: Any) -> Array:
        """Return variances (n, n_outputs) of the responses, in units of scaled targets."""
        known = self._known_uncertainty()
        return known.spread * self._by_steps(X, len(known.noise), known.posterior.variances)

    def _directions(self, X: Any) -> Array:
        """Return a factor (n, n_outputs, k) of the covariance of predictions, in units of y."""
        known = self._known_uncertainty()
        found = known.posterior.directions(*self._values(X)[0](slice(None)))
        return found.astype(np.float64) * (np.sqrt(known.spread) * self._unit)[:, None]

    @property
    def _unit(self) -> Array:
        """Size of the scaled target in units of y."""
        scale: Any = self._reading.scale  # type: ignore[attr-defined]
        return np.where(scale.is_constant, 0.0, scale.scale)

    def _noise(self) -> Array:
        """Return the standard deviation of a row around its response, in units of y."""
        return np.sqrt(self._known_uncertainty().noise) * self._unit


def half_widths(known: Uncertainty, coverage: float, method: str) -> Array:
    """Return half widths (n_outputs,) of intervals in units of the standard deviation."""
    check_fraction("coverage", coverage)
    check_option("method", method, METHODS)
    n_scores = len(known.scores)
    is_enough = n_scores * (1 - coverage) >= 1
    if method == "conformal" and not is_enough:
        raise ValueError(
            f"method='conformal' at coverage={coverage:g} needs at least "
            f"{int(np.ceil(1 / (1 - coverage)))} held-out rows, but the fit has {n_scores}; use "
            "rank='auto', early_stopping=True or method='posterior'."
        )
    if method == "conformal" or (method == "auto" and n_scores * (1 - coverage) >= BEYOND):
        place = min(int(np.ceil((n_scores + 1) * coverage)), n_scores) - 1
        return known.scores[place]
    return stats.t.ppf(0.5 + coverage / 2, known.tails) * np.sqrt(1 - 2 / known.tails)


def samples(model: Any, mean: Array, X: Any, n_samples: Any, random_state: Any) -> Array:
    """Draw samples (n, n_outputs, n_samples) of new observations."""
    check_number("n_samples", n_samples, Integral, 1)
    known, rng = model._known_uncertainty(), as_random_state(random_state)
    directions = model._directions(X)
    drawn = directions @ rng.standard_normal((directions.shape[2], n_samples))
    shape = drawn.shape
    noise = rng.standard_normal(shape)
    for output, tail in enumerate(known.tails):
        if np.isfinite(tail):
            noise[:, output] *= np.sqrt((tail - 2) / rng.chisquare(tail, (shape[0], n_samples)))
    return mean[:, :, None] + drawn + model._noise()[:, None] * noise


# -- scores -----------------------------------------------------------------------------------


def crps(error: Array, deviation: Array, tail: float) -> Array:
    """Return the continuous ranked probability score of errors under Student's distribution.

    Jordan, Krüger, Lerch, "Evaluating probabilistic forecasts with scoringRules", Journal of
    Statistical Software 90, 2019, Appendix A.
    """
    scale = deviation * np.sqrt(1 - 2 / tail)
    z = error / scale
    factor, rest = 1.0, 1 / np.sqrt(np.pi)
    if np.isfinite(tail):
        factor = (tail + z**2) / (tail - 1)
        beta = special.beta(0.5, tail - 0.5) / special.beta(0.5, tail / 2) ** 2
        rest = 2 * np.sqrt(tail) / (tail - 1) * beta
    inner = z * (2 * stats.t.cdf(z, tail) - 1) + 2 * factor * stats.t.pdf(z, tail) - rest
    return scale * inner
