"""The next item is made while the present one is used."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ..interruption import check

Item = TypeVar("Item")


def prefetched(items: Iterable[Item]) -> Iterator[Item]:
    """Yield items, each made by a thread of its own while the one before it is used.

    No more than two are held at a time.
    """
    end = object()
    iterator = iter(items)
    with ThreadPoolExecutor(1) as pool:
        ahead = pool.submit(next, iterator, end)
        while (item := ahead.result()) is not end:
            ahead = pool.submit(next, iterator, end)
            check()
            yield item  # type: ignore[misc]
