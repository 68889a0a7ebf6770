"""What parts that never import each other may know of each other."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Protocol


class Run(Protocol):
    """Applies a function to every task; results in the order of the tasks."""

    def __call__(self, function: Callable[[Any], Any], tasks: Iterable[Any], /) -> list[Any]:
        """Run the tasks, side by side where that is worth it."""


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
