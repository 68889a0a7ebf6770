"""Memory that a fit takes, and the folders of coded rows that do not fit in it.

    cache/<source and columns>/shards-<state of the source>-<key>/
                               .making-<process>-…   while they are written

Everything is written under another name and renamed when it is complete.  What belongs to another
state of the source is removed when a new one is kept.
"""

import contextlib
import errno
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from math import log2
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING

import joblib
import numpy as np

from ..data import Shard, StoredShards, write_shards
from ..data.sources import Source
from ..limits import LIMITS
from ..networks import Network
from ..protocols import Given

if TYPE_CHECKING:
    from .tables import Coding

logger = logging.getLogger(__name__)

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12,
          "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}  # fmt: skip
_TEXT = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]i?)?b?\s*", re.IGNORECASE)
#: shards, each with "train" or "validation"
Made = Iterator[tuple[str, Shard]]
#: fewest rows of a shard on disk: with fewer, what is done once a shard outweighs its rows
FEWEST_ROWS = 1 << 14
#: bytes that reading files takes whatever their size, as measured
READING = 120_000_000


def parse_limit(value: Given) -> int | None:
    """Return the bytes of `memory_limit`, None for no limit."""
    if value is None:
        return None
    if isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < np.inf:
        return int(float(value))
    found = _TEXT.fullmatch(value) if isinstance(value, str) else None
    if found is None or float(found[1]) == 0:
        raise ValueError(
            f"memory_limit={value!r} must be a number of bytes > 0, a string such as '1GB' or "
            "'500 MiB', or None."
        )
    return int(float(found[1]) * _UNITS[(found[2] or "").lower()])


def format_bytes(count: float) -> str:
    """Return bytes as a text that `parse_limit` reads, rounded up."""
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if count >= size:
            return f"{np.ceil(count / size * 100) / 100:g} {unit}"
    return f"{int(np.ceil(count / 1000))} kB"


def available(kind: str = "SC_AVPHYS_PAGES") -> int:
    """Return the bytes of free memory, or of another kind; 4 GB if the machine does not tell."""
    try:
        return os.sysconf(kind) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 4 * 10**9


def refuse_wide(n_functions: int) -> None:
    """Raise a MemoryError where products of all main functions exceed the machine's memory."""
    needed = 24 * n_functions**2
    if needed > available("SC_PHYS_PAGES"):
        raise MemoryError(
            f"The main effects have {n_functions:,} functions, whose products take "
            f"{format_bytes(needed)} of memory, more than this machine has. Leave out columns, or "
            "set a smaller n_basis or main_effects=False."
        )


