"""What an engine is, and the order in which every engine adds.

An engine maps a pure function over shards and adds the results.  It knows no mathematics.
It offers

    run(function, tasks) -> list        tasks that share this process's memory
    sum(function, shards, *arguments)   a sum over shards, added by `add_in_order`
    close()

and, where it computes in other processes,

    place(shards) -> sequence           a list of shards, sent to where `sum` finds them

A function given to `sum` is called as function(shard, *arguments, run=run) and returns
arrays, or a tuple of them, that can be added.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol


class Engine(Protocol):
    """Anything that maps over shards and adds in order."""

    def run(self, function: Callable[..., Any], tasks: Iterable[Any]) -> list[Any]:
        """Apply a function to every task; results in the order of the tasks."""

    def sum(self, function: Callable[..., Any], shards: Sequence[Any], *arguments: Any) -> Any:
        """Sum of ``function(shard, *arguments, run=…)`` over shards."""

    def close(self) -> None:
        """Let go of threads or connections."""


def is_elsewhere(engine: Engine) -> bool:
    """Whether an engine computes in other processes, to which shards are sent."""
    return hasattr(engine, "place")


def add(a: Any, b: Any) -> Any:
    """Sum of two results, into the memory of the first where it can.

    Parameters
    ----------
    a, b : array, number or tuple of these
        Results of one pass over two shards; arrays of `a` are written over.
    """
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
    """How many of so many results, two or more, `add_in_order` adds before it adds the rest.

    The largest power of two below their number.  Either part is added like results of their own,
    so that parts can be added elsewhere.

    Parameters
    ----------
    count : int
        Number of results, 2 or more.
    """
    return 1 << ((count - 1).bit_length() - 1)
