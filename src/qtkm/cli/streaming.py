"""Rows of tables of any length, checked and scored block by block."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..data import prefetched
from ..data.sources import Block, Source
from ..data.sources.mapped import take_rows
from .output import watched
from .reading import as_X, check_block, find_columns
from .scoring import LabelSums, NumberSums, start_sums
from .splitting import is_there
from .unseen import Unseen


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
        if keep.any():
            check_block(model, names, block, keep)
        yield take_rows(block, keep), int((~keep).sum())


def score_rows(
    model: Any,
    source: Source,
    target: str,
    name: str,
    weight: str | None,
    shown: bool,
    unseen: Unseen | None = None,
) -> NumberSums | LabelSums:
    """Sums for the scores of a model, over all rows of a source that have a target.

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
    """
    needed = [target] if weight is None else [target, weight]
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
            sums.add(as_X(model, block, names), truth, weights)
        except ValueError as error:
            raise ValueError(f"{block.where}: {error}") from None
    return sums
