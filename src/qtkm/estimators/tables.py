"""Rows on their way into a fit, read by blocks: arrays in memory, or a source of any length.

A table scans its rows and, once the fit has decided how, codes them into shards.  Partitions of a
Dask cluster are another kind of table, see `qtkm.estimators.dask`.
"""

import json
import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from .. import data
from ..data.sources import ArraySource, Block, DataFileError, Source
from ..data.sources.source import is_there, take_rows
from ..engines import Engine
from ..limits import LIMITS
from .coding import Coding, Pieces, Scan
from .inputs import Inputs, Reading, read_inputs
from .memory import Cache, Need, parse_limit
from .rows import Arranged, Split, Splitter, count_distinct
from .targets import check_offset, check_weight, refuse_unequal, tame_exponent
from .values import shorten
from .working import warn_user

logger = logging.getLogger(__name__)


@dataclass
class Table(AbstractContextManager["Table"]):
    """Rows that are read by blocks, twice; open for the length of a with block."""

    model: Any
    #: the columns, which have boxes and categories after the scan
    inputs: Inputs
    #: columns of the blocks: those of X, a NumberTarget or LabelTarget, and weights
    features: list[str]
    reader: Any
    weight: str | None
    #: names of the targets' columns, if they have any
    target_names: list[str] | None

    def __exit__(self, *error: Any) -> None:
        """Release what was made for the fit."""

    def blocks(self, what: str) -> Iterator[Block]:
        """Yield all rows, with a progress bar if the model is verbose."""
        raise NotImplementedError

    def empty_scan(self) -> Scan:
        return Scan(self.inputs, self.model.max_bins, self.features, self.reader, self.weight)

    def scan(self, engine: Engine) -> Scan:
        """Scan all rows; the scan is not settled yet."""
        scan = self.empty_scan()
        for block in self.blocks("scan"):
            scan.add(block, engine.run)
        return scan

    def gather(self, scan: Scan) -> "FewRows":
        """Read all rows, which are few, into memory."""
        read = map(scan.read, self.blocks("read"))
        parts: Any = [[*plain, target, weight] for plain, target, weight in read]
        columns: Any = [
            None if column[0] is None else np.concatenate(column)
            for column in zip(*parts, strict=True)
        ]
        weight = columns[-1]
        if weight is not None:
            if not weight.all():
                columns = [column[weight > 0] for column in columns]
            exponent = tame_exponent(columns[-1].max())
            columns[-1] = np.ldexp(columns[-1], -exponent)
        *plain, target, weight = columns
        return FewRows(plain, target, weight, self.reader)

    def arrange(
        self, coding: Coding, split: Split, network: Any, loss: Any, engine: Engine
    ) -> Arranged:
        """Code all rows into shards; `split(n_rows, n_pieces)` sets validation rows aside."""
        pieces = Pieces(coding, split, LIMITS.shard_rows)
        found = {"train": data.ShardList(), "validation": data.ShardList()}
        for kind, shard in pieces.encode(self.blocks("encode"), engine.run):
            found[kind].append(shard)
        return self._arranged(pieces.splitter, **found)

    def _arranged(self, splitter: Splitter, train: Any, validation: Any) -> Arranged:
        aside, reader = validation if splitter.wanted else None, self.reader
        scatter = np.zeros(reader.n_outputs)
        return Arranged(train, aside, reader.target_range, reader.exponent, scatter)


@dataclass
class FewRows:
    """Rows of positive weight in memory, so few that equal ones are merged."""

    plain: list[NDArray]
    target: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    reader: Any

    def count(self) -> int:
        """Count the distinct rows, without those that tell the loss nothing."""
        told = self.reader.loss.informative(self.target)
        counted = self.plain if told is None else [column[told] for column in self.plain]
        return max(1, count_distinct(counted))

    def arrange(self, coding: Coding, split: Split, engine: Engine) -> Arranged:
        """Code the rows into one shard, and one for validation."""
        codes, reader = coding.codes(self.plain, engine.run), self.reader
        parts = split(len(codes), 1).parts(0, [codes, self.target, self.weight])
        own, y, weight = parts["train"]
        *parts["train"], scatter = data.merge(own, y, weight, reader.loss.is_quadratic)
        shards = {
            kind: data.ShardList([data.sort_rows(own, y, weight, coding.n_codes)])
            for kind, (own, y, weight) in parts.items()
        }
        return Arranged(
            shards["train"], shards.get("validation"), reader.target_range, reader.exponent, scatter
        )


class ArrayTable(Table):
    """Rows in memory: a single block, whose columns are read once."""

    def __init__(self, *common: Any, block: Block, found: list[Any]):
        super().__init__(*common)
        self._block, self._found = block, found

    def empty_scan(self) -> Scan:
        max_bins = self.model.max_bins
        if max_bins is None:  # all values are kept, however many
            max_bins = self._block.n_rows
        return Scan(self.inputs, max_bins, self.features, self.reader, self.weight, self._found)

    def blocks(self, what: str) -> Iterator[Block]:
        return iter([self._block])


