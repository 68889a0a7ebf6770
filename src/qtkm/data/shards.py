"""Shards: blocks of coded rows, sorted, with the groups that a pass needs; in memory or on disk.

Sums over shards are added in a fixed order, so results do not depend on who computes which.
Rows are sorted by their codes, the column with the most grid values first: a shard does not
depend on the order of its rows, and neighbours read neighbouring rows of the largest tables.

Shards on disk are written once and read in every pass, the next one while the present one is used.
A folder holds one file per shard and, written last, an index that describes them:

    index.json
    train-0.bin, train-1.bin, …, validation-0.bin, …
        codes, targets, weights where there are some, and for every column the row numbers sorted
        by its codes and where the rows of each code begin

Files are read into memory of their own, not mapped: what a fit takes is then what it says.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..interruption import check
from ..protocols import Shards

Item = TypeVar("Item")
Codes = NDArray[np.unsignedinteger]
Numbers = NDArray[np.floating]
#: rows that one task sums; groups larger than this are split
TASK_ROWS = 1 << 13
#: rows of a group up to which groups are added up row by row, all groups at once
FEW_IN_GROUP = 8


@dataclass
class Groups:
    """Rows of a shard sorted by the code of one column."""

    #: row numbers, sorted
    order: NDArray[np.int32]
    #: segments (start, stop, slot) of `order`, dealt into tasks of similar size; slots below
    #: `n_codes` are grid values, later ones further pieces of large groups
    tasks: list[NDArray[np.int64]]
    #: grid value of each slot from `n_codes` on
    owners: NDArray[np.int64]
    #: where the rows of each grid value begin in `order`, and their end
    starts: NDArray[np.int64]

    @property
    def n_codes(self) -> int:
        return len(self.starts) - 1

    def sum(self, values: NDArray) -> NDArray:
        """Sum sorted rows over every grid value's rows."""
        starts, sizes = self.starts[:-1], np.diff(self.starts)
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
    """A block of coded rows."""

    codes: Codes  # (n_rows, n_columns)
    #: scaled as the fit sees them, (n_rows, n_outputs)
    target: Numbers
    #: of the rows; None means 1
    weight: Numbers | None
    #: grid size of each column
    n_codes: tuple[int, ...]
    #: what `order` would compute, where it is known from elsewhere
    find_order: Callable[[int], tuple[NDArray, NDArray]] | None = field(default=None, repr=False)
    #: whether the weights say how often every row occurred
    has_copies: bool = False
    _groups: dict[int | None, Groups] = field(default_factory=dict, repr=False)
    _scaled: tuple[Numbers, Numbers] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def scaled(self) -> tuple[Numbers, Numbers]:
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

    def reweighted(self, weight: Numbers | None, target: Numbers) -> "Shard":
        known = self.find_order
        return Shard(self.codes, target, weight, self.n_codes, known, _groups=self._groups)

    def take(self, rows: NDArray | slice) -> "Shard":
        weight = None if self.weight is None else self.weight[rows]
        return Shard(
            self.codes[rows], self.target[rows], weight, self.n_codes, has_copies=self.has_copies
        )

    def sorted(self) -> "Shard":
        return self.take(np.lexsort(self.codes.T[np.argsort(self.n_codes, kind="stable")]))

    def groups(self, column: int | None) -> Groups:
        """Rows grouped by the code of a column, or all in one group for None."""
        if column is None and None not in self._groups:
            order = np.arange(len(self), dtype=np.int32)
            self._groups[None] = _segment(order, np.array([0, len(self)]))
        elif column is not None and column not in self._groups:
            self._groups[column] = _segment(*(self.find_order or self.order)(column))
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

    def forget_groups(self) -> None:
        """Give back the memory of groups, which are found again when they are asked for."""
        for shard in self:
            shard._groups.clear()


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


def merge(codes: Codes, target: Numbers, weight: Numbers | None) -> tuple[Codes, Numbers, Numbers]:
    """Merge rows with equal codes and targets, in an order that does not depend on the given one.

    A repeated row and an integer weight give the same bits.  Returns distinct codes and targets
    with their total weights.
    """
    weight = np.ones(len(codes)) if weight is None else weight
    order = np.lexsort((weight, *target.T[::-1], *codes.T[::-1]))
    codes, target, weight = codes[order], target[order], weight[order]
    starts = np.flatnonzero(_changes(codes) | _changes(target))
    return codes[starts], target[starts], np.add.reduceat(weight, starts)


