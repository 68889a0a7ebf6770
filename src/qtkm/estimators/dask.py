"""Collections of Dask: partitions that are scanned and coded where they are, and predictions.

    partitions ──► scans ──► driver: ranges, distinct values, categories ──► feature maps, grids
    partitions ──► codes, targets, weights ──► shards, which stay on the workers

Every partition becomes one shard, or several of equal size if it is large, and no row comes to the
driver, unless all of them are so few that equal ones are merged: then all come.
"""

import copy
import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from .. import data
from ..data.sources import Block, DataFileError
from ..engines import Engine
from ..engines.dask_cluster import Dask, RemoteShards
from ..engines.remote import Held, hold, pack, serial
from ..limits import LIMITS
from ..networks import Network
from .inputs import read_inputs
from .rows import Arranged, Split
from .tables import Coding, Scan, Table, names_of
from .targets import refuse_none


def is_collection(*values: Any) -> bool:
    """Return True if some value is a collection of Dask."""
    return any(hasattr(value, "__dask_graph__") for value in values)


class Partitions(Table):
    """Partitions of X, y, weights and offsets."""

    def __init__(self, model: Any, given: dict[str, Any], engine: Dask):
        X, y = given["X"], given["y"]
        refuse_none(y, model)
        parts = _to_delayed(given)
        # artificial rows with the names and types of X
        is_frame = hasattr(X, "_meta_nonempty")
        example = X._meta_nonempty if is_frame else np.zeros((1, *X.shape[1:]), dtype=X.dtype)
        inputs = read_inputs(model, example)[0]
        features = [f"column {d} of X" for d in range(len(inputs))]
        is_vector = getattr(y, "ndim", 1) == 1
        target = names_of(y) or (["y"] if is_vector else [f"y{k}" for k in range(y.shape[1])])
        weights = [] if given["sample_weight"] is None else ["the sample_weight"]
        offsets = [] if given["offset"] is None else ["the offset"]
        reader = model._target_reader(target, *offsets, is_vector=is_vector)
        scan = Scan(inputs, model.max_bins, features, reader, weights[0] if weights else None)
        super().__init__(model, scan, names_of(y))
        nothing = [None] * len(parts["X"])
        each = zip(*(parts.get(name, nothing) for name in given), strict=True)
        names = [features, target, weights, offsets]
        self._delayed = [_delay(_make_block, names, n, *own) for n, own in enumerate(each)]
        self.engine = engine
        #: rows of positive weight in each partition, once they have been scanned
        self._sizes: list[int] = []

    def look(self, engine: Engine) -> None:
        shared = _share(self.scan)
        delayed = [_delay(_scan_block, shared, block) for block in self._delayed]
        for found in self._each("scan", delayed):
            if isinstance(found, Exception):
                if not isinstance(found, DataFileError):  # which says where it was
                    found.add_note(f"This was in partition {len(self._sizes)}.")
                raise found
            self._sizes.append(found.n_rows)
            self.scan.merge(found)

    def blocks(self, what: str) -> Iterator[Block]:
        return (block for block in self._each(what, self._delayed) if block.n_rows)

    def arrange(self, coding: Coding, split: Split, network: Network, engine: Engine) -> Arranged:
        if self.is_few:
            return super().arrange(coding, split, network, engine)
        sizes = {number: n for number, n in enumerate(self._sizes) if n}
        pieces = {number: list(data.blocks(n, LIMITS.shard_rows)) for number, n in sizes.items()}
        splitter = split(coding.scan.n_rows, sum(map(len, pieces.values())))
        splitter.needs_both = False
        shared, first, delayed = _share((coding, splitter)), 0, []
        for number, bounds in pieces.items():
            delayed.append(_delay(_code_block, shared, self._delayed[number], bounds, first))
            first += len(bounds)
        with self.engine.explained():
            coded = self.engine.compute(delayed)
            counted = [self.engine.submit(_count, each) for each in coded]
            counts = list(self._fetch("encode", pieces, counted))
            homes = self.engine.spread([len(bounds) for bounds in pieces.values()])

            def place(kind: int) -> RemoteShards:
                futures = [
                    self.engine.submit(itemgetter(kind), own, home=home)
                    for own, home in zip(coded, homes, strict=True)
                ]
                return RemoteShards(self.engine, futures, [c[kind] for c in counts], homes)

            train, validation = place(0), place(1)
        if splitter.wanted and not any(aside for _, aside in counts):
            raise ValueError(
                "early_stopping found no partition with enough rows to hold some out; use fewer "
                "and larger partitions, or early_stopping=False."
            )
        return self._arranged(splitter, train, validation)

    def _each(self, what: str, delayed: list[Any]) -> Iterator[Any]:
        with self.engine.explained():
            yield from self._fetch(what, range(len(delayed)), self.engine.compute(delayed))

    def _fetch(self, what: str, numbers: Iterable[int], futures: list[Any]) -> Iterator[Any]:
        """Yield the results of some partitions, with a progress bar if the model is verbose."""
        pairs = zip(numbers, futures, strict=True)
        bar = tqdm(pairs, what, len(futures), unit="partition", disable=not self.model.verbose)
        try:
            for number, future in bar:
                try:
                    yield self.engine.fetch(future)
                except Exception as error:
                    error.add_note(f"This was in partition {number}.")
                    raise
                future.release()
        finally:  # also after an error, whose traceback may hold the futures for long
            for future in futures:
                future.release()


