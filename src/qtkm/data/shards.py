"""Shards: blocks of coded rows, sorted, with the groups that a pass over them needs.

Sums over shards are added in a fixed order, so results do not depend on who computes which.
Rows are sorted by their codes, the column with the most grid values first: a shard does not
depend on the order of its rows, and neighbours read neighbouring rows of the largest tables.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..limits import LIMITS
from ..protocols import Shards

#: rows that one task sums; groups larger than this are split
TASK_ROWS = 1 << 13
#: rows of a group up to which groups are added up row by row, all groups at once
FEW_IN_GROUP = 8


@dataclass
class Groups:
    """Rows of a shard sorted by the code of one column.

    Attributes
    ----------
    order : (n_rows,) int32 array
        Row numbers, sorted.
    tasks : list of (n, 3) int arrays
        Segments (start, stop, slot) of `order`, dealt into tasks of similar size. Slots
        below `n_codes` are grid values; later ones are further pieces of large groups.
    owners : int array
        Grid value of each slot from `n_codes` on.
    starts : (n_codes + 1,) int array
        Where the rows of each grid value begin in `order`, and their end.
    kept : dict
        What a network has computed of these groups once and for all.
    """

    order: NDArray[np.int32]
    tasks: list[NDArray[np.int64]]
    owners: NDArray[np.int64]
    starts: NDArray[np.int64]
    kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def n_codes(self) -> int:
        """Number of grid values."""
        return len(self.starts) - 1

    def sum(self, values: NDArray, each: int = 1) -> NDArray:
        """Sum sorted rows (`each` lines of `values` per row) over every grid value's rows."""
        starts, sizes = each * self.starts[:-1], each * np.diff(self.starts)
        largest = int(sizes.max(initial=0))
        if largest == 1 and len(values) == len(sizes):
            return values
        there = sizes > 0
        if largest > FEW_IN_GROUP:
            sums = np.add.reduceat(values, starts[there], axis=0)
        else:
            sums = values[starts[there]]
            for n in range(1, largest):
                more = np.flatnonzero(sizes[there] > n)
                sums[more] += values[starts[there][more] + n]
        if len(sums) == len(sizes):
            return sums
        whole = np.zeros((len(sizes), *values.shape[1:]), dtype=values.dtype)
        whole[there] = sums
        return whole

    def add_pieces(self, *sums: NDArray) -> None:
        """Add further pieces of large groups to the slots of their grid values."""
        for total in (part for part in sums if len(part)):
            for extra, owner in enumerate(self.owners, start=self.n_codes):
                total[owner] += total[extra]


