"""What an engine is, and the order in which every engine adds."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol


class Engine(Protocol):
    """Maps a pure function over shards and adds the results, without knowing any mathematics.

    One that computes in other processes also has ``place(shards)``, which sends a list of shards
    to where `sum` finds them.
    """

    def run(self, function: Callable[..., Any], tasks: Iterable[Any]) -> list[Any]:
        """Apply a function to tasks that share this process's memory; results in their order."""

    def sum(self, function: Callable[..., Any], shards: Sequence[Any], *arguments: Any) -> Any:
        """Sum ``function(shard, *arguments, run=run)``, arrays or a tuple of them, over shards."""

    def close(self) -> None:
        """Release threads or connections."""


def is_elsewhere(engine: Engine) -> bool:
    """Whether an engine computes in other processes, to which shards are sent."""
    return hasattr(engine, "place")


def add(a: Any, b: Any) -> Any:
    """Sum two results of a pass, into the memory of the first where possible."""
    if isinstance(a, tuple):
        return tuple(add(x, y) for x, y in zip(a, b, strict=True))
    a += b
    return a


def add_in_order(results: Iterable[Any]) -> Any:
    """Sum results as a balanced binary tree over their positions, as they arrive.

    The tree is that of a binary counter: partial sums of equal size are joined at once, so
    no more than log₂ of their number are held, and the order depends on nothing else.
    """
    partial: list[tuple[int, Any]] = []
    for result in results:
        size = 1
        while partial and partial[-1][0] == size:
            result = add(partial.pop()[1], result)
            size *= 2
        partial.append((size, result))
    total = partial.pop()[1]
    while partial:
        total = add(partial.pop()[1], total)
    return total


def first_half(count: int) -> int:
    """Return how many of 2 or more results `add_in_order` adds before it adds the rest.

    The largest power of two below their number.  Either part is added like results of their own,
    so that parts can be added elsewhere.
    """
    return 1 << ((count - 1).bit_length() - 1)
