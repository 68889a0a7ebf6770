"""Model files: everything needed to predict, and to continue a fit.

The file is one of `qtkm.storage` of the kind "model"; docs/design/model-files.md describes its
entries.  A reader ignores keys that it does not know.  Nothing in a file is trusted: only
registered classes are made, and all parts are checked against each other before there is a model.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import fields
from importlib.metadata import version
from itertools import repeat
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .. import data, networks, solvers, storage
from ..losses import Softmax
from ..networks.tangents import ChainTangents
from ..objective.posterior import Posterior, Tangents
from ..parameters import is_number
from .classifier import QTKMClassifier
from .defaults import check_parameters
from .encoding import decode, decode_part, encode
from .inputs import Inputs, Reading
from .regressor import QTKMRegressor
from .rows import TargetScale
from .uncertainty import Uncertainty
from .values import NUMBERS, SPANS, TIMES

KIND = "model"
#: what `columns_` says of the grid of a column
GRID = ("n_grid", "binned", "bin_error")
#: estimators that files may name
CLASSES: dict[str, Any] = {cls.__name__: cls for cls in (QTKMRegressor, QTKMClassifier)}
#: parameters of the place where a model was fitted, not of the model
LEFT_OUT = ("callbacks", "checkpoint", "engine")
#: numbers that every history has, one an update or an epoch
_COURSES = tuple(field.name for field in fields(solvers.History) if field.name != "records")


def load(path: str | os.PathLike[str]) -> QTKMRegressor | QTKMClassifier:
    """Load a model saved by its method `save`.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    QTKMRegressor or QTKMClassifier
        With bit-identical predictions, and ready for a warm start; only `callbacks`, `checkpoint`
        and `engine` have their defaults.

    Raises
    ------
    OSError
        If the file does not exist, or cannot be read.
    ValueError
        If the file is damaged, is not a model, or needs a newer version of qtkm.

    Notes
    -----
    Loading runs no code from the file: at worst, a file of unknown origin predicts nonsense.

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
        raise IsADirectoryError(f"{path} is a folder; give the path of a model file in it.")
    tree = storage.read(path, KIND)
    try:
        return from_tree(tree)
    except storage.ForeignFileError as error:
        raise storage.ForeignFileError(f"{path} cannot be loaded: {error}.") from None
    except ValueError as error:
        raise storage.DamagedFileError(f"{path} is damaged: {error}.") from error


def from_tree(tree: Any) -> Any:
    """Return the model of a tree, or raise a ValueError if the tree does not hold together."""
    try:
        return _model(tree)
    except storage.ForeignFileError:
        raise
    except KeyError as error:
        raise ValueError(f"the entry {error} is missing or unknown") from error
    except storage.ERRORS as error:
        raise ValueError(storage.shortened(error) or type(error).__name__) from error


def _model(tree: Any) -> Any:
    if tree["class"] not in CLASSES:
        raise storage.ForeignFileError(
            f"it contains a {tree['class']!s:.40}, which is unknown to this version of qtkm; "
            "upgrade qtkm"
        )
    cls = CLASSES[tree["class"]]
    known = cls().get_params(deep=False).keys() - LEFT_OUT
    given = tree.get("parameters", {})
    parameters = {name: decode(given[name]) for name in known & given.keys()}
    # a file without a penalty is from a version that had the paper's alone
    model = cls(**{"penalty": "ridge"} | parameters)
    check_parameters(model)
    names, target = tree.get("feature_names"), tree["target"]
    reading = Reading(_inputs(tree["columns"], names), _scale(target))
    n_outputs, inputs = reading.n_outputs, reading.inputs
    if target.get("range") is not None:
        reading.target_range = _numbers(target["range"], (2, n_outputs), "the range of y")
    reading.target_names = labels = target.get("names")
    _need(labels is None or _are_texts(labels), "the names of its targets are not a list of text")
    (network, cores), loss = _network(tree, inputs.maps, n_outputs), _part(tree["loss"], "losses")
    # parts that give no responses are found by one row
    values = [np.zeros(1, dtype=np.int64 if own.is_categorical else np.float64)
              for own in inputs.columns]  # fmt: skip
    with np.errstate(all="ignore"):
        responses = network.evaluator(cores, inputs.frequencies).responses(inputs.maps, values)
    _need(responses.shape == (1, n_outputs), "its cores give too many responses")
    model.n_features_in_ = len(inputs)
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    _set_task(model, target, loss, n_outputs)
    _set_summary(model, tree.get("summary", {}), tree["alpha"])
    model.penalties_ = penalties = tree.get("penalties")
    if penalties is not None:
        fits = isinstance(penalties, list) and len(penalties) == len(inputs)
        _need(fits, "it has no penalty for each column")
        model.penalties_ = [*map(_part, penalties, repeat("penalties"), inputs.labels)]
    model._place(cores, network, loss)
    model.columns_ = [
        own.describe() | {key: decode(column.get("grid", {}).get(key)) for key in GRID}
        for own, column in zip(inputs.columns, tree["columns"], strict=True)
    ]
    model._reading = reading
    model._uncertainty = _read_posterior(tree.get("posterior"), reading)
    return model


