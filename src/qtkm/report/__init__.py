"""Report on a fitted model: one self-contained HTML file."""

import json
import os
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from .facts import collect

__all__ = ["collect", "write_report"]


def write_report(
    model: Any, X: Any, y: Any, path: str | os.PathLike[str], *, output: Any = None,
    max_rows: int = 5000, title: str | None = None, file: str | None = None,
) -> Path:  # fmt: skip
    """Write a report on a fitted model or search, see `QTKMRegressor.report`.

    `file` is the name of the model file, for the code that loads it.
    """
    from ..inspection.response import fitted

    facts = collect(fitted(model), X, y, output, max_rows, file)
    facts["title"] = title or f"{facts['target']}: model report"
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(facts), encoding="utf-8")
    return path


def page(facts: dict[str, Any]) -> str:
    """Return the HTML page of facts; names and categories are escaped."""
    data = json.dumps(facts, allow_nan=False, separators=(",", ":"))
    for letter in "<>&":  # so that no text can end the element that holds the data
        data = data.replace(letter, f"\\u{ord(letter):04x}")
    here = files(__package__)
    style, script, frame = (
        here.joinpath(name).read_text(encoding="utf-8")
        for name in ("page.css", "page.js", "page.html")
    )
    parts = {"TITLE": escape(facts["title"]), "STYLE": style, "SCRIPT": script, "DATA": data}
    head, *rest = frame.split("@@")
    return head + "".join(parts.get(part, part) for part in rest)
