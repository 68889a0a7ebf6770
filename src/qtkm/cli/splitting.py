"""Rows to train on, and rows to test on."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from ..data.sources import Block, Source
from ..data.sources.source import MappedSource, draw_rows, is_there, take_rows

#: with fewer rows, none is set aside
FEWEST_ROWS = 5


def split_rows(y: Any, test_size: float, task: str, seed: int) -> tuple[Any, Any]:
    """Numbers of the rows of a table in memory to train and to test on.

    Parameters
    ----------
    y : pandas.Series
        The target.
    test_size : float
        Share of rows to test on.
    task : {"regression", "classification"}
    seed : int
    """
    rows = np.arange(len(y))
    if test_size == 0 or len(y) < FEWEST_ROWS:
        return rows, rows[:0]
    if task != "classification":
        return tuple(train_test_split(rows, test_size=test_size, random_state=seed))
    # the only row of a class is one to train on: tested on, it would be a label not known
    alone = (y.map(y.value_counts()) < 2).to_numpy(dtype=bool)
    rest = rows[~alone]
    if len(rest) < FEWEST_ROWS:
        return rows, rows[:0]
    options = {"test_size": test_size, "random_state": seed}
    try:
        train, test = train_test_split(rest, stratify=y.iloc[rest], **options)
    except ValueError:  # fewer test rows than classes
        return rows, rows[:0]
    return np.sort(np.concatenate([train, rows[alone]])), test


@dataclass
class HoldOut:
    """Which rows of a source are trained on and which are tested on.

    Attributes
    ----------
    needed : list of str
        Target, and weight if there is one: rows without them are neither.
    share : float
        Part of the rows to test on, drawn by their numbers in the source.
    seed : int
    always : set of int
        Rows to train on in any case.
    """

    needed: list[str]
    share: float
    seed: int
    always: set[int] = field(default_factory=set)

    def complete(self, block: Block) -> NDArray[np.bool_]:
        """Which rows have a target and a weight."""
        return np.logical_and.reduce([is_there(block.columns[name]) for name in self.needed])

    def test(self, block: Block) -> NDArray[np.bool_]:
        """Which rows are tested on."""
        drawn = draw_rows(block, self.share, self.seed)
        for row in self.always:
            if 0 <= row - block.first_row < block.n_rows:
                drawn[row - block.first_row] = False
        return drawn & self.complete(block)

    def training_rows(self, source: Source) -> Source:
        """Return the training rows of a source."""

        def rest(block: Block) -> Block:
            return take_rows(block, self.complete(block) & ~self.test(block))

        return self._part(source, rest, 1 - self.share)

    def test_rows(self, source: Source) -> Source:
        """The rows of a source to test on."""
        return self._part(source, lambda block: take_rows(block, self.test(block)), self.share)

    def _part(self, source: Source, change: Any, share: float) -> Source:
        rule = repr((self.needed, self.share, self.seed, sorted(self.always)))
        return MappedSource(source, change, needs=self.needed, rule=rule, share=share)
