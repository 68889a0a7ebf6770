"""Checks of the parameters of an estimator: their types and ranges.

A parameter that cannot be used is a ValueError that says what was given, what was expected
and, where it is not plain, what to try.  What a part must hold (`n_basis`, `period`, …) is
checked by the part itself, once it is known which columns there are.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..data import EXTRAPOLATIONS
from ..engines import REGISTRY
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


def check_number(name: str, value: Any, kind: type, least: float, flag: bool = False) -> None:
    """A finite number of a kind (Integral or Real), not below `least`."""
    if _is_number(value, kind, flag) and np.isfinite(value) and value >= least:
        return
    raise ValueError(f"{name}={value!r} must be {_describe(kind)} >= {least:g}.")


def _check_number_or(
    word: str, name: str, value: Any, kind: type, least: float, others: str = ""
) -> None:
    if isinstance(value, str) and value == word:
        return
    try:
        check_number(name, value, kind, least)
    except ValueError:
        others = others or repr(word)
        raise ValueError(
            f"{name}={value!r} must be {_describe(kind)} >= {least:g}, or {others}."
        ) from None


def check_option(name: str, value: Any, options: Sequence[Any], others: str = "") -> None:
    """One of a few words; `others` says what else there is."""
    if not isinstance(value, str) or value not in options:
        known = ", ".join(repr(option) for option in options)
        known = f"{known}, {others}" if others else known
        raise ValueError(f"{name}={value!r} is not known; use one of {known}.")


def _check_bins(name: str, value: Any) -> None:
    if value is not None:
        _check_number_or("auto", name, value, Integral, 2, "'auto' or None")


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


def _check_early_stopping(name: str, value: Any) -> None:
    if not _is_flag(value):
        check_option(name, value, ("auto", True, False))


def _check_class_weight(name: str, value: Any) -> None:
    if value is not None and not isinstance(value, Mapping):
        check_option(name, value, ("balanced",), "a dict from labels to weights, or None")


def _check_flag(name: str, value: Any) -> None:
    if not _is_flag(value):
        raise ValueError(f"{name}={value!r} must be True or False.")


def _check_fraction(name: str, value: Any) -> None:
    if not _is_number(value, Real) or not 0 < value < 1:
        raise ValueError(f"{name}={value!r} must be a number between 0 and 1, such as 0.1.")


def _check_n_jobs(name: str, value: Any) -> None:
    if value is not None and (not _is_number(value, Integral) or value == 0):
        raise ValueError(
            f"{name}={value!r} must be a whole number other than 0, or None for all cores."
        )


def _check_engine(name: str, value: Any) -> None:
    methods = (getattr(value, name, None) for name in ("run", "sum", "close"))
    if isinstance(value, type) or not all(map(callable, methods)):
        check_option(name, value, tuple(REGISTRY), "or an object with run, sum and close")


def _check_callbacks(name: str, value: Any) -> None:
    for callback in as_callbacks(value):
        if not callable(callback):
            raise ValueError(
                f"{name} has the entry {callback!r}; give functions that take a Progress."
            )


def _check_folder(name: str, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, str | os.PathLike):
        raise ValueError(f"{name}={value!r} must be the path of a folder, or None.")
    if Path(value).exists() and not Path(value).is_dir():
        raise ValueError(f"{name}={str(value)!r} is a file; name a folder, which need not exist.")


def as_callbacks(value: Any) -> Sequence[Any]:
    """List what `callbacks` holds: nothing, one function or several."""
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def as_random_state(value: Any) -> np.random.RandomState:
    """Random numbers that `random_state` stands for."""
    try:
        return check_random_state(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state={value!r} must be None, a whole number from 0 to 2**32 - 1, or a "
            "numpy.random.RandomState."
        ) from None


def _is_number(value: Any, kind: type, flag: bool = False) -> bool:
    return isinstance(value, kind) and (flag or not isinstance(value, bool))


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def _describe(kind: type) -> str:
    return "a whole number" if kind is Integral else "a finite number"


#: parameters, each with its check; an estimator need not have all of them
CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "max_iter": lambda name, value: check_number(name, value, Integral, 1),
    "tol": lambda name, value: _check_number_or("auto", name, value, Real, 0),
    "verbose": lambda name, value: check_number(name, value, Integral, 0, flag=True),
    "alpha": lambda name, value: _check_number_or("auto", name, value, Real, 0),
    "max_bins": _check_bins,
    "init": _check_init,
    "residual": lambda name, value: check_option(name, value, RESIDUALS),
    "class_weight": _check_class_weight,
    "extrapolation": lambda name, value: check_option(name, value, EXTRAPOLATIONS),
    "normalize_y": _check_flag,
    "warm_start": _check_flag,
    "early_stopping": _check_early_stopping,
    "validation_fraction": _check_fraction,
    "n_jobs": _check_n_jobs,
    "engine": _check_engine,
    "callbacks": _check_callbacks,
    "checkpoint": _check_folder,
    "checkpoint_seconds": lambda name, value: check_number(name, value, Real, 0),
    "memory_limit": lambda name, value: parse_limit(value),
    "dtype": lambda name, value: float_type(value),
}
