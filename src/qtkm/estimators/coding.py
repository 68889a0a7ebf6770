"""From rows to codes, the same for arrays, blocks of files and partitions of a cluster.

A scan summarizes any part of the rows; scans of different parts are merged, so they may be made
anywhere and in any order.  The merged scan decides on the coding, by which rows become codes on the
grids of their columns.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, repeat
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .. import data
from ..data.sources import Block, DataFileError
from ..data.sources.source import deal
from ..engines.remote import serial
from ..limits import LIMITS
from ..protocols import Run
from .columns import Summary
from .inputs import Inputs
from .rows import Split, joined
from .targets import Target, check_weight, tame_exponent

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


class Scan(Summary):
    """Summaries of the target and of all columns, from one pass over the rows.

    Blocks are read by the names of columns.  `found` are the columns of the only block as returned
    by `Inputs.read`, if they are known.
    """

    kept = ("n_rows", "largest_weight")

    def __init__(
        self,
        inputs: Inputs,
        max_bins: Any,
        features: Sequence[str],
        target: Target,
        weight: str | None,
        found: list[Any] | None = None,
    ):
        self.inputs, self.max_bins, self.features = inputs, max_bins, features
        self.target, self.weight = target, weight
        self.columns = [column.summary(max_bins) for column in inputs.columns]
        self.n_rows, self.largest_weight, self.found = 0, 0.0, found

    def add(self, block: Block, run: Run) -> None:
        with naming(block.where):
            weight, keep = self.read_weight(block)
            if weight is not None:
                self.largest_weight = max(self.largest_weight, float(weight.max(initial=0)))
            self.target.look(block, weight, keep)
            n_rows = block.n_rows if keep is None else int(keep.sum())
            if n_rows == 0:
                return
            self.n_rows += n_rows
            found = self._find(block, False, keep)
            for_columns(run, n_rows)(lambda d: self.columns[d].add(found[d]), range(len(found)))

    def merge(self, other: "Scan") -> None:
        self.n_rows += other.n_rows
        self.largest_weight = max(self.largest_weight, other.largest_weight)
        for mine, theirs in zip(self.summaries, other.summaries, strict=True):
            mine.merge(theirs)

    def settle(self) -> None:
        """Let targets and columns learn from the scan, once all rows have been seen."""
        if self.n_rows == 0:
            raise DataFileError("the source has no rows of positive weight")
        self.target.settle()
        for column, summary in zip(self.inputs.columns, self.columns, strict=True):
            column.learn(summary)

    @property
    def summaries(self) -> list[Any]:
        """Summaries of the target and of all columns."""
        return [self.target, *self.columns]

    def state(self) -> dict[str, Any]:
        return super().state() | {"inner": [summary.state() for summary in self.summaries]}

    def restore(self, state: dict[str, Any]) -> None:
        for summary, kept in zip(self.summaries, state["inner"], strict=True):
            summary.restore(kept)
        super().restore(state)

    def read_weight(self, block: Block) -> tuple[NDArray | None, NDArray | None]:
        """Return the positive weights of a block, and which rows have them; None for all."""
        if self.weight is None:
            return None, None
        weight = check_weight(block.columns[self.weight], block.n_rows, every=False)
        keep = None if weight.all() else weight > 0
        return weight if keep is None else weight[keep], keep

    def read(self, block: Block, exponent: int = 0) -> list[Any]:
        """Return plain columns, targets and weights of the rows of positive weight.

        `exponent` is the power of two that is taken out of the weights.
        """
        weight, keep = self.read_weight(block)
        if weight is not None and exponent:
            weight = np.ldexp(weight, -exponent)
        found = self._find(block, True, keep)
        plain = [own.plain(each) for own, each in zip(self.inputs.columns, found, strict=True)]
        return [plain, *self.target.targets(block, weight, keep)]

    def _find(self, block: Block, is_finite: bool, keep: NDArray | None) -> list[Any]:
        if self.found is not None:
            return self.found
        columns = [block.columns[name] for name in self.features]
        return self.inputs.read(columns, is_finite, keep, block.first_row)


class Coding:
    """From rows to codes, targets and weights; `columns` are as the objective sees them."""

    def __init__(self, inputs: Inputs, scan: Scan, run: Run):
        max_bins = scan.max_bins
        if len(inputs) == 1 and max_bins == "auto":  # a signal; its pass is cheap
            max_bins = LIMITS.single_values

        def code(d: int) -> Any:
            return inputs.columns[d].code(scan.columns[d], max_bins)

        pairs = for_columns(run, scan.n_rows)(code, range(len(inputs)))
        self.scan, self.columns = scan, [column for column, _ in pairs]
        self.coders = [coder for _, coder in pairs]
        self.n_codes = tuple(map(len, self.columns))
        # the compiled loops know 16 and 32 bits
        self.code_type = np.promote_types(data.code_type(max(self.n_codes)), np.uint16)
        self.is_weighted = scan.weight is not None or scan.target.is_weighted
        self.weight_exponent = tame_exponent(scan.largest_weight) if scan.weight else 0

    def codes(self, plain: Sequence[NDArray], run: Run) -> NDArray[np.unsignedinteger]:
        """Return the codes (n_rows, n_columns) of plain columns."""
        codes = np.empty((len(plain[0]), len(plain)), dtype=self.code_type)

        def code(d: int) -> None:
            coder = self.coders[d]
            codes[:, d] = plain[d] if coder is None else coder.codes(plain[d])

        for_columns(run, len(codes))(code, range(len(plain)))
        return codes

    def encode(self, block: Block, run: Run) -> data.Shard:
        """Return the rows of a block that have positive weight, not sorted yet."""
        with naming(block.where):
            plain, target, weight = self.scan.read(block, self.weight_exponent)
            codes = self.codes(plain, run)
            if len(codes) and (codes.max(axis=0) >= self.n_codes).any():
                raise ValueError("the source has changed while it was read; fit again")
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
        coded = (self.coding.encode(block, run) for block in blocks)

        def take(rows: data.Shard, begin: int, end: int) -> data.Shard:
            return rows.take(slice(begin, end))

        number, following = 0, chain(sizes, repeat(1))
        # a further piece, if there is one, shows rows that were not there before
        for rows in deal(coded, lambda _: next(following), len, take, joined):
            if number == len(sizes):
                raise DataFileError("the source has more rows than when it was first read")
            if len(rows) < sizes[number]:
                break
            yield from self.splitter.shards(rows, number).items()
            number += 1
        if number < len(sizes):
            raise DataFileError("the source has fewer rows than when it was first read; fit again")

    def key(self) -> str:
        found, coding, splitter = hashlib.sha256(), self.coding, self.splitter
        for coder in coding.coders:
            found.update(b"" if coder is None else coder.key())
        target, state = coding.scan.target, cast(Any, splitter.state)
        for array in (target.exponent, target.by_class, state[1]):
            found.update(b"" if array is None else array.tobytes())
        categorical = [d for d, each in enumerate(coding.columns) if each.is_categorical]
        facts = (splitter.wanted, splitter.fraction, self.pieces, state[2:],
                 str(coding.code_type), categorical, target.n_outputs, target.key())  # fmt: skip
        found.update(repr(facts).encode())
        return found.hexdigest()
