"""What parts that never import each other may know of each other."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

#: a parameter as a user gave it, before it is checked
Given = Any
#: a feature map, see `qtkm.features`
Map = Any
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


class Groups(Protocol):
    """Rows of a shard sorted by the code of one column; see `qtkm.data.shards`."""

    order: NDArray[np.int32]
    tasks: list[NDArray[np.int64]]
    owners: NDArray[np.int64]
    starts: NDArray[np.int64]
    kept: dict[Any, Any]

    @property
    def n_codes(self) -> int:
        """Number of grid values."""

    def sum(self, values: NDArray, each: int = 1) -> NDArray:
        """Sum sorted rows over every grid value's rows."""

    def add_pieces(self, *sums: NDArray) -> None:
        """Add further pieces of large groups to the slots of their grid values."""


class Shard(Protocol):
    """A block of coded rows; see `qtkm.data.shards`."""

    @property
    def codes(self) -> NDArray:
        """Codes (n_rows, n_columns)."""

    @property
    def target(self) -> NDArray:
        """Targets (n_rows, n_outputs)."""

    @property
    def weight(self) -> NDArray | None:
        """Row weights; None means 1."""

    @property
    def n_codes(self) -> tuple[int, ...]:
        """Grid size of each column."""

    @property
    def column_order(self) -> NDArray[np.int64]:
        """Columns, those with the fewest grid values first."""

    @property
    def scaled(self) -> tuple[NDArray, NDArray]:
        """Square roots of the weights (empty for weights of 1), and targets times them."""

    def __len__(self) -> int: ...

    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows for tasks that do not depend on each other."""

    def parts(self, count: int) -> list[tuple[int, int]]:
        """Return up to `count` ranges of rows."""

    def groups(self, column: int | None) -> Groups:
        """Return the rows grouped by the code of a column, or all in one group."""

    def reweighted(self, weight: Any, target: NDArray) -> Any:
        """Return the same rows with other weights and targets."""

    def take(self, rows: NDArray) -> Any:
        """Return the selected rows."""


class Column(Protocol):
    """A column of a fit as networks see it: its functions at its grid values."""

    @property
    def feature_map(self) -> Any:
        """Feature map of the column."""

    @property
    def radices(self) -> Sequence[int]:
        """Sizes of the levels."""

    @property
    def slices(self) -> Sequence[slice]:
        """Where each level's entries are among the factors."""

    @property
    def groups(self) -> Sequence[slice]:
        """Levels whose functions are tabulated together."""

    @property
    def is_categorical(self) -> bool:
        """Whether the values are categories."""

    @property
    def is_one_hot(self) -> bool:
        """Whether every function belongs to one category."""

    @property
    def n_main(self) -> int:
        """Number of functions of the main effect."""

    @property
    def main_blocks(self) -> Any:
        """Places of the main effect's functions that share a variance, and their families."""

    def main_table(self, weights: NDArray) -> NDArray[np.float64]:
        """Return the main effect at the grid values."""

    def main_sums(self, parts: NDArray) -> NDArray[np.float64]:
        """Return Σ function·part over the grid values."""

    def __len__(self) -> int: ...

    @property
    def values(self) -> NDArray[np.float64]:
        """Grid values in the unit box."""

    @property
    def has_gaps(self) -> bool:
        """Whether the highest digit is that of missing values."""

    @property
    def group_features(self) -> list[NDArray]:
        """Functions of every group of levels at the grid values."""

    @property
    def factors(self) -> NDArray:
        """Factor entries of all levels at the grid values."""

    @property
    def phase(self) -> NDArray:
        """Phase at the grid values; empty where the map has none."""

    @property
    def is_kept(self) -> bool:
        """Whether functions at all grid values may be kept."""

    def kind(self, conjugate: bool) -> str:
        """Return what products of two functions depend on."""

    def chunks(self) -> list[slice]:
        """Ranges of grid values whose functions are made at a time."""

    def features(self, part: slice) -> NDArray:
        """Return all functions at some grid values."""

    def products(self, part: slice, conjugate: bool) -> NDArray:
        """Return the distinct products of two functions at some grid values."""

    def functions(self, codes: NDArray, conjugate: bool | None) -> NDArray:
        """Return `products`, or for None `features`, at some grid values."""

    def merged(self, level: int) -> Any:
        """Return the same column with a level and the next one joined."""


class Setting(Protocol):
    """A least-squares objective as local problems see it; see `qtkm.objective.setting`."""

    alpha: float
    total_weight: float
    constant: float
    real_part: bool
    n_outputs: int
    n_rows: int
    is_exact: bool
    rows_are_here: bool
    has_constant_weights: bool
    kept: dict[str, Any]
    view: Callable[..., Any] | None

    @property
    def shards(self) -> Sequence[Any]:
        """Rows of the objective."""

    @property
    def engine(self) -> Any:
        """What sums over the shards."""

    @property
    def scale(self) -> tuple[float, float, float]:
        """Total weight, α and value at zero weights."""

    def sum(self, function: Callable[..., Any]) -> Any:
        """Sum of function(shard, run=…) over the shards."""


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