def _changes(rows: NDArray[np.generic]) -> NDArray[np.bool_]:
    return np.concatenate([[True], (rows[1:] != rows[:-1]).any(axis=1)])


def blocks(n_rows: int, size: int = TASK_ROWS) -> Iterator[tuple[int, int]]:
    """Yield ranges (start, stop) of rows of about equal size, none larger than `size`."""
    count = max(1, -(-n_rows // size))
    for i in range(count):
        yield n_rows * i // count, n_rows * (i + 1) // count


def prefetched(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items, each made by a thread while the one before it is used; two are held at most."""
    end = object()
    iterator = iter(items)
    with ThreadPoolExecutor(1) as pool:
        ahead = pool.submit(next, iterator, end)
        while (item := ahead.result()) is not end:
            ahead = pool.submit(next, iterator, end)
            check()
            yield item  # type: ignore[misc]


def write_shards(folder: Path, made: Iterable[tuple[str, Shard]]) -> None:
    """Write shards, each with "train" or "validation", into an existing folder."""
    index: dict[str, Any] = {"n_codes": [], "train": [], "validation": []}
    for kind, shard in made:
        index["n_codes"] = list(shard.n_codes)
        places: dict[str, Any] = {}
        with open(_path(folder, kind, len(index[kind])), "xb") as file:
            for name, array in _arrays(shard):
                places[name] = (file.tell(), array.dtype.str, array.shape)
                file.write(np.ascontiguousarray(array).data)
            places["end"] = (file.tell(), "u1", (0,))
        index[kind].append(places)
    # this makes the folder complete
    (folder / "index.json").write_text(json.dumps(index), encoding="utf-8")


def _arrays(shard: Shard) -> Iterator[tuple[str, NDArray]]:
    yield "codes", shard.codes
    yield "target", shard.target
    if shard.weight is not None:
        yield "weight", shard.weight
    for column in range(len(shard.n_codes)):
        yield from zip((f"order {column}", f"starts {column}"), shard.order(column), strict=True)


def _path(folder: Path, kind: str, i: int) -> Path:
    return folder / f"{kind}-{i}.bin"


class StoredShards(Shards):
    """Shards of a folder, "train" or "validation", read whenever they are asked for."""

    def __init__(self, folder: Path, kind: str):
        self.folder, self.kind = folder, kind
        try:
            index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
            #: where each array of each file begins, its type and its shape
            self.places: list[dict[str, Any]] = index[kind]
            self.n_codes = tuple(index["n_codes"])
        except (OSError, ValueError, KeyError) as error:
            raise ValueError(f"{folder} holds no complete shards ({error})") from None
        self._functions: list[Callable[[NDArray], NDArray]] = []
        #: column whose order was asked for last, and will be for the next shard
        self._column: int | None = None
        for i, places in enumerate(self.places):
            path = _path(folder, kind, i)
            if not path.exists() or path.stat().st_size != places["end"][0]:
                raise ValueError(f"{path} is missing or cut off")

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[Shard]:
        return prefetched(self._ahead(i) for i in range(len(self)))

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        return self._read(range(len(self))[i])

    def map_targets(self, function: Callable[[NDArray], NDArray]) -> None:
        """Read targets as function(targets) from now on."""
        self._functions.append(function)

    def _ahead(self, i: int) -> Shard:
        shard = self._read(i)
        if self._column is not None:
            shard.groups(self._column)
        return shard

    def _read(self, i: int) -> Shard:
        target = self._part(i, "target")
        for function in self._functions:
            target = function(target)
        weight = self._part(i, "weight") if "weight" in self.places[i] else None
        find_order = partial(self._order, i)
        return Shard(self._part(i, "codes"), target, weight, self.n_codes, find_order)

    def _order(self, i: int, column: int) -> tuple[NDArray, NDArray]:
        self._column = column
        return self._part(i, f"order {column}"), self._part(i, f"starts {column}")

    def _part(self, i: int, name: str) -> NDArray:
        offset, kind, shape = self.places[i][name]
        path = _path(self.folder, self.kind, i)
        array = np.fromfile(path, kind, prod(shape), offset=offset)
        if array.size != prod(shape):
            raise ValueError(f"{path} was cut off while it was in use")
        return array.reshape(shape)
