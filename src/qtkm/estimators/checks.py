"""Which parameters an estimator has, and what each of them may be.

What a part must hold (`n_basis`, `period`, …) is checked by the part itself, once it is known
which columns there are.
"""

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..data import EXTRAPOLATIONS
from ..engines import REGISTRY
from ..features.warp import SCALINGS
from ..parameters import (
    check_flag,
    check_folder,
    check_fraction,
    check_n_jobs,
    check_number,
    check_option,
    is_flag,
)
from .memory import parse_limit

INITS = ("smooth", "random")
RESIDUALS = ("complex", "real")
DTYPES = ("float64", "float32")


def check_parameters(estimator: Any) -> None:
    """Raise a ValueError for the first parameter of an estimator that makes no sense."""
    given = estimator.get_params(deep=False)
    for name, check in CHECKS.items():
        if name in given:
            check(name, given[name])


def _check_bins(name: str, value: Any) -> None:
    if value is not None:
        check_number(name, value, Integral, 2, or_word="auto", hint=", or 'auto' or None")


def float_type(value: Any) -> np.dtype:
    """Type of the tables that `dtype` names."""
    try:
        name = None if value is None else np.dtype(value).name
    except TypeError:
        name = None
    if name not in DTYPES:
        raise ValueError(f"dtype={value!r} is not known; use one of 'float64', 'float32'.")
    return np.dtype(name)


def _check_init(name: str, value: Any) -> None:
    if isinstance(value, str):
        check_option(name, value, INITS, "or cores in the layout of cores_")


def _check_choice_of_flag(name: str, value: Any) -> None:
    if not is_flag(value):
        check_option(name, value, ("auto", True, False))


def _check_class_weight(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, Mapping):
        check_option(name, value, ("balanced",), "a dict from labels to weights, or None")


def _check_engine(name: str, value: Any) -> None:
    methods = (getattr(value, name, None) for name in ("run", "sum", "close"))
    if isinstance(value, type) or not all(map(callable, methods)):
        check_option(name, value, tuple(REGISTRY), "or an object with run, sum and close")


def _check_cyclic(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, Mapping):
        raise ValueError(
            f"{name}={value!r} must be a dict from columns to periods, such as "
            "{'hour': 24, 'time': 'week'}, or None."
        )


def _check_margin(name: str, value: Any) -> None:
    if value is not None:
        check_number(name, value, Real, 0, or_word="auto")


def _check_callbacks(name: str, value: Any) -> None:
    for callback in as_callbacks(value):
        if not callable(callback):
            raise ValueError(
                f"{name} has the entry {callback!r}; give functions that take a Progress."
            )


def as_callbacks(value: Any) -> Sequence[Any]:
    """List what `callbacks` holds: nothing, one function or several."""
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
    "main_effects": _check_choice_of_flag,
    "prediction_margin": _check_margin,
    "cyclic": _check_cyclic,
    "scaling": lambda name, value: check_option(name, value, SCALINGS),
    "normalize_y": check_flag,
    "warm_start": check_flag,
    "early_stopping": _check_choice_of_flag,
    "posterior": _check_choice_of_flag,
    "validation_fraction": check_fraction,
    "n_jobs": check_n_jobs,
    "engine": _check_engine,
    "callbacks": _check_callbacks,
    "checkpoint": check_folder,
    "checkpoint_seconds": lambda name, value: check_number(name, value, Real, 0),
    "memory_limit": lambda name, value: parse_limit(value),
    "dtype": lambda name, value: float_type(value),
}
