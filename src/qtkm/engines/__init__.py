"""Engines: where sums over shards are computed."""

from collections.abc import Callable

from .engine import Engine, add, add_in_order
from .threads import Threads

#: shorthand -> engine; a new engine is one file and one line here
REGISTRY: dict[str, Callable[..., Engine]] = {"threads": Threads}

__all__ = ["REGISTRY", "Engine", "Threads", "add", "add_in_order"]
