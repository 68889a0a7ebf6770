"""What a worker in another process does for an engine, and which worker does what.

Nothing that a worker is given is changed, so that it can be used again if a task is repeated.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import Any

import numpy as np

from .engine import add_in_order, first_half, one_blas_thread


class Held:
    """Shards of one part of the rows, as a worker holds them; `label` names it in messages."""

    def __init__(self, shards: list[Any], label: str):
        self.shards, self.label = shards, label

    def __len__(self) -> int:
        return len(self.shards)

    # In one piece: arrays that travel as frames of their own may arrive at odd addresses, and the
    # compiled loops would be compiled anew for those, which takes a minute, to run more slowly.

    def __getstate__(self) -> bytes:
        return pickle.dumps((self.shards, self.label), protocol=5)

    def __setstate__(self, state: bytes) -> None:
        self.shards, self.label = pickle.loads(state)

    def __sizeof__(self) -> int:
        # tells the scheduler that it is cheaper to send tasks to the rows than the rows
        each = [(shard, *getattr(shard, "__dict__", {}).values()) for shard in self.shards]
        return 1000 + sum(getattr(part, "nbytes", 0) for parts in each for part in parts)


def pack(value: Any) -> bytes:
    """Pickle a value, with functions and classes that workers could not import.

    In one piece, for the same reason as `Held`.
    """
    import cloudpickle  # comes with every library that sends functions

    return cloudpickle.dumps(value, protocol=5)


def sum_part(task: bytes, count: int, skip: int, *parts: Held) -> Any:
    """Sum a packed pass over `count` neighbouring shards of some parts, after `skip` others."""
    function, arguments = pickle.loads(task)
    each = ((shard, held.label) for held in parts for shard in held.shards)

    def results() -> Iterator[Any]:
        for shard, label in islice(each, skip, skip + count):
            try:
                yield function(shard, *arguments, run=serial)
            except Exception as error:
                error.add_note(f"This was in {label}.")
                raise

    with one_blas_thread():
        return add_in_order(results())


def serial(function: Callable[..., Any], tasks: Iterable[Any]) -> list[Any]:
    """Apply a function to every task, one after the other."""
    return [function(task) for task in tasks]


def add_apart(a: Any, b: Any) -> Any:
    """Return the sum of two results in memory of its own."""
    if isinstance(a, tuple):
        return tuple(add_apart(x, y) for x, y in zip(a, b, strict=True))
    return a + b


def map_targets(held: Held, function: Callable[[Any], Any]) -> Held:
    """Replace the targets by function(targets)."""
    shards = [shard.reweighted(shard.weight, function(shard.target)) for shard in held.shards]
    return Held(shards, held.label)


def aligned(result: Any) -> Any:
    """Copy arrays that have arrived at odd addresses, but not those in lists; see `Held`."""
    if isinstance(result, tuple):
        return tuple(map(aligned, result))
    is_odd = isinstance(result, np.ndarray) and not result.flags.behaved
    return result.copy() if is_odd else result


def hold(value: Any) -> Any:
    """Return what is given: a task whose result others need."""
    return value


def leaves(
    owners: Sequence[tuple[str, int]], first: int = 0, last: int | None = None
) -> Iterator[tuple[int, int, str]]:
    """Yield what one task sums, (first, last, worker): subtrees of `add_in_order`, in its order.

    `owners` has the worker of each shard, and how many shards one task of that worker may sum.
    """
    last = len(owners) if last is None else last
    count, (worker, most) = last - first, owners[first]
    if count == 1 or (len(set(owners[first:last])) == 1 and count <= most):
        yield first, last, worker
    else:
        middle = first + first_half(count)
        yield from leaves(owners, first, middle)
        yield from leaves(owners, middle, last)


def spread(sizes: Sequence[int], threads: dict[str, int]) -> list[str]:
    """Choose a worker for each of some parts of the rows: neighbours together, by their sizes.

    `threads` has the number of threads of each worker, of which there is at least one. The same
    workers get the same parts again.
    """
    slots = [worker for worker, count in sorted(threads.items()) for _ in range(count)]
    ends, total = accumulate(sizes), max(1, sum(sizes))
    middles = [end - size / 2 for end, size in zip(ends, sizes, strict=True)]
    return [slots[min(int(m / total * len(slots)), len(slots) - 1)] for m in middles]