def _inputs(columns: Any, names: Any) -> Inputs:
    _need(isinstance(columns, list) and columns, "it has no columns")
    if names is not None:
        fits = _are_texts(names) and len(names) == len(columns)
        _need(fits, "its columns and their names do not agree")
    is_categorical = [column["categories"] is not None for column in columns]
    inputs = Inputs([None] * len(columns), names, is_categorical)
    for own, column in zip(inputs.columns, columns, strict=True):
        own.feature_map = basis = decode_part(column["basis"], "features")
        name, period = type(basis).__name__, getattr(basis, "period", 1.0)
        is_right = basis.is_categorical == own.is_categorical
        _need(is_right, f"{own.label} has the basis {name}, the wrong kind")
        _number(period, f"period={period!r} of {own.label} is not a finite number")
        basis.check(own.label)
        (_set_categories if own.is_categorical else _set_numbers)(own, column)
    return inputs


def _set_numbers(own: Any, column: Any) -> None:
    label, rule = own.label, column["extrapolation"]
    problem = f"the bounds of {label} are not finite numbers"
    low, high = (_number(end, problem) for end in column["bounds"])
    _need(low <= high, f"the bounds of {label} are ({low:g}, {high:g}), not low <= high")
    _need(rule in data.EXTRAPOLATIONS, f"extrapolation={rule!r} of {label} is unknown")
    reach = column.get("reach", 0.0)
    reach = _number(reach, f"reach={reach!r} of {label} is not in [0, 1]", 0, 1)
    own.box, own.extrapolation = data.Box(low, high, rule, label, reach), rule
    own.has_gaps, center = own.feature_map.has_gaps, column.get("center", 0.5)
    own.center = _number(center, f"the median of {label} is not a finite number")
    own.holds, own.cycle = column.get("holds", NUMBERS), column.get("cycle")
    _need(own.holds in (NUMBERS, TIMES, SPANS), f"{label} holds {own.holds!r:.40}")
    if own.cycle is not None:
        _number(own.cycle, f"the cycle of {label} is no number > 0", np.nextafter(0, 1))


def _set_categories(own: Any, column: Any) -> None:
    values, label = decode(column["categories"]), own.label
    # in the order of the file, which is that of the core's rows
    own.categories = {value: code for code, value in enumerate(values)}
    count, basis = len(values), own.feature_map
    _need(0 < count == len(own.categories), f"{label} has a category twice, or none")
    _need(all(value == value for value in values), f"{label} has NaN as a category")
    own.counts = _numbers(column["counts"], (count,), f"the counts of {label}")
    is_share = own.counts.min() >= 0 and own.counts.sum() > 0
    _need(is_share, f"the counts of {label} are negative or zero")
    _need(basis.n_categories == count, f"{label} has {count} categories, its basis not")
    _need(isinstance(basis.pooled, bool), f"the basis of {label} is not pooled or not")


def _scale(target: Any) -> TargetScale:
    shape = (len(target["mean"]),)
    _need(shape[0] > 0, "it has no outputs")
    types = {"mean": "f8", "scale": "f8", "is_constant": "b1"}
    scale = TargetScale(
        *(_numbers(target[key], shape, f"the {key} of y", types[key]) for key in types)
    )
    _need(scale.scale.min() >= 0, "the scale of y is negative")
    return scale


def _network(tree: Any, maps: Sequence[Any], n_outputs: int) -> tuple[Any, Any]:
    """Return a network and its cores, of the layout, the shapes and the types that belong to it."""
    network, cores = _part(tree["network"], "networks"), tree["cores"]
    shapes = network.shapes([feature_map.radices for feature_map in maps], n_outputs)
    layout, expected = ([len(entry) if isinstance(entry, list) else None for entry in entries]
                        for entries in (cores, shapes))  # fmt: skip
    _need(layout == expected, "its cores do not have the layout of its network")
    kind = "c16" if any(feature_map.is_complex for feature_map in maps) else "f8"
    flat = networks.flatten(cores)
    kinds = [kind] * (len(flat) - network.n_real) + ["f8"] * network.n_real
    triples = zip(flat, networks.flatten(shapes), kinds, strict=True)
    read = [_numbers(core, tuple(shape), "a core", own) for core, shape, own in triples]
    return network, networks.unflatten(cores, read)


