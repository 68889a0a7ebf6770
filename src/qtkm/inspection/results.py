"""Base class of all results: frames, whose first and last lines are the repr."""

from typing import Any

import numpy as np

from ..escaping import shorten, visible_frame
from ..estimators.wording import readable
from ..extras import need


class Finding:
    """Dataclass of numbers that becomes a frame; its repr is an excerpt of the frame."""

    def _table(self) -> dict[str, Any]:
        """Return the columns of `to_frame`; those that are None are dropped."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """Return the numbers as a pandas DataFrame with one row per value, column or pair."""
        table = {name: column for name, column in self._table().items() if column is not None}
        return need("pandas", "results become frames").DataFrame(table)

    def __repr__(self) -> str:
        try:
            frame = self.to_frame()
        except (ModuleNotFoundError, UnicodeError):  # no pandas, or text it cannot hold
            return object.__repr__(self)
        text = visible_frame(frame).to_string(
            max_rows=6, line_width=88, max_colwidth=40, float_format="{:.4g}".format
        )
        return f"{type(self).__name__}, {len(frame)} rows\n{text}"


def place(value: Any) -> str:
    """Format a value of a column: a number, a time or a category."""
    if isinstance(value, np.datetime64):
        text = str(value.astype("M8[s]")).replace("T", " ").removesuffix(" 00:00:00")
        return "missing" if np.isnat(value) else text
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return readable(value) if is_number else shorten(value, 28)
