"""A cluster of Dask's workers: shards stay with them, passes go out, sums come back.

    driver     pass ──► one task                                     sum
                         │ tables                                     ▲
    workers              ├──► shards of a worker ──► partial sum ──► add ◄── …
                         └──► …

A pass is pickled once and travels between the workers.  Neighbouring shards of one worker are
summed by one task, as far as they are a part of the tree of `add_in_order`; the other additions of
that tree are tasks, too, or made here where they are few.  So the order of additions is always the
same, and neither the number of workers nor their coming and going changes a bit.

All tasks are pure functions that Dask repeats when a worker is lost, and forgets when nothing holds
their futures.  Shards that came from this process are sent again.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from ..interruption import check
from ..limits import LIMITS
from ..protocols import Shards
from . import remote
from .engine import Threads, add_in_order
from .remote import Held, hold, map_targets

logger = logging.getLogger(__name__)

#: seconds after which something is sent anew
AGAIN_SECONDS = 0.3
#: seconds of one wait, after which Ctrl-C is looked at
WAIT_SECONDS = 0.5
#: what Dask says of results that are lost for good
GONE = ("cancelled", "lost")
#: how often a pass is tried while the shards of lost workers are sent anew
TRIES = 5


class Dask(Threads):
    """Sum over shards on the workers of a Dask client.

    Parameters
    ----------
    client : distributed.Client or None
        None for the one that is running when the engine is first used.
    n_jobs : int or None
        Number of threads of this process, for what is no sum over shards: see `Threads`.
    """

    def __init__(self, client: Any = None, n_jobs: int | None = None):
        super().__init__(n_jobs)
        self._client = client

    def __reduce__(self) -> Any:
        return Dask, (None, self.n_jobs)  # elsewhere, the client that is running there

    def __deepcopy__(self, memo: Any) -> "Dask":
        return self  # clones of an estimator share the client

    @property
    def client(self) -> Any:
        """The client, if it is running."""
        if self._client is None:
            self._client = _running_client()
        self._refuse_closed()
        return self._client

    def place(self, shards: Sequence[Any]) -> "RemoteShards":
        """Send shards to the workers.  They are kept here as well, to replace lost ones."""
        kept = [Held([shard], f"shard {i}") for i, shard in enumerate(shards)]
        with self.explained():
            homes = self.spread([1] * len(kept))
            futures = [self.send(*pair) for pair in zip(kept, homes, strict=True)]
        return RemoteShards(self, futures, [1] * len(kept), homes, kept)

    def sum(self, function: Callable[..., Any], shards: Sequence[Any], *arguments: Any) -> Any:
        """Sum over shards that were placed on the workers; over others in this process."""
        if not isinstance(shards, RemoteShards):
            return super().sum(function, shards, *arguments)
        from distributed import CancelledError

        task = remote.pack((function, arguments))
        for _ in range(TRIES):
            try:
                with self.explained():
                    return self._sum(task, shards)
            except CancelledError:
                shards.replace_lost()
        raise RuntimeError(f"Workers were lost again and again; {TRIES} tries of a pass failed.")

    def _sum(self, task: bytes, shards: "RemoteShards") -> Any:
        """Try a pass once."""
        leaves = list(remote.leaves(shards.owners()))
        sizes = [last - first for first, last, _ in leaves]
        is_light = len(leaves) * len(task) <= LIMITS.sent_bytes
        sent = task if is_light else self.submit(hold, task)
        parts = [
            self.submit(remote.sum_part, sent, last - first, *shards.part(first, last), home=worker)
            for first, last, worker in leaves
        ]
        if len(leaves) <= LIMITS.few_tasks:
            return add_in_order(map(remote.aligned, self.fetch_all(parts)), sizes)
        total = add_in_order(parts, sizes, partial(self.submit, remote.add_apart))
        return remote.aligned(self.fetch(total))

    def submit(self, function: Callable[..., Any], *arguments: Any, home: str | None = None) -> Any:
        """Return the future of a function of arguments, on the worker `home` if it is there."""
        where = {} if home is None else {"workers": [home], "allow_other_workers": True}
        with _large_graphs():
            return self.client.submit(function, *arguments, pure=False, **where)

    def compute(self, delayed: Sequence[Any]) -> list[Any]:
        """Return the futures of delayed values."""
        with _large_graphs():
            return self.client.compute(list(delayed))

    def fetch(self, future: Any) -> Any:
        """Wait for the result of a future as long as the cluster can still deliver it."""
        return self.fetch_all([future])[0]

    def fetch_all(self, futures: list[Any]) -> list[Any]:
        """Wait for the results of futures, see `fetch`."""
        from distributed import wait

        since = time.monotonic()
        while True:
            check()
            with suppress(TimeoutError), self.client.as_current():
                wait(futures, timeout=WAIT_SECONDS)
                break
            if self.client.nthreads():
                since = time.monotonic()
            elif time.monotonic() - since > LIMITS.worker_seconds:
                raise RuntimeError(
                    f"The cluster has had no worker for {LIMITS.worker_seconds:g} seconds; start "
                    "some and fit again."
                )
        return self.client.gather(futures)

    def threads_there(self) -> dict[str, int]:
        """Wait for a worker and return the number of threads of each."""
        if not self.client.nthreads():
            self.client.wait_for_workers(1, timeout=LIMITS.worker_seconds)
        return self.client.nthreads()

    def spread(self, sizes: Sequence[int]) -> list[str]:
        """Choose a worker for each of some parts of the rows, see `remote.spread`."""
        return remote.spread(sizes, self.threads_there())

    def send(self, held: Held, worker: str) -> Any:
        """Send shards to a worker, or to another one if that is lost meanwhile."""
        for _ in range(TRIES - 1):
            check()
            try:
                return self.client.scatter(held, workers=[worker], hash=False)
            except Exception as error:  # Dask has many for a worker that is lost
                self._refuse_closed()
                logger.info("%s is sent anew: %s", held.label, error)
                time.sleep(AGAIN_SECONDS)
                worker = self.spread([1])[0]
        return self.client.scatter(held, workers=[worker], hash=False)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Replace an error by that of a closed client, if it is closed."""
        try:
            yield
        except Exception:
            self._refuse_closed()
            raise

    def _refuse_closed(self) -> None:
        if self._client is not None and self._client.status in ("closing", "closed"):
            raise RuntimeError(
                "The Dask client is closed, and what its workers held is lost. Start a client and "
                "fit again; with checkpoint=… a fit resumes after its last epoch."
            )