def _set_task(model: Any, target: Any, loss: Any, n_outputs: int) -> None:
    name = type(loss).__name__
    if isinstance(model, QTKMRegressor):
        ndim = target["ndim"]
        fits = is_number(ndim, Integral) and (ndim == 2 or (ndim == 1 and n_outputs == 1))
        _need(fits, f"y with {ndim!r} dimensions and {n_outputs} outputs cannot be")
        _need(not loss.is_margin, f"the loss {name} is not one of regression")
        model._y_ndim = int(ndim)
        return
    classes = decode(target["classes"])
    is_list = isinstance(classes, np.ndarray) and classes.ndim == 1
    _need(is_list and classes.dtype.kind in "biufUSO", "its classes are not a list of labels")
    texts = classes.dtype.kind != "O" or _are_texts(classes.tolist())
    _need(texts and np.array_equal(np.unique(classes), classes), "its classes are not in order")
    one = len(classes) == 2 and not isinstance(loss, Softmax)
    fits = len(classes) > 1 and n_outputs == (1 if one else len(classes))
    _need(fits, f"{len(classes)} classes and {n_outputs} outputs do not agree")
    _need(loss.for_classes, f"the loss {name} is not one of classification")
    model.classes_ = classes


def _set_summary(model: Any, summary: Any, alpha: Any) -> None:
    model.alpha_ = _number(alpha, f"alpha={alpha!r} is not a number >= 0", 0)
    found = {key: decode(value) for key, value in summary.items()}
    model.n_iter_ = found.get("n_iter", 0)
    model.status_, model.message_ = found.get("status", "unknown"), found.get("message", "")
    model.history_ = {name: [] for name in _COURSES} | found.get("history", {})
    is_count = is_number(model.n_iter_, Integral) and model.n_iter_ >= 0
    _need(is_count, f"n_iter must be a non-negative integer, got {model.n_iter_!r:.40}")
    is_text = isinstance(model.status_, str) and isinstance(model.message_, str)
    for name, values in model.history_.items():
        is_text &= isinstance(name, str) and isinstance(values, list)
        is_text &= name not in _COURSES or all(isinstance(value, float) for value in values)
    _need(is_text, "its summary cannot be read")


def _read_posterior(tree: Any, reading: Reading) -> Any:
    """Rebuild what a model knows of its errors, all shapes checked."""
    if tree is None or isinstance(tree, str):
        return tree
    n_outputs, maps = reading.n_outputs, reading.inputs.maps
    chain, is_main = None, tree["main"]
    if tree["network"] is not None:
        (network, cores), held = _network(tree, maps, n_outputs), tree["held"]
        _need(hasattr(network, "algebra"), "its posterior is of a network that has none")
        flags = isinstance(held, list) and all(isinstance(flag, bool) for flag in held)
        _need(flags and len(held) == len(maps), "its posterior has other columns")
        chain = ChainTangents(network, cores, [None] * len(maps), held)
    if is_main is not None:
        count = sum(feature_map.n_main for feature_map in maps) + 1
        is_main = _numbers(is_main, (count,), "the posterior's functions", "b1")
    tangents = Tangents(chain, is_main, reading.inputs.frequencies, n_outputs)
    planes, width = 1 + (chain is not None and chain.is_complex), tree["main_factor"].shape[1]
    tails, scores = decode(tree["tails"]), tree["scores"]
    shapes = {
        "chain_factor": (planes * tangents.n_chain, width),
        "main_factor": (n_outputs * tangents.n_main, width),
        "noise": (n_outputs,), "spread": (n_outputs,), "scores": (len(scores), n_outputs),
    }  # fmt: skip
    found = {key: _numbers(tree[key], shape, f"the posterior's {key}", "f4 f8")
             for key, shape in shapes.items()}  # fmt: skip
    # of this one, the precision is that in which it is multiplied
    chain_factor = found.pop("chain_factor")
    main_factor, noise, spread, scores = (own.astype(np.float64) for own in found.values())
    _need(min(noise.min(), spread.min()) >= 0, "the posterior has negative variances")
    _need(tails.shape == (n_outputs,) and (tails > 2).all(), "the posterior's tails are invalid")
    freedom = _number(tree["freedom"], "its effective parameters are not a number")
    posterior = Posterior(tangents, chain_factor, main_factor, freedom, int(tree["n_held"]))
    return Uncertainty(posterior, noise, spread, tails, scores)


def _part(tree: Any, kind: str, *label: str) -> Any:
    part = decode_part(tree, kind)
    part.check(*label)
    return part