class Need:
    """Bytes that a fit takes."""

    def __init__(self, coding: "Coding", network: Network):
        target, columns = coding.scan.target, coding.columns
        self.n_rows, self.n_columns = coding.scan.n_rows, len(columns)
        self.n_outputs, self.is_quadratic = target.n_outputs, target.loss.is_quadratic
        radices = [column.radices for column in columns]
        planes = 2 if any(column.feature_map.is_complex for column in columns) else 1
        #: numbers in tables, and in sums
        self.tables, self.sums = network.numbers_held(
            coding.n_codes, radices, target.n_outputs, planes
        )
        #: entries of the factors at the grid values of all columns
        self.factors = sum(n * sum(r) for n, r in zip(coding.n_codes, radices, strict=True))
        codes = self.n_columns * coding.code_type.itemsize
        numbers = self.n_outputs + coding.is_weighted
        #: bytes of a row in a shard, all its sort orders included
        self.stored = codes + 4 * self.n_columns + 8 * numbers
        #: while its shard is worked on: scaled targets, responses, new weights
        self.working = 16 * self.n_outputs if self.is_quadratic else 64 * self.n_outputs + 8
        #: while its shard is made: as it is gathered, and as it is sorted
        self.making = 2 * codes + 24 * numbers

    def fixed(self, shard_rows: int) -> int:
        """Return the bytes of tables, of sums that wait to be added, and of reading files."""
        waiting = log2(max(-(-self.n_rows // shard_rows), 1)) + 4
        held = 8 * (6 * self.tables + waiting * self.sums).__ceil__() + 32 * self.factors
        return held + READING + 2 * LIMITS.read_rows * 8 * (self.n_columns + self.n_outputs + 1)

    def in_memory(self) -> int:
        kept = 0 if self.is_quadratic else 24 * self.n_outputs + 8
        working = min(self.n_rows, LIMITS.shard_rows) * max(self.working, self.making)
        return self.n_rows * (self.stored + kept) + working + self.fixed(LIMITS.shard_rows)

    def on_disk(self, shard_rows: int) -> int:
        largest = max(2 * self.stored + self.working, self.making + self.stored)
        return shard_rows * largest + self.fixed(shard_rows)

    def place(self, limit: int | None) -> tuple[bool, int]:
        """Return whether all rows stay in memory, and the rows of a shard."""
        bound = available() // 2 if limit is None else limit
        if self.in_memory() <= bound:
            return True, LIMITS.shard_rows
        rows = [LIMITS.shard_rows]
        while rows[-1] > FEWEST_ROWS:
            rows.append(rows[-1] // 2)
        for count in rows:
            if self.on_disk(count) <= bound:
                return False, count
        # more shards have more sums that wait, so that smaller ones may take more
        least = format_bytes(min(map(self.on_disk, rows)))
        given = f"memory_limit={format_bytes(bound)}"
        if limit is None:
            given = f"half of the free memory, {format_bytes(bound)},"
        raise MemoryError(
            f"{given} is too small for this fit; the smallest that works is {least!r}. A smaller "
            "rank or fewer bins (max_bins) need less."
        )


class Cache:
    """A folder for one source, removed after use unless the user has named it."""

    def __init__(self, folder: Given, source: Source, columns: Sequence[str]):
        state = source.fingerprint()
        self._base = None if folder is None else Path(folder)
        # rows that may change without a sign are not looked up
        self.is_kept = folder is not None and state is not None
        self._name = joblib.hash([list(map(str, source.paths)), list(columns)])[:16]
        self._state = joblib.hash(state)[:12]
        self._temporary: Path | None = None

    def close(self) -> None:
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _make_folder(self) -> Path:
        if self._base is not None:
            self._base.mkdir(parents=True, exist_ok=True)
        if self._base is None or not self.is_kept:
            self._temporary = Path(tempfile.mkdtemp(prefix="qtkm-", dir=self._base))
            return self._temporary
        folder, processes = self._base / self._name, Path("/proc")
        folder.mkdir(exist_ok=True)
        for making in folder.glob(".making-*"):  # of processes that have ended
            if processes.exists() and not (processes / making.name.split("-")[1]).exists():
                shutil.rmtree(making, ignore_errors=True)
        return folder

    def shards(self, key: str, make: Callable[[], Made], size: int) -> dict[str, StoredShards]:
        """Return the shards of a key by their kinds; make() yields missing ones, `size` bytes."""
        folder = self._make_folder()
        final = folder / f"shards-{self._state}-{key[:24]}"
        with contextlib.suppress(ValueError):
            found = _open(final)
            logger.info("coded rows are taken from %s", final)
            return found
        for old in folder.glob("shards-*"):
            if not old.name.startswith(f"shards-{self._state}-"):  # of another state
                shutil.rmtree(old, ignore_errors=True)
        if shutil.disk_usage(folder).free < size:
            raise _no_space(folder, size)
        logger.info("coded rows go to %s, %s", final, format_bytes(size))
        making = Path(tempfile.mkdtemp(prefix=f".making-{os.getpid()}-", dir=folder))
        try:
            write_shards(making, make())
            with contextlib.suppress(ValueError):  # if another process was faster
                return _open(final)
            shutil.rmtree(final, ignore_errors=True)
            with contextlib.suppress(OSError):
                making.rename(final)
            return _open(final)
        except OSError as error:
            raise _no_space(folder, size) if error.errno == errno.ENOSPC else error from None
        finally:
            shutil.rmtree(making, ignore_errors=True)


def _no_space(folder: Path, size: int) -> OSError:
    free = format_bytes(shutil.disk_usage(folder).free)
    return OSError(
        errno.ENOSPC,
        f"No space left for the coded rows: they need {format_bytes(size)}, but {free} are free; "
        "use another folder for cache=, or a larger memory_limit",
        str(folder),
    )


def _open(folder: Path) -> dict[str, StoredShards]:
    return {kind: StoredShards(folder, kind) for kind in ("train", "validation")}
