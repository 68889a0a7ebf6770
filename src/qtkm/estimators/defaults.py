"""Parameters of an estimator: their valid values, and the meaning of "auto".

Parts check their own parameters (`n_basis`, `period`, …) once the columns are known.

With the norm of the weights (`penalty="ridge"`) this is the model of the paper with the rules of
docs/decisions/0004-defaults.md: smooth and rough functions cost the same, so the band (M/L
frequencies per unit) and the rank keep a model from fitting noise, and both grow with the number
of rows per column.  With any other penalty the prior does that, and the rules are those of
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
)
from ..penalties import Ridge
from ..solvers import REGISTRY
from .memory import parse_limit

AUTO = "auto"
RESIDUALS = ("complex", "real")
DTYPES = ("float64", "float32")
#: basis functions of a column and period under a prior; 27 has the digits 9 and 3
N_BASIS, PERIOD = 27, 2.0
#: the same without one: rows per column below which they are used
BANDS = ((40, (4, 10.0)), (150, (16, 4.0)), (5000, (32, 4.0)), (np.inf, (64, 8.0)))
#: functions of all columns beyond which each of them has fewer than usual
MOST_FUNCTIONS = 6000
#: columns beyond which a search has main effects alone: longer products leave the range of numbers
MOST_COLUMNS = 1000
#: part of the range of the targets by which a prediction may leave it
MARGIN = 0.1


def is_auto(value: Any) -> bool:
    """Return True if the value is "auto"."""
    return isinstance(value, str) and value == AUTO


def is_list(value: Any) -> bool:
    """Return True for a sequence of values, such as one per column."""
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)


def is_ridge(penalty: Any) -> bool:
    """Return True for the paper's penalty, the norm of the weights."""
    return isinstance(penalty, Ridge) or (isinstance(penalty, str) and penalty == "ridge")


def is_plain(estimator: Any) -> bool:
    """Return True if all columns have the paper's penalty."""
    given = getattr(estimator, "penalty", "ridge")  # baselines have none here
    return all(map(is_ridge, given if is_list(given) else [given]))


def main_effects(estimator: Any) -> bool:
    """Return True if the model has main effects."""
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
    """Return how values of the columns are mapped to their boxes."""
    if not is_auto(estimator.scaling):
        return estimator.scaling
    return "range" if is_plain(estimator) else "half"


def prediction_margin(estimator: Any) -> float | None:
    """Return the fraction of their range by which predictions may exceed the targets."""
    if not is_auto(estimator.prediction_margin):
        return estimator.prediction_margin
    return None if is_plain(estimator) else MARGIN


def n_basis(estimator: Any, feature_map: Any, shape: tuple[int, int]) -> int:
    """Return the number of basis functions of a column."""
    if is_plain(estimator) or not hasattr(feature_map, "period"):
        return _band(shape)[0]
    return next(M for M in (N_BASIS, 9, 3) if M == 3 or M * shape[1] <= MOST_FUNCTIONS)


def period(estimator: Any, feature_map: Any, shape: tuple[int, int]) -> float:
    """Return the period in units of the box."""
    return _band(shape)[1] if is_plain(estimator) else PERIOD


def _band(shape: tuple[int, int]) -> tuple[int, float]:
    return next(band for most, band in BANDS if shape[0] / shape[1] < most)


def least_rank(n_outputs: int, is_cpd: bool) -> int:
    """Return the minimum rank for several outputs.

    On ten digits (1,797 rows, 64 columns) the accuracy was 0.20 at rank 2, 0.95 at rank 10 and
    0.97 at rank 20.  Networks other than a CPD grow faster with their rank.
    """
    if n_outputs == 1:
        return 1
    return min(40, 2 * n_outputs) if is_cpd else min(10, n_outputs)


def alpha(n_rows: int, n_columns: int) -> float:
    """Return the penalty on the weights for standardized targets."""
    return 1.0 / n_rows


def tol(has_validation: bool) -> float:
    """Return the minimum relative progress of an epoch; a larger one also avoids overfitting."""
    return 1e-3 if has_validation else 5e-3


def check_parameters(estimator: Any) -> None:
    """Raise a ValueError for the first invalid parameter of an estimator."""
    given = estimator.get_params(deep=False)
    for name, check in CHECKS.items():
        if name in given:
            check(name, given[name])


def float_type(value: Any) -> np.dtype:
    """Return the type of the tables given by `dtype`."""
    try:
        name = None if value is None else np.dtype(value).name
    except TypeError:
        name = None
    if name not in DTYPES:
        check_option("dtype", value, DTYPES)
    return np.dtype(name)


def as_callbacks(value: Any) -> Sequence[Any]:
    """Return `callbacks` as a sequence."""
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list | tuple) else (value,)


Check = Callable[[str, Any], Any]


def _number(kind: type, least: float, **options: Any) -> Check:
    return lambda name, value: check_number(name, value, kind, least, **options)


def _option(options: Sequence[Any], others: str = "", accepts: Any = ()) -> Check:
    """Return a check for one of several strings, or for a value of other types."""

    def check(name: str, value: Any) -> None:
        if not isinstance(value, accepts):
            check_option(name, value, options, others)

    return check


def _optional(check: Check) -> Check:
    return lambda name, value: None if value is None else check(name, value)


def _check_init(name: str, value: Any) -> None:
    if isinstance(value, str):
        check_option(name, value, ("smooth", "random"), "or cores in the layout of cores_")


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
                f"{name} has the entry {callback!r}; use functions that take a Progress."
            )


_check_auto = _option(("auto", True, False), accepts=bool | np.bool_)
_classes = "a dict from labels to weights, or None"
#: parameters, each with its check; an estimator need not have all of them
CHECKS: dict[str, Check] = {
    "max_iter": _number(Integral, 1),
    "tol": _number(Real, 0, or_word="auto"),
    "verbose": _number(Integral, 0, flag=True),
    "alpha": _number(Real, 0, or_word="auto"),
    "max_bins": _optional(_number(Integral, 2, or_word="auto", hint=", or 'auto' or None")),
    "init": _check_init,
    "residual": _option(RESIDUALS),
    "class_weight": _optional(_option(("balanced",), _classes, Mapping)),
    "extrapolation": _option(EXTRAPOLATIONS),
    "main_effects": _check_auto,
    "prediction_margin": _optional(_number(Real, 0, or_word="auto")),
    "cyclic": _check_cyclic,
    "scaling": _option(SCALINGS),
    "normalize_y": check_flag,
    "warm_start": check_flag,
    "early_stopping": _check_auto,
    "posterior": _check_auto,
    "validation_fraction": check_fraction,
    "n_jobs": check_n_jobs,
    "engine": _check_engine,
    "callbacks": _check_callbacks,
    "checkpoint": check_folder,
    "checkpoint_seconds": _number(Real, 0),
    "memory_limit": lambda name, value: parse_limit(value),
    "dtype": lambda name, value: float_type(value),
}