def _need(holds: Any, problem: str) -> None:
    if not holds:
        raise ValueError(problem)


def _numbers(tree: Any, shape: tuple[int, ...], what: str, types: str = "f8") -> NDArray:
    """Return an array of one of some types of numbers and of a shape, its entries finite."""
    array = decode(tree)
    is_right = isinstance(array, np.ndarray) and array.dtype.str[1:] in types.split()
    _need(is_right, f"{what} is not an array of numbers of the right type")
    _need(array.shape == shape, f"{what} has shape {array.shape}, expected {shape}")
    _need(np.isfinite(array).all(), f"{what} has entries that are not finite")
    return array


def _number(value: Any, problem: str, least: float = -np.inf, most: float = np.inf) -> float:
    is_finite = is_number(value, Real) and math.isfinite(float(value))
    _need(is_finite and least <= value <= most, problem)
    return float(value)


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file, see `Model.save`."""
    path = Path(path)
    if path.is_dir():
        example = path / "model.qtkm"
        raise IsADirectoryError(f"{path} is a folder; name a file in it, such as {example}.")
    tree = to_tree(model)
    try:
        storage.write(path, KIND, tree)
    except OSError as error:
        reason = f"The model was not saved: {error.strerror}"
        raise OSError(error.errno, reason, str(path)) from error


def to_tree(model: Any) -> dict[str, Any]:
    """Return the tree of a fitted model, which is known to be readable."""
    check_is_fitted(model)
    name = type(model).__name__
    if CLASSES.get(name) is not type(model):
        raise TypeError(
            f"{name} is a class that qtkm does not know by name; save a model of the class "
            f"{' or '.join(CLASSES)} instead."
        )
    check_parameters(model)
    names, given = getattr(model, "feature_names_in_", None), model.get_params(deep=False)
    reading, labels = model._reading, getattr(model, "classes_", None)
    task = {"ndim": model._y_ndim} if labels is None else {"classes": labels}
    of_target = {"range": reading.target_range, "names": reading.target_names}
    parts = ("network", "loss", "cores", "penalties")
    facts = ("n_iter", "status", "message", "history")
    tree = {
        "class": name,
        "versions": {"qtkm": version("qtkm"), "numpy": np.__version__},
        "parameters": {n: _encode(n, v) for n, v in given.items() if n not in LEFT_OUT},
        "feature_names": None if names is None else list(names),
        "columns": _write_columns(model),
        "target": {
            key: _encode(key, v) for key, v in (vars(reading.scale) | task | of_target).items()
        },
        "alpha": float(model.alpha_),
        "posterior": _write_posterior(model._uncertainty),
        "summary": {key: _encode(f"{key}_", getattr(model, f"{key}_")) for key in facts},
        **{key: _encode(f"{key}_", getattr(model, f"{key}_")) for key in parts},
    }
    try:
        from_tree(tree)
    except ValueError as error:
        raise ValueError(
            f"The model cannot be saved, because it could not be loaded again: {error}."
        ) from error
    return tree


def _write_columns(model: Any) -> list[dict[str, Any]]:
    columns = []
    for own, said in zip(model._reading.inputs.columns, model.columns_, strict=True):
        bounds, box = said["bounds"], own.box
        names = ("counts",) if own.is_categorical else ("center", "holds", "cycle")
        columns.append({
            "basis": _encode(own.label, own.feature_map),
            "bounds": None if bounds is None else list(bounds),
            "extrapolation": getattr(box, "extrapolation", None),
            "reach": getattr(box, "reach", 0.0),
            "categories": _encode(f"the categories of {own.label}", said["categories"]),
            "counts": None,
            **{name: getattr(own, name) for name in names},
            "grid": {key: encode(said[key]) for key in GRID},
        })  # fmt: skip
    return columns


def _write_posterior(known: Any) -> Any:
    if not isinstance(known, Uncertainty):
        return known
    found, chain = known.posterior, known.posterior.tangents.chain
    return {
        "network": None if chain is None else encode(chain.network),
        "cores": None if chain is None else encode(chain.all_cores),
        "held": [] if chain is None else [bool(held) for held in chain.is_held],
        "main": found.tangents.is_main,
        "chain_factor": found.chain, "main_factor": found.main,
        "freedom": found.freedom, "n_held": found.n_held,
        "noise": known.noise, "spread": known.spread, "tails": known.tails,
        "scores": known.scores,
    }  # fmt: skip


def _encode(what: str, value: Any) -> Any:
    try:
        return encode(value)
    except TypeError as error:
        raise TypeError(f"The model cannot be saved because of {what}: {error}.") from None