def _delay(function: Any, *arguments: Any) -> Any:
    import dask

    return dask.delayed(function, pure=False)(*arguments)


def _share(value: Any) -> Any:
    """Wrap a value needed by all partitions in a task, so that it is sent once."""
    return _delay(hold, pack(value))


def _scan_block(shared: bytes, block: Block) -> Scan | Exception:
    """Return the scan, or an error: if it were raised, each worker would print it."""
    scan = pickle.loads(shared)
    try:
        if block.n_rows:
            scan.add(block, serial)
    except (TypeError, ValueError) as error:
        return error
    return scan


def _code_block(
    shared: bytes, block: Block, bounds: Sequence[tuple[int, int]], first: int
) -> tuple[Held, Held]:
    """Return training and validation shards of a partition; pieces count from `first`."""
    coding, splitter = pickle.loads(shared)
    rows = coding.encode(block, serial)
    found: dict[str, list[data.Shard]] = {"train": [], "validation": []}
    for i, (a, b) in enumerate(bounds, start=first):
        for kind, shard in splitter.shards(rows.take(slice(a, b)), i).items():
            found[kind].append(shard)
    return Held(found["train"], block.where), Held(found["validation"], block.where)


def _make_block(names: Sequence[Sequence[str]], number: int, *parts: Any) -> Block:
    """Return the rows of one partition of X, y, weights and offsets as a block."""
    columns: dict[str, Any] = {}
    for named, part in zip(names, parts, strict=True):
        if part is not None and len(part) != len(parts[0]):
            raise ValueError(
                f"partition {number} has {len(parts[0])} rows of X and {len(part)} of "
                f"{named[0]!r}; X, y, sample_weight and offset must have the same partitions."
            )
        if hasattr(part, "columns"):
            columns |= {name: part.iloc[:, d] for d, name in enumerate(named)}
        elif part is not None:
            columns |= zip(named, [part] if part.ndim == 1 else part.T, strict=True)
    return Block(columns, len(parts[0]), 0, f"partition {number}")


def _count(coded: tuple[Held, Held]) -> tuple[int, int]:
    return len(coded[0]), len(coded[1])


def _to_delayed(given: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the partitions of all collections, if they may be the same ones."""
    parts: dict[str, list[Any]] = {}
    for name, value in given.items():
        if value is None:
            continue
        if not hasattr(value, "to_delayed") or not hasattr(value, "ndim"):
            raise ValueError(
                f"{name} is a {type(value).__name__}, but other arguments are Dask collections; "
                f"pass {name} as a Dask array or frame with the same partitions."
            )
        if hasattr(value, "numblocks"):
            whole = value.rechunk({1: -1}) if value.ndim == 2 else value
            parts[name] = whole.to_delayed().ravel().tolist()
        else:  # optimized by itself, a collection of few columns may join partitions
            simple = value.simplify() if hasattr(value, "simplify") else value
            parts[name] = list(simple.to_delayed(optimize_graph=False))
        first, known = given["X"], getattr(value, "known_divisions", False)
        facts = {"partitions": (len(parts["X"]), len(parts[name]))}
        if known and getattr(first, "known_divisions", False):
            facts["divisions"] = (first.divisions, value.divisions)
        for what, (one, other) in facts.items():
            if one != other:
                raise ValueError(
                    f"X and {name} have different {what}: {one} and {other}; make them the same "
                    "with repartition or rechunk."
                )
    return parts


def predict_lazily(
    model: Any, function: str, X: Any, kind: Any, width: Any, offset: Any = None, **options: Any
) -> Any:
    """Return predictions for a collection as another one, `width` per row or a vector."""
    light = copy.copy(model).set_params(
        callbacks=None, checkpoint=None, engine="threads", n_jobs=1, verbose=0
    )
    nothing = np.empty((0,) if width is None else (0, width), dtype=kind)
    predict = partial(_predict_partition, light, function, nothing, options)
    is_frame, known = hasattr(X, "_meta_nonempty"), [] if offset is None else [offset]
    for each in (X, *known):
        if not hasattr(each, "_meta") or hasattr(each, "_meta_nonempty") != is_frame:
            beside = "" if offset is None else f", and offset is a {type(offset).__name__}"
            raise ValueError(
                f"X is a {type(X).__name__}{beside}; pass Dask arrays, or a Dask frame and series, "
                "with the same partitions."
            )
    if is_frame:
        return X.map_partitions(predict, *known, meta=predict(X._meta))
    X, known = X.rechunk({1: -1}), [own[:, None] for own in known]
    change = {"drop_axis": 1} if width is None else {"chunks": (X.chunks[0], (width,))}
    return X.map_blocks(predict, *known, dtype=kind, meta=nothing, **change)


def _predict_partition(
    model: Any, method: str, nothing: Any, options: dict[str, Any], X: Any, offset: Any = None
) -> Any:
    """Return predictions for one partition: an array, or a frame with its index."""
    known = {} if offset is None else {"offset": np.asarray(offset).reshape(-1)}
    result = getattr(model, method)(X, **known, **options) if len(X) else nothing
    if not hasattr(X, "iloc"):
        return result
    import pandas

    make = pandas.Series if result.ndim == 1 else pandas.DataFrame
    return make(result, index=X.index)
