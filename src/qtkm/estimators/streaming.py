"""A fit to rows that need not fit in memory: two scans of a source, then shards.

source → scan: ranges, distinct values, categories → plan
→ codes, targets, weights → pieces → shards, in memory or on disk → run
"""

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from .. import data
from ..data.sources import ArraySource, Block, DataFileError, Source
from ..engines import Engine
from ..objective import are_here
from .cache import Cache
from .checks import as_random_state
from .dataset_targets import DatasetTarget
from .grids import check_bounds
from .inputs import Inputs, read_columns, shorten
from .memory import Need, parse_limit
from .plan import Plan
from .rows import Arranged, Splitter, sort_piece, take
from .scan import Coding, Scan
from .targets import drop_weightless

logger = logging.getLogger(__name__)


@dataclass
class Table:
    """A source and what its columns are.

    Attributes
    ----------
    source : Source
    features, target : list of str
    weight : str or None
    named : bool
        Whether the names are the user's, and not made up for the columns of an array.
    """

    source: Source
    features: list[str]
    target: list[str]
    weight: str | None
    named: bool = True

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        return [*self.features, *self.target, *([] if self.weight is None else [self.weight])]

    def blocks(self, what: str, verbose: int) -> Iterator[Block]:
        """Blocks of rows, the next one read while the present one is used."""
        blocks = self.source.blocks(self.columns, data.READ_ROWS)
        bar = tqdm(
            total=self.source.expected_rows(), desc=what, unit="row", unit_scale=True,
            disable=not verbose,
        )  # fmt: skip
        with bar:
            for block in data.prefetched(blocks):
                yield block
                bar.update(block.n_rows)


def make_table(source: Source, target: Any, features: Any, weight: Any) -> Table:
    """Say which columns of a source are what.

    Parameters
    ----------
    source : Source
    target : str or sequence of str
    features : sequence of str or None
        None for all columns but target and weight.
    weight : str or None
    """
    targets = [target] if isinstance(target, str) else list(target)
    if isinstance(features, str):
        raise ValueError(f"features={features!r} must be a list of names, or None.")
    others = {*targets, weight}
    chosen = [n for n in source.names if n not in others] if features is None else list(features)
    for name in [*chosen, *targets, *([] if weight is None else [weight])]:
        if name not in source.names:
            known = shorten(source.names)
            raise ValueError(f"There is no column {name!r}; the source has {known}.")
    if both := sorted(others.intersection(chosen)):
        raise ValueError(f"{both[0]!r} is a feature and target or weight; leave it out of one.")
    if not targets or not chosen:
        raise ValueError("A fit needs at least one feature and one target.")
    return Table(source, chosen, targets, weight)


def fit_table(
    model: Any,
    table: Table,
    target: DatasetTarget,
    engine: Engine,
    cache: Any = None,
    loss: Any = None,
) -> None:
    """Fit a model, whose parameters have been checked, to a table.

    Parameters
    ----------
    model : Model
    table : Table
    target : DatasetTarget
        What reads the targets.
    engine : Engine
    cache : path-like or None
        Folder for scan and coded rows.
    loss : Loss or None
        None for the one that the model takes for these targets.
    """
    known = model._reading if model._goes_on else None
    rng, limit = as_random_state(model.random_state), parse_limit(model.memory_limit)
    inputs, boxes = _read_first(model, table, known)
    if known is not None:
        boxes = known.boxes_with(model.extrapolation)
        inputs.categories = dict(known.inputs.categories)
    scan = Scan(inputs, boxes, target, table.weight, model.max_bins)
    with Cache(cache, table.source, table.columns) as stored:
        key = _scan_key(model, table, scan)
        if not stored.recall_scan(scan, key):
            for block in table.blocks("scan", model.verbose):
                scan.add(block)
            stored.keep_scan(scan, key)
        scan.settle()
        loss = model._dataset_loss(target) if loss is None else loss
        if known is not None:
            known.check_same(inputs, target.n_outputs)
        if scan.n_rows <= data.MERGE_ROWS:
            arrays, targets, weight = gather(model, table, scan)
            model._fit_arrays(inputs, arrays, targets, weight, loss, known, engine, rng)
            return
        shape = (scan.n_rows, len(table.features))
        boxes = scan.boxes(model.extrapolation)
        plan = model._plan(inputs, shape, target.n_outputs, boxes, loss, known)
        coding = scan.coding(plan.maps, boxes, model.max_bins)
        in_memory, shard_rows = _need(plan, coding, scan).place(limit)
        rows = _shards(model, table, coding, stored, in_memory, shard_rows, engine, rng)
        model._run(plan, coding.columns, rows, engine, rng)


def _read_first(model: Any, table: Table, known: Any) -> tuple[Inputs, list[Any]]:
    """Names, kinds and given boxes of the columns, from the first rows."""
    block = next(iter(table.source.blocks(table.features, 1000)), None)
    if block is None:
        raise DataFileError("the source has no rows")
    if table.named:
        import pandas

        X = pandas.DataFrame({name: block.columns[name] for name in table.features})
    else:
        X = np.column_stack([block.columns[name] for name in table.features])
    columns, _ = read_columns(model, X, reset=known is None)
    names = getattr(model, "feature_names_in_", None)
    inputs = Inputs(columns, names, model.categorical_features)
    inputs.names = list(table.features)
    boxes: list[Any] = [None] * len(columns)
    if model.bounds is not None:
        given = check_bounds(model.bounds, inputs.labels)
        boxes = [
            data.Box(float(low), float(high), model.extrapolation, label)
            for (low, high), label in zip(given, inputs.labels, strict=True)
        ]
    return inputs, boxes


