"""Rows on their way into a fit: arrays in memory, or a source of any length, read by blocks.

    table ──look──► scan ──settle──► box, categories, classes ──► Coding ──arrange──► shards

A scan summarizes any part of the rows; scans of different parts are merged, so they may be made
anywhere and in any order.  The merged scan decides on the coding, by which rows become codes on the
grids of their columns.  Partitions of a Dask cluster are another kind of table, see
`qtkm.estimators.dask`.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from itertools import chain, repeat, zip_longest
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from .. import data
from ..data.sources import ArraySource, Block, DataFileError, Source
from ..data.sources.conversion import refuse_missing
from ..data.sources.source import cut, deal, is_there, take_rows
from ..engines import Engine
from ..engines.remote import serial
from ..limits import LIMITS
from ..networks import Network
from ..protocols import Given, Run, Shards
from .inputs import Inputs, read_inputs
from .memory import Cache, Need, parse_limit
from .rows import Arranged, Split, Splitter, are_copies, count_distinct, joined
from .targets import CHANGED, Target, check_offset, check_weight, refuse_unequal, tame_exponent
from .working import warn_user, watched

logger = logging.getLogger(__name__)
#: rows from which columns are worked on side by side; below, handing out the work takes longer
THREADED_ROWS = 20_000


def for_columns(run: Run, n_rows: int) -> Run:
    """Return `run` for many rows; for few, a function that treats one column after the other."""
    return run if n_rows >= THREADED_ROWS else serial


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Name the place of the values in errors about them, if it has a name."""
    try:
        yield
    except DataFileError:
        raise
    except ValueError as error:
        if not where:
            raise
        raise DataFileError(f"{where}: {error}") from None


@dataclass
class Scan:
    """Summaries of the target and of all columns, from one pass over the rows."""

    inputs: Inputs
    max_bins: Any
    #: names of the columns of a block, and of its weights
    features: Sequence[str]
    target: Target
    weight: str | None
    n_rows: int = 0
    largest_weight: float = 0.0
    #: power of two that is taken out of the weights
    exponent: int = 0

    def __post_init__(self) -> None:
        self.columns = [column.summary(self.max_bins) for column in self.inputs.columns]

    def add(self, block: Block, run: Run) -> None:
        with naming(block.where):
            block, weight = self.read_weight(block)
            if weight is not None:
                self.largest_weight = max(self.largest_weight, float(weight.max(initial=0)))
            self.target.look(block, weight)
            if block.n_rows:
                self.n_rows += block.n_rows
                found = self.read_columns(block)
                each = for_columns(run, block.n_rows)
                each(lambda d: self.columns[d].add(found[d]), range(len(found)))

    def merge(self, other: "Scan") -> None:
        self.n_rows += other.n_rows
        self.largest_weight = max(self.largest_weight, other.largest_weight)
        pairs: Any = zip([self.target, *self.columns], [other.target, *other.columns], strict=True)
        for mine, theirs in pairs:
            mine.merge(theirs)

    def settle(self) -> None:
        """Let targets and columns learn from the scan, once all rows have been seen."""
        if self.n_rows == 0:
            raise DataFileError("the source has no rows of positive weight")
        self.target.settle()
        self.exponent = tame_exponent(self.largest_weight) if self.weight else 0
        for column, summary in zip(self.inputs.columns, self.columns, strict=True):
            column.learn(summary)

    def read_weight(self, block: Block) -> tuple[Block, NDArray | None]:
        """Return the rows of positive weight, and their weights."""
        if self.weight is None:
            return block, None
        weight = check_weight(block.columns[self.weight], block.n_rows, every=False)
        return take_rows(block, weight > 0), weight[weight > 0]

    def read(self, block: Block) -> list[Any]:
        """Return plain columns, targets and tamed weights of the rows of positive weight."""
        block, weight = self.read_weight(block)
        if weight is not None and self.exponent:
            weight = np.ldexp(weight, -self.exponent)
        pairs = zip(self.inputs.columns, self.read_columns(block), strict=True)
        return [[own.plain(found) for own, found in pairs], *self.target.targets(block, weight)]

    def read_columns(self, block: Block) -> list[Any]:
        return self.inputs.read([block.columns[name] for name in self.features], block.number)


class Coding:
    """From rows to codes, targets and weights; `columns` are as the objective sees them."""

    def __init__(self, inputs: Inputs, scan: Scan, run: Run):
        max_bins = scan.max_bins
        if len(inputs) == 1 and max_bins == "auto":  # a signal; its pass is cheap
            max_bins = LIMITS.single_values

        def code(d: int) -> Any:
            return inputs.columns[d].code(scan.columns[d], max_bins)

        self.scan, self.columns = scan, for_columns(run, scan.n_rows)(code, range(len(inputs)))
        self.n_codes = tuple(map(len, self.columns))
        # the compiled loops know 16 and 32 bits
        self.code_type = np.promote_types(data.code_type(max(self.n_codes)), np.uint16)
        self.is_weighted = scan.weight is not None or scan.target.is_weighted

    def encode(self, block: Block, run: Run) -> data.Shard:
        """Return the rows of a block that have positive weight, not sorted yet."""
        with naming(block.where):
            plain, target, weight = self.scan.read(block)
            codes = np.empty((len(target), len(plain)), dtype=self.code_type)

            def code(d: int) -> None:
                grid, values = self.columns[d].grid, plain[d]
                if isinstance(grid, data.Grid):  # else the values of categories are codes already
                    # a box that was learned from these rows holds all of them
                    given = self.scan.columns[d].box
                    values = grid.codes(values if given is None else given.contain(values))
                codes[:, d] = values

            for_columns(run, len(codes))(code, range(len(plain)))
            if len(codes) and (codes.max(axis=0) >= self.n_codes).any():
                raise ValueError(CHANGED)
            return data.Shard(codes, target, weight, self.n_codes)