class FileTable(Table):
    """Rows of a source, of which memory holds a block at a time."""

    def __init__(self, *common: Any, source: Source, cache: Any = None):
        super().__init__(*common)
        self.source, self.needed = source, self.reader.names
        self._columns = [*self.features, *self.needed, *([self.weight] if self.weight else [])]
        self._cache = Cache(cache, source, self._columns)

    def __exit__(self, *error: Any) -> None:
        self._cache.close()

    def blocks(self, what: str) -> Iterator[Block]:
        blocks = self.source.blocks(self._columns, LIMITS.read_rows)
        bar = tqdm(
            total=self.source.expected_rows(), desc=what, unit="row", unit_scale=True,
            disable=not self.model.verbose,
        )  # fmt: skip
        with bar:
            n_missing = 0
            for block in data.prefetched(blocks):
                there = np.logical_and.reduce([is_there(block.columns[n]) for n in self.needed])
                n_missing += int((~there).sum())
                yield take_rows(block, there)
                bar.update(block.n_rows)
        if n_missing and what == "scan":
            told = "no target" if len(self.needed) == 1 else "no target or no offset"
            rows = "1 row has" if n_missing == 1 else f"{n_missing:,} rows have"
            left = "is" if n_missing == 1 else "are"
            warn_user(f"{rows} {told} and {left} left out.", UserWarning)

    def scan(self, engine: Engine) -> Scan:
        scan = self.empty_scan()
        kinds = [self.reader.key(), *(summary.key() for summary in scan.columns)]
        key = json.dumps([self.source.fingerprint(), self._columns, kinds])
        if not self._cache.recall_scan(scan, key):
            scan = super().scan(engine)
            self._cache.keep_scan(scan, key)
        return scan

    def arrange(
        self, coding: Coding, split: Split, network: Any, loss: Any, engine: Engine
    ) -> Arranged:
        need = Need.of_fit(coding, network, loss, self.reader.n_outputs)
        in_memory, shard_rows = need.place(parse_limit(self.model.memory_limit))
        if in_memory:
            logger.info("%s rows are kept in memory", f"{need.n_rows:,}")
            return super().arrange(coding, split, network, loss, engine)
        pieces = Pieces(coding, split, shard_rows)
        found = self._cache.shards(
            pieces.key(), lambda: pieces.encode(self.blocks("encode"), engine.run), need.disk()
        )
        return self._arranged(pieces.splitter, **found)


def read_arrays(
    model: Any, X: Any, y: Any, weight: Any, offset: Any, known: Reading | None, by_blocks: bool
) -> Table:
    """Check what a user passes to `fit` and return the table of it.

    With `by_blocks` X, an array, is read by blocks, so that no column of it is copied as a whole.
    """
    target = model._check_target(y)
    n_rows, given = len(target), target.reshape(len(target), -1)
    names: list[Any] = [f"y{k}" for k in range(given.shape[1])]
    weight = None if weight is None else check_weight(weight, n_rows)
    if offset is not None:
        given = np.column_stack([given, check_offset(offset, n_rows)])
    offsets = [f"y{len(names)}"] * (offset is not None)
    reader = model._target_reader(names, *offsets, is_vector=target.ndim == 1, kind=target.dtype)
    inputs, columns, is_finite = read_inputs(model, X, known)
    refuse_unequal(len(columns[0]), n_rows)
    features = [f"x{d}" for d in range(len(columns))]
    common = (model, inputs, features, reader, None if weight is None else "weight", names_of(y))
    if by_blocks:
        return FileTable(*common, source=ArraySource(X, given, weight))
    keep = None if weight is None or weight.all() else weight > 0
    found = inputs.read(columns, is_finite, keep)
    rest = dict(zip([*names, *offsets, "weight"], [*given.T, weight], strict=True))
    return ArrayTable(*common, block=Block(rest, n_rows, 0, ""), found=found)


def names_of(y: Any) -> list[str] | None:
    """Return the names of the columns of y; None where it has none."""
    found: list[Any] = list(y.columns) if hasattr(y, "columns") else [getattr(y, "name", None)]
    return found if all(isinstance(name, str) and name for name in found) else None


def open_table(
    model: Any,
    source: Source,
    target: Any,
    features: Any,
    weight: Any,
    offset: Any,
    known: Any,
    cache: Any,
) -> FileTable:
    """Check the columns of a source by their roles and return the table of them."""
    targets = [target] if isinstance(target, str) else list(target)
    if isinstance(features, str):
        raise ValueError(f"features={features!r} must be a list of names, or None.")
    others = {*targets, weight, offset}
    chosen = [n for n in source.names if n not in others] if features is None else list(features)
    for name in [*chosen, *targets, *(name for name in (weight, offset) if name is not None)]:
        if name not in source.names:
            known_names = shorten(source.names)
            raise ValueError(f"There is no column {name!r}; the source has {known_names}.")
    if both := sorted(others.intersection(chosen)):
        raise ValueError(
            f"{both[0]!r} is a feature and target, weight or offset; leave it out of one."
        )
    if not targets or not chosen:
        raise ValueError("A fit needs at least one feature and one target.")
    reader = model._target_reader(targets, offset, is_vector=isinstance(target, str))
    first = next(iter(source.blocks(chosen, 1000)), None)
    if first is None:
        raise DataFileError("the source has no rows")
    import pandas

    example = pandas.DataFrame({name: first.columns[name] for name in chosen})
    inputs = read_inputs(model, example, known)[0]
    common = (model, inputs, chosen, reader, weight, targets)
    return FileTable(*common, source=source, cache=cache)
