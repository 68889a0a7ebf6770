"""The first look at rows that are not in memory: ranges, distinct values, categories, classes.

A scan adds block after block; scans of different parts of the rows can be merged, so that they
may be made anywhere and in any order.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import data
from ..data.sources import Block, DataFileError
from ..features import FeatureMap
from ..objective import Column
from .categories import Categories
from .dataset_targets import DatasetTarget
from .grids import check_reach, n_bins
from .inputs import Inputs, present_categories
from .targets import check_weight, tame_exponent

#: distinct values of a column that are kept while it is not known how many will do
MOST_DISTINCT = 1 << 16
#: and where every distinct value is asked for
MOST_EXACT = 1 << 20


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Say in errors about values where they are."""
    try:
        yield
    except DataFileError:
        raise
    except ValueError as error:
        raise DataFileError(f"{where}: {error}") from None


@dataclass
class ColumnScan:
    """What is known of a numeric column.

    Attributes
    ----------
    box : Box or None
        Where it is given, or known from an earlier fit.
    limit : int
        Most distinct values to keep.
    low, high : float
        Range of the values, those outside of a box taken to its ends where it says so.
    distinct : array or None
        Distinct values, ascending; None if there are more than the limit.
    """

    box: data.Box | None
    limit: int
    low: float = np.inf
    high: float = -np.inf
    distinct: NDArray[np.float64] | None = field(default_factory=lambda: np.empty(0))

    def add(self, values: NDArray) -> None:
        """Look at some values."""
        column = as_column(values, self.box)
        self.low, self.high = min(self.low, column.min()), max(self.high, column.max())
        if self.distinct is not None:
            self._join(data.find_distinct(column, self.limit))

    def merge(self, other: "ColumnScan") -> None:
        """Add what another scan has seen."""
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        if self.distinct is not None:
            self._join(other.distinct)

    def _join(self, found: NDArray[np.float64] | None) -> None:
        assert self.distinct is not None
        if found is None or np.isin(found, self.distinct, assume_unique=True).all():
            self.distinct = None if found is None else self.distinct
            return
        joined = np.union1d(self.distinct, found)
        self.distinct = joined if len(joined) <= self.limit else None

    def coder(self, label: str, feature_map: FeatureMap, box: data.Box, max_bins: Any) -> Any:
        """From values to codes on the grid that the column gets."""
        low, high = box.low, box.high
        if box.extrapolation == "continue":
            low, high = min(low, float(self.low)), max(high, float(self.high))
            check_reach(feature_map, box, low, high)
        most = n_bins(max_bins, feature_map, box, low, high)
        if self.distinct is not None and (most is None or len(self.distinct) <= most):
            return data.Coder(data.Grid(self.distinct, False), low, high)
        if most is None:
            raise ValueError(
                f"{label} has more than {self.limit:,} distinct values, too many to keep all of "
                "them as max_bins=None asks; give a number of bins, or 'auto'."
            )
        return data.Coder(data.equal_bins(low, high, most), low, high)


def as_column(values: NDArray, box: data.Box | None) -> NDArray[np.float64]:
    """Values as they are coded: within their box, contiguous, without -0.0."""
    return np.add(values if box is None else box.contain(values), 0.0, dtype=np.float64)


