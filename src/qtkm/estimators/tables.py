"""Rows on their way into a fit: arrays in memory, or blocks of a source of any length.

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
from ..engines.remote import serial
from ..limits import LIMITS
from ..protocols import Run
from .coding import Coding, Pieces, Scan, ShardLists
from .inputs import Inputs, Reading, read_inputs
from .memory import Cache, Need, parse_limit
from .rows import Arranged, Split, arrange, count_distinct
from .targets import NumberTarget, drop_weightless, refuse_unequal
from .values import shorten
from .working import warn_user

logger = logging.getLogger(__name__)

#: rows from which columns are encoded side by side; below, handing out the work takes longer
THREADED_ROWS = 20_000


class Table(AbstractContextManager["Table"]):
    """What all tables offer to `prepare`; open for the length of a with block."""

    model: Any
    #: the columns, which have boxes and categories after the scan
    inputs: Inputs
    #: whether all rows are in memory
    is_here = False
    #: names of the targets' columns, if they have any
    target_names: list[str] | None = None

    def __exit__(self, *error: Any) -> None:
        """Release what was made for the fit."""

    def run(self, engine: Engine) -> Run:
        """Return the function that maps work over columns, in parallel if worth it."""
        return serial

    def scan(self, engine: Engine) -> Scan:
        """Scan all rows; the scan is not settled yet."""
        raise NotImplementedError

    def gather(self, scan: Scan) -> "ArrayTable":
        """Read all rows, which are few, into memory."""
        raise NotImplementedError

    def task(self) -> tuple[int, Any, dict[str, Any]]:
        """Return the number of outputs, the loss, and what else is learned from the target."""
        raise NotImplementedError

    def shape(self, scan: Scan) -> tuple[int, int]:
        """Return the numbers of rows and columns that defaults depend on.

        Equal rows, and those without information for the loss, are left out where known.
        """
        return scan.n_rows, len(self.inputs)

    def arrange(
        self, coding: Coding, split: Split, network: Any, loss: Any, engine: Engine
    ) -> Arranged:
        """Code all rows into shards; `split(n_rows, n_pieces)` sets validation rows aside."""
        raise NotImplementedError


class ArrayTable(Table):
    """Rows of positive weight in memory; `found` are columns as `Inputs.read` returns them."""

    is_here = True

    def __init__(self, model: Any, inputs: Inputs, found: list[Any], target: "Targets"):
        self.model, self.inputs, self.target = model, inputs, target
        self._found: list[Any] | None = found
        self._plain: list[NDArray] = []

    @classmethod
    def read(cls, model: Any, X: Any, target: "Targets", known: Reading | None) -> "ArrayTable":
        """Read what a user has passed to `fit`."""
        inputs, columns, is_finite = read_inputs(model, X, known)
        refuse_unequal(len(columns[0]), len(target.values))
        weight = target.weight
        keep = None if weight is None or weight.all() else weight > 0
        found = list(inputs.read(columns, is_finite, keep))
        return cls(model, inputs, found, target.of_positive_weight())

    def run(self, engine: Engine) -> Run:
        return serial if len(self.target.values) < THREADED_ROWS else engine.run

    def scan(self, engine: Engine) -> Scan:
        assert self._found is not None
        scan = Scan(self.inputs, self.model.max_bins)
        scan.add_whole(self._found, len(self.target.values), self.run(engine))
        return scan

    def task(self) -> tuple[int, Any, dict[str, Any]]:
        return self.target.values.shape[1], self.target.loss, self.target.learned

    def shape(self, scan: Scan) -> tuple[int, int]:
        columns, target = self._columns(), self.target.values
        told = None if len(target) > LIMITS.merge_rows else self.target.loss.informative(target)
        counted = columns if told is None else [column[told] for column in columns]
        return max(1, count_distinct(counted)), len(columns)

    def _columns(self) -> list[NDArray]:
        """Return numbers, and codes of categories once these are known."""
        if self._found is not None:
            pairs = zip(self.inputs.columns, self._found, strict=True)
            self._plain, self._found = [own.plain(found) for own, found in pairs], None
        return self._plain

    def arrange(
        self, coding: Coding, split: Split, network: Any, loss: Any, engine: Engine
    ) -> Arranged:
        codes = coding.codes(self._columns(), self.run(engine))
        self._plain = []  # what is not needed any more is not kept through the fit
        return arrange(
            codes, self.target.values, self.target.weight, coding.n_codes, split, loss.is_quadratic
        )


@dataclass
class Targets:
    """What a user has passed as y and sample_weight, as the fit sees it."""

    values: NDArray[np.float64]  # (n_rows, n_outputs)
    weight: NDArray[np.float64] | None  # None for weights of 1
    loss: Any
    #: fitted attributes that depend on y alone
    learned: dict[str, Any]

    def of_positive_weight(self) -> "Targets":
        values, weight = drop_weightless(self.values, self.weight)
        return Targets(values, weight, self.loss, self.learned)


class BlockTable(Table):
    """A table whose rows are read by blocks, twice."""

    features: list[str]
    #: NumberTarget or LabelTarget
    reader: Any
    weight: str | None
    #: whether predictions have one dimension
    is_vector: bool

    def blocks(self, what: str) -> Iterator[Block]:
        """Yield all rows, with a progress bar if the model is verbose."""
        raise NotImplementedError

    def empty_scan(self) -> Scan:
        return Scan(self.inputs, self.model.max_bins, self.features, self.reader, self.weight)

    def task(self) -> tuple[int, Any, dict[str, Any]]:
        loss, learned = self.model._task_of(self.reader, self.is_vector)
        return self.reader.n_outputs, loss, learned

    def gather(self, scan: Scan) -> ArrayTable:
        parts: list[Any] = [
            [*plain, target, weight]
            for plain, target, weight in map(scan.read, self.blocks("read"))
        ]
        plain: Any
        values: Any
        *plain, values, weight = (
            None if column[0] is None else np.concatenate(column)
            for column in zip(*parts, strict=True)
        )
        if self.reader.exponent.any():
            values = np.ldexp(values, self.reader.exponent)
        target = Targets(values, weight, *self.task()[1:]).of_positive_weight()
        found = [(list(own.categories), each) if own.is_categorical else each
                 for own, each in zip(self.inputs.columns, plain, strict=True)]  # fmt: skip
        return ArrayTable(self.model, self.inputs, found, target)


class FileTable(BlockTable):
    """Rows of a source, of which memory holds a block at a time."""

    def __init__(
        self,
        model: Any,
        source: Source,
        features: list[str],
        reader: Any,
        weight: str | None,
        is_vector: bool,
        known: Reading | None,
        cache: Any = None,
    ):
        self.model, self.source, self.features, self.reader = model, source, features, reader
        self.weight, self.is_vector, self.needed = weight, is_vector, reader.names
        self._columns = [*features, *reader.names, *([] if weight is None else [weight])]
        self._cache = Cache(cache, source, self._columns)
        self.inputs = read_inputs(model, self._first_rows(), known)[0]

    def _first_rows(self) -> Any:
        block = next(iter(self.source.blocks(self.features, 1000)), None)
        if block is None:
            raise DataFileError("the source has no rows")
        return self._as_X(block)

    def _as_X(self, block: Block) -> Any:
        import pandas

        return pandas.DataFrame({name: block.columns[name] for name in self.features})

    def __enter__(self) -> "FileTable":
        self._cache.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._cache.__exit__(*error)

    def blocks(self, what: str) -> Iterator[Block]:
        blocks = self.source.blocks(self._columns, LIMITS.read_rows)
        bar = tqdm(
            total=self.source.expected_rows(), desc=what, unit="row", unit_scale=True,
            disable=not self.model.verbose,
        )  # fmt: skip
        with bar:
            n_missing = 0
            for block in data.prefetched(blocks):
                there = ~np.logical_or.reduce([~is_there(block.columns[n]) for n in self.needed])
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
            for block in self.blocks("scan"):
                scan.add(block)
            self._cache.keep_scan(scan, key)
        return scan

    def arrange(
        self, coding: Coding, split: Split, network: Any, loss: Any, engine: Engine
    ) -> Arranged:
        n_rows, n_outputs = coding.scan.n_rows, self.reader.n_outputs
        need = Need.of_fit(coding, network, loss, n_outputs)
        in_memory, shard_rows = need.place(parse_limit(self.model.memory_limit))
        pieces = list(data.blocks(n_rows, shard_rows))
        found: Any = ShardLists()
        splitter = split(n_rows, len(pieces))
        gathered = Pieces(coding, splitter, pieces, found)

        def make(sink: Any) -> None:
            gathered.sink = sink
            gathered.encode(self.blocks("encode"), engine.run)

        if in_memory:
            logger.info("%s rows are kept in memory", f"{n_rows:,}")
            make(found)
        else:
            found = self._cache.shards(gathered.key(), make, need.disk())
        validation = found.validation if splitter.wanted else None
        return Arranged(
            found.train, validation, self.reader.target_range, self.reader.exponent,
            np.zeros(n_outputs),
        )  # fmt: skip


class LimitedTable(FileTable):
    """Arrays that are read block by block, so that no column of them is copied as a whole."""

    def __init__(self, model: Any, X: NDArray, target: Targets, known: Reading | None):
        refuse_unequal(len(X), len(target.values))
        source = ArraySource(X, target.values, target.weight)
        self._task = target.loss, target.learned
        reader = NumberTarget(source.target)
        super().__init__(model, source, source.features, reader, source.weight, False, known)

    def _as_X(self, block: Block) -> Any:
        return np.column_stack([block.columns[name] for name in self.features])

    def task(self) -> tuple[int, Any, dict[str, Any]]:
        return self.reader.n_outputs, *self._task


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
    reader, is_vector = model._target_reader(targets, offset), isinstance(target, str)
    table = FileTable(model, source, chosen, reader, weight, is_vector, known, cache)
    table.target_names = targets
    return table