class Pieces:
    """Rows gathered into pieces, which become shards when they are full: the second scan."""

    def __init__(self, coding: Coding, split: Split, shard_rows: int):
        n_rows = coding.scan.n_rows
        self.coding, self.pieces = coding, list(data.blocks(n_rows, shard_rows))
        self.splitter = split(n_rows, len(self.pieces))

    def encode(self, blocks: Iterator[Block], run: Run) -> Iterator[tuple[str, data.Shard]]:
        """Code all rows, and yield their shards, each with "train" or "validation"."""
        sizes = [end - begin for begin, end in self.pieces]
        # a further piece, if there is one, shows rows that were not there before
        following = chain(sizes, repeat(1))
        dealt = deal(
            (self.coding.encode(block, run) for block in blocks),
            lambda _: next(following), len, lambda rows, a, b: rows.take(slice(a, b)), joined,
        )  # fmt: skip
        for number, (rows, size) in enumerate(zip_longest(dealt, sizes)):
            if rows is None or len(rows) != size:
                raise DataFileError(CHANGED)
            yield from self.splitter.shards(rows, number).items()

    def key(self) -> str:
        coding, splitter, target = self.coding, self.splitter, self.coding.scan.target
        kept = [own.categories if own.is_categorical else own.cycle
                for own in coding.scan.inputs.columns]  # fmt: skip
        boxes = [(column.box, column.grid) for column in coding.columns]
        how = [boxes, kept, str(coding.code_type), target.names, coding.scan.weight,
               repr(target.loss), target.learned, target.exponent, target.by_class]  # fmt: skip
        return joblib.hash([how, self.pieces, splitter.state, splitter.wanted, splitter.fraction])


@dataclass
class Table(AbstractContextManager["Table"]):
    """Rows that are read by blocks, twice; open for the length of a with block."""

    model: Any
    #: which columns there are and how they are read; of no rows yet
    scan: Scan
    #: names of the targets' columns, if they have any
    target_names: list[str] | None

    def __exit__(self, *error: Any) -> None:
        """Release what was made for the fit."""

    def blocks(self, what: str) -> Iterator[Block]:
        """Yield all rows, with a progress bar if the model is verbose."""
        raise NotImplementedError

    def look(self, engine: Engine) -> None:
        for block in self.blocks("scan"):
            self.scan.add(block, engine.run)

    @property
    def is_few(self) -> bool:
        """Whether there are so few rows that equal ones are merged."""
        return self.scan.n_rows <= LIMITS.merge_rows

    def count(self) -> int:
        """Count the distinct rows, if few, without those that the loss learns nothing from."""
        if not self.is_few:
            return self.scan.n_rows
        read = []
        for block in self.blocks("count"):
            plain, target, _ = self.scan.read(block)
            told = self.scan.target.loss.informative(target)
            read.append(plain if told is None else [column[told] for column in plain])
        columns = [np.concatenate(column) for column in zip(*read, strict=True)]
        return max(1, count_distinct(columns))

    def arrange(self, coding: Coding, split: Split, network: Network, engine: Engine) -> Arranged:
        """Code all rows into shards; `split(n_rows, n_pieces)` sets validation rows aside."""
        pieces = Pieces(coding, split, self.scan.n_rows if self.is_few else LIMITS.shard_rows)
        found = {"train": data.ShardList(), "validation": data.ShardList()}
        for kind, shard in pieces.encode(self.blocks("encode"), engine.run):
            found[kind].append(shard)
        rows = self._arranged(pieces.splitter, **found)
        if self.is_few:
            (own,) = found["train"]
            merged = data.Shard(*data.merge(own.codes, own.target, own.weight), coding.n_codes)
            merged.has_copies = are_copies(own.weight)
            rows = replace(rows, train=data.ShardList([merged.sorted()]))
        return rows

    def _arranged(self, splitter: Splitter, train: Shards, validation: Shards) -> Arranged:
        target = self.scan.target
        aside = validation if splitter.wanted else None
        return Arranged(train, aside, target)


@dataclass
class ArrayTable(Table):
    """Rows in memory, which are read block by block, so that copies of columns are small."""

    block: Block

    def blocks(self, what: str) -> Iterator[Block]:
        for first, last in data.blocks(self.block.n_rows, LIMITS.read_rows):
            columns = {
                name: None if values is None else cut(values, slice(first, last))
                for name, values in self.block.columns.items()
            }
            yield Block(columns, last - first, first, "")


