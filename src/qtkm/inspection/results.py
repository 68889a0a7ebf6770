"""Base class of all results, with a short repr instead of long arrays."""

import textwrap
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.sources.conversion import need
from ..escaping import shorten, visible
from ..estimators.wording import readable

#: characters of a line and of a name, and how many things are told one by one
WIDTH, LONGEST, MOST = 88, 40, 3


class Finding:
    """Dataclass of numbers whose repr shows the main result and array shapes."""

    def _gist(self) -> str:
        """Return the main result in one line."""
        raise NotImplementedError

    def _table(self) -> dict[str, Any]:
        """Return the columns of `to_frame`; those that are None are dropped."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """Return the numbers as a pandas DataFrame with one row per value, column or pair."""
        table = {name: column for name, column in self._table().items() if column is not None}
        return need("pandas", "results become frames").DataFrame(table)

    def __repr__(self) -> str:
        told = [(field.name, _brief(getattr(self, field.name))) for field in fields(self)]  # type: ignore[arg-type]
        shapes = ", ".join(f"{name} {text}" for name, text in told if text)
        lines = textwrap.wrap(f"{type(self).__name__}({visible(self._gist())})", WIDTH)
        return textwrap.indent("\n".join([*lines, *textwrap.wrap(shapes, WIDTH)]), "  ")[2:]


def largest(names: Sequence[Any], numbers: NDArray[np.float64]) -> str:
    """Return the largest numbers with their names."""
    order = np.argsort(-numbers, kind="stable")
    told = [f"{shorten(names[i], LONGEST)} = {readable(numbers[i], 3)}" for i in order[:MOST]]
    return ", ".join([*told, f"{len(order) - MOST} more"] if len(order) > MOST else told)


def place(value: Any) -> str:
    """Format a value of a column: a number, a time or a category."""
    if isinstance(value, np.datetime64):
        text = str(value.astype("M8[s]")).replace("T", " ").removesuffix(" 00:00:00")
        return "missing" if np.isnat(value) else text
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return readable(value) if is_number else shorten(value, 28)


def _brief(value: Any) -> str:
    """Return the shape of arrays, or a number; empty for what the main result contains."""
    if isinstance(value, np.ndarray):
        return f"{value.shape}"
    if isinstance(value, list | tuple) and value and isinstance(value[0], np.ndarray):
        shapes = [f"{array.shape}" for array in value]
        return " and ".join(shapes) if len(value) <= MOST else f"[{len(value)} arrays]"
    if isinstance(value, list):
        return f"[{len(value)}]"
    return f"{readable(value)}" if isinstance(value, int | float) else ""
