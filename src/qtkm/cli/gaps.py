"""Gaps in the numbers of a table: how many, and where."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.sources import Block
from .splitting import is_there


@dataclass
class Gaps:
    """Numbers of a column that are missing or infinite.

    Attributes
    ----------
    missing, infinite : int
        How many.
    first : str
        Where the first one stands.
    among_numbers : bool
        Whether a block has both gaps and numbers: one without any may as well be one of text.
    """

    missing: int = 0
    infinite: int = 0
    first: str = ""
    among_numbers: bool = False

    def add(self, values: Any, block: Block, keep: Any = True, several: bool = False) -> None:
        """Look at the numbers of some rows.

        Parameters
        ----------
        values : array
        block : Block
        keep : array of bool
            Rows that count.
        several : bool
            Whether the table has several files, so that its rows are best told by them.
        """
        if values.dtype.kind != "f":
            return
        wrong = ~np.isfinite(values) & keep
        if not wrong.any():
            return
        missing = int((~is_there(values) & keep).sum())
        self.missing += missing
        self.infinite += int(wrong.sum()) - missing
        self.among_numbers |= bool(is_there(values).any())
        self.first = self.first or place(block, int(np.argmax(wrong)), several)

    def tell(self, n_rows: int) -> str:
        """How many there are, and where."""
        parts = []
        if self.missing:
            parts.append(f"no number in {self.missing:,} of {n_rows:,} rows")
        if self.infinite:
            parts.append(f"infinity in {self.infinite:,} of {n_rows:,} rows")
        return f"{' and '.join(parts)}, first in {self.first}"


def place(block: Block, row: int, several: bool) -> str:
    """Number of a row in its table, counted from 1, and its file if there are several."""
    text = f"row {block.first_row + row + 1:,}"
    return f"{text} of the table, in {block.where}" if several else text