class Scan:
    """What one look at all rows tells.

    Parameters
    ----------
    inputs : Inputs
        Names of the columns, and which of them hold categories.
    boxes : list of Box or None
        Boxes that are known before.
    target : DatasetTarget
    weight : str or None
        Name of the column of weights.
    max_bins : int, "auto" or None
    """

    def __init__(
        self,
        inputs: Inputs,
        boxes: Sequence[data.Box | None],
        target: DatasetTarget,
        weight: str | None,
        max_bins: Any,
    ):
        self.inputs, self.target, self.weight = inputs, target, weight
        limit = MOST_EXACT if max_bins is None else MOST_DISTINCT
        if not isinstance(max_bins, str) and max_bins is not None:
            limit = max_bins
        self.columns = [
            None if categorical else ColumnScan(box, limit)
            for box, categorical in zip(boxes, inputs.is_categorical, strict=True)
        ]
        self.categories: dict[int, set[Any]] = {
            d: set() for d, categorical in enumerate(inputs.is_categorical) if categorical
        }
        self.n_rows, self.largest_weight = 0, 0.0

    def add(self, block: Block) -> None:
        """Look at some rows."""
        with naming(block.where):
            weight, keep = self.read_weight(block)
            if weight is not None:
                self.largest_weight = max(self.largest_weight, float(weight.max()))
            n_rows = block.n_rows if keep is None else int(keep.sum())
            self.target.look(block, weight, keep)
            if n_rows == 0:
                return
            self.n_rows += n_rows
            looks = self.inputs.look(self._values(block), False, keep, block.first_row)
            for d, look in enumerate(looks):
                scan = self.columns[d]
                if scan is None:
                    self.categories[d] |= set(present_categories(*look))
                else:
                    scan.add(look)

    def merge(self, other: "Scan") -> None:
        """Add what another scan has seen."""
        self.n_rows += other.n_rows
        self.largest_weight = max(self.largest_weight, other.largest_weight)
        self.target.merge(other.target)
        for mine, theirs in zip(self.columns, other.columns, strict=True):
            if mine is not None and theirs is not None:
                mine.merge(theirs)
        for d, found in other.categories.items():
            self.categories[d] |= found

    def settle(self) -> None:
        """Take in what was seen, once all rows have been."""
        if self.n_rows == 0:
            raise DataFileError("the source has no rows of positive weight")
        self.target.settle()
        for d, found in self.categories.items():
            self.inputs.learn_categories(d, Categories(found))

    def state(self) -> dict[str, Any]:
        """All that was seen, to be kept."""
        return {
            "n_rows": self.n_rows,
            "largest_weight": self.largest_weight,
            "columns": [column and {"low": float(column.low), "high": float(column.high),
                                    "distinct": column.distinct} for column in self.columns],
            "categories": {d: list(found) for d, found in self.categories.items()},
            "target": self.target.state(),
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> None:
        """Put in what another scan of the same rows has seen."""
        self.n_rows, self.largest_weight = state["n_rows"], state["largest_weight"]
        for column, kept in zip(self.columns, state["columns"], strict=True):
            if column is not None:
                column.low, column.high = kept["low"], kept["high"]
                column.distinct = kept["distinct"]
        self.categories = {d: set(found) for d, found in state["categories"].items()}
        self.target.restore(state["target"])

    def read_weight(self, block: Block) -> tuple[NDArray | None, NDArray | None]:
        """Weights of the rows of a block, and which rows have one; None for all."""
        if self.weight is None:
            return None, None
        weight = check_weight(block.columns[self.weight], block.n_rows, every=False)
        return weight, None if weight.all() else weight > 0

    def _values(self, block: Block) -> list[Any]:
        return [block.columns[name] for name in self.inputs.names]

    # -- the second look ------------------------------------------------------------------------

    def boxes(self, extrapolation: str) -> list[data.Box | None]:
        """Box of every numeric column: the given one, or from the least to the greatest value."""
        return [
            None
            if scan is None
            else scan.box or data.Box(float(scan.low), float(scan.high), extrapolation, label)
            for scan, label in zip(self.columns, self.inputs.labels, strict=True)
        ]

    def coding(
        self, maps: Sequence[FeatureMap], boxes: Sequence[data.Box | None], max_bins: Any
    ) -> "Coding":
        """Rule by which rows are coded."""
        coders = [
            None if scan is None or box is None else scan.coder(label, feature_map, box, max_bins)
            for scan, label, feature_map, box in zip(
                self.columns, self.inputs.labels, maps, boxes, strict=True
            )
        ]
        columns = [
            Column(label, feature_map, box, coder.grid if coder else feature_map.n_features)
            for label, feature_map, box, coder in zip(
                self.inputs.labels, maps, boxes, coders, strict=True
            )
        ]
        return Coding(self, columns, coders)


class Coding:
    """From blocks of a source to codes, targets and weights.

    Attributes
    ----------
    columns : list of Column
    n_codes : tuple of int
        Grid size of each column.
    code_type : dtype
    """

    def __init__(self, scan: Scan, columns: list[Column], coders: Sequence[Any]):
        self.scan, self.columns, self.coders = scan, columns, coders
        self.n_codes = tuple(len(column) for column in columns)
        # the compiled loops know 16 and 32 bits
        self.code_type = np.promote_types(data.code_type(max(self.n_codes)), np.uint16)
        self.weight_exponent = tame_exponent(scan.largest_weight) if scan.weight else 0

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights other than 1."""
        return self.scan.weight is not None or self.scan.target.is_weighted

    def encode(self, block: Block, run: Any) -> list[Any]:
        """Codes, targets and weights of the rows of positive weight."""
        with naming(block.where):
            weight, keep = self.scan.read_weight(block)
            if weight is not None and self.weight_exponent:
                weight = np.ldexp(weight, -self.weight_exponent)
            target, weight = self.scan.target.targets(block, weight, keep)
            inputs = self.scan.inputs
            values = [block.columns[name] for name in inputs.names]
            looks = list(enumerate(inputs.look(values, True, keep)))
            codes = np.empty((len(target), len(self.columns)), dtype=self.code_type)

            def code(item: tuple[int, Any]) -> None:
                d, look = item
                if self.coders[d] is None:
                    codes[:, d] = inputs.code(d, *look)
                else:
                    codes[:, d] = self.coders[d].codes(as_column(look, self.columns[d].box))

            run(code, looks)
            if len(codes) and (codes.max(axis=0) >= self.n_codes).any():
                raise ValueError("the source has changed while it was read; fit again")
            return [codes, target, weight]
