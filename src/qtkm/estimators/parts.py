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
from .defaults import AUTO, RESIDUALS, is_auto, is_list

#: registries of parts and their classes, by the parameter that gives one
_KINDS: dict[str, tuple[Mapping[str, Any], type]] = {
    "basis": (features.REGISTRY, features.FeatureMap),
    "loss": (losses.REGISTRY, losses.Loss),
    "network": (networks.REGISTRY, networks.Network),
    "penalty": (penalties.REGISTRY, penalties.Penalty),
    "solver": (solvers.REGISTRY, solvers.Solver),
}


def resolve(kind: str, given: Any, shorthands: dict[str, Any], known: Any = None) -> Any:
    """Make a part from a name or an object, a user's own included.

    `shorthands` are the estimator's parameters for this part, by name: (value, default). Names
    are those of the registry, unless fewer are `known`.
    """
    registry, base = _KINDS[kind]
    registry = registry if known is None else known
    if isinstance(given, str) and given in registry:
        part = registry[given]()
    elif isinstance(given, base):
        part = clone(given)
    else:
        classes = ", ".join(f"{cls.__name__}()" for cls in registry.values())
        raise ValueError(
            f"{kind}={given!r} is unknown; use a name ({_list(registry)}) or an object such as "
            f"{classes}."
        )
    for name, (value, default) in shorthands.items():
        if not hasattr(part, name):
            continue
        own = getattr(part, name)
        if isinstance(given, str) or is_auto(own):
            setattr(part, name, value)
        elif not _same(value, default) and not _same(own, value):
            raise ValueError(
                f"{name}={value!r} contradicts {kind}={given!r}, whose {name} is {own!r}; set only "
                "one of them."
            )
    return part


def _same(a: Any, b: Any) -> bool:
    if is_list(a) or is_list(b):
        return is_list(a) and is_list(b) and list(a) == list(b)
    return isinstance(a, str) == isinstance(b, str) and a == b


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def make_network(estimator: Any, shape: tuple[int, int], n_outputs: int, known_rank: Any) -> Any:
    """Return the network of an estimator; `known_rank` is that of an earlier fit."""
    is_zero = is_number(estimator.rank, Integral) and estimator.rank == 0
    if is_zero and defaults.main_effects(estimator):
        return None
    network = resolve("network", estimator.network, {"rank": (estimator.rank, AUTO)})
    if is_auto(getattr(network, "rank", None)):
        given = None if isinstance(estimator.init, str) else network.rank_of(estimator.init)
        least = defaults.least_rank(n_outputs, isinstance(network, networks.CPD))
        network.set_params(rank=known_rank or given or max(least, network.default_rank(*shape)))
    network.check()
    return network


def make_penalties(estimator: Any, labels: Sequence[str]) -> list[penalties.Penalty] | None:
    """Return the penalty of every column, or None for the plain norm of the weights."""
    given = _per_column("penalty", estimator.penalty, len(labels))
    found = [resolve("penalty", own, {}) for own in given]
    for penalty, label in zip(found, labels, strict=True):
        penalty.check(label)
    return None if all(type(each) is penalties.Ridge for each in found) else found


def make_regression_loss(estimator: Any) -> Any:
    """Return the loss of a regressor."""
    known = {name: cls for name, cls in losses.REGISTRY.items() if not cls.is_margin}
    given = estimator.loss
    if getattr(_kind_of(given), "is_margin", False):
        raise ValueError(
            f"loss={given!r} is for classification, but {type(estimator).__name__} is a regressor; "
            f"use QTKMClassifier, or one of {_list(known)}."
        )
    loss = resolve("loss", given, {"residual": (estimator.residual, RESIDUALS[0])}, known)
    if not hasattr(loss, "residual") and estimator.residual != RESIDUALS[0]:
        raise ValueError(
            f"residual={estimator.residual!r} only applies to the squared loss, not to "
            f"loss={given!r}; remove it."
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
            f"loss={given!r} is not for classification; use a name ({_list(known)}), or a loss "
            "with for_classes = True."
        )
    loss = resolve("loss", given, {"residual": (RESIDUALS[0], RESIDUALS[0])}, known)
    loss.check()
    return loss