def _running_client() -> Any:
    try:
        from distributed import default_client
    except ImportError as error:
        raise ImportError(
            f"engine='dask' needs Dask ({error}); install it with: pip install 'qtkm[dask]'"
        ) from error
    try:
        return default_client()
    except ValueError:
        raise ValueError(
            "engine='dask' and data of Dask need a running client; start one with "
            "dask.distributed.Client()."
        ) from None


def _large_graphs() -> Any:
    """Let tables be larger than Dask expects of a task, for the length of a with block."""
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "100GB"})


class RemoteShards(Shards):
    """Shards on the workers of a cluster, of which only sums can be computed.

    `futures` are of one `Held` each, with `sizes` shards, on the workers `homes`; `kept` are the
    same in this process, where a lost one cannot be computed again.
    """

    def __init__(
        self, engine: Dask, futures: list[Any], sizes: list[int], homes: Sequence[str | None],
        kept: list[Held] | None = None,
    ):  # fmt: skip
        self.engine, self.futures, self.sizes, self.kept = engine, futures, sizes, kept
        self.homes = list(homes)
        self.parts = [(k, i) for k, size in enumerate(sizes) for i in range(size)]
        self._owners: list[tuple[str, int]] = []
        self._looked = float("-inf")

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, i: Any) -> Any:
        raise TypeError("These shards are on the workers of a cluster; only sums over them come.")

    def owners(self) -> list[tuple[str, int]]:
        """Return the worker of each shard, and how many shards one task of it may sum.

        A worker with several threads gets at least as many tasks.  Where workers have come or
        gone since the last look, parts of the rows move.
        """
        if time.monotonic() - self._looked < LIMITS.look_seconds:
            return self._owners
        threads = self.engine.threads_there()
        for k, home in enumerate(remote.spread(self.sizes, threads)):
            if home != self.homes[k]:
                logger.info("part %d of the rows moves to %s", k, home)
                # a result of its own: of copies, Dask drops those it likes
                self.futures[k] = self.engine.submit(hold, self.futures[k], home=home)
                self.homes[k] = home
        each: list[Any] = [self.homes[k] for k, _ in self.parts]
        most = {worker: max(1, each.count(worker) // n) for worker, n in threads.items()}
        self._owners, self._looked = [(worker, most[worker]) for worker in each], time.monotonic()
        return self._owners

    def part(self, first: int, last: int) -> list[Any]:
        """Return the futures that hold a range of shards, after the number of shards to skip."""
        (begin, skip), (end, _) = self.parts[first], self.parts[last - 1]
        return [skip, *self.futures[begin : end + 1]]

    def release(self) -> None:
        for future in self.futures:
            future.release()

    def map_targets(self, function: Callable[[Any], Any]) -> None:
        if self.kept is not None:
            shards = [map_targets(held, function).shards[0] for held in self.kept]
            self.__dict__.update(vars(self.engine.place(shards)))
            return
        self.futures = [
            self.engine.submit(map_targets, future, function, home=home)
            for future, home in zip(self.futures, self.homes, strict=True)
        ]

    def replace_lost(self) -> None:
        """Send anew what was lost with its worker."""
        self._looked = float("-inf")
        lost = [k for k, future in enumerate(self.futures) if future.status in GONE]
        if self.kept is None:
            if not lost:
                return
            raise RuntimeError(
                "The shards on the cluster were cancelled, as by a restart of the client; fit "
                "again."
            )
        logger.info("%d shards were lost with their workers and are sent anew", len(lost))
        homes = self.engine.spread(self.sizes)
        for k in lost:
            self.homes[k] = homes[k]
            self.futures[k] = self.engine.send(self.kept[k], homes[k])
