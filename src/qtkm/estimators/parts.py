"""Parameters of an estimator to parts: feature maps, network, penalties, loss and solver.

A part is given by its name, with the estimator's own parameters as shorthands for the part's, or
as an object.  An object's parameters take precedence; those it leaves at "auto" are taken from the
shorthands, and a shorthand that contradicts one is an error.
"""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone

from .. import features, losses, networks, penalties, solvers
from ..parameters import is_number
from . import defaults
from .defaults import RESIDUALS

_UNSET = "auto"


def resolve(
    kind: str,
    given: Any,
    registry: Mapping[str, type],
    shorthands: dict[str, tuple[Any, Any]],
    base: type,
) -> Any:
    """Make a part from a name or an object of `base`; shorthands have (value, default) by name."""
    if isinstance(given, str) and given in registry:
        part = registry[given]()
    elif isinstance(given, base):
        part = clone(given)
    else:
        classes = ", ".join(f"{cls.__name__}()" for cls in registry.values())
        raise ValueError(
            f"{kind}={given!r} is not known; use a name ({_list(registry)}) or an object such as "
            f"{classes}."
        )
    for name, (value, default) in shorthands.items():
        if not hasattr(part, name):
            continue
        own = getattr(part, name)
        if isinstance(given, str) or _same(own, _UNSET):
            setattr(part, name, value)
        elif not _same(value, default) and not _same(own, value):
            raise ValueError(
                f"{name}={value!r} contradicts {kind}={given!r}, whose {name} is {own!r}; give it "
                "in one place only."
            )
    return part


def _same(a: Any, b: Any) -> bool:
    if _is_list(a) or _is_list(b):
        return _is_list(a) and _is_list(b) and list(a) == list(b)
    return type(a) is type(b) and a == b if isinstance(a, str) or isinstance(b, str) else a == b


def _list(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)


def make_network(estimator: Any, shape: tuple[int, int], n_outputs: int, known_rank: Any) -> Any:
    """Return the network of an estimator; `known_rank` is that of an earlier fit."""
    is_zero = is_number(estimator.rank, Integral) and estimator.rank == 0
    if is_zero and defaults.main_effects(estimator):
        return None
    rank = {"rank": (estimator.rank, _UNSET)}
    network = resolve("network", estimator.network, networks.REGISTRY, rank, networks.Network)
    if _same(getattr(network, "rank", None), _UNSET):
        given = None if isinstance(estimator.init, str) else network.rank_of(estimator.init)
        least = defaults.least_rank(n_outputs, isinstance(network, networks.CPD))
        network.set_params(rank=known_rank or given or max(least, network.default_rank(*shape)))
    network.check()
    return network


def beside_main_effects(estimator: Any, network: Any, maps: Sequence[features.FeatureMap]) -> Any:
    """Add main effects to a network if the estimator has them."""
    if not defaults.main_effects(estimator):
        return network
    return networks.Additive(network, [feature_map.n_main for feature_map in maps])


def make_penalties(estimator: Any, labels: Sequence[str]) -> list[penalties.Penalty] | None:
    """Return the penalty of every column, or None for the plain norm of the weights."""
    found = [
        resolve("penalty", own, penalties.REGISTRY, {}, penalties.Penalty)
        for own in _per_column("penalty", estimator.penalty, len(labels))
    ]
    for penalty, label in zip(found, labels, strict=True):
        penalty.check(label)
    return None if all(type(each) is penalties.Ridge for each in found) else found


def make_regression_loss(estimator: Any) -> Any:
    """Return the loss of a regressor."""
    known = {name: cls for name, cls in losses.REGISTRY.items() if not cls.is_margin}
    given = estimator.loss
    kind = losses.REGISTRY.get(given) if isinstance(given, str) else given
    if getattr(kind, "is_margin", False):
        raise ValueError(
            f"loss={given!r} tells classes apart, and {type(estimator).__name__} predicts numbers; "
            f"use QTKMClassifier, or one of {_list(known)}."
        )
    residual = {"residual": (estimator.residual, RESIDUALS[0])}
    loss = resolve("loss", given, known, residual, losses.Loss)
    if not hasattr(loss, "residual") and estimator.residual != RESIDUALS[0]:
        raise ValueError(
            f"residual={estimator.residual!r} is for the squared loss, and loss={given!r} has none "
            "to choose; leave it out."
        )
    loss.check()
    return loss


def make_classification_loss(given: Any, n_classes: int) -> Any:
    """Return the loss of a classifier."""
    known = {name: cls for name, cls in losses.REGISTRY.items() if cls.for_classes}
    if isinstance(given, str) and given == "logistic" and n_classes > 2:
        given = "softmax"
    if isinstance(given, losses.Loss) and not given.for_classes:
        raise ValueError(
            f"loss={given!r} is not one for classes; use a name ({_list(known)}), or a loss with "
            "for_classes = True."
        )
    residual = {"residual": (RESIDUALS[0], RESIDUALS[0])}
    loss = resolve("loss", given, known, residual, losses.Loss)
    loss.check()
    return loss


