"""Collections of Dask as users pass them: what they hold, and predictions for them.

Nothing of Dask is imported here; a collection has what is needed.
"""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np


def is_collection(*values: Any) -> bool:
    """Whether some value is a collection of Dask."""
    return any(hasattr(value, "__dask_graph__") for value in values)


def example(X: Any) -> Any:
    """A few made-up rows with the names and types of X."""
    if hasattr(X, "_meta_nonempty"):
        return X._meta_nonempty
    if not is_collection(X) or not hasattr(X, "chunks"):
        raise ValueError(
            f"X is a {type(X).__name__} while y or sample_weight is a collection of Dask; pass all "
            "of them as Dask arrays or frames with the same partitions, or none."
        )
    return np.zeros((1, *X.shape[1:]), dtype=X.dtype)


def names_of(y: Any) -> list[str]:
    """Names of the columns of y."""
    if hasattr(y, "columns"):
        return [str(name) for name in y.columns]
    if getattr(y, "ndim", 1) == 2:
        return [f"y{k}" for k in range(y.shape[1])]
    return [str(name) if (name := getattr(y, "name", None)) and hasattr(y, "dtypes") else "y"]


def name_apart(taken: Sequence[str], name: str) -> str:
    """The name, or one like it that is not taken."""
    return name_apart(taken, f"{name} (target)") if name in taken else name


def to_delayed(name: str, value: Any) -> list[Any]:
    """Partitions of a collection."""
    if not hasattr(value, "to_delayed") or not hasattr(value, "ndim"):
        raise ValueError(
            f"{name} is a {type(value).__name__}, while X is a collection of Dask; pass {name} as "
            "a Dask array or frame with the same partitions."
        )
    if hasattr(value, "numblocks"):
        value = value.rechunk({1: -1}) if value.ndim == 2 else value
        return value.to_delayed().ravel().tolist()
    # optimized by itself, a collection of few columns may join partitions that others keep apart
    simple = value.simplify() if hasattr(value, "simplify") else value
    return list(simple.to_delayed(optimize_graph=False))


def refuse_unequal(parts: dict[str, list[Any]], given: dict[str, Any]) -> None:
    """Raise a ValueError where it is plain that partitions do not go together."""
    for name, own in parts.items():
        for what, one, other in (
            ("partitions", len(parts["X"]), len(own)),
            ("rows in their chunks", _lengths(given["X"]), _lengths(given[name])),
            ("divisions", _divisions(given["X"]), _divisions(given[name])),
        ):
            if one != other and None not in (one, other):
                raise ValueError(
                    f"X and {name} have different {what}: {one} and {other}; make them the same "
                    "with repartition or rechunk."
                )


def _lengths(value: Any) -> tuple[int, ...] | None:
    chunks = getattr(value, "chunks", None)
    return None if chunks is None or np.isnan(chunks[0]).any() else chunks[0]


def _divisions(value: Any) -> tuple[Any, ...] | None:
    return value.divisions if getattr(value, "known_divisions", False) else None


# -- predictions ----------------------------------------------------------------------------------


def predict_lazily(model: Any, method: str, X: Any, kind: Any, width: int | None) -> Any:
    """Predictions for a collection as another one, with the same partitions.

    Parameters
    ----------
    model : Model
    method : str
        What to call for each partition.
    X : collection of Dask
    kind : dtype
        Of the predictions.
    width : int or None
        How many there are for each row; None for a vector.
    """
    light = copy.copy(model).set_params(
        callbacks=None, checkpoint=None, engine="threads", n_jobs=1, verbose=0
    )
    predict = _Predict(light, method, np.empty((0,) if width is None else (0, width), dtype=kind))
    if hasattr(X, "_meta"):
        if hasattr(X, "_meta_nonempty"):
            return X.map_partitions(predict, meta=predict(X._meta))
        X = X.rechunk({1: -1})
        change = {"drop_axis": 1} if width is None else {"chunks": (X.chunks[0], (width,))}
        return X.map_blocks(predict, dtype=kind, meta=predict.nothing, **change)
    raise ValueError(f"X is a {type(X).__name__}; pass a Dask array or frame.")


class _Predict:
    """Predictions for one partition, in the manner of the partition."""

    def __init__(self, model: Any, method: str, nothing: Any):
        self.model, self.method, self.nothing = model, method, nothing

    def __call__(self, X: Any) -> Any:
        result = getattr(self.model, self.method)(X) if len(X) else self.nothing
        if not hasattr(X, "iloc"):
            return result
        import pandas

        make = pandas.Series if result.ndim == 1 else pandas.DataFrame
        return make(result, index=X.index)
