"""Tasks for a Dask client."""

from collections.abc import Callable, Sequence
from typing import Any


class Tasks:
    """Tasks that belong together.

    Parameters
    ----------
    client : distributed.Client

    Attributes
    ----------
    futures : list of distributed.Future
    """

    def __init__(self, client: Any):
        self.client = client
        self.futures: list[Any] = []

    def submit(
        self, function: Callable[..., Any], *arguments: Any, worker: str | None = None
    ) -> Any:
        """Future of function(*arguments), on a certain worker if that is there."""
        where = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        self.futures.append(self.client.submit(function, *arguments, pure=False, **where))
        return self.futures[-1]

    def compute(self, delayed: Sequence[Any]) -> list[Any]:
        """Futures of delayed values."""
        futures = self.client.compute(list(delayed))
        self.futures.extend(futures)
        return futures

    def release(self) -> None:
        """Let go of all results now, and not when Python finds the time."""
        for future in self.futures:
            future.release()


def running_client() -> Any:
    """Return the active Dask client."""
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
