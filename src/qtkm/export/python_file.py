"""A model as one Python file that needs NumPy alone, and predicts the same bits."""

import base64
import io
import json
import textwrap
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from ..escaping import visible
from ..limits import LIMITS
from .plan import make_plan


def write_python(model: Any, path: Path, std: bool | None = None) -> None:
    """Write a fitted model as a Python file, with standard deviations if it has them or `std`.

    Predictions have the bits of `predict` for tables below 16,384 rows, whose rows the library
    evaluates in NumPy as well; beyond, they agree to about twelve digits.
    """
    plan = make_plan(model, std)
    arrays: dict[str, Any] = {
        "intercept": plan.intercept, "mean": plan.mean, "scale": plan.scale,
        "closing": plan.closing, "bounds": plan.bounds, "classes": _labels(plan.classes),
    }  # fmt: skip
    columns = []
    for number, column in enumerate(plan.columns):
        own = {"name": column.name, "kind": column.kind, **column.facts}
        columns.append(own | {"n_weights": len(column.weights), "gaps": own.get("gaps", False)})
        for n, weights in enumerate(column.weights):
            arrays[f"weights {number} {n}"] = weights
        for name in ("main", "warp", "means"):
            arrays[f"{name} {number}"] = getattr(column, name)
    facts: dict[str, Any] = {"model": plan.facts | {"is_chain": plan.is_chain}, "columns": columns}
    if (spread := plan.spread) is not None:
        for name in ("closing", "chain", "main", "noise", "spread", "unit"):
            arrays[f"std {name}"] = getattr(spread, name)
        for number, levels in enumerate(spread.cores):
            arrays[f"std table {number}"] = spread.tables[number]
            arrays[f"std share {number}"] = spread.shares[number]
            arrays |= {f"std core {number} {n}": core for n, core in enumerate(levels)}
        kept = ("is_held", "has_outputs", "used", "step")
        facts["std"] = {name: getattr(spread, name) for name in kept}
        facts["std"]["n_levels"] = [len(levels) for levels in spread.cores]
    held = io.BytesIO()
    np.savez_compressed(held, **{k: v for k, v in arrays.items() if v is not None})
    frame = files(__package__).joinpath("standalone.py.txt").read_text(encoding="utf-8")
    names = ", ".join(_harmless(column.name) for column in plan.columns)
    parts = {
        "TITLE": f"A {type(model).__name__} as a Python file.", "VERSION": version("qtkm"),
        "MODULE": _harmless(path.stem), "ROWS": str(LIMITS.predict_rows),
        "MORE": f"\n    {_harmless(path.stem)}.predict_proba(X)" if plan.facts["probabilities"]
        else f"\n    {_harmless(path.stem)}.predict(X, return_std=True)" if spread else "",
        "COLUMNS": textwrap.fill(names, 90, subsequent_indent="    "),
        "FACTS": repr(json.dumps(facts)),
        "ARRAYS": "\n".join(textwrap.wrap(base64.b64encode(held.getvalue()).decode(), 100)),
    }  # fmt: skip
    head, *rest = frame.split("@@")
    path.write_text(head + "".join(parts.get(part, part) for part in rest), encoding="utf-8")


def _harmless(name: str) -> str:
    """Return a name that cannot leave the docstring it is written into."""
    return visible(name).replace("\\", "/").replace('"', "'").replace("@@", "@")


def _labels(classes: Any) -> Any:
    """Return classes as an array that can be loaded without pickling."""
    if classes is None or classes.dtype.kind != "O":
        return classes
    if not all(isinstance(label, str) for label in classes):
        raise ValueError("classes of several types cannot be exported; use text or numbers.")
    return classes.astype(str)
