"""Base class of all results, with a short repr instead of long arrays."""

import textwrap
from collections.abc import Sequence
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
        arrays = {name: each for name, each in vars(self).items() if isinstance(each, np.ndarray)}
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
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
