"""What an engine is, the order in which all engines add, and threads of one process."""

import functools
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from itertools import repeat
from multiprocessing import current_process
from typing import Any, Protocol

import numpy as np
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from ..interruption import check


class Engine(Protocol):
    """Maps a pure function over shards and adds the results, without knowing any mathematics.

    One that computes in other processes also has ``place(shards)``, which sends a list of shards
    to where `sum` finds them.
    """

    def run(self, function: Callable[..., Any], tasks: Iterable[Any]) -> list[Any]:
        """Apply a function to tasks that share this process's memory; results in their order."""

    def sum(self, function: Callable[..., Any], shards: Sequence[Any], *arguments: Any) -> Any:
        """Sum ``function(shard, *arguments, run=run)`` over shards.

        Results are arrays, or tuples of them; those that are lists are joined.
        """

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


def add_in_order(
    results: Iterable[Any], sizes: Iterable[int] = repeat(1), add: Callable[..., Any] = add
) -> Any:
    """Sum results as a balanced binary tree over their positions, as they arrive.

    The tree is that of a binary counter: partial sums of equal size are joined at once, so
    no more than log₂ of their number are held, and the order depends on nothing else. `sizes` has
    the sizes of results that are partial sums of this tree themselves.
    """
    held: list[tuple[Any, int]] = []

    def join() -> None:
        (a, n), (b, m) = held[-2:]
        held[-2:] = [(add(a, b), n + m)]

    for each in zip(results, sizes, strict=False):
        held.append(each)
        while len(held) > 1 and held[-1][1] == held[-2][1]:
            join()
    while len(held) > 1:
        join()
    return held[0][0]


def first_half(count: int) -> int:
    """Return how many of 2 or more results `add_in_order` adds by themselves before the rest."""
    return 1 << ((count - 1).bit_length() - 1)


@functools.cache
def _keep_freed_memory() -> None:
    """Lead the C library to keep freed blocks of up to 8 MB, as large as this one.

    Without it every array of more than 128 kB begins with new pages: 1.03 ms instead of 0.11 ms for
    the squares of 1000 environments of 10 entries.
    """
    np.empty(8_000_000, dtype=np.uint8)


def _count(n_jobs: int | None) -> int:
    """Count threads as joblib does, without its warning in daemon processes; see `Threads`."""
    count = 1 if current_process().daemon else effective_n_jobs(-1 if n_jobs is None else n_jobs)
    limit = os.environ.get("OMP_NUM_THREADS", "") if n_jobs is None else ""
    return min(count, int(limit)) if limit.isdigit() and int(limit) > 0 else count


class Threads:
    """Run on threads of this process.

    Parameters
    ----------
    n_jobs : int or None
        Number of threads as in joblib, except that None means all cores, or OMP_NUM_THREADS of
        them where that is set (as it is in joblib's worker processes): compiled loops share
        memory, so there is nothing to copy and little to lose.
    """

    def __init__(self, n_jobs: int | None = None):
        _keep_freed_memory()
        self.n_jobs = n_jobs
        self.n_threads = _count(n_jobs)
        self._pool = ThreadPoolExecutor(self.n_threads) if self.n_threads > 1 else None
        self._inside = threading.local()

    def __reduce__(self) -> Any:
        return Threads, (self.n_jobs,)  # a copy has threads of its own

    def run(self, function: Callable[..., Any], tasks: Iterable[Any]) -> list[Any]:
        tasks = list(tasks)
        # a task that has tasks of its own runs them itself: waiting for its own pool could be
        # waiting for ever
        if self._pool is None or len(tasks) < 2 or getattr(self._inside, "task", False):
            return [_checked(function, task) for task in tasks]
        context = copy_context()

        def task(argument: Any) -> Any:
            self._inside.task = True
            return context.copy().run(_checked, function, argument)

        return list(self._pool.map(task, tasks))

    def sum(self, function: Callable[..., Any], shards: Sequence[Any], *arguments: Any) -> Any:
        return add_in_order(_checked(function, shard, *arguments, run=self.run) for shard in shards)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


def _checked(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function, unless Ctrl-C was pressed."""
    check()
    return function(*arguments, **options)


#: finding the libraries takes milliseconds, so it is done once
_controller = functools.cache(ThreadpoolController)


_lock = threading.Lock()
#: limits of all that are inside of `one_blas_thread`, the first of which holds what was before
_limits: list[Any] = []


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside a with block, which several threads may be in.

    The limit holds for the whole process: the first to enter sets it, the last to leave resets it.
    """
    with _lock:
        _limits.append(_limits[0] if _limits else _controller().limit(limits=1))
    try:
        yield
    finally:
        with _lock:
            limit = _limits.pop()
            if not _limits:
                limit.restore_original_limits()
