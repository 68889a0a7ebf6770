"""How every compiled loop of the library is compiled.

Cached on disk, free of the interpreter's lock, and allowed to fuse a multiplication
with an addition and to reorder sums; division and infinities keep their meaning.
"""

from collections.abc import Callable
from typing import Any

from numba import njit

_FASTMATH = {"contract", "reassoc", "nsz", "arcp"}


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function on first call, for the types of that call."""
    return njit(cache=True, nogil=True, error_model="numpy", fastmath=_FASTMATH)(function)
