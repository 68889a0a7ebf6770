"""Shards on disk: written once, read in every pass, the next one while the present one is used.

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
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..interruption import check
from ..protocols import Shards
from .shards import Shard

Item = TypeVar("Item")
#: changes with the layout of the files
LAYOUT = 1
KINDS = ("train", "validation")


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


class ShardWriter:
    """Writes shards into an existing folder."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.sizes: dict[str, list[int]] = {kind: [] for kind in KINDS}
        self.about: dict[str, Any] = {}

    def add(self, kind: str, shard: Shard) -> None:
        """Write a shard of training or validation rows."""
        self.about = {
            "layout": LAYOUT,
            "n_codes": list(shard.n_codes),
            "n_outputs": shard.target.shape[1],
            "codes": shard.codes.dtype.str,
            "weighted": shard.weight is not None,
        }
        arrays = [shard.codes, shard.target, *([] if shard.weight is None else [shard.weight])]
        for column in range(len(shard.n_codes)):
            arrays += shard.order(column)
        number = len(self.sizes[kind])
        with open(self.folder / f"{kind}-{number}.bin", "xb", buffering=0) as file:
            for array in arrays:
                # a raw file may take less than it is given, and says why it takes nothing
                rest = memoryview(np.ascontiguousarray(array).data).cast("B")
                while len(rest):
                    rest = rest[file.write(rest) :]
        self.sizes[kind].append(len(shard))

    def close(self) -> None:
        """Write the index, which makes the folder complete."""
        text = json.dumps(self.about | {"sizes": self.sizes})
        (self.folder / "index.json").write_text(text, encoding="utf-8")


class StoredShards(Shards):
    """Shards of a folder, "train" or "validation", read whenever they are asked for."""

    def __init__(self, folder: Path, kind: str):
        self.folder, self.kind = folder, kind
        try:
            about = json.loads((folder / "index.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ValueError(f"{folder} holds no complete shards ({error})") from None
        if about.get("layout") != LAYOUT:
            raise ValueError(f"{folder} holds shards of another layout")
        self.sizes: list[int] = about["sizes"][kind]
        self.n_codes = tuple(about["n_codes"])
        self.n_outputs, self.is_weighted = about["n_outputs"], about["weighted"]
        self.code_type = np.dtype(about["codes"])
        self._functions: list[Callable[[NDArray], NDArray]] = []
        #: column whose order was asked for last, and will be for the next shard
        self._column: int | None = None
        for i in range(len(self)):
            path = self._path(i)
            if not path.exists() or path.stat().st_size != self._layout(i)["end"][0]:
                raise ValueError(f"{path} is missing or cut off")

    def __len__(self) -> int:
        return len(self.sizes)

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
        weight = self._part(i, "weight") if self.is_weighted else None
        find_order = partial(self._order, i)
        return Shard(self._part(i, "codes"), target, weight, self.n_codes, find_order)

    def _order(self, i: int, column: int) -> tuple[NDArray, NDArray]:
        self._column = column
        return self._part(i, f"order {column}"), self._part(i, f"starts {column}")

    def _path(self, i: int) -> Path:
        return self.folder / f"{self.kind}-{i}.bin"

    def _layout(self, i: int) -> dict[str, tuple[int, Any, tuple[int, ...]]]:
        """Offset, type and shape of the arrays of a file, in their order, and its end."""
        n_rows = self.sizes[i]
        parts: dict[str, tuple[Any, tuple[int, ...]]] = {
            "codes": (self.code_type, (n_rows, len(self.n_codes))),
            "target": (np.float64, (n_rows, self.n_outputs)),
            "weight": (np.float64, (n_rows * self.is_weighted,)),
        }
        for column, n_codes in enumerate(self.n_codes):
            parts[f"order {column}"] = np.int32, (n_rows,)
            parts[f"starts {column}"] = np.int64, (n_codes + 1,)
        found, offset = {}, 0
        for name, (kind, shape) in parts.items():
            found[name] = (offset, kind, shape)
            offset += np.dtype(kind).itemsize * prod(shape)
        return found | {"end": (offset, None, ())}

    def _part(self, i: int, name: str) -> NDArray:
        offset, kind, shape = self._layout(i)[name]
        array = np.fromfile(self._path(i), kind, prod(shape), offset=offset)
        if array.size != prod(shape):
            raise ValueError(f"{self._path(i)} was cut off while it was in use")
        return array.reshape(shape)
