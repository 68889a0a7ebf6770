"""Rows of another source, looked at or chosen on their way."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .source import BLOCK_ROWS, Block, Source


class MappedSource(Source):
    """Blocks of another source, each passed through a function.

    Parameters
    ----------
    source : Source
    change : callable
        change(block) gives the block to pass on, which may have fewer rows, or raises an error.
        It must do the same in every scan, whatever the sizes of the blocks.
    needs : sequence of str
        Columns that `change` looks at, read beside those that are asked for.
    rule : str
        What `change` does, in words that differ where the rows differ.
    share : float
        About what part of the rows is passed on, for progress bars.

    Attributes
    ----------
    n_rows : int or None
        Number of rows, known after a first scan.
    """

    def __init__(
        self,
        source: Source,
        change: Callable[[Block], Block],
        *,
        needs: Sequence[str] = (),
        rule: str = "",
        share: float = 1.0,
    ):
        self._source, self._change, self._needs = source, change, list(needs)
        self._rule, self._share = rule, share
        self.names, self.paths = source.names, source.paths

    def blocks(
        self, columns: Sequence[str], rows: int = BLOCK_ROWS, carry: Sequence[str] = ()
    ) -> Iterator[Block]:
        wanted = list(dict.fromkeys([*columns, *self._needs]))
        return self._pass_on(self._source.blocks(wanted, rows, carry), columns)

    def _pass_on(self, blocks: Iterator[Block], columns: Sequence[str]) -> Iterator[Block]:
        first = 0
        for given in blocks:
            block = self._change(given)
            if block.n_rows:
                chosen = {name: block.columns[name] for name in columns}
                yield Block(chosen, block.n_rows, first, block.where, block.carried)
            first += block.n_rows
        self.n_rows = first

    def fingerprint(self) -> str | None:
        found = self._source.fingerprint()
        return None if found is None else f"{found} {self._rule}".strip()

    def refuse_changes(self) -> None:
        self._source.refuse_changes()

    def expected_rows(self) -> int | None:
        if self.n_rows is not None:
            return self.n_rows
        expected = self._source.expected_rows()
        return None if expected is None else round(self._share * expected)


def take_rows(block: Block, keep: NDArray[np.bool_]) -> Block:
    """Return the rows of a block selected by a mask."""
    if keep.all():
        return block
    columns = {name: _take(values, keep) for name, values in block.columns.items()}
    carried = {name: array.filter(keep) for name, array in block.carried.items()}
    return Block(columns, int(keep.sum()), block.first_row, block.where, carried)


def is_there(values: Any) -> NDArray[np.bool_]:
    """Return which entries of a column of a block are not missing."""
    if not isinstance(values, np.ndarray):
        return values.notna().to_numpy()
    if values.dtype.kind in "mM":
        return ~np.isnat(values)
    return ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), dtype=bool)


def _take(values: Any, keep: NDArray[np.bool_]) -> Any:
    if isinstance(values, np.ndarray):
        return values[keep]
    return values[keep].reset_index(drop=True)


def draw_rows(block: Block, share: float, seed: int) -> NDArray[np.bool_]:
    """Draw rows by their numbers: the same ones in every scan, whatever the blocks.

    Parameters
    ----------
    block : Block
    share : float
        Part of the rows to draw, from 0 to 1.
    seed : int

    Returns
    -------
    (n_rows,) array of bool
    """
    rows = np.arange(block.first_row, block.first_row + block.n_rows, dtype=np.uint64)
    start = _mix(np.array([seed], dtype=np.uint64))
    # the upper 53 bits are as many as a float holds
    return (_mix(rows ^ start) >> np.uint64(11)) * 2.0**-53 < share


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash numbers; every bit of the result hangs on every bit of the number (SplitMix64)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
