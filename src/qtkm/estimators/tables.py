"""Rows on their way into a fit, read by blocks: arrays in memory, or a source of any length.

A table scans its rows and, once the fit has decided how, codes them into shards.  Partitions of a
Dask cluster are another kind of table, see `qtkm.estimators.dask`.
"""

import json
import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from .. import data
from ..data.sources import ArraySource, Block, DataFileError, Source
from ..data.sources.source import is_there, take_rows
from ..engines import Engine
from ..limits import LIMITS
from ..networks import Network
from ..protocols import Given, Shards
from .coding import Coding, Pieces, Scan
from .inputs import Reading, read_inputs
from .memory import Cache, Need, parse_limit
from .rows import Arranged, Split, Splitter, count_distinct
from .targets import Target, check_offset, check_weight, refuse_unequal, tame_exponent
from .values import shorten
from .working import warn_user

logger = logging.getLogger(__name__)


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
        """Scan all rows."""
        for block in self.blocks("scan"):
            self.scan.add(block, engine.run)

    def gather(self) -> "FewRows":
        """Read all rows, which are few and have been scanned, into memory."""
        read = map(self.scan.read, self.blocks("read"))
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
        return FewRows(plain, target, weight, self.scan.target)

    def arrange(self, coding: Coding, split: Split, network: Network, engine: Engine) -> Arranged:
        """Code all rows into shards; `split(n_rows, n_pieces)` sets validation rows aside."""
        pieces = Pieces(coding, split, LIMITS.shard_rows)
        found = {"train": data.ShardList(), "validation": data.ShardList()}
        for kind, shard in pieces.encode(self.blocks("encode"), engine.run):
            found[kind].append(shard)
        return self._arranged(pieces.splitter, **found)

    def _arranged(self, splitter: Splitter, train: Shards, validation: Shards) -> Arranged:
        target = self.scan.target
        aside = validation if splitter.wanted else None
        return Arranged(train, aside, target, np.zeros(target.n_outputs))


@dataclass
class FewRows:
    """Rows of positive weight in memory, so few that equal ones are merged."""

    plain: list[NDArray]
    target: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    reader: Target

    def count(self) -> int:
        """Count the distinct rows, without those that the loss learns nothing from."""
        told = self.reader.loss.informative(self.target)
        counted = self.plain if told is None else [column[told] for column in self.plain]
        return max(1, count_distinct(counted))

    def arrange(self, coding: Coding, split: Split, network: Network, engine: Engine) -> Arranged:
        """Code the rows into one shard, and one for validation."""
        codes = coding.codes(self.plain, engine.run)
        rows = data.Shard(codes, self.target, self.weight, coding.n_codes)
        parts = split(len(rows), 1).parts(rows)
        own, average = parts["train"], self.reader.loss.is_quadratic
        codes, y, weight, scatter = data.merge(own.codes, own.target, own.weight, average)
        parts["train"] = data.Shard(codes, y, weight, coding.n_codes)
        shards = {kind: data.ShardList([part.sorted()]) for kind, part in parts.items()}
        return Arranged(shards["train"], shards.get("validation"), self.reader, scatter)


@dataclass
class ArrayTable(Table):
    """Rows in memory: a single block, whose columns the scan has read already."""

    block: Block

    def blocks(self, what: str) -> Iterator[Block]:
        return iter([self.block])


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

    def look(self, engine: Engine) -> None:
        kinds = [summary.key() for summary in self.scan.summaries]
        key = json.dumps([self.source.fingerprint(), self._columns, kinds])
        self.scan = self._cache.scan(key, self.scan, partial(super().look, engine))

    def arrange(self, coding: Coding, split: Split, network: Network, engine: Engine) -> Arranged:
        need = Need.of_fit(coding, network)
        in_memory, shard_rows = need.place(parse_limit(self.model.memory_limit))
        if in_memory:
            logger.info("%s rows are kept in memory", f"{need.n_rows:,}")
            return super().arrange(coding, split, network, engine)
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
    weighted = None if weight is None else "weight"
    if by_blocks:
        scan = Scan(inputs, model.max_bins, features, reader, weighted)
        return FileTable(model, scan, names_of(y), source=ArraySource(X, given, weight))
    keep = None if weight is None or weight.all() else weight > 0
    found = inputs.read(columns, is_finite, keep)
    # all values are kept with max_bins=None, however many
    max_bins = n_rows if model.max_bins is None else model.max_bins
    scan = Scan(inputs, max_bins, features, reader, weighted, found)
    rest = dict(zip([*names, *offsets, "weight"], [*given.T, weight], strict=True))
    return ArrayTable(model, scan, names_of(y), Block(rest, n_rows, 0, ""))


def names_of(y: Given) -> list[str] | None:
    """Return the names of the columns of y; None where it has none."""
    found: list[Any] = list(y.columns) if hasattr(y, "columns") else [getattr(y, "name", None)]
    if hasattr(y, "chunks"):  # of a Dask array, whose name is a hash
        return None
    return found if all(isinstance(name, str) and name for name in found) else None


def open_table(
    model: Any,
    source: Source,
    target: Given,
    features: Given,
    weight: str | None,
    offset: str | None,
    known: Reading | None,
    cache: Given,
) -> FileTable:
    """Check the columns of a source by their roles and return the table of them."""
    targets = [target] if isinstance(target, str) else list(target)
    if isinstance(features, str):
        raise ValueError(f"features={features!r} must be a list of names, or None.")
    others = [name for name in (*targets, weight, offset) if name is not None]
    chosen = [n for n in source.names if n not in others] if features is None else list(features)
    for name in [*chosen, *others]:
        if name not in source.names:
            known_names = shorten(source.names)
            raise ValueError(f"There is no column {name!r}; the source has {known_names}.")
    if both := sorted(set(others).intersection(chosen)):
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
    scan = Scan(inputs, model.max_bins, chosen, reader, weight)
    return FileTable(model, scan, targets, source=source, cache=cache)
