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
from functools import cache, partial
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache, NullCache

logger = logging.getLogger(__name__)

_FASTMATH = {"contract", "reassoc", "nsz", "arcp"}


def jit(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a function on first call, for the types of that call."""
    compiled = njit(nogil=True, error_model="numpy", fastmath=_FASTMATH, **options)(function)
    try:
        compiled._cache = CompiledCache(function)
    except RuntimeError:  # there is no place for one
        compiled._cache = MissingCache()
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
        found = self._try(super().load_overload, *arguments)
        if found is None:
            warn_of_compilation(is_kept=True)
        return found

    def save_overload(self, *arguments: Any) -> None:
        """Keep what was compiled for some types."""
        self._try(super().save_overload, *arguments)

    def _try(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except Exception as error:  # a damaged file or index raises anything
            logger.debug("%s cannot be used: %s", self.cache_path, error)
            return None


class MissingCache(NullCache):
    """No compiled functions: there is no folder for them."""

    def load_overload(self, *arguments: Any) -> None:
        warn_of_compilation(is_kept=False)


@cache
def warn_of_compilation(is_kept: bool) -> None:
    """Warn once per process that functions are being compiled."""
    if is_kept:
        logger.warning(
            "qtkm compiles loops that have not been used on this machine before, which may take a "
            "minute; they are kept on disk."
        )
    else:
        logger.warning(
            "qtkm compiles its loops in every process anew, which may take a minute, because there "
            "is no folder to keep them in; set NUMBA_CACHE_DIR to one that can be written."
        )
