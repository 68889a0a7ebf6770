"""A fitted model to one file: all that predicts, and all that a further fit goes on from.

The file is one of `qtkm.storage` of the kind "model": safetensors for the arrays, JSON for the
rest, a checksum over both.  `qtkm.estimators.loading` reads it.  The layout of format 2, where
a star marks what may be missing:

    class             name of the estimator, "QTKMRegressor" or "QTKMClassifier"
    versions *        of qtkm and numpy that wrote the file
    parameters *      those of the constructor but for LEFT_OUT, see `qtkm.estimators.encoding`
    feature_names *   names of the columns, or null
    columns           for each column
        basis             its feature map, with all parameters
        bounds            [low, high], or null for categories
        extrapolation     rule for values outside of the bounds, or null for categories
        categories        list of categories, null among them for missing values; or null
        counts            training weight of each category, or null
        grid *            what `columns_` says of the fit: n_grid, binned, bin_error, path
    target
        mean, scale       arrays (n_outputs,)
        is_constant       array (n_outputs,) of bools
        range *           array (2, n_outputs), the least and the greatest targets
        names *           names of the targets, or null
        ndim              dimensions of y that predictions have: 1 or 2 (regression)
        classes           array of labels (classification)
    network, loss     parts with all their parameters
    cores             arrays, in the layout of `cores_`
    alpha             the factor of the penalty that was used
    penalties *       the learned penalty of every column, or null for the plain norm
    posterior *       text that says why there is none, or
        network, cores    whose derivatives it is made of, or null for main effects alone
        held              columns whose cores do not move
        main              which main functions move, the intercept last; or null
        chain_factor, main_factor, freedom, n_held     see `qtkm.objective.posterior`
        noise, spread, tails, scores                   see `qtkm.estimators.uncertainty`
    summary *         n_iter, status, message, history

What follows from these (`n_parameters_`, `rank_`, …) is not written.  A reader ignores keys that
it does not know, so that a minor version may add some.
"""

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import storage
from .checks import check_parameters
from .encoding import encode, encode_part
from .inputs import Reading
from .loading import CLASSES, KIND, LEFT_OUT, from_tree
from .uncertainty import Uncertainty


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
    """Tree of a fitted model, of which it is known that it can be read again.

    Raises
    ------
    NotFittedError
    TypeError
        For a part or a value that a file cannot hold.
    ValueError
        For a model that was altered and does not hold together any more.
    """
    check_is_fitted(model)
    name = type(model).__name__
    if CLASSES.get(name) is not type(model):
        raise TypeError(
            f"{name} is a class that qtkm does not know by name; save a model of the class "
            f"{' or '.join(CLASSES)} instead."
        )
    check_parameters(model)
    tree = {
        "class": name,
        "versions": {"qtkm": version("qtkm"), "numpy": np.__version__},
        "parameters": _parameters(model),
        "feature_names": _listed(getattr(model, "feature_names_in_", None)),
        "columns": _columns(model),
        "target": _target(model),
        "network": _encode("network", model.network_, encode_part),
        "loss": _encode("loss", model.loss_, encode_part),
        "cores": _encode("cores_", model.cores_),
        "alpha": float(model.alpha_),
        "penalties": _encode("penalties_", model.penalties_),
        "posterior": _posterior(model._uncertainty),
        "summary": {
            key: _encode(f"{key}_", getattr(model, f"{key}_"))
            for key in ("n_iter", "status", "message", "history")
        },
    }
    try:
        from_tree(tree)
    except ValueError as error:
        raise ValueError(
            f"The model cannot be saved, for it could not be loaded again: {error}."
        ) from error
    return tree


def _parameters(model: Any) -> dict[str, Any]:
    return {
        name: _encode(name, value)
        for name, value in model.get_params(deep=False).items()
        if name not in LEFT_OUT
    }


def _columns(model: Any) -> list[dict[str, Any]]:
    reading: Reading = model._reading
    columns = []
    for own, said in zip(reading.inputs.columns, model.columns_, strict=True):
        box, label = own.box, own.label
        columns.append({
            "basis": _encode(label, own.feature_map, encode_part),
            "bounds": None if box is None else [box.low, box.high],
            "extrapolation": None if box is None else box.extrapolation,
            "categories": _encode(f"the categories of {label}", said["categories"]),
            "counts": own.counts if own.is_categorical else None,
            **({} if own.is_categorical else
               {"center": own.center, "holds": own.holds, "cycle": own.cycle}),
            "grid": {key: encode(said[key]) for key in ("n_grid", "binned", "bin_error")},
        })  # fmt: skip
    return columns


def _target(model: Any) -> dict[str, Any]:
    target: dict[str, Any] = dict(vars(model._reading.scale))
    target["range"] = model._reading.target_range
    target["names"] = model._reading.target_names
    if hasattr(model, "classes_"):
        return target | {"classes": _encode("classes_", model.classes_)}
    return target | {"ndim": model._y_ndim}


def _posterior(known: Any) -> Any:
    """Tree of what a model knows of its errors."""
    if not isinstance(known, Uncertainty):
        return known
    found, chain = known.posterior, known.posterior.tangents.chain
    return {
        "network": None if chain is None else encode_part(chain.network),
        "cores": None if chain is None else encode(chain.all_cores),
        "held": [] if chain is None else [bool(held) for held in chain.is_held],
        "main": found.tangents.is_main,
        "chain_factor": found.chain, "main_factor": found.main,
        "freedom": found.freedom, "n_held": found.n_held,
        "noise": known.noise, "spread": known.spread, "tails": known.tails,
        "scores": known.scores,
    }  # fmt: skip


def _listed(values: Any) -> list[Any] | None:
    return None if values is None else list(values)


def _encode(what: str, value: Any, encoder: Any = encode) -> Any:
    try:
        return encoder(value)
    except TypeError as error:
        raise TypeError(f"The model cannot be saved because of {what}: {error}.") from None