class FileTable(Table):
    """Rows of a source, of which memory holds a block at a time."""

    def __init__(self, *common: Any, source: Source, cache: Given = None):
        super().__init__(*common)
        scan = self.scan
        self.source, self.needed = source, scan.target.names
        self._columns = [*scan.features, *self.needed, *([scan.weight] if scan.weight else [])]
        self._cache = Cache(cache, source, self._columns)

    def __exit__(self, *error: Any) -> None:
        self._cache.close()

    def blocks(self, what: str) -> Iterator[Block]:
        blocks = data.prefetched(self.source.blocks(self._columns, LIMITS.read_rows))
        n_missing = 0
        for block in watched(blocks, self.source.expected_rows(), what, self.model.verbose):
            there = np.logical_and.reduce([is_there(block.columns[n]) for n in self.needed])
            n_missing += int((~there).sum())
            if there.any():
                yield take_rows(block, there)
        if n_missing and what == "scan":
            who = "a target" if len(self.needed) == 1 else "a target or an offset"
            warn_user(f"Rows without {who} are skipped: {n_missing:,} of them.", UserWarning)

    def arrange(self, coding: Coding, split: Split, network: Network, engine: Engine) -> Arranged:
        if self.is_few:
            return super().arrange(coding, split, network, engine)
        need = Need(coding, network)
        in_memory, shard_rows = need.place(parse_limit(self.model.memory_limit))
        if in_memory:
            logger.info("%s rows are kept in memory", f"{need.n_rows:,}")
            return super().arrange(coding, split, network, engine)
        pieces = Pieces(coding, split, shard_rows)
        found = self._cache.shards(
            pieces.key(),
            lambda: pieces.encode(self.blocks("encode"), engine.run),
            need.n_rows * need.stored,
        )
        return self._arranged(pieces.splitter, **found)


def read_arrays(model: Any, X: Any, y: Any, weight: Any, offset: Any, by_blocks: bool) -> Table:
    """Return the table of what `fit` is given; `by_blocks` copies no column as a whole."""
    target = model._check_target(y)
    n_rows, given = len(target), target.reshape(len(target), -1)
    names: list[Any] = [f"y{k}" for k in range(given.shape[1])]
    weight = None if weight is None else check_weight(weight, n_rows)
    if offset is not None:
        given = np.column_stack([given, check_offset(offset, n_rows)])
    offsets = [f"y{len(names)}"] * (offset is not None)
    reader = model._target_reader(names, *offsets, is_vector=target.ndim == 1, kind=target.dtype)
    inputs, columns = read_inputs(model, X)
    refuse_unequal(len(columns[0]), n_rows)
    features = [f"x{d}" for d in range(len(columns))]
    weighted = None if weight is None else "weight"
    if by_blocks:
        scan = Scan(inputs, model.max_bins, features, reader, weighted)
        return FileTable(model, scan, names_of(y), source=ArraySource(X, given, weight))
    # all values are kept with max_bins=None, however many
    max_bins = n_rows if model.max_bins is None else model.max_bins
    scan = Scan(inputs, max_bins, features, reader, weighted)
    whole = zip([*features, *names, *offsets, "weight"], [*columns, *given.T, weight], strict=True)
    return ArrayTable(model, scan, names_of(y), Block(dict(whole), n_rows, 0, ""))


def names_of(y: Given) -> list[str] | None:
    """Return the names of the columns of y; None where it has none."""
    found: list[Any] = list(y.columns) if hasattr(y, "columns") else [getattr(y, "name", None)]
    if hasattr(y, "chunks"):  # of a Dask array, whose name is a hash
        return None
    return found if all(isinstance(name, str) and name for name in found) else None


def open_table(
    model: Any, source: Source, target: Given, features: Given, weight: Given, offset: Given,
    cache: Given,
) -> FileTable:  # fmt: skip
    """Check the columns of a source by their roles and return the table of them."""
    targets = [target] if isinstance(target, str) else list(target)
    if isinstance(features, str):
        raise ValueError(f"features={features!r} must be a list of names, or None.")
    others = [name for name in (*targets, weight, offset) if name is not None]
    chosen = [n for n in source.names if n not in others] if features is None else list(features)
    refuse_missing("the source", [*chosen, *others], source.names)
    if both := sorted(set(others).intersection(chosen)):
        said = f"{both[0]!r} is a feature and also target, weight or offset"
        raise ValueError(f"{said}; remove it from one.")
    if not targets or not chosen:
        raise ValueError("A fit needs at least one feature and one target.")
    reader = model._target_reader(targets, offset, is_vector=isinstance(target, str))
    first = next(iter(source.blocks(chosen, 1000)), None)
    if first is None:
        raise DataFileError("the source has no rows")
    import pandas

    example = pandas.DataFrame({name: first.columns[name] for name in chosen})
    inputs = read_inputs(model, example)[0]
    scan = Scan(inputs, model.max_bins, chosen, reader, weight)
    return FileTable(model, scan, targets, source=source, cache=cache)