def gather(model: Any, table: Table, scan: Scan) -> tuple[list[Any], Any, Any]:
    """Columns, targets and weights of a source that is small after all."""
    parts: list[Any] = []
    target: Any
    for block in table.blocks("read", model.verbose):
        weight, keep = scan.read_weight(block)
        values = [block.columns[name] for name in table.features]
        looks = scan.inputs.look(values, True, keep)
        arrays = [
            scan.inputs.code(d, *look) if scan.inputs.is_categorical[d] else look
            for d, look in enumerate(looks)
        ]
        parts.append([*arrays, *scan.target.targets(block, weight, keep)])
    *arrays, target, weight = (
        None if column[0] is None else np.concatenate(column) for column in zip(*parts, strict=True)
    )
    if scan.target.exponent.any():
        target = np.ldexp(target, scan.target.exponent)
    return arrays, *drop_weightless(target, weight)


def _need(plan: Plan, coding: Coding, scan: Scan) -> Need:
    radices = [feature_map.radices for feature_map in plan.maps]
    is_complex = any(feature_map.is_complex for feature_map in plan.maps)
    n_outputs, planes = scan.target.n_outputs, 2 if is_complex else 1
    factors = sum(n * sum(r) for n, r in zip(coding.n_codes, radices, strict=True))
    return Need(
        scan.n_rows, len(radices), n_outputs, coding.code_type.itemsize, coding.is_weighted,
        plan.loss.is_quadratic,
        plan.network.numbers_held(coding.n_codes, radices, n_outputs, planes), factors,
    )  # fmt: skip


def _shards(
    model: Any,
    table: Table,
    coding: Coding,
    stored: Cache,
    in_memory: bool,
    shard_rows: int,
    engine: Engine,
    rng: np.random.RandomState,
) -> Arranged:
    """Rows of a table in shards."""
    n_rows, target = coding.scan.n_rows, coding.scan.target
    pieces = list(data.blocks(n_rows, shard_rows))
    state = rng.get_state()
    splitter = model._splitter(n_rows, len(pieces), rng)

    def make(sink: Any) -> None:
        encode(table.blocks("encode", model.verbose), coding, splitter, pieces, sink, engine)

    if in_memory:
        logger.info("%s rows are kept in memory", f"{n_rows:,}")
        found: Any = ShardLists()
        make(found)
    else:
        size = n_rows * len(coding.n_codes) * (coding.code_type.itemsize + 4) + 8 * n_rows
        key = _shard_key(coding, splitter, pieces, state)
        found = stored.shards(key, make, size)
    validation = found.validation if splitter.wanted else None
    scatter = np.zeros(target.n_outputs)
    return Arranged(found.train, validation, target.target_range, target.exponent, scatter)


class ShardLists:
    """Shards in memory, added one by one."""

    def __init__(self) -> None:
        self.train: list[data.Shard] = []
        self.validation: list[data.Shard] = []

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
        whole = slice(self.filled)
        piece: list[Any] = [None if held is None else held[whole] for held in self.buffer]
        rest, aside = self.splitter.split(self.number, piece[1])
        n_codes = self.coding.n_codes
        if aside is not None:
            self.sink.add("validation", sort_piece(take(piece, aside), n_codes))
        train = piece if rest is None else take(piece, rest)
        self.sink.add("train", sort_piece(train, n_codes))
        self.number, self.filled = self.number + 1, 0


# -- what shards and scans on disk must have in common with those that are asked for ---------------


def _scan_key(model: Any, table: Table, scan: Scan) -> str:
    boxes = [column and column.box and (column.box.low, column.box.high, column.box.extrapolation)
             for column in scan.columns]  # fmt: skip
    limits = [column and column.limit for column in scan.columns]
    kinds = [type(scan.target).__name__, scan.inputs.is_categorical]
    return json.dumps([table.source.fingerprint(), table.columns, boxes, limits, kinds])


def _shard_key(
    coding: Coding, splitter: Splitter, pieces: Sequence[tuple[int, int]], state: Any
) -> str:
    found = hashlib.sha256()
    for coder in coding.coders:
        if coder is not None:
            found.update(coder.grid.values.tobytes())
            found.update(repr((coder.grid.is_binned, coder.low, coder.high)).encode())
    target = coding.scan.target
    for array in (target.exponent, getattr(target, "by_class", None), state[1]):
        found.update(b"" if array is None else array.tobytes())
    facts = (splitter.wanted, splitter.fraction, pieces, state[2:],
             str(coding.code_type), coding.scan.categories.keys(), target.n_outputs)  # fmt: skip
    found.update(repr(facts).encode())
    return found.hexdigest()


def from_arrays(X: Any, target: Any, weight: Any) -> Table:
    """A table of arrays or memory maps, whose columns have no names of their own."""
    source = ArraySource(X, target, weight)
    return Table(source, source.features, source.target, source.weight, named=False)


def refuse_distant_rows(solver: Any, shards: Any) -> None:
    """Raise a ValueError where a solver looks at rows itself and they are not in memory."""
    if are_here(shards) or not solver.needs_rows:
        return
    raise ValueError(
        f"solver={type(solver).__name__} needs all rows in this process's memory; keep them there "
        "(engine='threads', a larger memory_limit), or use 'als', 'lbfgs' or 'gauss_newton'."
    )
