"""The prior of the full-rank model, and columns that suit it.

rows ──► scaling, smoothness, length scales, shares, variances (`qtkm.objective.evidence`)
──► period and number of functions of every column
──► variances of these functions, alone and in products: the kernel of the model
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ... import penalties
from ...objective import evidence
from ...objective.sections import FullPrior
from ...penalties.priors import GAP_SHARE
from .. import defaults
from ..defaults import is_auto
from ..rows import count_codes, joined

Array = NDArray[np.float64]

#: rows beyond which there is no full-rank model
MOST_ROWS = 60_000
#: rows up to which a full-rank model that is best alone at first remains so: with more rows its
#: centres are a part of them, and a larger network may do better
MOST_ALONE = 5000
#: least factor by which the series of a kernel is multiplied, where it is nearly constant
LEAST_FACTOR = 0.1
#: periods and numbers of functions of a column to choose from: the first whose kernel differs by
#: less than a part, which is larger for rough ones; few functions where there are many columns
BASES = ((2.0, 27), (4.0, 27), (2.0, 81), (4.0, 81), (8.0, 81), (16.0, 81), (2.0, 243))
MANY_COLUMNS = 30
CLOSE, CLOSE_IF_ROUGH = 0.01, 0.05
#: how many times that part the others must differ by before the last is taken
FAR = 2.0
#: quantiles between which most rows lie, and the part of a column's range that they cover where it
#: has a tail: scaled by its range, a smooth kernel goes on as a parabola there
OUTER, BULK = (0.05, 0.95), 0.4
#: distances at which kernels are compared
DISTANCES = np.linspace(0, 1, 65)


def is_possible(search: Any) -> bool:
    """Return True if a search may mix the full-rank model with its network."""
    objective = search.prepared.objective
    loss = objective.loss
    return (
        isinstance(search.model.rank, str)
        and is_auto(search.model.alpha)
        and is_auto(search.model.quantization)
        and objective.rows_are_here
        and objective.n_rows <= MOST_ROWS
        and len(objective.columns) <= defaults.MOST_COLUMNS
        and objective.penalties is not None
        and all(map(_has_kernel, objective.columns, objective.penalties))
        and (loss.is_quadratic or (loss.has_probabilities and loss.steepest is not None))
    )


def _has_kernel(column: Any, penalty: Any) -> bool:
    """Whether the prior of a column is that of a Matérn kernel or of pooled categories."""
    is_spectral = isinstance(penalty, penalties.Matern | penalties.RBF)
    if column.is_categorical:
        return is_spectral and not column.is_one_hot
    return is_spectral and hasattr(column.feature_map, "period")


def learn_prior(search: Any) -> evidence.Prior | None:
    """Return the likeliest prior of the rows, the columns of the fit scaled as it says."""
    prepared, model = search.prepared, search.model
    objective = prepared.objective
    every = joined(objective.shards)
    chosen = np.random.RandomState(0).permutation(len(every))[: evidence.REFINED[0]]
    rows = every.take(chosen)
    zero = np.zeros_like(rows.target)
    target = -objective.loss.gradient(zero, rows.target).real
    target = target / np.asarray(objective.loss.bound(zero, rows.target)).reshape(-1, 1)
    weight: Array = np.ones(len(rows))
    weight = weight if rows.weight is None else np.asarray(rows.weight, dtype=np.float64)
    target = target - weight @ target / weight.sum()
    size = float(np.sqrt((weight @ target**2).mean() / weight.sum()))
    if len(rows) < 3 or not size > 0:
        return None
    scalings = [defaults.scaling(model)]
    is_small = objective.n_rows <= MOST_ALONE
    columns = objective.columns
    is_moved = any(_warp(column) is not None for column in columns)
    if is_auto(model.scaling) and is_moved and is_small:
        scalings.append("range")
    tails = [_has_tail(column, codes) for column, codes in zip(columns, rows.codes.T, strict=True)]
    candidates = [_candidate(objective, rows.codes, scaling, tails) for scaling in scalings]
    has_copies, are_all = every.has_copies, len(rows) == len(every)
    run = objective.engine.run
    prior = evidence.learn(candidates, target / size, weight, has_copies, run, are_all)
    if prior is None:
        return None
    for each in filter(None, (prior, prior.simpler)):
        each.parameters[-4:] += 2 * np.log(size)
    if is_small:  # of more rows a few hundred do not tell what a large network needs
        _reshape(prepared, model, prior, tails)
    return prior


def _warp(column: Any) -> Any:
    return getattr(column.feature_map, "warp", None)


def _has_tail(column: Any, codes: NDArray) -> bool:
    """Return True if most rows lie in a small part of a column's range."""
    if column.is_categorical:
        return False
    values = column.values[codes]
    values = values[~np.isnan(values)]
    return len(values) > 0 and bool(np.ptp(np.quantile(values, OUTER)) < BULK)


