"""A file to a fitted model; the layout is that of `qtkm.estimators.saving`.

Nothing of a file is trusted: only registered classes are made, and what a prediction builds on
is checked against each other before there is a model.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import fields
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import data, networks, solvers, storage
from ..losses import Softmax
from ..networks.tangents import ChainTangents
from ..objective.posterior import Posterior, Tangents
from .checks import check_parameters
from .classifier import QTKMClassifier
from .columns import Categories
from .encoding import decode, decode_part
from .inputs import Inputs, Reading
from .regressor import QTKMRegressor
from .targets import TargetScale
from .uncertainty import Uncertainty
from .values import NUMBERS, SPANS, TIMES

KIND = "model"
#: estimators that files may name
CLASSES: dict[str, Any] = {cls.__name__: cls for cls in (QTKMRegressor, QTKMClassifier)}
#: parameters of the place where a model was fitted, not of the model
LEFT_OUT = ("callbacks", "checkpoint", "engine")
#: numbers that every history has, one an update or an epoch
_COURSES = tuple(field.name for field in fields(solvers.History) if field.name != "records")
#: what a tree that is not as it should be leads to
_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def load(path: str | os.PathLike[str]) -> QTKMRegressor | QTKMClassifier:
    """Load a model that was saved with its method `save`.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    QTKMRegressor or QTKMClassifier
        As it was, to the last bit of its predictions, and ready for a further fit; `callbacks`,
        `checkpoint` and `engine` alone have their defaults.

    Raises
    ------
    OSError
        If there is no such file, or it cannot be read.
    ValueError
        If the file is damaged, holds something else, or needs a newer version of qtkm.

    Notes
    -----
    Loading runs no code from the file: one of unknown origin can at worst predict nonsense.

    Examples
    --------
    >>> import numpy as np, pathlib, qtkm, tempfile
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> model = qtkm.QTKMRegressor(random_state=0).fit(X, X[:, 0] ** 2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "square.qtkm"
    ...     model.save(path)
    ...     loaded = qtkm.load(path)
    >>> bool((loaded.predict(X) == model.predict(X)).all())
    True
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name the file of a model in it.")
    tree = storage.read(path, KIND)
    try:
        return from_tree(tree)
    except storage.ForeignFileError as error:
        raise storage.ForeignFileError(f"{path} cannot be loaded: {error}.") from None
    except ValueError as error:
        raise storage.DamagedFileError(f"{path} is damaged: {error}.") from error


def from_tree(tree: Any) -> Any:
    """Model of a tree.

    Raises
    ------
    ValueError
        If it does not hold together; a ForeignFileError if it needs a class that is not known.
    """
    try:
        return _model(tree)
    except storage.ForeignFileError:
        raise
    except KeyError as error:
        raise ValueError(f"the entry {error} is missing or not known") from error
    except _ERRORS as error:
        raise ValueError(storage.shortened(error) or type(error).__name__) from error


def _model(tree: Any) -> Any:
    if tree["class"] not in CLASSES:
        raise storage.ForeignFileError(
            f"it holds a {tree['class']!s:.40}, which this version of qtkm does not know; upgrade "
            "qtkm"
        )
    model = _unfitted(CLASSES[tree["class"]], tree.get("parameters", {}))
    names, target = tree.get("feature_names"), tree["target"]
    reading = _reading(tree["columns"], names, _scale(target))
    reading.target_range = _range(target.get("range"), reading.n_outputs)
    reading.target_names = labels = target.get("names")
    texts = isinstance(labels, list) and all(isinstance(label, str) for label in labels)
    _need(labels is None or texts, "the names of its targets are no list of text")
    n_outputs, maps = reading.n_outputs, reading.inputs.maps
    network, loss = decode_part(tree["network"], "networks"), decode_part(tree["loss"], "losses")
    network.check()
    loss.check()
    cores = decode(tree["cores"])
    _check_cores(cores, network, maps, n_outputs)
    _check_responses(network, cores, reading)
    model.n_features_in_ = len(maps)
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    _set_task(model, target, loss, n_outputs)
    _set_summary(model, tree.get("summary", {}), tree["alpha"])
    model.penalties_ = _penalties(tree.get("penalties"), reading.inputs)
    model._place(cores, network, loss)
    pairs = zip(reading.inputs.columns, tree["columns"], strict=True)
    model.columns_ = [_describe(*pair) for pair in pairs]
    model._reading = reading
    model._uncertainty = _posterior(tree.get("posterior"), reading)
    return model


def _need(holds: Any, problem: str) -> None:
    if not holds:
        raise ValueError(problem)


def _unfitted(cls: Any, parameters: Any) -> Any:
    """Estimator with parameters; those it does not have are left out.

    A file without a penalty is of a version that had the paper's alone.
    """
    known = cls().get_params(deep=False)
    model = cls(**{"penalty": "ridge", **{
        name: decode(value) for name, value in parameters.items()
        if name in known and name not in LEFT_OUT
    }})  # fmt: skip
    check_parameters(model)
    return model


def _reading(columns: Any, names: Any, scale: TargetScale) -> Reading:
    _need(isinstance(columns, list) and columns, "it has no columns")
    if names is not None:
        texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
        _need(texts and len(names) == len(columns), "its columns and their names do not agree")
    is_categorical = [column["categories"] is not None for column in columns]
    inputs = Inputs([None] * len(columns), names, is_categorical)
    for own, column in zip(inputs.columns, columns, strict=True):
        own.feature_map, categories = decode_part(column["basis"], "features"), None
        if own.is_categorical:
            own.categories = categories = _categories(column, own.label)
            own.counts = _counts(column, len(categories), own.label)
        else:
            own.box = _box(column, own.label)
            own.extrapolation = own.box.extrapolation
            own.has_gaps, center = own.feature_map.has_gaps, column.get("center", 0.5)
            _need(_is_number(center), f"the median of {own.label} is not a finite number")
            own.center = float(center)
            own.holds, own.cycle = column.get("holds", NUMBERS), column.get("cycle")
            _need(own.holds in (NUMBERS, TIMES, SPANS), f"{own.label} holds {own.holds!r:.40}")
            is_cycle = own.cycle is None or (_is_number(own.cycle) and own.cycle > 0)
            _need(is_cycle, f"the cycle of {own.label} is no number > 0")
        _check_map(own.feature_map, categories, own.label)
    return Reading(inputs, scale)


def _box(column: Any, label: str) -> data.Box:
    low, high = column["bounds"]
    _need(_is_number(low) and _is_number(high), f"the bounds of {label} are not finite numbers")
    rule = column["extrapolation"]
    _need(low <= high, f"the bounds of {label} are ({low:g}, {high:g}), not low <= high")
    _need(rule in data.EXTRAPOLATIONS, f"extrapolation={rule!r} of {label} is not known")
    return data.Box(float(low), float(high), rule, label)


def _categories(column: Any, label: str) -> Categories:
    values = decode(column["categories"])
    categories = Categories(())
    # in the order of the file, which is that of the core's rows
    categories.codes = {value: code for code, value in enumerate(values)}
    _need(0 < len(values) == len(categories), f"{label} has a category twice, or none")
    _need(all(value == value for value in values), f"{label} has NaN as a category")
    return categories


def _counts(column: Any, n_categories: int, label: str) -> NDArray:
    counts = decode(column["counts"])
    _need_numbers(counts, (n_categories,), f"the counts of {label}")
    _need(counts.min() >= 0 and counts.sum() > 0, f"the counts of {label} are negative or zero")
    return counts


def _check_map(feature_map: Any, categories: Categories | None, label: str) -> None:
    """Raise a ValueError for a map that is not one of a fitted column."""
    expected = categories is not None
    name = type(feature_map).__name__
    _need(feature_map.is_categorical == expected, f"{label} has the basis {name}, the wrong kind")
    period = getattr(feature_map, "period", 1.0)
    _need(_is_number(period), f"period={period!r} of {label} is not a finite number")
    feature_map.check(label)
    if categories is not None:
        count = len(categories)
        _need(feature_map.n_categories == count, f"{label} has {count} categories, its basis not")
        _need(isinstance(feature_map.pooled, bool), f"the basis of {label} is not pooled or not")


def _scale(target: Any) -> TargetScale:
    mean, scale, is_constant = (decode(target[key]) for key in ("mean", "scale", "is_constant"))
    shape = (len(mean),)
    _need(shape[0] > 0, "it has no outputs")
    _need_numbers(mean, shape, "the mean of y")
    _need_numbers(scale, shape, "the scale of y")
    _need_numbers(is_constant, shape, "the mark of outputs that are constant", "b")
    _need(scale.min() >= 0, "the scale of y is negative")
    return TargetScale(mean, scale, is_constant)


def _check_cores(cores: Any, network: Any, maps: Sequence[Any], n_outputs: int) -> None:
    """Raise a ValueError for cores that are not those of the network on these columns."""
    shapes = network.shapes([feature_map.radices for feature_map in maps], n_outputs)
    layout = [len(entry) if isinstance(entry, list) else None for entry in cores]
    expected = [len(entry) if isinstance(entry, list) else None for entry in shapes]
    _need(layout == expected, "its cores do not have the layout of its network")
    kind = "c" if any(feature_map.is_complex for feature_map in maps) else "f"
    flat = [shape for entry in shapes for shape in (entry if isinstance(entry, list) else [entry])]
    kinds = [kind] * (len(flat) - network.n_real) + ["f"] * network.n_real
    for core, shape, own in zip(networks.flatten(cores), flat, kinds, strict=True):
        _need_numbers(core, tuple(shape), "a core", own)


def _check_responses(network: Any, cores: Any, reading: Reading) -> None:
    """Raise an error for parts that give no responses: one row is evaluated."""
    inputs = reading.inputs
    values = [np.zeros(1, dtype=np.int64 if own.is_categorical else np.float64)
              for own in inputs.columns]  # fmt: skip
    with np.errstate(all="ignore"):
        evaluator = network.evaluator(cores, inputs.frequencies)
        responses = evaluator.responses(inputs.maps, values)
    _need(responses.shape == (1, reading.n_outputs), "its cores give too many responses")


def _set_task(model: Any, target: Any, loss: Any, n_outputs: int) -> None:
    """Set what regression and classification do not share."""
    if isinstance(model, QTKMRegressor):
        ndim = target["ndim"]
        fits = _is_whole(ndim) and (ndim == 2 or (ndim == 1 and n_outputs == 1))
        _need(fits, f"y with {ndim!r} dimensions and {n_outputs} outputs cannot be")
        _need(not loss.is_margin, f"the loss {type(loss).__name__} is not one of regression")
        model._y_ndim = int(ndim)
        return
    classes = decode(target["classes"])
    _need(isinstance(classes, np.ndarray) and classes.ndim == 1, "its classes are no list")
    _need(classes.dtype.kind in "biufUSO", f"its classes are {classes.dtype}")
    texts = classes.dtype.kind != "O" or all(isinstance(label, str) for label in classes)
    _need(texts and np.array_equal(np.unique(classes), classes), "its classes are not in order")
    one = len(classes) == 2 and not isinstance(loss, Softmax)
    fits = len(classes) > 1 and n_outputs == (1 if one else len(classes))
    _need(fits, f"{len(classes)} classes and {n_outputs} outputs do not agree")
    _need(loss.for_classes, f"the loss {type(loss).__name__} is not one of classification")
    model.classes_ = classes


def _set_summary(model: Any, summary: Any, alpha: Any) -> None:
    """Set what is told of the fit."""
    _need(_is_number(alpha) and alpha >= 0, f"alpha={alpha!r} is not a number >= 0")
    model.alpha_ = float(alpha)
    found = {key: decode(value) for key, value in summary.items()}
    model.n_iter_ = found.get("n_iter", 0)
    model.status_, model.message_ = found.get("status", "unknown"), found.get("message", "")
    model.history_ = {name: [] for name in _COURSES} | found.get("history", {})
    _need(_is_whole(model.n_iter_) and model.n_iter_ >= 0, "its number of epochs is none")
    texts = isinstance(model.status_, str) and isinstance(model.message_, str)
    _need(texts and all(map(_is_course, model.history_.items())), "its summary cannot be read")


def _range(tree: Any, n_outputs: int) -> NDArray | None:
    if tree is None:
        return None
    found = decode(tree)
    _need_numbers(found, (2, n_outputs), "the range of y")
    return found


def _penalties(tree: Any, inputs: Inputs) -> list[Any] | None:
    if tree is None:
        return None
    _need(isinstance(tree, list) and len(tree) == len(inputs), "it has no penalty for each column")
    found = [decode_part(entry, "penalties") for entry in tree]
    for penalty, label in zip(found, inputs.labels, strict=True):
        penalty.check(label)
    return found


def _posterior(tree: Any, reading: Reading) -> Any:
    """Rebuild what a model knows of its errors, all shapes checked."""
    if tree is None or isinstance(tree, str):
        return tree
    n_outputs, maps = reading.n_outputs, reading.inputs.maps
    chain, is_main = None, tree["main"]
    if tree["network"] is not None:
        network, cores = decode_part(tree["network"], "networks"), decode(tree["cores"])
        network.check()
        _need(hasattr(network, "algebra"), "its posterior is of a network that has none")
        _check_cores(cores, network, maps, n_outputs)
        held = tree["held"]
        flags = isinstance(held, list) and all(isinstance(flag, bool) for flag in held)
        _need(flags and len(held) == len(maps), "its posterior has other columns")
        chain = ChainTangents(network, cores, [None] * len(maps), held)
    if is_main is not None:
        is_main = decode(is_main)
        _need_numbers(is_main, (sum(m.n_main for m in maps) + 1,), "the posterior's functions", "b")
    tangents = Tangents(chain, is_main, reading.inputs.frequencies, n_outputs)
    planes = 2 if chain is not None and chain.is_complex else 1
    factors = [decode(tree["chain_factor"]), decode(tree["main_factor"])]
    shapes = [planes * tangents.n_chain, n_outputs * tangents.n_main]
    width = factors[1].shape[1]
    for factor, count in zip(factors, shapes, strict=True):
        single = factor.astype(np.float64) if factor.dtype == np.float32 else factor
        _need_numbers(single, (count, width), "a factor of the posterior")
    numbers = [decode(tree[key]) for key in ("noise", "spread", "tails", "scores")]
    for array, name in zip(numbers[:2], ("noise", "spread"), strict=True):
        _need_numbers(array, (n_outputs,), f"the posterior's {name}")
        _need(array.min() >= 0, f"the posterior's {name} is negative")
    tails, scores = numbers[2:]
    _need(tails.shape == (n_outputs,) and (tails > 2).all(), "the posterior's tails are not known")
    _need_numbers(scores, (len(scores), n_outputs), "the scores of held-out rows")
    _need(_is_number(tree["freedom"]), "its effective parameters are not a number")
    chain_factor, main_factor = factors
    freedom, n_held = float(tree["freedom"]), int(tree["n_held"])
    found = Posterior(tangents, chain_factor, main_factor, freedom, n_held)
    return Uncertainty(found, *numbers)


def _is_course(entry: tuple[Any, Any]) -> bool:
    name, values = entry
    numbers = name not in _COURSES or all(isinstance(value, float) for value in values)
    return isinstance(name, str) and isinstance(values, list) and numbers


def _describe(own: Any, column: Any) -> dict[str, Any]:
    grid = column.get("grid", {})
    keys = ("n_grid", "binned", "bin_error")
    return own.describe() | {key: decode(grid.get(key)) for key in keys}


def _need_numbers(array: Any, shape: tuple[int, ...], what: str, kinds: str = "f") -> None:
    is_array = isinstance(array, np.ndarray) and array.dtype.kind in kinds
    _need(is_array, f"{what} is not an array of numbers of the right type")
    _need(array.dtype.itemsize in (1, 8, 16), f"{what} has the type {array.dtype}")
    _need(array.shape == shape, f"{what} has the shape {array.shape} where {shape} belongs")
    _need(np.isfinite(array).all(), f"{what} has entries that are not finite")


def _is_number(value: Any) -> bool:
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    return is_real and math.isfinite(float(value))


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
