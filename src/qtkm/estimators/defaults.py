"""Parameters of an estimator: which values each of them may have, and what "auto" stands for.

Parts check their own parameters (`n_basis`, `period`, …), once the columns are known.

Under the norm of the weights (`penalty="ridge"`) this is the model of the paper with the rules of
docs/decisions/0004-defaults.md: nothing tells a smooth function from a rough one, so the band (M/L
frequencies per unit) and the rank keep a model from fitting noise, and both grow with the number
of rows per column.  Under any other penalty the prior does that, and the rules are those of
docs/decisions/0016-automatic.md.
"""

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..data import EXTRAPOLATIONS
from ..engines import REGISTRY as ENGINES
from ..features.feature_map import SCALINGS
from ..networks import Additive
from ..parameters import (
    check_flag,
    check_folder,
    check_fraction,
    check_n_jobs,
    check_number,
    check_option,
    is_flag,
)
from ..penalties import Ridge
from ..solvers import REGISTRY
from .memory import parse_limit

AUTO = "auto"
#: basis functions of a column and period under a prior; 27 has the digits 9 and 3
N_BASIS, PERIOD = 27, 2.0
#: part of the range of the targets by which a prediction may leave it
MARGIN = 0.1


def is_auto(value: Any) -> bool:
    """Return True for the word "auto"."""
    return isinstance(value, str) and value == AUTO


def is_plain(estimator: Any) -> bool:
    """Return True if all columns have the paper's penalty, the norm of the weights."""
    given = getattr(estimator, "penalty", "ridge")  # baselines have none here
    is_list = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
    return all(isinstance(own, Ridge) or own == "ridge" for own in (given if is_list else [given]))


def main_effects(estimator: Any) -> bool:
    """Return True if main effects stand beside the network."""
    if not is_auto(estimator.main_effects):
        return bool(estimator.main_effects)
    if getattr(estimator, "_goes_on", False):
        return estimator.network_.has_main_effects
    if is_plain(estimator):
        return False
    init, solver = estimator.init, estimator.solver
    if not isinstance(init, str):  # cores of a network alone, or with the main effects last
        return len(init) > 1 and isinstance(init[-1], list) and np.ndim(init[-1][-1]) == 1
    kind = REGISTRY.get(solver) if isinstance(solver, str) else type(solver)
    return kind is None or issubclass(Additive, getattr(kind, "fits", object))


def scaling(estimator: Any) -> str:
    """Return how values of the columns are placed in their boxes."""
    if not is_auto(estimator.scaling):
        return estimator.scaling
    return "range" if is_plain(estimator) else "half"


def prediction_margin(estimator: Any) -> float | None:
    """Return the part of their range by which predictions may leave the targets."""
    if not is_auto(estimator.prediction_margin):
        return estimator.prediction_margin
    return None if is_plain(estimator) else MARGIN


def n_basis(estimator: Any, feature_map: Any, shape: tuple[int, int]) -> int:
    """Return the number of basis functions of a column."""
    if not is_plain(estimator) and hasattr(feature_map, "period"):
        return N_BASIS
    rows = shape[0] / shape[1]
    if rows < 40:
        return 4
    if rows < 150:
        return 16
    return 32 if rows < 5000 else 64


def period(estimator: Any, feature_map: Any, shape: tuple[int, int]) -> float:
    """Return the period in units of the box."""
    if not is_plain(estimator):
        return PERIOD
    rows = shape[0] / shape[1]
    if rows < 40:
        return 10.0
    return 4.0 if rows < 5000 else 8.0


def least_rank(n_outputs: int, is_cpd: bool) -> int:
    """Return the rank below which several outputs would be too alike.

    Ten digits (1,797 rows, 64 columns) were told apart with an accuracy of 0.20 at rank 2, of
    0.95 at rank 10 and of 0.97 at rank 20.  Other networks than a CPD grow faster with their rank.
    """
    if n_outputs == 1:
        return 1
    return min(40, 2 * n_outputs) if is_cpd else min(10, n_outputs)