def has_probabilities(loss: Any) -> bool:
    """Return True if a loss, given by name or as an object, has probabilities."""
    kind = losses.REGISTRY.get(loss) if isinstance(loss, str) else loss
    return getattr(kind, "has_probabilities", False)


def losses_with_probabilities() -> str:
    """Return the names of the losses that have probabilities, for messages."""
    return _list(name for name in losses.REGISTRY if has_probabilities(name))


def make_solver(estimator: Any) -> Any:
    """Return the solver of an estimator, if it fits the network."""
    solver = resolve("solver", estimator.solver, solvers.REGISTRY, {}, solvers.Solver)
    solver.check()
    network = resolve("network", estimator.network, networks.REGISTRY, {}, networks.Network)
    problem, kind = f"does not fit network={estimator.network!r}; use one", type(network)
    if defaults.main_effects(estimator) and issubclass(kind, solver.fits):
        problem, kind = "is for a network alone; use main_effects=False, or one", networks.Additive
    if not issubclass(kind, solver.fits):
        others = (n for n, cls in solvers.REGISTRY.items() if issubclass(kind, cls.fits))
        raise ValueError(f"solver={estimator.solver!r} {problem} of {_list(others)}.")
    return solver


def make_maps(
    estimator: Any,
    inputs: Any,
    shape: tuple[int, int],
    known: Sequence[features.FeatureMap] | None = None,
) -> list[features.FeatureMap]:
    """Return the map of every column, filled in; a column of one value gets one function."""
    n_columns = len(inputs)
    given = {
        name: _per_column(name, getattr(estimator, name), n_columns)
        for name in ("basis", "n_basis", "period")
    }
    priors = _per_column("penalty", getattr(estimator, "penalty", "ridge"), n_columns)
    maps: list[features.FeatureMap] = []
    for d, column in enumerate(inputs.columns):
        before = None if known is None else known[d]
        if column.is_categorical:
            count, prior = len(column.categories), priors[d]
            pooled = count > 1 and prior != "ridge" and not isinstance(prior, penalties.Ridge)
            maps.append(features.Categorical(count, getattr(before, "pooled", pooled)))
            continue
        basis, n_basis, period = (given[name][d] for name in given)
        own = {"n_basis": n_basis, "period": period, "quantization": estimator.quantization}
        shorthands = {name: (value, _UNSET) for name, value in own.items()}
        feature_map = resolve("basis", basis, features.REGISTRY, shorthands, features.FeatureMap)
        counted = getattr(basis, "n_basis", _UNSET)
        is_counted = _is_list(estimator.n_basis) or not _same(counted, _UNSET)
        if column.cycle is not None:  # the functions repeat with the cycle
            if not isinstance(feature_map, features.Fourier):
                raise ValueError(
                    f"cyclic names {column.label}, whose basis is {feature_map!r}; use 'fourier'."
                )
            feature_map.period = 1.0
        _finish(estimator, feature_map, column.label, shape, before)
        is_constant = column.box is not None and column.box.is_point
        if is_constant and not is_counted:
            feature_map = feature_map.for_one_value()
        if column.has_gaps:
            feature_map = features.WithGaps(feature_map)
        if before is not None:
            feature_map.take_learned(before)
        maps.append(feature_map)
    return maps


def _per_column(name: str, value: Any, n_columns: int) -> list[Any]:
    if not _is_list(value):
        return [value] * n_columns
    if np.ndim(value) == 0 or len(value) != n_columns:
        raise ValueError(
            f"{name} has {np.size(value)} entries, but X has {n_columns} columns; give one entry a "
            "column, or one value for all."
        )
    return [v.item() if isinstance(v, np.generic) else v for v in value]


def _finish(
    estimator: Any,
    feature_map: Any,
    label: str,
    shape: tuple[int, int],
    known: features.FeatureMap | None,
) -> None:
    """Fill in the "auto" parameters of a numeric column's map, and check all."""
    if feature_map.is_categorical:
        raise ValueError(
            f"{label} has the basis {feature_map!r}; declare the column with categorical_features "
            "instead."
        )
    for name, default in (("n_basis", defaults.n_basis), ("period", defaults.period)):
        if _same(getattr(feature_map, name, None), _UNSET):
            setattr(feature_map, name, getattr(known, name, default(estimator, feature_map, shape)))
    period = getattr(feature_map, "period", 1.0)
    if not is_number(period, Real):
        raise ValueError(f"period={period!r} of {label} must be a number >= 1, or 'auto'.")
    feature_map.check(label)
