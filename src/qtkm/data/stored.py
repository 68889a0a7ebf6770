"""Shards on disk: written once, read in every pass, the next one while the present one is used.

A folder holds one file a shard and, written last, an index that says what they hold:

    index.json
    train-0.bin, train-1.bin, …, validation-0.bin, …
        codes, targets, weights where there are some, and for every column the row numbers sorted
        by its codes and where the rows of each code begin

Files are read into memory of their own, not mapped: what a fit takes is then what it says.
"""

import json
from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..protocols import Shards
from .prefetch import prefetched
from .shards import Shard

#: changes with the layout of the files
LAYOUT = 1
KINDS = ("train", "validation")


class ShardWriter:
    """Writes shards into a folder.

    Parameters
    ----------
    folder : pathlib.Path
        Must be there.
    """

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
        number = len(self.sizes[kind])
        with open(self.folder / f"{kind}-{number}.bin", "xb", buffering=0) as file:
            for array in _arrays(shard):
                _write(file, array)
        self.sizes[kind].append(len(shard))

    def close(self) -> None:
        """Write the index, which makes the folder complete."""
        text = json.dumps(self.about | {"sizes": self.sizes})
        (self.folder / "index.json").write_text(text, encoding="utf-8")


def _write(file: Any, array: NDArray) -> None:
    # a raw file may take less than it is given, and says why it takes nothing
    rest = memoryview(np.ascontiguousarray(array).data).cast("B")
    while len(rest):
        rest = rest[file.write(rest) :]


def _arrays(shard: Shard) -> Iterator[NDArray]:
    yield shard.codes
    yield shard.target
    if shard.weight is not None:
        yield shard.weight
    for column in range(len(shard.n_codes)):
        yield from shard.order(column)


class StoredShards(Shards):
    """Shards of a folder, read whenever they are asked for.

    Parameters
    ----------
    folder : pathlib.Path
    kind : {"train", "validation"}

    Raises
    ------
    ValueError
        If the folder is not complete.
    """

    def __init__(self, folder: Path, kind: str):
        self.folder, self.kind = folder, kind
        about = _read_index(folder)
        self.sizes: list[int] = about["sizes"][kind]
        self.n_codes = tuple(about["n_codes"])
        self.n_outputs, self.is_weighted = about["n_outputs"], about["weighted"]
        self.code_type = np.dtype(about["codes"])
        self._functions: list[Callable[[NDArray], NDArray]] = []
        #: column whose order was asked for last, and will be for the next shard
        self._column: int | None = None
        for i in range(len(self)):
            path = self._path(i)
            if not path.exists() or path.stat().st_size != self._offset(i, None):
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

    def _layout(self, i: int) -> dict[str, tuple[Any, tuple[int, ...]]]:
        """Type and shape of the arrays of a file, in their order."""
        n_rows = self.sizes[i]
        parts: dict[str, tuple[Any, tuple[int, ...]]] = {
            "codes": (self.code_type, (n_rows, len(self.n_codes))),
            "target": (np.float64, (n_rows, self.n_outputs)),
        }
        if self.is_weighted:
            parts["weight"] = (np.float64, (n_rows,))
        for column, n_codes in enumerate(self.n_codes):
            parts[f"order {column}"] = (np.int32, (n_rows,))
            parts[f"starts {column}"] = (np.int64, (n_codes + 1,))
        return parts

    def _offset(self, i: int, name: str | None) -> int:
        """Where an array of a file begins; its end for None."""
        total = 0
        for part, (kind, shape) in self._layout(i).items():
            if part == name:
                break
            total += np.dtype(kind).itemsize * prod(shape)
        return total

    def _part(self, i: int, name: str) -> NDArray:
        kind, shape = self._layout(i)[name]
        array = np.fromfile(self._path(i), kind, prod(shape), offset=self._offset(i, name))
        if array.size != prod(shape):
            raise ValueError(f"{self._path(i)} was cut off while it was in use")
        return array.reshape(shape)


def _read_index(folder: Path) -> dict[str, Any]:
    try:
        about = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder} holds no complete shards ({error})") from None
    if about.get("layout") != LAYOUT:
        raise ValueError(f"{folder} holds shards of another layout")
    return about