def alpha(n_rows: int, n_columns: int) -> float:
    """Return the regularization of the weights for standardized targets."""
    return 1.0 / n_rows


def tol(has_validation: bool) -> float:
    """Return the least relative progress of an epoch; a larger one also holds off noise."""
    return 1e-3 if has_validation else 5e-3


# -- checks -----------------------------------------------------------------------------------

INITS = ("smooth", "random")
RESIDUALS = ("complex", "real")
DTYPES = ("float64", "float32")


def check_parameters(estimator: Any) -> None:
    """Raise a ValueError for the first parameter of an estimator that makes no sense."""
    given = estimator.get_params(deep=False)
    for name, check in CHECKS.items():
        if name in given:
            check(name, given[name])


def float_type(value: Any) -> np.dtype:
    """Return the type of the tables that `dtype` names."""
    try:
        name = None if value is None else np.dtype(value).name
    except TypeError:
        name = None
    if name not in DTYPES:
        raise ValueError(f"dtype={value!r} is not known; use one of 'float64', 'float32'.")
    return np.dtype(name)


def _check_bins(name: str, value: Any) -> None:
    if value is not None:
        check_number(name, value, Integral, 2, or_word="auto", hint=", or 'auto' or None")


def _check_margin(name: str, value: Any) -> None:
    if value is not None:
        check_number(name, value, Real, 0, or_word="auto")


def _check_init(name: str, value: Any) -> None:
    if isinstance(value, str):
        check_option(name, value, INITS, "or cores in the layout of cores_")


def _check_auto(name: str, value: Any) -> None:
    if not is_flag(value):
        check_option(name, value, ("auto", True, False))


def _check_class_weight(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, Mapping):
        check_option(name, value, ("balanced",), "a dict from labels to weights, or None")


def _check_engine(name: str, value: Any) -> None:
    methods = (getattr(value, name, None) for name in ("run", "sum", "close"))
    if isinstance(value, type) or not all(map(callable, methods)):
        check_option(name, value, tuple(ENGINES), "or an object with run, sum and close")


def _check_cyclic(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, Mapping):
        raise ValueError(
            f"{name}={value!r} must be a dict from columns to periods, such as "
            "{'hour': 24, 'time': 'week'}, or None."
        )


def _check_callbacks(name: str, value: Any) -> None:
    for callback in as_callbacks(value):
        if not callable(callback):
            raise ValueError(
                f"{name} has the entry {callback!r}; give functions that take a Progress."
            )


def as_callbacks(value: Any) -> Sequence[Any]:
    """Return `callbacks` as a sequence."""
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list | tuple) else (value,)


#: parameters, each with its check; an estimator need not have all of them
CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "max_iter": lambda name, value: check_number(name, value, Integral, 1),
    "tol": lambda name, value: check_number(name, value, Real, 0, or_word="auto"),
    "verbose": lambda name, value: check_number(name, value, Integral, 0, flag=True),
    "alpha": lambda name, value: check_number(name, value, Real, 0, or_word="auto"),
    "max_bins": _check_bins,
    "init": _check_init,
    "residual": lambda name, value: check_option(name, value, RESIDUALS),
    "class_weight": _check_class_weight,
    "extrapolation": lambda name, value: check_option(name, value, EXTRAPOLATIONS),
    "main_effects": _check_auto,
    "prediction_margin": _check_margin,
    "cyclic": _check_cyclic,
    "scaling": lambda name, value: check_option(name, value, SCALINGS),
    "normalize_y": check_flag,
    "warm_start": check_flag,
    "early_stopping": _check_auto,
    "posterior": _check_auto,
    "validation_fraction": check_fraction,
    "n_jobs": check_n_jobs,
    "engine": _check_engine,
    "callbacks": _check_callbacks,
    "checkpoint": check_folder,
    "checkpoint_seconds": lambda name, value: check_number(name, value, Real, 0),
    "memory_limit": lambda name, value: parse_limit(value),
    "dtype": lambda name, value: float_type(value),
}
