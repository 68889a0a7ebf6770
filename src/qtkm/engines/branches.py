"""The tree of `add_in_order`, cut into tasks of neighbouring shards that have the same worker."""

from collections.abc import Callable, Iterator
from typing import Any

from .engine import first_half

#: first and last shard and worker of a task, or two trees whose sums are added
Tree = tuple[Any, ...]


def branch(owners: list[tuple[str, int]], first: int, last: int) -> Tree:
    """Tree of the sum over a range of shards, down to what one task sums.

    Parameters
    ----------
    owners : list of (worker, count)
        Of each shard, and how many shards one task of this worker may sum.
    first, last : int
        The range.
    """
    count, found = last - first, set(owners[first:last])
    worker, most = owners[first]
    if count == 1 or (len(found) == 1 and count <= most):
        return first, last, worker
    middle = first + first_half(count)
    return branch(owners, first, middle), branch(owners, middle, last)


def leaves_of(tree: Tree) -> Iterator[Tree]:
    """Tasks of a tree, from left to right."""
    if len(tree) == 3:
        yield tree
    else:
        for part in tree:
            yield from leaves_of(part)


def join(tree: Tree, results: Iterator[Any], add: Callable[[Any, Any], Any]) -> Any:
    """Add up the results of the tasks of a tree, which come from left to right."""
    if len(tree) == 3:
        return next(results)
    left = join(tree[0], results, add)
    return add(left, join(tree[1], results, add))
