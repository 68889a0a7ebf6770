"""BLAS held to one thread while threads or workers of our own are at work."""

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController


@functools.cache
def _controller() -> ThreadpoolController:
    # finding the libraries takes milliseconds, so it is done once
    return ThreadpoolController()


class _Inside:
    """How many are inside of `one_blas_thread`, and what the last of them puts back."""

    lock = threading.Lock()
    count = 0
    limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS with one thread for the length of a with block, which several threads may be in.

    The number is one of the whole process: the first to come in sets it, the last to leave puts
    it back.
    """
    with _Inside.lock:
        if _Inside.count == 0:
            _Inside.limit = _controller().limit(limits=1)
        _Inside.count += 1
    try:
        yield
    finally:
        with _Inside.lock:
            _Inside.count -= 1
            if _Inside.count == 0:
                _Inside.limit.restore_original_limits()
