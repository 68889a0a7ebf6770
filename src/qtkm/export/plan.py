"""What a model computes, as plain numbers and arrays: all that its exports need to know."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..estimators import defaults
from ..features import Categorical, Fourier, Power, WithGaps
from ..networks import CPD, TensorRing, TensorTrain
from ..networks.evaluate import MOST_NUMBERS
from ..networks.moments import weights_of
from ..objective.posterior import STEP

KINDS = {Fourier: "fourier", Power: "power", Categorical: "categories"}


@dataclass
class ColumnPlan:
    """One column: from raw values to its element of the product, and its main effect."""

    name: str
    kind: str  # fourier, power or categories
    facts: dict[str, Any]  # numbers and lists, see `_column`
    # weights (M_g, …) of the functions of every group of levels, or the table of categories, the
    # unknown one last; none for main effects alone
    weights: list[NDArray] = field(default_factory=list)
    main: NDArray | None = None  # (J, n_outputs) weights of main functions, or the same table
    warp: NDArray | None = None  # (2, n)
    means: NDArray | None = None  # (J,) main functions of a missing value


@dataclass
class SpreadPlan:
    """The posterior of a regressor: std² = unit²·(noise + spread·‖zᵀ·chain + mᵀ·main[output]‖²).

    z are the derivatives of a response by the entries of the posterior's own cores, real and
    imaginary parts by turns, and m main functions.
    """

    cores: list[list[NDArray]]  # elements (Q, …) of every column and level
    closing: NDArray | None  # (n_outputs, …); None without a network
    tables: list[NDArray | None]  # features of all categories, the unknown one last
    shares: list[NDArray | None]  # of categories
    is_held: list[bool]  # columns whose cores do not move
    has_outputs: bool  # whether the closing moves
    chain: NDArray  # (planes·n_chain, k), in the precision in which it is multiplied
    main: NDArray  # (n_outputs, n_main, k)
    used: list[list[bool]]  # main functions that move, the intercept last
    noise: NDArray[np.float64]
    spread: NDArray[np.float64]
    unit: NDArray[np.float64]
    step: int  # rows at a time


@dataclass
class Plan:
    """A model: its columns, how their elements multiply, and what becomes of the product."""

    columns: list[ColumnPlan]
    is_chain: bool  # matrices that multiply, not vectors entry by entry
    closing: NDArray | None  # (n_outputs, …)
    intercept: NDArray[np.float64]  # (n_outputs,)
    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    facts: dict[str, Any]
    bounds: NDArray[np.float64] | None  # (2, n_outputs) that predictions are kept within
    classes: NDArray | None
    spread: SpreadPlan | None


def make_plan(model: Any, std: bool | None = None) -> Plan:
    """Take a fitted model apart; `std` includes its posterior, None if there is one."""
    check_is_fitted(model)
    cores, network, reading = list(model.cores_), model.network_, model._reading
    own, maps, n_outputs = reading.inputs.columns, reading.inputs.maps, reading.n_outputs
    main: list[Any] = [None] * len(own)
    intercept, has_main = np.zeros(n_outputs), network.has_main_effects
    if has_main:
        *main, intercept = cores.pop()
        network = network.network
    if network is not None and not isinstance(network, CPD | TensorTrain | TensorRing):
        raise ValueError(
            f"The model has the network {type(network).__name__}, and exports serve CPD, "
            "TensorTrain and TensorRing; fit one of these."
        )
    evaluator: Any = network and network.evaluator(cores, reading.inputs.frequencies)
    columns = [_column(each, d, evaluator, main[d]) for d, each in enumerate(own)]
    widest = max(sum(group.stop - group.start for group in m.groups) for m in maps)
    widest = max(widest, *(min(m.n_features, 256) for m in maps))
    classes, bounds = getattr(model, "classes_", None), None
    margin = None if classes is not None else defaults.prediction_margin(model)
    if margin is not None:
        low, high = reading.bounds(margin)
        bounds = np.array(np.broadcast_arrays(low, high, np.zeros(n_outputs))[:2])
    if std and classes is not None:
        raise ValueError("A classifier has no standard deviations to export; leave std out.")
    has_std = std or (std is None and classes is None and model._has_posterior)
    facts = {
        "log_link": bool(model.loss_.has_log_link), "step": max(64, MOST_NUMBERS // widest),
        "has_main": bool(has_main), "n_outputs": n_outputs,
        "is_flat": getattr(model, "_y_ndim", 1) == 1,
        "probabilities": classes is not None and bool(model.loss_.has_probabilities),
    }  # fmt: skip
    return Plan(
        columns, isinstance(network, TensorTrain | TensorRing),
        None if evaluator is None else evaluator.closing, np.asarray(intercept, dtype=np.float64),
        reading.scale.mean, reading.scale.scale, facts, bounds, classes,
        _spread(model) if has_std else None,
    )  # fmt: skip


def _spread(model: Any) -> SpreadPlan:
    """Take the posterior apart."""
    known, inputs = model._known_uncertainty(), model._reading.inputs
    posterior = known.posterior
    tangents, chain = posterior.tangents, posterior.tangents.chain
    n_outputs, n_columns = tangents.n_outputs, len(inputs.maps)
    tables: list[NDArray | None] = []
    used, is_main, first = [], tangents.is_main, 0
    for feature_map, share in zip(inputs.maps, tangents.shares, strict=True):
        table, last = None, first + feature_map.n_main
        if feature_map.is_categorical:
            table = feature_map.factors(np.arange(feature_map.n_categories))
            table = table if share is None else np.vstack([table, share @ table])
        tables.append(table)
        used.append([] if is_main is None else is_main[first:last].tolist())
        first = last
    used.append([is_main is not None and bool(is_main[-1])])
    cores: list[list[NDArray]] = [[] for _ in range(n_columns)]
    if chain is not None:
        cores = [[chain.algebra.elements(core) for core in levels] for levels in chain.cores]
    return SpreadPlan(
        cores, None if chain is None else chain.closing, tables, list(tangents.shares),
        [True] * n_columns if chain is None else list(chain.is_held),
        chain is not None and chain.has_outputs, posterior.chain,
        posterior.main.reshape(n_outputs, -1, posterior.main.shape[1]), used, known.noise,
        known.spread, model._unit, STEP,
    )  # fmt: skip


def _column(own: Any, d: int, evaluator: Any, main: Any) -> ColumnPlan:
    feature_map = own.feature_map
    has_gaps = type(feature_map) is WithGaps
    inner = feature_map.inner if has_gaps else feature_map
    kind = KINDS.get(type(inner))
    if kind is None:
        raise ValueError(
            f"{own.label} has {type(feature_map).__name__}, and exports serve numbers with Fourier "
            "and power bases, and categories; turn the column into numbers before the fit."
        )
    if kind == "categories":
        table = [] if evaluator is None else [evaluator.tables[d]]
        main = None if main is None or not len(main) else (
            np.concatenate([main, (own.frequencies @ main)[None]]))  # fmt: skip
        known = [None if value is None else _simple(value, own.label) for value in own.categories]
        facts = {"categories": known, "gaps": False,
                 "untrained": np.flatnonzero(own.counts == 0).tolist()}  # fmt: skip
        return ColumnPlan(own.name, kind, facts, table, main)
    box = own.box
    facts = {
        "holds": own.holds, "low": box.low, "high": box.high, "extrapolation": box.extrapolation,
        "ends": list(box.ends), "reach": box.reach,
        "cycle": own.cycle, "gaps": has_gaps, "center": float(own.center or 0.0),
        "place": float(feature_map.place) if has_gaps else 0.0,
        "radices": [int(r) for r in feature_map.radices], "n_basis": int(inner.n_basis),
        "groups": [[g.start, g.stop] for g in feature_map.groups],
        "period": float(inner.period) if kind == "fourier" else 1.0, "n_main": int(inner.n_main),
    }  # fmt: skip
    weights = []
    if evaluator is not None:
        cores = evaluator.cores[d]
        weights = [weights_of(evaluator.algebra, cores[group]) for group in feature_map.groups]
    warp = None if inner.warp is None else np.asarray(inner.warp)
    means = feature_map.main_functions(np.full(1, np.nan))[0, :-1] if has_gaps else None
    return ColumnPlan(own.name, kind, facts, weights, main, warp, means)


def _simple(value: Any, label: str) -> Any:
    """Return a category as JSON knows it."""
    value = value.item() if isinstance(value, np.generic) else value
    if not isinstance(value, str | bool | int | float):
        raise ValueError(
            f"{label} has a category of the type {type(value).__name__}; exports serve text, "
            "numbers and booleans."
        )
    return value