def _candidate(
    objective: Any, codes: NDArray, scaling: str, tails: Sequence[bool]
) -> evidence.Candidate:
    """Return the columns of some rows as a prior sees them; those with tails are always moved."""
    columns, given = objective.columns, objective.penalties
    places, plain, missing = [], [], []
    for d, column in enumerate(columns):
        own, values = column.feature_map, column.values[codes[:, d]]
        missing.append(np.isnan(values))
        values = np.where(missing[-1], own.place, values) if own.has_gaps else values
        plain.append(np.zeros(len(values)) if column.is_categorical else values)
        is_moved = _warp(column) is not None and (scaling != "range" or tails[d])
        places.append(own.unwarped(values)[0] if is_moved else values)
    numbers = np.array([not column.is_categorical for column in columns])

    def known(name: str) -> Array:
        values = [getattr(each, name, np.inf) for each in given]
        return np.array([np.nan if isinstance(value, str) else float(value) for value in values])

    smoothness = np.where(np.isfinite(known("nu")), np.round(known("nu") - 0.5) + 0.5, known("nu"))
    return evidence.Candidate(
        np.column_stack(places), np.column_stack(plain), np.column_stack(missing), numbers,
        np.array([getattr(c.feature_map, "period", 2.0) == 1 for c in columns]),
        known("length_scale"), known("share"), smoothness, GAP_SHARE, scaling,
    )  # fmt: skip


def _reshape(prepared: Any, model: Any, prior: evidence.Prior, tails: Sequence[bool]) -> None:
    """Scale the columns as a prior asks for, and give them periods that suit its length scales."""
    objective = prepared.objective
    maps = []
    for d, column in enumerate(objective.columns):
        own = clone(column.feature_map)
        inner = own.inner if own.has_gaps else own
        if not column.is_categorical:
            if _warp(column) is not None and prior.scaling == "range" and not tails[d]:
                inner.set_params(warp=None)
            is_usual = inner.n_basis >= defaults.N_BASIS and inner.period == defaults.PERIOD
            if is_auto(model.period) and is_auto(model.n_basis) and is_usual:
                nu, scale, fewest = prior.smoothness[d], prior.scales[d], inner.n_basis
                most = np.inf if len(objective.columns) <= MANY_COLUMNS else fewest
                sizes = [(L, min(max(M, fewest), most)) for L, M in BASES]
                bases = [clone(inner).set_params(period=L, n_basis=M) for L, M in sizes]
                errors = np.array([_fit(each, nu, scale)[0] for each in bases])
                close, least = CLOSE if nu > 1 else CLOSE_IF_ROUGH, errors[:-1].min()
                limit = close if least > FAR * close else max(close, 1.0001 * least)
                best = bases[int(np.argmax(errors < limit))]
                inner.set_params(period=best.period, n_basis=best.n_basis)
        maps.append(own)
    prepared.use_maps(maps)
    counts = objective.engine.sum(count_codes, objective.shards)
    columns = prepared.objective.columns
    for own, column, count in zip(prepared.inputs.columns, columns, counts, strict=True):
        own.weigh(column.values, count, prior.scaling)


def _fit(feature_map: Any, nu: float, scale: float) -> tuple[float, float]:
    """Compare a Matérn kernel with its series of exponentials: k ≈ a + b·series.

    Returns
    -------
    error : float
        Largest difference over the kernel's range.
    slope : float
        b.
    """
    frequencies = feature_map.frequencies
    series = np.cos(np.multiply.outer(DISTANCES, frequencies))
    series = series @ _member(nu, scale, 1.0).variances(frequencies)
    exact = evidence.matern(DISTANCES / scale, nu)[0]
    centred = series - series.mean()
    slope = float(centred @ exact) / max(float(centred @ centred), 1e-300)
    rest = exact - exact.mean() - slope * centred
    return np.abs(rest).max() / max(exact[0] - exact[-1], 1e-300), max(slope, LEAST_FACTOR)


def _member(nu: float, scale: float, share: float) -> Any:
    if np.isinf(nu):
        return penalties.RBF(scale, share)
    return penalties.Matern(nu, scale, share)


def full_prior(prior: evidence.Prior, columns: Sequence[Any], counts: Sequence[Array]) -> FullPrior:
    """Return a prior in the functions of the columns.

    Parameters
    ----------
    prior : Prior
    columns : sequence of Column
    counts : sequence of (n_grid,) arrays
        Weights of the grid values.
    """
    product, slope, _, smooth = prior.variances
    smooth, constant = smooth / len(columns), evidence.CONSTANT
    precisions, main, means = [], [], []
    for d, (column, count) in enumerate(zip(columns, counts, strict=True)):
        own, scale, share, nu = column.feature_map, prior.scales[d], prior.shares[d], 0.0
        if column.is_categorical:
            precisions.append(_member(1.5, scale, share).precision(own))
            main.append(np.full(column.n_main, smooth))
            means.append(np.zeros(column.n_main))
            continue
        nu = prior.smoothness[d]
        inner = own.inner if own.has_gaps else own
        factor = 1.0 if inner.period == 1 else _fit(inner, nu, scale)[1]
        precisions.append(_member(nu, scale, min(1.0, factor * share)).precision(own))
        functions, weight = column.main_features, count / count.sum()
        mean = weight @ functions[:, 0]
        spread = float(weight @ (functions[:, 0] - mean) ** 2)
        density = _member(nu, scale, 1.0).variances(inner.frequencies)
        half = smooth * factor * density[len(density) // 2 + 1 :][: (inner.n_main - 1) // 2]
        own_slope = slope / spread if spread > 1e-12 else 0.0
        gaps = [smooth] if own.has_gaps else []
        main.append(np.concatenate([[own_slope], np.repeat(half, 2), gaps]))
        means.append(np.concatenate([[mean], np.zeros(len(main[-1]) - 1)]))
    return FullPrior(precisions, product, main, means, constant)
