"""What a model computes, as plain numbers and arrays: all that its exports need to know."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..estimators import defaults
from ..features import Categorical, Fourier, Power
from ..features.gaps import WithGaps
from ..networks import CPD, TensorRing, TensorTrain
from ..networks.evaluate import MOST_NUMBERS
from ..networks.moments import weights_of

KINDS = {Fourier: "fourier", Power: "power", Categorical: "categories"}


@dataclass
class ColumnPlan:
    """One column: from raw values to its element of the product, and its main effect.

    Attributes
    ----------
    name, kind : str
        "fourier", "power" or "categories".
    facts : dict
        Numbers and lists: low, high, clip, cycle, gaps, place, center, period, radices, groups,
        n_basis, categories.
    weights : list of arrays
        Weights (M_g, …) of the functions of every group of levels; of categories the table, the
        unknown one last. None for main effects alone.
    main : (J, n_outputs) array or None
        Weights of the main functions; of categories their table, the unknown one last.
    warp : (2, n) array or None
    means : (J,) array or None
        Main functions of a missing value.
    """

    name: str
    kind: str
    facts: dict[str, Any]
    weights: list[NDArray] = field(default_factory=list)
    main: NDArray | None = None
    warp: NDArray | None = None
    means: NDArray | None = None


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
    bounds: NDArray[np.float64] | None = None  # (2, n_outputs) that predictions are kept within
    classes: NDArray | None = None


def make_plan(model: Any) -> Plan:
    """Take a fitted model apart.

    Raises
    ------
    ValueError
        For what no export serves; says what to use instead.
    """
    check_is_fitted(model)
    cores, network, reading = list(model.cores_), model.network_, model._reading
    n_columns, n_outputs = len(reading.inputs.columns), reading.n_outputs
    main: list[Any] = [None] * n_columns
    intercept = np.zeros(n_outputs)
    if network.has_main_effects:
        *main, intercept = cores.pop()
        network = network.network
    if network is not None and not isinstance(network, CPD | TensorTrain | TensorRing):
        raise ValueError(
            f"The model has the network {type(network).__name__}, and exports serve CPD, "
            "TensorTrain and TensorRing; fit one of these."
        )
    evaluator: Any = network and network.evaluator(cores, reading.inputs.frequencies)
    columns = [_column(own, d, evaluator, main[d]) for d, own in enumerate(reading.inputs.columns)]
    maps = reading.inputs.maps
    widest = max(sum(group.stop - group.start for group in m.groups) for m in maps)
    widest = max(widest, *(min(m.n_features, 256) for m in maps))
    facts = {
        "log_link": bool(model.loss_.has_log_link), "step": max(64, MOST_NUMBERS // widest),
        "has_main": bool(model.network_.has_main_effects), "n_outputs": n_outputs,
        "is_flat": getattr(model, "_y_ndim", 1) == 1,
        "probabilities": type(model.loss_).__name__.lower()
        if getattr(model.loss_, "has_probabilities", False) and hasattr(model, "classes_") else "",
    }  # fmt: skip
    plan = Plan(
        columns, isinstance(network, TensorTrain | TensorRing),
        None if evaluator is None else evaluator.closing, np.asarray(intercept, dtype=np.float64),
        reading.scale.mean, reading.scale.scale, facts,
    )  # fmt: skip
    plan.classes = getattr(model, "classes_", None)
    margin = defaults.prediction_margin(model) if hasattr(model, "prediction_margin") else None
    if margin is not None:
        low, high = reading.bounds(margin)
        plan.bounds = np.array(np.broadcast_arrays(low, high, np.zeros(n_outputs))[:2])
    return plan


def _column(own: Any, d: int, evaluator: Any, main: Any) -> ColumnPlan:
    feature_map = own.feature_map
    has_gaps = type(feature_map) is WithGaps
    inner = feature_map.inner if has_gaps else feature_map
    kind = KINDS.get(type(inner))
    holds = getattr(own, "holds", "numbers")
    if kind is None or (kind != "categories" and holds != "numbers"):
        what = type(feature_map).__name__ if kind is None else holds
        raise ValueError(
            f"{own.label} has {what}, and exports serve numbers with Fourier and power bases, and "
            "categories; turn the column into numbers before the fit."
        )
    if kind == "categories":
        table = [] if evaluator is None else [evaluator.tables[d]]
        if main is not None and len(main):
            main = np.concatenate([main, (own.frequencies @ main)[None]])
        known = [None if value is None else _simple(value, own.label) for value in own.categories]
        facts = {
            "categories": known,
            "untrained": [int(i) for i in np.flatnonzero(own.counts == 0)],
        }
        return ColumnPlan(own.name, kind, facts, table, main if main is not None and len(main) else
                          None)  # fmt: skip
    box = own.box
    facts = {
        "low": box.low, "high": box.high, "extrapolation": box.extrapolation,
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
    means = feature_map.means if has_gaps else None
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
