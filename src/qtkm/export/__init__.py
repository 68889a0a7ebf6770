"""Fitted models as files that predict without qtkm: ONNX, or Python with NumPy alone."""

import base64
import io
import json
import os
import textwrap
from collections.abc import Callable
from dataclasses import asdict
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from ..escaping import visible
from ..limits import LIMITS
from .onnx_file import write_onnx
from .plan import make_plan

__all__ = ["WRITERS", "export", "write_onnx", "write_python"]


def export(model: Any, path: str | os.PathLike[str], kind: str, **options: Any) -> Path:
    """Write a fitted model to a file of the format `kind`; `options` are those of its writer."""
    if kind not in WRITERS:
        raise ValueError(f"format {kind!r} is unknown; use one of {', '.join(WRITERS)}.")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    WRITERS[kind](model, path, **options)
    return path


def write_python(model: Any, path: Path, std: bool | None = None) -> None:
    """Write a fitted model as a Python file, with standard deviations if it has them or `std`.

    Predictions have the bits of `predict` for tables below 16,384 rows, whose rows the library
    evaluates in NumPy as well; beyond, they agree to about twelve digits.  NumPy's own products
    may have other last bits on several threads; the library uses one.
    """
    plan, arrays = make_plan(model, std), []

    def pack(value: Any) -> Any:
        """Put arrays elsewhere, and keep what JSON can hold."""
        if isinstance(value, np.ndarray):
            arrays.append(value)
            return {"array": f"arr_{len(arrays) - 1}"}
        if isinstance(value, dict):
            return {key: pack(entry) for key, entry in value.items()}
        return [pack(entry) for entry in value] if isinstance(value, list) else value

    classes = plan.classes
    if classes is not None and classes.dtype.kind == "O":  # which only pickling could load
        if not all(isinstance(label, str) for label in classes):
            raise ValueError("classes of several types cannot be exported; use text or numbers.")
        classes = classes.astype(str)
    facts = pack(asdict(plan) | {"classes": classes})
    held = io.BytesIO()
    np.savez_compressed(held, *arrays)
    frame = files(__package__).joinpath("standalone.py.txt").read_text(encoding="utf-8")
    names = ", ".join(_harmless(column.name) for column in plan.columns)
    parts = {
        "TITLE": f"A {type(model).__name__} as a Python file.", "VERSION": version("qtkm"),
        "MODULE": _harmless(path.stem), "ROWS": str(LIMITS.predict_rows),
        "MORE": f"\n    {_harmless(path.stem)}.predict_proba(X)" if plan.facts["probabilities"]
        else f"\n    {_harmless(path.stem)}.predict(X, return_std=True)" if plan.spread else "",
        "COLUMNS": textwrap.fill(names, 90, subsequent_indent="    "),
        "FACTS": repr(json.dumps(facts)),
        "ARRAYS": "\n".join(textwrap.wrap(base64.b64encode(held.getvalue()).decode(), 100)),
    }  # fmt: skip
    head, *rest = frame.split("@@")
    path.write_text(head + "".join(parts.get(part, part) for part in rest), encoding="utf-8")


def _harmless(name: str) -> str:
    """Return a name that cannot leave the docstring it is written into."""
    return visible(name).replace("\\", "/").replace('"', "'").replace("@@", "@")


#: formats by name
WRITERS: dict[str, Callable[..., None]] = {"onnx": write_onnx, "python": write_python}
