"""How every compiled loop of the library is compiled.

Cached on disk, free of the interpreter's lock, and allowed to fuse a multiplication
with an addition and to reorder sums; division and infinities keep their meaning.

Compiling takes its time, so the first function that has to be compiled says so, once for a process.
"""

import logging
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core import event

logger = logging.getLogger(__name__)

_FASTMATH = {"contract", "reassoc", "nsz", "arcp"}
#: what Numba calls a function that was not found in its cache on disk
_COMPILATION = "numba:compile"


def jit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function on first call, for the types of that call."""
    return njit(cache=True, nogil=True, error_model="numpy", fastmath=_FASTMATH)(function)


class Notice(event.Listener):
    """Tells of the first function of the library that has to be compiled, and no more."""

    def on_start(self, event: Any) -> None:
        module = event.data["dispatcher"].py_func.__module__
        if module.startswith(f"{__package__}."):
            self.withdraw()
            logger.warning(
                "qtkm compiles loops that have not been used on this machine before, which may "
                "take a minute; they are kept on disk."
            )

    def on_end(self, event: Any) -> None:
        pass

    def install(self) -> None:
        """Begin to listen."""
        event.register(_COMPILATION, self)

    def withdraw(self) -> None:
        """Listen no more."""
        event.unregister(_COMPILATION, self)


Notice().install()
