"""What parts that never import each other may know of each other."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

#: a parameter as a user gave it, before it is checked
Given = Any
#: a feature map, see `qtkm.features`
Map = Any
#: a list with one list of arrays per column (or one array per vertex), then maybe an output core
Cores = list[Any]
#: sizes of the levels of every column
Radices = Sequence[Sequence[int]]
Arrays = Sequence[NDArray]
#: an array for every level of every column
Levels = Sequence[Arrays]
#: what a penalty multiplies the squared weights of each column's functions by, (M,), or None for 1
Precisions = Sequence[NDArray | None]
#: a pass over a shard, pass(shard, …, run=run) -> arrays; see `qtkm.engines`
Pass = Callable[..., Any]
if TYPE_CHECKING:
    Span = slice[int, int, Any]
else:
    #: a range of rows or of entries
    Span = slice
#: what a checkpoint holds: arrays and plain values, in nested dicts and lists
Kept = dict[str, Any]


class Run(Protocol):
    """Applies a function to every task; results in the order of the tasks."""

    def __call__(self, function: Callable[[Any], Any], tasks: Iterable[Any], /) -> list[Any]:
        """Run the tasks, side by side where that is worth it."""


class AnyGroups(Protocol):
    """Rows of a shard sorted by the code of one column; see `qtkm.data.shards`."""

    order: NDArray[np.int32]
    tasks: list[NDArray[np.int64]]
    owners: NDArray[np.int64]
    starts: NDArray[np.int64]
    kept: dict[Any, Any]

    #: number of grid values
    @property
    def n_codes(self) -> int: ...
    #: sum sorted rows over every grid value's rows
    def sum(self, values: NDArray) -> NDArray: ...
    #: add further pieces of large groups to the slots of their grid values
    def add_pieces(self, *sums: NDArray) -> None: ...


class AnyShard(Protocol):
    """A block of coded rows; see `qtkm.data.shards`."""

    #: codes (n_rows, n_columns)
    @property
    def codes(self) -> NDArray: ...
    #: targets (n_rows, n_outputs)
    @property
    def target(self) -> NDArray: ...
    #: row weights; None means 1
    @property
    def weight(self) -> NDArray | None: ...
    #: grid size of each column
    @property
    def n_codes(self) -> tuple[int, ...]: ...
    #: square roots of the weights (empty for weights of 1), and targets times them
    @property
    def scaled(self) -> tuple[NDArray, NDArray]: ...
    def __len__(self) -> int: ...
    #: ranges of rows for tasks that do not depend on each other
    def blocks(self) -> list[tuple[int, int]]: ...
    #: return up to `count` ranges of rows
    def parts(self, count: int) -> list[tuple[int, int]]: ...
    #: return the rows grouped by the code of a column, or all in one group
    def groups(self, column: int | None) -> AnyGroups: ...
    #: return the same rows with other weights and targets
    def reweighted(self, weight: Any, target: NDArray) -> Any: ...
    #: return the selected rows
    def take(self, rows: NDArray) -> Any: ...


class AnyColumn(Protocol):
    """A column of a fit as networks see it: its functions at its grid values."""

    #: feature map of the column
    @property
    def feature_map(self) -> Any: ...
    #: sizes of the levels
    @property
    def radices(self) -> Sequence[int]: ...
    #: where each level's entries are among the factors
    @property
    def slices(self) -> Sequence[slice]: ...
    #: levels whose functions are tabulated together
    @property
    def groups(self) -> Sequence[slice]: ...
    #: whether the values are categories
    @property
    def is_categorical(self) -> bool: ...
    #: whether every function belongs to one category
    @property
    def is_one_hot(self) -> bool: ...
    #: number of functions of the main effect
    @property
    def n_main(self) -> int: ...
    #: places of the main effect's functions that share a variance, and their families
    @property
    def main_blocks(self) -> Any: ...
    #: return the main effect at the grid values
    def main_table(self, weights: NDArray) -> NDArray[np.float64]: ...
    #: return Σ function·part over the grid values
    def main_sums(self, parts: NDArray) -> NDArray[np.float64]: ...
    def __len__(self) -> int: ...
    #: grid values in the unit box
    @property
    def values(self) -> NDArray[np.float64]: ...
    #: whether the highest digit is that of missing values
    @property
    def has_gaps(self) -> bool: ...
    #: functions of every group of levels at the grid values
    @property
    def group_features(self) -> list[NDArray]: ...
    #: factor entries of all levels at the grid values, the phase in the first
    @property
    def factors(self) -> NDArray: ...
    #: whether functions at all grid values may be kept
    @property
    def is_kept(self) -> bool: ...
    #: return what products of two functions depend on
    def kind(self, conjugate: bool) -> str: ...
    #: ranges of grid values whose functions are made at a time
    def chunks(self) -> list[slice]: ...
    #: return all functions (n, M) at grid values of some codes, or of one of the chunks; if
    #: `conjugate` is not None, the distinct products (n_products, n) of two of them, of complex
    #: ones real parts above imaginary ones
    def functions(self, places: slice | NDArray, conjugate: bool | None) -> NDArray: ...
    #: return the same column with a level and the next one joined
    def merged(self, level: int) -> Any: ...


Columns = Sequence[AnyColumn]


@dataclass
class Setting:
    """A least-squares objective as local problems see it: weights and targets, and the penalty."""

    shards: Sequence[Any]
    #: what sums over the shards, see `qtkm.engines`
    engine: Any
    alpha: float
    #: what the sum over the rows is divided by
    total_weight: float
    #: value of the objective at zero weights
    constant: float
    #: whether the loss sees the real part of the response alone
    real_part: bool
    n_outputs: int
    n_rows: int
    #: whether this is the objective itself, or the quadratic model of another loss
    is_exact: bool = True
    #: whether shards are in this process's memory; else all that a problem has is `sum`
    rows_are_here: bool = True
    #: view(shard, run=…) gives a shard with other weights and targets than its own
    view: Pass | None = None
    #: whether the weights of the rows stay the same throughout the fit, as they do if it is exact
    has_constant_weights: bool = False
    #: what a network has computed of these rows once and for all, by name
    kept: dict[str, Any] = field(init=False, repr=False, default_factory=dict)

    @property
    def scale(self) -> tuple[float, float, float]:
        """Total weight, α and value at zero weights."""
        return self.total_weight, self.alpha, self.constant

    def sum(self, function: Pass) -> Any:
        """Sum function(shard, run=…) over the shards."""
        if self.view is not None:
            function = partial(_viewed, view=self.view, function=function)
        return self.engine.sum(function, self.shards)


def _viewed(shard: AnyShard, run: Run, view: Pass, function: Pass) -> Any:
    return function(view(shard, run=run), run=run)


class Shards(Sequence[Any]):
    """Shards of a fit, wherever they are: in memory, on disk or on a cluster.

    Attributes
    ----------
    are_here : bool
        Whether the rows are in this process's memory, so that who has these may look at them and
        keep something a row. Else all there is are sums over them.
    """

    are_here: ClassVar[bool] = False

    def map_targets(self, function: Callable[[Any], Any]) -> None:
        """Put function(targets) in place of the targets."""
        raise NotImplementedError

    def release(self) -> None:
        """Let go of what others hold for the length of a fit."""
