"""What a fit must have in common with a checkpoint to go on from it."""

import hashlib
from importlib.metadata import version
from typing import Any

import numpy as np

from ..networks import flatten
from ..objective import Objective
from .rows import digest

#: parameters that change when a fit ends or what is shown, not how it goes on
FREE = {
    "callbacks", "checkpoint", "checkpoint_seconds", "engine", "max_iter", "memory_limit", "n_jobs",
    "tol", "verbose",
}  # fmt: skip


def fingerprint(model: Any, objective: Objective, cores: Any) -> dict[str, str]:
    """Parameters, rows and start of a fit, each as a short text."""
    parameters = {
        f"parameter {name}": _text(value)
        for name, value in model.get_params(deep=True).items()
        if name.split("__")[0] not in FREE
    }
    rows = hashlib.sha256()
    for column in objective.columns:
        rows.update(np.ascontiguousarray(column.factors).tobytes())
    rows.update(objective.engine.sum(digest, objective.shards).tobytes())
    start = hashlib.sha256()
    for core in flatten(cores):
        start.update(np.ascontiguousarray(core).tobytes())
    return parameters | {
        "version of qtkm": version("qtkm"),
        "rows": rows.hexdigest(),
        "start": start.hexdigest(),
    }


def _text(value: Any) -> str:
    """A text that two equal values have in common."""
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return f"array {value.dtype} {value.shape} {digest}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return "a generator"
    return repr(value)
