"""Checks of parameters, for every layer.

An invalid parameter raises a ValueError with the given value, the expected one and, if that is not
obvious, what to try.
"""

import os
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state


def check_number(
    name: str,
    value: Any,
    kind: type,
    least: float = -np.inf,
    *,
    above: float = -np.inf,
    below: float = np.inf,
    or_word: str | None = None,
    hint: str = "",
    flag: bool = False,
) -> None:
    """Check a finite number, or a string; `flag` allows bools, `hint` ends the message."""
    if or_word is not None and isinstance(value, str) and value == or_word:
        return
    is_finite = is_number(value, kind, flag) and (kind is Integral or np.isfinite(value))
    if is_finite and least <= value and above < value < below:
        return
    noun = "a finite number" if below == np.inf else "a number"
    noun = "an integer" if kind is Integral else noun
    ends = ((">=", least), (">", above), ("<", below))
    bounds = " and ".join(f"{sign} {end:g}" for sign, end in ends if np.isfinite(end))
    if or_word is not None:
        hint = hint or f", or {or_word!r}"
    raise ValueError(f"{name}={value!r} must be {noun} {bounds}{hint}.")


def check_numbers(name: str, given: Any, kind: type, least: float) -> None:
    """Check a list of distinct numbers, or of sequences with one number per column."""
    if isinstance(given, str) or not hasattr(given, "__len__"):
        raise ValueError(f"{name}={given!r} must be a list of values to try, or 'auto'.")
    if len(given) == 0:
        raise ValueError(f"{name} is empty; give at least one entry, or 'auto'.")
    entries = plain_entries(given)
    for entry in entries:
        if not isinstance(entry, tuple):  # an entry for each column is checked later
            check_number(f"an entry of {name}", entry, kind, least)
    twice = [entry for i, entry in enumerate(entries) if entry in entries[:i]]
    if twice:
        raise ValueError(f"{name} contains {twice[0]!r} twice; list it once.")


def plain_entries(values: Any) -> list[Any]:
    """Return the entries of a list as Python numbers and tuples."""
    plain = (value.tolist() if hasattr(value, "tolist") else value for value in values)
    return [tuple(value) if isinstance(value, list) else value for value in plain]


def check_option(name: str, value: Any, options: Sequence[Any], others: str = "") -> None:
    """Check one of several strings; `others` describes other valid values."""
    if not isinstance(value, str) or value not in options:
        known = ", ".join(repr(option) for option in options)
        known = f"{known}, {others}" if others else known
        raise ValueError(f"{name}={value!r} is unknown; use one of {known}.")


def check_flag(name: str, value: Any) -> None:
    """Check that a value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name}={value!r} must be True or False.")


def check_fraction(name: str, value: Any) -> None:
    """Check a number between 0 and 1."""
    if not is_number(value, Real) or not 0 < value < 1:
        raise ValueError(f"{name}={value!r} must be a number between 0 and 1, such as 0.1 or 0.9.")


def check_n_jobs(name: str, value: Any) -> None:
    """Check a number of threads, as in joblib."""
    if value is not None and (not is_number(value, Integral) or value == 0):
        raise ValueError(
            f"{name}={value!r} must be an integer other than 0, or None for all cores."
        )


def check_folds(cv: Any, pairs: Iterable[Any], is_used: NDArray[np.bool_]) -> list[Any]:
    """Return the used rows of the folds of `cv`, whose parts may be masks, and check their number.

    Rows of zero weight, for example, are not used.
    """
    every = np.arange(len(is_used))
    folds: list[Any] = []
    for pair in pairs:
        train, test = (every[part][is_used[part]] for part in pair)
        if len(train) == 0 or len(test) == 0:
            raise ValueError(
                f"Fold {len(folds)} of cv={cv!r} leaves {len(train)} rows to train and {len(test)} "
                "to test on, not counting rows of zero weight and those left out of a sample; use "
                "fewer folds or more rows."
            )
        folds.append((train, test))
    if not folds:
        raise ValueError(f"cv={cv!r} gives no folds; use a number of folds.")
    return folds


def check_folder(name: str, value: Any) -> None:
    """Check the path of a folder, which need not exist, or None."""
    if value is None:
        return
    if not isinstance(value, str | os.PathLike):
        raise ValueError(f"{name}={value!r} must be the path of a folder, or None.")
    if Path(value).exists() and not Path(value).is_dir():
        raise ValueError(f"{name}={str(value)!r} is a file; use a folder, which need not exist.")


def as_random_state(value: Any) -> np.random.RandomState:
    """Return the RandomState of `random_state`."""
    try:
        return check_random_state(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state={value!r} must be None, an integer from 0 to 2**32 - 1, or a "
            "numpy.random.RandomState."
        ) from None


def is_number(value: Any, kind: type, flag: bool = False) -> bool:
    """Return True for a number of `kind`; bools count only with `flag`."""
    return isinstance(value, kind) and (flag or not isinstance(value, bool))


def keep_parameters(estimator: Any, given: dict[str, Any]) -> None:
    """Store the parameters of a constructor, given as its `locals()`, as attributes."""
    own = ("self", "__class__")
    estimator.__dict__.update({name: v for name, v in given.items() if name not in own})
