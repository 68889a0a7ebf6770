"""Engines: where sums over shards are computed."""

from collections.abc import Callable

from .dask_cluster import Dask
from .engine import Engine, Threads, add, add_in_order, first_half, is_elsewhere, one_blas_thread

#: shorthand -> engine; a new engine is one file and one line here
REGISTRY: dict[str, Callable[..., Engine]] = {"threads": Threads, "dask": Dask}

__all__ = [
    "REGISTRY",
    "Dask",
    "Engine",
    "Threads",
    "add",
    "add_in_order",
    "first_half",
    "is_elsewhere",
    "one_blas_thread",
]
