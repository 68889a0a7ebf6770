"""Which worker has which part of the rows: neighbours together, none with much more than others."""

from collections.abc import Sequence
from itertools import accumulate


def spread(sizes: Sequence[int], threads: dict[str, int]) -> list[str]:
    """Worker for each of some parts of the rows: neighbours together, by their sizes.

    Parameters
    ----------
    sizes : sequence of int
    threads : dict of str to int
        Number of threads of each worker; at least one worker.
    """
    slots = [worker for worker, count in sorted(threads.items()) for _ in range(count)]
    ends, total = accumulate(sizes), max(1, sum(sizes))
    middles = [end - size / 2 for end, size in zip(ends, sizes, strict=True)]
    return [slots[min(int(m / total * len(slots)), len(slots) - 1)] for m in middles]


def settle(
    homes: Sequence[str | None],
    holders: Sequence[Sequence[str]],
    sizes: Sequence[int],
    threads: dict[str, int],
) -> list[str]:
    """Worker for each part, after workers have come or gone; as few as possible move.

    Parameters
    ----------
    homes : sequence of str or None
        Where the parts were before, None where that is not known.
    holders : sequence of sequences of str
        Workers that have each part now; some part may be about to be made again.
    sizes, threads
        As of `spread`.
    """
    load = dict.fromkeys(threads, 0)
    own: dict[str, list[int]] = {worker: [] for worker in threads}

    def cost(worker: str, more: int = 0) -> tuple[float, str]:
        return (load[worker] + more) / threads[worker], worker

    def put(k: int, worker: str) -> None:
        load[worker] += sizes[k]
        own[worker].append(k)

    for k, (home, those) in enumerate(zip(homes, holders, strict=True)):
        there = [worker for worker in those if worker in threads] or list(threads)
        put(k, home if home in there else min(cost(worker, sizes[k]) for worker in there)[1])
    for _ in sizes:
        worst, busiest = max(map(cost, threads))
        k = own[busiest][-1] if own[busiest] else -1
        best, worker = min(cost(worker, sizes[k]) for worker in threads)
        if best >= worst:
            break
        load[busiest] -= sizes[own[busiest].pop()]
        put(k, worker)
    return [worker for _, worker in sorted((k, w) for w, parts in own.items() for k in parts)]
