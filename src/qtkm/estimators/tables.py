"""Rows on their way into a fit: arrays in memory, or blocks of a source of any length.

A table scans its rows and, once the fit has decided how, codes them into shards.  Partitions of a
Dask cluster are another kind of table, see `qtkm.estimators.dask`.
"""

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
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
from .cache import Cache
from .coding import Coding, Scan
from .inputs import Inputs, Reading, read_inputs
from .memory import Need, parse_limit
from .rows import Arranged, Split, Splitter, arrange, count_distinct, make_shards
from .targets import NumberTarget, Target, drop_weightless, refuse_unequal
from .values import shorten
from .working import warn_user

logger = logging.getLogger(__name__)

#: rows from which columns are encoded side by side; below, handing out the work takes longer
THREADED_ROWS = 20_000


class Table(AbstractContextManager["Table"]):
    """What all tables offer to `prepare`; open for the length of a with block.

    Attributes
    ----------
    model : estimator
        Whose parameters have been checked.
    inputs : Inputs
        The columns, which know boxes and categories after the scan.
    """

    model: Any
    inputs: Inputs
    #: whether all rows are in memory
    is_here = False
    #: columns of the targets, where they have names
    target_names: list[str] | None = None

    def __exit__(self, *error: Any) -> None:
        """Let go of what was made for the fit."""

    def run(self, engine: Engine) -> Run:
        """Return the function that maps work over columns, in parallel if worth it."""
        return serial

    def scan(self, engine: Engine) -> Scan:
        """Look at all rows; what was seen is not settled yet."""
        raise NotImplementedError

    def gather(self, scan: Scan) -> "ArrayTable":
        """All rows in memory, where they are few."""
        raise NotImplementedError

    def task(self) -> tuple[int, Any, dict[str, Any]]:
        """Return the number of outputs, the loss, and what else is learned from the target."""
        raise NotImplementedError

    def shape(self, scan: Scan) -> tuple[int, int]:
        """Return the number of rows that defaults depend on, and the number of columns.

        Equal rows, and those that tell a loss nothing, are left out where that is known.
        """
        return scan.n_rows, len(self.inputs)

    def arrange(
        self, coding: Coding, split: Split, network: Any, loss: Any, engine: Engine
    ) -> Arranged:
        """Code all rows into shards.

        Parameters
        ----------
        coding : Coding
        split : callable
            split(n_rows, n_pieces) makes the Splitter that sets validation rows aside.
        network, loss : the parts of the fit
        engine : Engine
        """
        raise NotImplementedError


class ArrayTable(Table):
    """Rows in memory.

    Parameters
    ----------
    model : estimator
    inputs : Inputs
    found : list
        Columns as `Inputs.read` gives them, of the rows of positive weight.
    target : Targets
        Of these rows.
    """

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
        """Numbers and codes of categories, once these are known."""
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
    """What a user has passed as y and sample_weight, as the fit sees it.

    Attributes
    ----------
    values : (n_rows, n_outputs) array
    weight : (n_rows,) array or None
        None for weights of 1.
    loss : Loss
    learned : dict
        What else the model learns of y, by the attributes that hold it.
    """

    values: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    loss: Any
    learned: dict[str, Any]

    def of_positive_weight(self) -> "Targets":
        """Drop rows of weight zero."""
        values, weight = drop_weightless(self.values, self.weight)
        return Targets(values, weight, self.loss, self.learned)


class BlockTable(Table):
    """A table whose rows are read by blocks, twice, by a `Target` and the columns' names.

    Attributes
    ----------
    features : list of str
    reader : Target
        What reads the targets.
    weight : str or None
    is_vector : bool
        Whether predictions have one dimension.
    """

    features: list[str]
    reader: Target
    weight: str | None
    is_vector: bool

    def blocks(self, what: str) -> Iterator[Block]:
        """All rows, with a bar that says what is done with them if the model is verbose."""
        raise NotImplementedError

    def empty_scan(self) -> Scan:
        """Return an empty scan."""
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
        pairs = zip(self.inputs.columns, plain, strict=True)
        return ArrayTable(self.model, self.inputs, [own.unread(p) for own, p in pairs], target)


