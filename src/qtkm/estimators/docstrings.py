"""Docstrings of estimators that share most of their parameters.

One of them describes all; another describes what is different, and the rest is filled in, so
that both are complete and nothing is written twice.
"""

import inspect
import re
from collections.abc import Callable
from typing import Any


def filled_from(source: type) -> Callable[[type], Any]:
    """Class decorator: fill in entries of a numpydoc docstring from that of another class.

    Parameters follow the order of the constructor.  Attributes that only the class itself
    describes come first, then those of the source.
    """

    def fill(cls: type) -> Any:
        if cls.__doc__ is None or source.__doc__ is None:  # python -OO
            return cls
        text, other = inspect.cleandoc(cls.__doc__), inspect.cleandoc(source.__doc__)
        entries = _entries(other, "Parameters") | _entries(text, "Parameters")
        order = list(inspect.signature(cls).parameters)
        text = _replace(text, "Parameters", [entries[name] for name in order])
        own, shared = _entries(text, "Attributes"), _entries(other, "Attributes")
        order = [name for name in own if name not in shared] + list(shared)
        cls.__doc__ = _replace(text, "Attributes", [(shared | own)[name] for name in order])
        return cls

    return fill


def _section(text: str, name: str) -> tuple[int, int]:
    """Where the body of a section begins and ends."""
    heading = re.search(rf"^{name}\n-+\n", text, re.MULTILINE)
    if heading is None:
        raise ValueError(f"The docstring has no section {name}.")
    following = re.search(r"^\w.*\n-+$", text[heading.end() :], re.MULTILINE)
    return heading.end(), heading.end() + following.start() if following else len(text)


def _entries(text: str, section: str) -> dict[str, str]:
    begin, end = _section(text, section)
    parts = re.split(r"^(?=\w+ : )", text[begin:end], flags=re.MULTILINE)
    return {part.split(" : ")[0]: part.strip() for part in parts if part.strip()}


def _replace(text: str, section: str, entries: list[str]) -> str:
    begin, end = _section(text, section)
    return text[:begin] + "\n".join(entries) + "\n\n" + text[end:]
