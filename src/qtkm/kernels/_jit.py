"""How every compiled loop of the library is compiled.

Free of the interpreter's lock, and allowed to fuse a multiplication with an addition and to reorder
sums; division and infinities keep their meaning.  The first function that has to be compiled says
so, once for a process.

The cache is Numba's: beside this file, in the user's own folder for such things, or where
NUMBA_CACHE_DIR says.  Where none of these can be written or read, functions are compiled anew in
every process.  A loop contains the loops that it calls, so all files of this package count.
"""

import hashlib
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache

logger = logging.getLogger(__name__)

_FASTMATH = {"contract", "reassoc", "nsz", "arcp"}
#: what Numba calls a function that was not found in its cache on disk
_COMPILATION = "numba:compile"


def jit(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a function on first call, for the types of that call."""
    compiled = njit(nogil=True, error_model="numpy", fastmath=_FASTMATH, **options)(function)
    try:
        compiled._cache = CompiledCache(function)
    except RuntimeError:  # there is no place for one
        Notice.is_kept = False
    return compiled


#: `jit` for what a loop calls for every row: a call takes longer than what most of them do
inlined = partial(jit, forceinline=True)

#: hash of the sources that a compiled loop may contain
SOURCES = hashlib.sha256(
    b"".join(file.read_bytes() for file in sorted(Path(__file__).parent.glob("*.py")))
).hexdigest()


class CompiledCache(FunctionCache):
    """Compiled functions on disk, or none where that fails: a full disk, a file cut off."""

    def _index_key(self, *arguments: Any) -> Any:
        return (*super()._index_key(*arguments), SOURCES)

    def load_overload(self, *arguments: Any) -> Any:
        """Return what is there for some types, or None."""
        return self._try(super().load_overload, *arguments)

    def save_overload(self, *arguments: Any) -> None:
        """Keep what was compiled for some types."""
        self._try(super().save_overload, *arguments)

    def _try(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:  # a damaged file or index raises anything
            logger.debug("%s cannot be used: %s", self.cache_path, error)
            return None


class Notice(event.Listener):
    """Tells of the first function of the library that has to be compiled, and no more."""

    #: whether there is a place for what was compiled
    is_kept = True

    def on_start(self, found: Any) -> None:
        module = found.data["dispatcher"].py_func.__module__
        if module.startswith(f"{__package__}."):
            event.unregister(_COMPILATION, self)
            if self.is_kept:
                logger.warning(
                    "qtkm compiles loops that have not been used on this machine before, which may "
                    "take a minute; they are kept on disk."
                )
            else:
                logger.warning(
                    "qtkm compiles its loops in every process anew, which may take a minute, "
                    "because there is no folder to keep them in; set NUMBA_CACHE_DIR to one that "
                    "can be written."
                )

    def on_end(self, found: Any) -> None:
        pass


event.register(_COMPILATION, Notice())
