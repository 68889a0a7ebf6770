"""What a worker in another process does for an engine, whatever brought it there.

Nothing that a worker is given is changed, so that it can be used again if a task is repeated.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from .blas import one_blas_thread
from .engine import add_in_order


class Held:
    """Shards of one part of the rows, as a worker holds them.

    Parameters
    ----------
    shards : list
    label : str
        Which part of the rows this is, for messages.
    """

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
        # tells who hands out tasks that it is cheaper to send them to the rows than the rows
        return 1000 + sum(map(_size, self.shards))


def _size(shard: Any) -> int:
    arrays = [shard, *vars(shard).values()] if hasattr(shard, "__dict__") else [shard]
    return sum(getattr(array, "nbytes", 0) for array in arrays)


def pack(value: Any) -> bytes:
    """Pickle a value; functions and classes that workers could not import are a part of it.

    In one piece, for the same reason as `Held`.
    """
    import cloudpickle  # comes with every library that sends functions

    return cloudpickle.dumps(value, protocol=5)


def sum_part(task: bytes, count: int, skip: int, *parts: Held) -> Any:
    """Sum of a pass over some neighbouring shards.

    Parameters
    ----------
    task : bytes
        Function and further arguments, packed.
    count, skip : int
        How many shards of these parts to sum over, after how many others.
    *parts : Held
    """
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
    """Sum of two results in memory of its own."""
    if isinstance(a, tuple):
        return tuple(add_apart(x, y) for x, y in zip(a, b, strict=True))
    return a + b


def map_targets(held: Held, function: Callable[[Any], Any]) -> Held:
    """Put function(targets) in place of the targets."""
    shards = [shard.reweighted(shard.weight, function(shard.target)) for shard in held.shards]
    return Held(shards, held.label)


def aligned(result: Any) -> Any:
    """Copy arrays that have arrived at odd addresses, see `Held`."""
    if isinstance(result, tuple):
        return tuple(map(aligned, result))
    is_odd = isinstance(result, np.ndarray) and not result.flags.behaved
    return result.copy() if is_odd else result


def hold(value: Any) -> Any:
    """Give back what is given: a task whose result others need."""
    return value
