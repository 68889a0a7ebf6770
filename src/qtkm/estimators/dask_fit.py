"""A fit to collections of Dask: every partition is scanned and coded where it is.

    partitions ──► scans ──► driver: ranges, distinct values, categories ──► plan
    partitions ──► codes, targets, weights ──► shards, which stay on the workers ──► run

Every partition becomes one shard, or several of equal size if it is large, and no row comes to the
driver, unless all of them are so few that equal ones are merged: then all come.
"""

import pickle
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from .. import data
from ..data.sources import Block, DataFileError
from ..engines.dask_cluster import Dask, RemoteShards
from ..engines.remote import Held, hold, pack, serial
from .checks import as_random_state
from .dask_collections import example, name_apart, names_of, refuse_unequal, to_delayed
from .grids import make_boxes
from .inputs import Inputs, read_columns
from .rows import Arranged, Splitter, sort_piece, take
from .scan import Coding, Scan
from .streaming import gather


def fit_collections(model: Any, X: Any, y: Any, weight: Any, engine: Dask) -> None:
    """Fit a model, whose parameters have been checked.

    Parameters
    ----------
    model : Model
    X, y, weight : collections of Dask with the same partitions
        No weight is None.
    engine : Dask
    """
    if y is None:
        raise ValueError(f"{type(model).__name__} requires y to be passed, but y is None.")
    known = model._reading if model._goes_on else None
    rng = as_random_state(model.random_state)
    table = Partitions(X, y, weight, engine)
    target = model._dataset_target(table.target)
    inputs, boxes = _read_kinds(model, table, known, engine)
    scan = Scan(inputs, boxes, target, table.weight, model.max_bins)
    sizes = table.scan(scan, model.verbose)
    scan.settle()
    loss = model._dataset_loss(target)
    if known is not None:
        known.check_same(inputs, target.n_outputs)
    if scan.n_rows <= data.MERGE_ROWS:
        arrays, targets, weights = gather(model, table, scan)  # type: ignore[arg-type]
        model._fit_arrays(inputs, arrays, targets, weights, loss, known, engine, rng)
    else:
        shape, boxes = (scan.n_rows, len(table.features)), scan.boxes(model.extrapolation)
        plan = model._plan(inputs, shape, target.n_outputs, boxes, loss, known)
        coding = scan.coding(plan.maps, boxes, model.max_bins)
        pieces = [list(data.blocks(n, data.SHARD_ROWS)) if n else [] for n in sizes]
        splitter = model._splitter(scan.n_rows, sum(map(len, pieces)), rng)
        rows = table.arrange(coding, splitter, pieces, model.verbose)
        model._run(plan, coding.columns, rows, engine, rng)
    model._take_target(target, table.is_vector)


def _read_kinds(
    model: Any, table: "Partitions", known: Any, engine: Dask
) -> tuple[Inputs, list[Any]]:
    """Names, kinds and known boxes of the columns."""
    columns, _ = read_columns(model, table.example, reset=known is None)
    names = getattr(model, "feature_names_in_", None)
    inputs = Inputs(columns, names, model.categorical_features)
    if known is not None:
        inputs.categories = dict(known.inputs.categories)
        return inputs, known.boxes_with(model.extrapolation)
    if model.bounds is None:
        return inputs, [None] * len(columns)
    kinds = (inputs.is_categorical, inputs.labels, model.bounds, model.extrapolation)
    return inputs, make_boxes(columns, *kinds, engine)


