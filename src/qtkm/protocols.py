"""What parts that never import each other may know of each other."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray


class Run(Protocol):
    """Applies a function to every task; results in the order of the tasks."""

    def __call__(self, function: Callable[[Any], Any], tasks: Iterable[Any], /) -> list[Any]:
        """Run the tasks, side by side where that is worth it."""


class Shard(Protocol):
    """A block of coded rows, see `qtkm.data.Shard`."""

    codes: NDArray[np.unsignedinteger]
    target: NDArray[np.floating]
    weight: NDArray[np.floating] | None
    n_codes: tuple[int, ...]

    def __len__(self) -> int: ...

    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows for tasks that do not depend on each other."""

    def groups(self, column: int | None) -> Any:
        """Rows grouped by the code of a column, or all in one group for None."""

    def reweighted(self, weight: Any, target: Any) -> "Shard":
        """The same rows with other weights and targets."""


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


class Column(Protocol):
    """An input dimension as networks see it, see `qtkm.objective.Column`."""

    radices: tuple[int, ...]
    is_categorical: bool

    def __len__(self) -> int: ...

    @property
    def factors(self) -> NDArray:
        """Factor entries of all levels at the grid values."""

    @property
    def phase(self) -> NDArray:
        """Phase at the grid values; empty where the map has none."""