class FileTable(BlockTable):
    """Rows of a source, of which memory holds a block at a time.

    Parameters
    ----------
    model : estimator
    source : Source
    features : list of str
    reader : Target
    weight : str or None
    is_vector : bool
    known : Reading or None
        Of the fit that this one goes on from.
    cache : path-like or None
        Folder for scan and coded rows.
    """

    def __init__(
        self,
        model: Any,
        source: Source,
        features: list[str],
        reader: Target,
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
            warn_user(f"{n_missing:,} rows have {told} and are left out.", UserWarning)

    def scan(self, engine: Engine) -> Scan:
        scan = self.empty_scan()
        key = self._scan_key(scan)
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
        splitter = split(n_rows, len(pieces))

        def make(sink: Any) -> None:
            encode(self.blocks("encode"), coding, splitter, pieces, sink, engine)

        if in_memory:
            logger.info("%s rows are kept in memory", f"{n_rows:,}")
            found: Any = ShardLists()
            make(found)
        else:
            key = _shard_key(coding, splitter, pieces)
            found = self._cache.shards(key, make, need.disk())
        validation = found.validation if splitter.wanted else None
        return Arranged(
            found.train, validation, self.reader.target_range, self.reader.exponent,
            np.zeros(n_outputs),
        )  # fmt: skip

    def _scan_key(self, scan: Scan) -> str:
        """Return the key that a cached scan must match."""
        kinds = [self.reader.key(), *(summary.key() for summary in scan.columns)]
        return json.dumps([self.source.fingerprint(), self._columns, kinds])


class LimitedTable(FileTable):
    """Arrays that are read block by block, so that no column of them is copied as a whole.

    Parameters
    ----------
    model : estimator
    X : array of shape (n_rows, n_columns)
    target : Targets
    known : Reading or None
    """

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
    """Say which columns of a source are what.

    Parameters
    ----------
    model : estimator
    source : Source
    target : str or sequence of str
    features : sequence of str or None
        None for all columns but target, weight and offset.
    weight, offset : str or None
    known : Reading or None
    cache : path-like or None
    """
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


class ShardLists:
    """Shards in memory, added one by one."""

    def __init__(self) -> None:
        self.train, self.validation = data.ShardList(), data.ShardList()

    def add(self, kind: str, shard: data.Shard) -> None:
        """Add a shard of training or validation rows."""
        getattr(self, kind).append(shard)


def encode(
    blocks: Iterator[Block],
    coding: Coding,
    splitter: Splitter,
    pieces: Sequence[tuple[int, int]],
    sink: Any,
    engine: Engine,
) -> None:
    """Second scan: rows to codes, codes to pieces, pieces to shards."""
    rows = _Pieces(coding, splitter, pieces, sink)
    for block in blocks:
        rows.add(coding.encode(block, engine.run))
    if rows.number < len(pieces):
        raise DataFileError("the source has fewer rows than when it was first read; fit again")


class _Pieces:
    """Rows gathered to pieces, which become shards when they are full."""

    def __init__(
        self, coding: Coding, splitter: Splitter, pieces: Sequence[tuple[int, int]], sink: Any
    ):
        self.coding, self.splitter, self.pieces, self.sink = coding, splitter, pieces, sink
        self.number = self.filled = 0
        size = max(b - a for a, b in pieces)
        assert coding.scan.target is not None
        self.buffer = [
            np.empty((size, len(coding.n_codes)), dtype=coding.code_type),
            np.empty((size, coding.scan.target.n_outputs)),
            np.empty(size) if coding.is_weighted else None,
        ]

    def add(self, rows: list[Any]) -> None:
        """Add codes, targets and weights of further rows."""
        begin, end = 0, len(rows[0])
        while begin < end:
            if self.number == len(self.pieces):
                raise DataFileError("the source has more rows than when it was first read")
            first, last = self.pieces[self.number]
            count = min(end - begin, last - first - self.filled)
            for held, array in zip(self.buffer, rows, strict=True):
                if held is not None:
                    held[self.filled : self.filled + count] = array[begin : begin + count]
            begin, self.filled = begin + count, self.filled + count
            if self.filled == last - first:
                self._emit()

    def _emit(self) -> None:
        piece = [None if held is None else held[: self.filled] for held in self.buffer]
        shards = make_shards(piece, self.number, self.splitter, self.coding.n_codes)
        for kind, shard in shards.items():
            self.sink.add(kind, shard)
        self.number, self.filled = self.number + 1, 0


def _shard_key(coding: Coding, splitter: Splitter, pieces: Sequence[tuple[int, int]]) -> str:
    """Return the key that cached shards must match."""
    found = hashlib.sha256()
    for coder in coding.coders:
        found.update(coder.key())
    target = coding.scan.target
    assert target is not None
    state: Any = splitter.state
    for array in (target.exponent, getattr(target, "by_class", None), state[1]):
        found.update(b"" if array is None else array.tobytes())
    categorical = [d for d, each in enumerate(coding.columns) if each.is_categorical]
    facts = (splitter.wanted, splitter.fraction, pieces, state[2:],
             str(coding.code_type), categorical, target.n_outputs, target.key())  # fmt: skip
    found.update(repr(facts).encode())
    return found.hexdigest()
