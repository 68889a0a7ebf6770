"""Parameters of an estimator to parts: feature maps, network, loss and solver.

A part can be given by its name, with the estimator's own parameters as shorthands, or as an
object whose parameters come first; a shorthand that says otherwise is an error.
"""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from .. import features
from . import defaults

_UNSET = "auto"


def resolve(
    kind: str, given: Any, registry: Mapping[str, type], shorthands: dict[str, tuple[Any, Any]]
) -> Any:
    """Make a part from its name or object.

    Parameters
    ----------
    kind : str
        What it is called in the estimator.
    given : str or object
    registry : mapping of names to classes
    shorthands : dict of name to (value, default)
        The estimator's own parameters that speak of this part.
    """
    if isinstance(given, str):
        if given not in registry:
            known = ", ".join(repr(name) for name in registry)
            raise ValueError(f"{kind}={given!r} is not known; use one of {known}, or an object.")
        part = registry[given]()
    elif isinstance(given, tuple(registry.values())):
        part = clone(given)
    else:
        names = ", ".join(cls.__name__ for cls in registry.values())
        raise TypeError(f"{kind}={given!r} must be a name or an object of {names}.")
    parameters = part.get_params()
    for name, (value, default) in shorthands.items():
        if name in parameters:
            _fill(kind, part, name, parameters[name], value, default, isinstance(given, str))
    return part


def _fill(kind, part, name, own, value, default, by_name) -> None:
    if by_name or _same(own, _UNSET):
        part.set_params(**{name: value})
    elif not _same(value, default) and not _same(own, value):
        raise ValueError(
            f"{name}={value!r} contradicts {kind}={part!r}, whose {name} is {own!r}; give it in "
            "one place only."
        )


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and np.array_equal(a, b) if _is_list(a) or _is_list(b) else a == b


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)


def feature_maps(
    estimator: Any, names: Sequence[str], is_categorical: Sequence[bool]
) -> list[features.FeatureMap]:
    """Feature map of every column, "auto" not yet filled in for categories."""
    n_columns = len(names)
    basis = _per_column("basis", estimator.basis, n_columns)
    n_basis = _per_column("n_basis", estimator.n_basis, n_columns)
    period = _per_column("period", estimator.period, n_columns)
    maps = []
    for d in range(n_columns):
        if is_categorical[d]:
            maps.append(features.Categorical())
            continue
        shorthands = {
            "n_basis": (n_basis[d], _UNSET),
            "period": (period[d], _UNSET),
            "quantization": (estimator.quantization, 2),
        }
        maps.append(resolve("basis", basis[d], features.REGISTRY, shorthands))
    return maps


def _per_column(name: str, value: Any, n_columns: int) -> list[Any]:
    if not _is_list(value):
        return [value] * n_columns
    if len(value) != n_columns:
        raise ValueError(
            f"{name} has {len(value)} entries, one a column, but X has {n_columns} columns."
        )
    return [v.item() if isinstance(v, np.generic) else v for v in value]


def finish_map(feature_map: Any, name: str, n_rows: int, n_columns: int) -> None:
    """Fill in "auto" parameters of a numeric column's map and check them."""
    parameters = feature_map.get_params()
    if _same(parameters.get("n_basis"), _UNSET):
        feature_map.set_params(n_basis=defaults.n_basis(n_rows, n_columns))
    if _same(parameters.get("period"), _UNSET):
        feature_map.set_params(period=defaults.period(n_rows, n_columns))
    period = feature_map.get_params().get("period", 1.0)
    if not isinstance(period, Real):
        raise ValueError(f"period={period!r} of {name} must be a number >= 1 or 'auto'.")
    feature_map.check(name)
