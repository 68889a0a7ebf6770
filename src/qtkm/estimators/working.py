"""Where an estimator computes: threads of its own, BLAS held to one."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

from ..engines import Threads


@functools.cache
def _controller() -> ThreadpoolController:
    # finding the libraries takes milliseconds, so it is done once
    return ThreadpoolController()


@contextmanager
def threads(n_jobs: int | None) -> Iterator[Threads]:
    """Threads of our own for the length of a with block, BLAS held to one thread."""
    with _controller().limit(limits=1):
        engine = Threads(n_jobs)
        try:
            yield engine
        finally:
            engine.close()
