"""From rows to codes, the same for arrays, blocks of files and partitions of a cluster.

A scan looks at rows, of which it may see any part; scans of different parts are merged, so that
they may be made anywhere and in any order.  What they have seen decides on a coding, by which
rows become codes on the grids of their columns.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import data
from ..data.sources import Block, DataFileError
from ..protocols import Run
from .inputs import Inputs
from .targets import Target, check_weight, tame_exponent


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Say in errors about values where they are."""
    try:
        yield
    except DataFileError:
        raise
    except ValueError as error:
        raise DataFileError(f"{where}: {error}") from None


class Scan:
    """What one look at all rows tells.

    Parameters
    ----------
    inputs : Inputs
        The columns, which learn from it.
    max_bins : int, "auto" or None
    features : sequence of str
        Names of the columns in blocks.
    target : Target or None
        What reads the targets of blocks.
    weight : str or None
        Name of the column of weights in blocks.
    """

    def __init__(
        self,
        inputs: Inputs,
        max_bins: Any,
        features: Sequence[str] = (),
        target: Target | None = None,
        weight: str | None = None,
    ):
        self.inputs, self.max_bins, self.features = inputs, max_bins, features
        self.target, self.weight = target, weight
        self.columns = [column.summary(max_bins) for column in inputs.columns]
        self.n_rows, self.largest_weight = 0, 0.0

    def add(self, block: Block) -> None:
        """Look at the rows of a block."""
        assert self.target is not None
        with naming(block.where):
            weight, keep = self.read_weight(block)
            if weight is not None:
                self.largest_weight = max(self.largest_weight, float(weight.max()))
            self.target.look(block, weight, keep)
            n_rows = block.n_rows if keep is None else int(keep.sum())
            if n_rows == 0:
                return
            self.n_rows += n_rows
            found = self.inputs.read(self._values(block), False, keep, block.first_row)
            for summary, values in zip(self.columns, found, strict=True):
                summary.add(values)

    def add_whole(self, found: Sequence[Any], n_rows: int, run: Run) -> None:
        """Look at all rows, which are in memory: what `Inputs.read` gives."""
        self.n_rows = n_rows
        run(lambda d: self.columns[d].add(found[d], is_whole=True), range(len(found)))

    def merge(self, other: "Scan") -> None:
        """Add what another scan has seen."""
        assert self.target is not None
        self.n_rows += other.n_rows
        self.largest_weight = max(self.largest_weight, other.largest_weight)
        self.target.merge(other.target)
        for mine, theirs in zip(self.columns, other.columns, strict=True):
            mine.merge(theirs)

    def settle(self) -> None:
        """Take in what was seen, once all rows have been."""
        if self.n_rows == 0:
            raise DataFileError("the source has no rows of positive weight")
        if self.target is not None:
            self.target.settle()
        for column, summary in zip(self.inputs.columns, self.columns, strict=True):
            column.learn(summary)

    def state(self) -> dict[str, Any]:
        """All that was seen, to be kept."""
        assert self.target is not None
        return {
            "n_rows": self.n_rows,
            "largest_weight": self.largest_weight,
            "columns": [summary.state() for summary in self.columns],
            "target": self.target.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Put in what another scan of the same rows has seen."""
        assert self.target is not None
        for summary, kept in zip(self.columns, state["columns"], strict=True):
            summary.restore(kept)
        self.target.restore(state["target"])
        self.n_rows, self.largest_weight = state["n_rows"], state["largest_weight"]

    def read_weight(self, block: Block) -> tuple[NDArray | None, NDArray | None]:
        """Weights of the rows of a block, and which rows have one; None for all."""
        if self.weight is None:
            return None, None
        weight = check_weight(block.columns[self.weight], block.n_rows, every=False)
        return weight, None if weight.all() else weight > 0

    def read(self, block: Block, exponent: int = 0) -> list[Any]:
        """Plain columns, targets and weights of the rows of positive weight, for the second time.

        `exponent` is the power of two that is taken out of the weights.
        """
        assert self.target is not None
        weight, keep = self.read_weight(block)
        if weight is not None and exponent:
            weight = np.ldexp(weight, -exponent)
        found = self.inputs.read(self._values(block), True, keep)
        plain = [own.plain(each) for own, each in zip(self.inputs.columns, found, strict=True)]
        return [plain, *self.target.targets(block, weight, keep)]

    def _values(self, block: Block) -> list[Any]:
        return [block.columns[name] for name in self.features]


class Coding:
    """From rows to codes, targets and weights.

    Parameters
    ----------
    inputs : Inputs
        The columns, with their feature maps.
    scan : Scan
        Settled.

    Attributes
    ----------
    columns : list of Column
        As the objective sees them.
    n_codes : tuple of int
        Grid size of each column.
    code_type : dtype
    is_weighted : bool
        Whether rows of blocks have weights other than 1.
    """

    def __init__(self, inputs: Inputs, scan: Scan, run: Run):
        def code(d: int) -> Any:
            return inputs.columns[d].code(scan.columns[d], scan.max_bins)

        pairs = run(code, range(len(inputs)))
        self.scan, self.columns = scan, [column for column, _ in pairs]
        self.coders = [coder for _, coder in pairs]
        self.n_codes = tuple(map(len, self.columns))
        # the compiled loops know 16 and 32 bits
        self.code_type = np.promote_types(data.code_type(max(self.n_codes)), np.uint16)
        self.is_weighted = scan.weight is not None or (
            scan.target is not None and scan.target.is_weighted
        )
        self.weight_exponent = tame_exponent(scan.largest_weight) if scan.weight else 0

    def codes(self, plain: Sequence[NDArray], run: Run) -> NDArray[np.unsignedinteger]:
        """Codes (n_rows, n_columns) of plain columns."""
        codes = np.empty((len(plain[0]), len(plain)), dtype=self.code_type)

        def code(d: int) -> None:
            codes[:, d] = self.coders[d].codes(plain[d])

        run(code, range(len(plain)))
        return codes

    def encode(self, block: Block, run: Run) -> list[Any]:
        """Codes, targets and weights of the rows of a block that have positive weight."""
        with naming(block.where):
            plain, target, weight = self.scan.read(block, self.weight_exponent)
            codes = self.codes(plain, run)
            if len(codes) and (codes.max(axis=0) >= self.n_codes).any():
                raise ValueError("the source has changed while it was read; fit again")
            return [codes, target, weight]