@dataclass
class Shard:
    """A block of coded rows.

    Attributes
    ----------
    codes : (n_rows, n_columns) unsigned array
    target : (n_rows, n_outputs) array
        Targets, scaled as the fit sees them.
    weight : (n_rows,) array or None
        Row weights; None means 1.
    n_codes : sequence of int
        Grid size of each column.
    find_order : callable or None
        What `order` would compute, where it is known from elsewhere.
    """

    codes: NDArray[np.unsignedinteger]
    target: NDArray[np.floating]
    weight: NDArray[np.floating] | None
    n_codes: tuple[int, ...]
    find_order: Callable[[int], tuple[NDArray, NDArray]] | None = field(default=None, repr=False)
    _groups: dict[int | None, Groups] = field(default_factory=dict, repr=False)
    _scaled: tuple[NDArray[np.floating], NDArray[np.floating]] | None = field(
        default=None, repr=False
    )

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def scaled(self) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Square roots of the weights (empty for weights of 1), and targets times them."""
        if self.weight is None:
            return np.empty(0), self.target
        if self._scaled is None:
            root = np.sqrt(self.weight)
            self._scaled = (root, root[:, None] * self.target)
        return self._scaled

    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows for tasks that do not depend on each other."""
        return list(blocks(len(self)))

    def parts(self, count: int) -> list[tuple[int, int]]:
        """So many ranges of rows, or fewer: none is smaller than a task."""
        return list(blocks(len(self), max(TASK_ROWS, -(-len(self) // count))))

    def reweighted(self, weight: NDArray[np.floating], target: NDArray[np.floating]) -> "Shard":
        """Return the same rows with other weights and targets."""
        return Shard(self.codes, target, weight, self.n_codes, self.find_order, self._groups)

    def take(self, rows: NDArray | slice) -> "Shard":
        """Return the selected rows."""
        weight = None if self.weight is None else self.weight[rows]
        return Shard(self.codes[rows], self.target[rows], weight, self.n_codes)

    def groups(self, column: int | None) -> Groups:
        """Rows grouped by the code of a column, or all in one group for None."""
        if column not in self._groups:
            found = (
                (np.arange(len(self), dtype=np.int32), np.array([0, len(self)]))
                if column is None
                else (self.find_order or self.order)(column)
            )
            self._groups[column] = _segment(*found)
        return self._groups[column]

    def order(self, column: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Row numbers sorted by the code of a column, and where each code's rows begin."""
        codes = self.codes[:, column]
        order = np.argsort(codes, kind="stable").astype(np.int32)
        counts = np.bincount(codes, minlength=self.n_codes[column])
        return order, np.concatenate([[0], np.cumsum(counts)])


class ShardList(list[Shard], Shards):
    """Shards in this process's memory."""

    are_here = True

    def map_targets(self, function: Callable[[NDArray], NDArray]) -> None:
        for shard in self:
            shard.target, shard._scaled = function(shard.target), None


def _segment(order: NDArray[np.int32], starts: NDArray[np.int64]) -> Groups:
    n_codes = len(starts) - 1
    sizes = np.diff(starts)
    pieces = np.maximum(1, -(-sizes // TASK_ROWS))  # of each group
    owner = np.repeat(np.arange(n_codes), pieces)
    piece = np.arange(len(owner)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    begin = starts[owner] + sizes[owner] * piece // pieces[owner]
    end = starts[owner] + sizes[owner] * (piece + 1) // pieces[owner]
    slot = owner.copy()
    later = piece > 0
    slot[later] = n_codes + np.arange(later.sum())
    segments = np.column_stack([begin, end, slot]).astype(np.int64)
    cuts = np.flatnonzero(np.diff(begin // TASK_ROWS)) + 1
    return Groups(order, np.split(segments, cuts), owner[later], starts)


def build(
    codes: NDArray[np.unsignedinteger],
    target: NDArray[np.floating],
    weight: NDArray[np.floating] | None,
    n_codes: tuple[int, ...],
) -> ShardList:
    """Sort rows into shards of up to `LIMITS.shard_rows` rows; arrays as of `Shard`."""
    return ShardList(
        sort_rows(codes[a:b], target[a:b], None if weight is None else weight[a:b], n_codes)
        for a, b in blocks(len(codes), LIMITS.shard_rows)
    )


def sort_rows(
    codes: NDArray[np.unsignedinteger],
    target: NDArray[np.floating],
    weight: NDArray[np.floating] | None,
    n_codes: tuple[int, ...],
) -> Shard:
    """Sort rows by their codes, into one shard."""
    order = np.lexsort(codes.T[np.argsort(n_codes, kind="stable")])
    weight = None if weight is None else weight[order]
    return Shard(codes[order], target[order], weight, n_codes)


def merge(
    codes: NDArray[np.unsignedinteger],
    target: NDArray[np.floating],
    weight: NDArray[np.floating] | None,
    average: bool = True,
) -> tuple[NDArray[np.unsignedinteger], NDArray[np.floating], NDArray[np.floating], NDArray]:
    """Merge rows with equal codes, in an order that does not depend on the given one.

    Rows equal in codes and target are counted first, so that a repeated row and an integer weight
    give the same bits. Targets are averaged over equal codes where the loss is quadratic; with
    `average=False` rows must be equal in both. Returns distinct codes, mean targets, total weights
    and the weighted sum of squares of the targets around those means.
    """
    weight = np.ones(len(codes)) if weight is None else weight
    order = np.lexsort((weight, *target.T[::-1], *codes.T[::-1]))
    codes, target, weight = codes[order], target[order], weight[order]
    new_row = _changes(codes)
    starts = np.flatnonzero(new_row | _changes(target))
    weight = np.add.reduceat(weight, starts)
    codes, target, new_row = codes[starts], target[starts], new_row[starts]
    if not average:
        return codes, target, weight, np.zeros(target.shape[1])
    starts = np.flatnonzero(new_row)
    total = np.add.reduceat(weight, starts)
    mean = np.add.reduceat(weight[:, None] * target, starts) / total[:, None]
    deviation = target - np.repeat(mean, np.diff(np.append(starts, len(target))), axis=0)
    scatter = np.sum(weight[:, None] * deviation**2, axis=0)
    return codes[starts], mean, total, scatter


def _changes(rows: NDArray[np.generic]) -> NDArray[np.bool_]:
    return np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)])


def blocks(n_rows: int, size: int = TASK_ROWS) -> Iterator[tuple[int, int]]:
    """Yield ranges (start, stop) of rows of about equal size, none larger than `size`."""
    count = max(1, -(-n_rows // size))
    for i in range(count):
        yield n_rows * i // count, n_rows * (i + 1) // count
