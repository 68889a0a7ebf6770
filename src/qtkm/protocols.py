"""What parts that never import each other may know of each other."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

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
    from .data.shards import Shard as AnyShard
    from .objective.column import Column as AnyColumn

    Span = slice[int, int, Any]
else:
    #: a block of coded rows, and a column of a fit: its functions at its grid values
    AnyShard = AnyColumn = Any
    #: a range of rows or of entries
    Span = slice
#: what a checkpoint holds: arrays and plain values, in nested dicts and lists
Kept = dict[str, Any]


class Run(Protocol):
    """Applies a function to every task; results in the order of the tasks."""

    def __call__(self, function: Callable[[Any], Any], tasks: Iterable[Any], /) -> list[Any]:
        """Run the tasks, side by side where that is worth it."""


Columns = Sequence[AnyColumn]


@dataclass
class Setting:
    """A least-squares objective as local problems see it: weights and targets, and the penalty."""

    shards: Sequence[Any]
    engine: Any  # what sums over the shards, see `qtkm.engines`
    alpha: float
    total_weight: float  # what the sum over the rows is divided by
    constant: float  # value of the objective at zero weights
    real_part: bool  # whether the loss sees the real part of the response alone
    n_outputs: int
    n_rows: int
    is_exact: bool = True  # the objective itself, not the quadratic model of another loss
    rows_are_here: bool = True  # in this process's memory; else all that a problem has is `sum`
    view: Pass | None = None  # gives a shard with other weights and targets: view(shard, run=…)
    has_constant_weights: bool = False  # of the rows, throughout the fit
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
    """Shards of a fit, wherever they are: in memory, on disk or on a cluster."""

    #: whether rows are in this process's memory and may be looked at; else there are sums alone
    are_here: ClassVar[bool] = False

    def map_targets(self, function: Callable[[Any], Any]) -> None:
        """Put function(targets) in place of the targets."""
        raise NotImplementedError

    def release(self) -> None:
        """Let go of what others hold for the length of a fit."""