def has_probabilities(loss: Any) -> bool:
    """Return True if a loss, given by name or as an object, has probabilities."""
    return getattr(_kind_of(loss), "has_probabilities", False)


def _kind_of(loss: Any) -> Any:
    return losses.REGISTRY.get(loss) if isinstance(loss, str) else loss


def losses_with_probabilities() -> str:
    """Return the names of the losses that have probabilities, for messages."""
    return _list(name for name in losses.REGISTRY if has_probabilities(name))


def make_solver(estimator: Any) -> Any:
    """Return the solver of an estimator, if it fits the network."""
    solver = resolve("solver", estimator.solver, {})
    solver.check()
    kind: type = type(resolve("network", estimator.network, {}))
    problem = f"network={estimator.network!r}; use one"
    if defaults.main_effects(estimator) and issubclass(kind, solver.fits):
        kind, problem = networks.Additive, "main effects; use main_effects=False, or one"
    if not issubclass(kind, solver.fits):
        others = _list(n for n, cls in solvers.REGISTRY.items() if issubclass(kind, cls.fits))
        raise ValueError(f"solver={estimator.solver!r} does not support {problem} of {others}.")
    return solver


def make_maps(
    estimator: Any, inputs: Any, shape: tuple[int, int], known: Sequence[Any] | None = None
) -> list[features.FeatureMap]:
    """Return the map of every column, filled in; a column of one value gets one function."""
    names = ("basis", "n_basis", "period")
    given = [_per_column(name, getattr(estimator, name), len(inputs)) for name in names]
    priors = _per_column("penalty", getattr(estimator, "penalty", "ridge"), len(inputs))
    befores = [None] * len(inputs) if known is None else known
    maps: list[features.FeatureMap] = []
    for column, prior, before, *own in zip(inputs.columns, priors, befores, *given, strict=True):
        if column.is_categorical:
            count = len(column.categories)
            pooled = getattr(before, "pooled", count > 1 and not defaults.is_ridge(prior))
            maps.append(features.Categorical(count, pooled))
        else:
            maps.append(_make_map(estimator, column, own, shape, before))
    return maps


def _make_map(
    estimator: Any, column: Any, given: Sequence[Any], shape: tuple[int, int], before: Any
) -> features.FeatureMap:
    basis, n_basis, period = given
    own = {"n_basis": n_basis, "period": period, "quantization": estimator.quantization}
    made = resolve("basis", basis, {name: (value, AUTO) for name, value in own.items()})
    if made.is_categorical:
        raise ValueError(
            f"{column.label} has the basis {made!r}; declare the column with categorical_features "
            "instead."
        )
    if column.cycle is not None:  # the functions repeat with the cycle
        if not isinstance(made, features.Fourier):
            raise ValueError(
                f"cyclic contains {column.label}, whose basis is {made!r}; use 'fourier'."
            )
        made.period = 1.0
    for name, default in (("n_basis", defaults.n_basis), ("period", defaults.period)):
        if is_auto(getattr(made, name, None)):
            setattr(made, name, getattr(before, name, default(estimator, made, shape)))
    period = getattr(made, "period", 1.0)
    if not is_number(period, Real):
        raise ValueError(f"period={period!r} of {column.label} must be a number >= 1, or 'auto'.")
    made.check(column.label)
    is_counted = is_list(estimator.n_basis) or not is_auto(getattr(basis, "n_basis", AUTO))
    if column.box is not None and column.box.is_point and not is_counted:
        made = made.for_one_value()
    made = features.WithGaps(made) if column.has_gaps else made
    if before is not None:
        made.take_learned(before)
    return made


def _per_column(name: str, value: Any, n_columns: int) -> list[Any]:
    if not is_list(value):
        return [value] * n_columns
    if np.ndim(value) == 0 or len(value) != n_columns:
        raise ValueError(
            f"{name} has {np.size(value)} entries, but X has {n_columns} columns; give one entry "
            "per column, or one value for all."
        )
    return [v.item() if isinstance(v, np.generic) else v for v in value]
