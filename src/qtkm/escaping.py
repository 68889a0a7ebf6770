"""What text from data goes through before it meets a terminal, a page or a file.

Names of columns, categories and classes may hold anything: sequences that a terminal obeys, marks
that turn the direction of writing round, letters that no encoding has.
"""

import unicodedata
from typing import Any

import numpy as np


def visible(text: str, keep: str = "") -> str:
    r"""Return text with everything that cannot be seen, except `keep`, escaped as in \x1b.

    >>> print(visible("Köln \x1b[31m\u202e"))
    Köln \x1b[31m\u202e
    """
    if text.isprintable():
        return text
    # Python takes all spaces but one for unprintable
    return "".join(
        letter if letter in keep or letter.isprintable() or unicodedata.category(letter) == "Zs"
        else letter.encode("unicode_escape").decode() for letter in text
    )  # fmt: skip


def shorten(value: Any, longest: int) -> str:
    """Return the visible text of a value, at most `longest` letters of it."""
    text = "missing" if value is None else visible(str(value))
    return text if len(text) <= longest else text[: longest - 1] + "…"


def visible_frame(frame: Any) -> Any:
    """Return a pandas frame with visible names and texts."""
    return frame.rename(columns=visible).map(lambda v: visible(v) if isinstance(v, str) else v)


def as_json(value: Any, digits: int = 17) -> Any:
    """Return a value as JSON types; non-finite numbers become null, other objects text."""
    if isinstance(value, dict):
        return {key: as_json(entry, digits) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [as_json(entry, digits) for entry in value]
    if isinstance(value, float):
        return float(f"{value:.{digits}g}") if np.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
