"""Fitted models as files that predict without qtkm: ONNX, or Python with NumPy alone."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .onnx_file import write_onnx
from .python_file import write_python

__all__ = ["WRITERS", "export", "write_onnx", "write_python"]

#: formats by name
WRITERS: dict[str, Callable[..., None]] = {"onnx": write_onnx, "python": write_python}


def export(model: Any, path: str | os.PathLike[str], kind: str, **options: Any) -> Path:
    """Write a fitted model to a file that predicts without qtkm.

    Parameters
    ----------
    model : QTKMRegressor or QTKMClassifier
    path : path-like
    kind : {"onnx", "python"}
    options
        Of the writer.
    """
    if kind not in WRITERS:
        raise ValueError(f"format {kind!r} is unknown; use one of {', '.join(WRITERS)}.")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    WRITERS[kind](model, path, **options)
    return path
