"""Rows of tables of any length: checked and scored block by block, or some of them in memory."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import prefetched
from ..data.sources import Block, Source
from ..data.sources.source import is_there, take_rows
from ..estimators.predicting import as_X
from .output import watched
from .reading import check_block, find_columns, join, most_rows, name_of, open_table, text_columns
from .scoring import LabelSums, NumberSums, start_sums
from .unseen import Unseen


class Sample:
    """Rows of a table, each with the same chance to be among them.

    Parameters
    ----------
    most : int
        Of more rows, so many are drawn.
    seed : int

    Attributes
    ----------
    n_seen, n_rows : int
        Rows that were added, and those of them that are held.

    Notes
    -----
    Every row gets a random number, and the rows with the smallest numbers are held: so one scan
    is enough, how many rows there are need not be known before, and blocks do not matter.
    """

    def __init__(self, most: int, seed: int):
        self.most, self._rng, self._bound = most, np.random.default_rng(seed), 1.0
        self._held: list[tuple[Block, NDArray[np.float64]]] = []
        self.n_seen = self.n_rows = 0

    def add(self, block: Block) -> None:
        """Add rows, and let others go for them."""
        self.n_seen += block.n_rows
        self._hold(block, self._rng.random(block.n_rows))
        if self.n_rows > 2 * self.most:  # not after every block: it takes time
            self._let_go()

    def _hold(self, block: Block, numbers: NDArray[np.float64]) -> None:
        keep = numbers < self._bound
        self.n_rows += int(keep.sum())
        if keep.any():
            self._held.append((take_rows(block, keep), numbers[keep]))

    def _let_go(self) -> None:
        if self.n_rows <= self.most:
            return
        numbers = np.concatenate([numbers for _, numbers in self._held])
        self._bound = float(np.partition(numbers, self.most)[self.most])
        held, self._held, self.n_rows = self._held, [], 0
        for block, own in held:
            self._hold(block, own)

    def block(self) -> Block:
        """All rows that are held, in the order of the table."""
        self._let_go()
        blocks = [block for block, _ in self._held]
        columns = {name: join([block.columns[name] for block in blocks])
                   for name in (blocks[0].columns if blocks else ())}  # fmt: skip
        return Block(columns, self.n_rows, 0, "the sample")


def draw(blocks: Iterable[Block], most: int, seed: int) -> Sample:
    """Draw rows of blocks.

    Parameters
    ----------
    blocks : iterable of Block
    most : int
        Of more rows, so many are drawn.
    seed : int
    """
    sample = Sample(most, seed)
    for block in blocks:
        sample.add(block)
    return sample


def read_sample(
    model: Any, data: Sequence[Path], target: str | None, most: int | None, shown: bool
) -> tuple[Any, Any, int]:
    """Rows for a model to look at, and the truth if asked for.

    Parameters
    ----------
    model : estimator
    data : sequence of pathlib.Path
        Files, folders and patterns.
    target : str or None
        Rows without it are left out.
    most : int or None
        Of more rows, so many are drawn; None for what is enough.
    shown : bool
        Whether progress is shown.

    Returns
    -------
    X, y, n_rows
        What the model predicts from, the truth or None, and how many rows there were to draw from.
    """
    source, name = open_table(data, text_columns(model)), name_of(data)
    needed = [] if target is None else [target]
    names = find_columns(model, source, needed, name)
    blocks = (b for b, _ in checked_blocks(model, source, names, needed, "read", shown))
    sample = draw(blocks, most_rows(most, len(names) + 1), seed=0)
    block = sample.block()
    if block.n_rows == 0:
        raise ValueError(f"{name} has no row with a target")
    y = None
    if target is not None:
        import pandas

        y = pandas.Series(block.columns[target], name=target)
    return as_X(model, block, names), y, sample.n_seen


def checked_blocks(
    model: Any, source: Source, names: Sequence[str], needed: Sequence[str], what: str, shown: bool
) -> Iterator[tuple[Block, int]]:
    """Rows that have a target, with numbers where a model expects some.

    Parameters
    ----------
    model : estimator
    source : Source
    names : sequence of str
        Columns that the model predicts from.
    needed : sequence of str
        Other columns; rows that lack the first of them, the target, are left out.
    what : str
        What is done with the rows, for a bar of progress.
    shown : bool
        Whether there is one.

    Yields
    ------
    Block, int
        What is left of a block, perhaps nothing, and how many rows were left out.
    """
    blocks = prefetched(source.blocks(list(dict.fromkeys([*names, *needed]))))
    for block in watched(blocks, source.expected_rows(), what, shown):
        keep = np.ones(block.n_rows, dtype=bool)
        if needed:
            keep = is_there(block.columns[needed[0]])
        kept = take_rows(block, keep)
        yield check_block(model, names, kept) if kept.n_rows else kept, int((~keep).sum())


def score_rows(
    model: Any,
    source: Source,
    target: str,
    name: str,
    weight: str | None,
    shown: bool,
    unseen: Unseen | None = None,
    offset: str | None = None,
) -> NumberSums | LabelSums:
    """Accumulate the scores of a model over all rows of a source that have a target.

    Parameters
    ----------
    model : estimator
    source : Source
    target : str
        Column of the truth.
    name : str
        What the source is called in messages.
    weight : str or None
        Column of row weights.
    shown : bool
        Whether progress is shown.
    unseen : Unseen, optional
        Counts the rows that are scored and that the model is not made for.
    offset : str, optional
        Column of offsets.
    """
    needed = [each for each in (target, weight, offset) if each is not None]
    names = find_columns(model, source, needed, name)
    sums = start_sums(model)
    for block, left_out in checked_blocks(model, source, names, needed, "score", shown):
        sums.n_left_out += left_out
        if block.n_rows == 0:
            continue
        if unseen is not None:
            unseen.add(block)
        truth = block.columns[target]
        if hasattr(truth, "rename"):
            truth = truth.rename(target)
        try:
            weights = None if weight is None else block.columns[weight]
            shift = {} if offset is None else {"offset": block.columns[offset]}
            sums.add(as_X(model, block, names), truth, weights, **shift)
        except ValueError as error:
            raise ValueError(f"{block.where}: {error}") from None
    return sums