class Partitions:
    """Partitions of X, y and weights, and what their columns are called.

    Parameters
    ----------
    X, y, weight : collections of Dask
        Frames or arrays; weight may be None.
    engine : Dask

    Attributes
    ----------
    features, target : list of str
    weight : str or None
    is_vector : bool
        Whether y has one dimension.
    example : frame or array
        A few made-up rows with the names and types of X.
    """

    def __init__(self, X: Any, y: Any, weight: Any, engine: Dask):
        self.engine, self.example = engine, example(X)
        self.is_vector = getattr(y, "ndim", 1) == 1
        names = list(X.columns) if hasattr(X, "columns") else range(X.shape[1])
        named = all(isinstance(name, str) for name in names)
        self.features = list(names) if named else [f"x{d}" for d in range(len(names))]
        self.target = [name_apart(self.features, name) for name in names_of(y)]
        self.weight = None if weight is None else name_apart(self.features + self.target, "weight")
        given = {"X": X, "y": y, "sample_weight": weight}
        parts = {
            name: to_delayed(name, value) for name, value in given.items() if value is not None
        }
        refuse_unequal(parts, given)
        nothing = [None] * len(parts["X"])
        self.parts = list(zip(parts["X"], parts["y"], parts.get("sample_weight", nothing),
                              strict=True))  # fmt: skip
        self._names = [self.features, self.target, [] if self.weight is None else [self.weight]]

    def scan(self, scan: Scan, verbose: int) -> list[int]:
        """Look at all rows; returns the number of rows of positive weight in each partition."""
        sizes: list[int] = []
        for found in self._each("scan", verbose, _scan_partition, scan):
            if isinstance(found, Exception):
                if not isinstance(found, DataFileError):  # which says where it was
                    found.add_note(f"This was in partition {len(sizes)}.")
                raise found
            sizes.append(found.n_rows)
            scan.merge(found)
        return sizes

    def blocks(self, what: str, verbose: int) -> Iterator[Block]:
        """All rows, partition by partition."""
        return (block for block in self._each(what, verbose, _read_partition) if block.n_rows)

    def arrange(
        self,
        coding: Coding,
        splitter: Splitter,
        pieces: Sequence[Sequence[tuple[int, int]]],
        verbose: int,
    ) -> Arranged:
        """Shards of all rows, on the workers: some of each partition, as the pieces say."""
        shared, first = self._share((coding, splitter)), 0
        delayed = []
        for number, bounds in enumerate(pieces):
            if bounds:
                own = (bounds, first)
                delayed.append((number, self._delay(_code_partition, shared, number, *own)))
            first += len(bounds)
        with self.engine.tasks() as tasks:
            coded = tasks.compute([value for _, value in delayed])
            counted = [tasks.submit(_count, future) for future in coded]
            numbers = [number for number, _ in delayed]
            counts = list(self._fetch("encode", verbose, numbers, counted))
            workers = self.engine.spread([len(pieces[number]) for number, _ in delayed])
            train, validation = (
                [
                    tasks.submit(itemgetter(kind), future, worker=worker)
                    for future, worker in zip(coded, workers, strict=True)
                ]
                for kind in (0, 1)
            )
        if splitter.wanted and not any(aside for _, aside in counts):
            raise ValueError(
                "early_stopping finds no partition with enough rows to set some aside; use fewer "
                "and larger partitions, or early_stopping=False."
            )
        target = coding.scan.target
        return Arranged(
            RemoteShards(self.engine, train, [count for count, _ in counts], workers),
            RemoteShards(self.engine, validation, [n for _, n in counts], workers)
            if splitter.wanted else None,
            target.target_range, target.exponent, np.zeros(target.n_outputs),
        )  # fmt: skip

    def _each(self, what: str, verbose: int, function: Any, value: Any = None) -> Iterator[Any]:
        """Results of a function of a value and every partition, in order."""
        shared = self._share(value)
        with self.engine.tasks() as tasks:
            futures = tasks.compute(
                [self._delay(function, shared, number) for number in range(len(self.parts))]
            )
            yield from self._fetch(what, verbose, range(len(futures)), futures)

    def _fetch(
        self, what: str, verbose: int, numbers: Sequence[int], futures: list[Any]
    ) -> Iterator[Any]:
        """Results of some partitions as they come, with a bar that tells how far it is."""
        pairs = zip(numbers, futures, strict=True)
        bar = tqdm(pairs, what, len(futures), unit="partition", disable=not verbose)
        for number, future in bar:
            try:
                yield self.engine.fetch(future)
            except Exception as error:
                error.add_note(f"This was in partition {number}.")
                raise
            future.release()

    def _share(self, value: Any) -> Any:
        """What all partitions need, as a task of its own that is sent once."""
        import dask

        return dask.delayed(hold, pure=False)(pack((self._names, value)))

    def _delay(self, function: Any, shared: Any, number: int, *arguments: Any) -> Any:
        import dask

        return dask.delayed(function, pure=False)(shared, number, *arguments, *self.parts[number])


# -- on the workers -------------------------------------------------------------------------------


def _read_partition(shared: bytes, number: int, *parts: Any) -> Block:
    names, _ = pickle.loads(shared)
    return _make_block(names, number, parts)


def _scan_partition(shared: bytes, number: int, *parts: Any) -> Scan | Exception:
    """Scan, or what is wrong with the rows: if it were raised, each worker would print it."""
    names, scan = pickle.loads(shared)
    try:
        block = _make_block(names, number, parts)
        if block.n_rows:
            scan.add(block)
    except (TypeError, ValueError) as error:
        return error
    return scan


def _code_partition(
    shared: bytes, number: int, bounds: Sequence[tuple[int, int]], first: int, *parts: Any
) -> tuple[Held, Held]:
    """Training and validation shards of a partition, whose pieces are numbered from `first`."""
    names, (coding, splitter) = pickle.loads(shared)
    block = _make_block(names, number, parts)
    rows = coding.encode(block, serial)
    train, validation = [], []
    for i, (a, b) in enumerate(bounds, start=first):
        piece = [None if array is None else array[a:b] for array in rows]
        rest, aside = _split(splitter, i, piece[1])
        if aside is not None:
            validation.append(sort_piece(take(piece, aside), coding.n_codes))
        train.append(sort_piece(piece if rest is None else take(piece, rest), coding.n_codes))
    return Held(train, block.where), Held(validation, block.where)


def _make_block(names: Sequence[Sequence[str]], number: int, parts: Sequence[Any]) -> Block:
    """Block of the rows of one partition of X, y and weights."""
    columns: dict[str, Any] = {}
    for named, part in zip(names, parts, strict=True):
        if part is not None and len(part) != len(parts[0]):
            raise ValueError(
                f"partition {number} has {len(parts[0])} rows of X and {len(part)} of "
                f"{named[0]!r}; X, y and sample_weight must have the same partitions."
            )
        columns |= zip(named, _columns(part), strict=True)
    return Block(columns, len(parts[0]), 0, f"partition {number}")


def _columns(part: Any) -> list[Any]:
    if part is None:
        return []
    if hasattr(part, "columns"):
        return [part.iloc[:, d] for d in range(part.shape[1])]
    return [part] if part.ndim == 1 else list(part.T)


def _split(splitter: Splitter, number: int, target: Any) -> tuple[Any, Any]:
    """Rows to train and to validate on; all to train on where they are too few for both."""
    try:
        return splitter.split(number, target)
    except ValueError:
        return None, None


def _count(coded: tuple[Held, Held]) -> tuple[int, int]:
    return len(coded[0]), len(coded[1])
