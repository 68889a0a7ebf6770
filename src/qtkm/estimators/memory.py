"""What a fit takes of memory, and how rows are kept so that it stays below a limit."""

import os
import re
from dataclasses import dataclass
from math import log2
from numbers import Real
from typing import Any

import numpy as np

from ..limits import LIMITS

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12,
          "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}  # fmt: skip
_TEXT = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([kmgt]i?)?b?\s*", re.IGNORECASE)
#: fewest rows of a shard on disk: with fewer, what is done once a shard outweighs its rows
FEWEST_ROWS = 1 << 14
#: bytes that reading files takes whatever their size, as measured
READING = 120_000_000


def parse_limit(value: Any) -> int | None:
    """Bytes that `memory_limit` stands for, None for no limit."""
    if value is None:
        return None
    if isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < np.inf:
        return int(float(value))
    found = _TEXT.fullmatch(value) if isinstance(value, str) else None
    if found is None or float(found[1]) == 0:
        raise ValueError(
            f"memory_limit={value!r} must be a number of bytes > 0, a text such as '1GB' or "
            "'500 MiB', or None."
        )
    return int(float(found[1]) * _UNITS[(found[2] or "").lower()])


def format_bytes(count: float) -> str:
    """Bytes as a text that `parse_limit` reads, rounded up."""
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if count >= size:
            return f"{np.ceil(count / size * 100) / 100:g} {unit}"
    return f"{int(np.ceil(count / 1000))} kB"


def available() -> int:
    """Bytes of memory that are free on this machine, or 4 GB where it does not say."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 4 * 10**9


@dataclass
class Need:
    """What a fit takes.

    Attributes
    ----------
    n_rows, n_columns, n_outputs : int
    code_bytes : int
        Of one code.
    is_weighted, is_quadratic : bool
        Whether rows have weights; whether the loss is quadratic.
    numbers : (tables, sums)
        See `Network.numbers_held`.
    factors : int
        Entries of the factors at the grid values of all columns.
    """

    n_rows: int
    n_columns: int
    n_outputs: int
    code_bytes: int
    is_weighted: bool
    is_quadratic: bool
    numbers: tuple[int, int]
    factors: int

    @classmethod
    def of_fit(cls, coding: Any, network: Any, loss: Any, n_outputs: int) -> "Need":
        """Return the memory needed to fit rows coded like this.

        Parameters
        ----------
        coding : Coding
        network, loss : the parts of the fit
        n_outputs : int
        """
        radices = [column.radices for column in coding.columns]
        planes = 2 if any(column.feature_map.is_complex for column in coding.columns) else 1
        numbers = network.numbers_held(coding.n_codes, radices, n_outputs, planes)
        factors = sum(n * sum(r) for n, r in zip(coding.n_codes, radices, strict=True))
        return cls(
            coding.scan.n_rows, len(radices), n_outputs, coding.code_type.itemsize,
            coding.is_weighted, loss.is_quadratic, numbers, factors,
        )  # fmt: skip

    def fixed(self, n_shards: int) -> int:
        """Bytes that do not grow with the rows: tables, and sums that wait to be added."""
        tables, sums = self.numbers
        return 8 * (6 * tables + (log2(max(n_shards, 1)) + 4) * sums).__ceil__() + 32 * self.factors

    @property
    def a_row(self) -> int:
        """Bytes of a row in a shard, all its sort orders included."""
        numbers = self.n_outputs + self.is_weighted
        return self.n_columns * (self.code_bytes + 4) + 8 * numbers

    @property
    def work_a_row(self) -> int:
        """Bytes of a row while its shard is worked on: scaled targets, responses, new weights."""
        return 8 * self.n_outputs * (2 if self.is_quadratic else 8) + 8 * (not self.is_quadratic)

    @property
    def making_a_row(self) -> int:
        """Bytes of a row while its shard is made: as it is gathered, and as it is sorted."""
        return 2 * self.n_columns * self.code_bytes + 24 * (self.n_outputs + self.is_weighted)

    def in_memory(self) -> int:
        """Bytes with all rows in memory."""
        rows = min(self.n_rows, LIMITS.shard_rows)
        kept = 0 if self.is_quadratic else 24 * self.n_outputs + 8
        n_shards = -(-self.n_rows // LIMITS.shard_rows)
        return (
            self.n_rows * (self.a_row + kept)
            + rows * max(self.work_a_row, self.making_a_row)
            + self.fixed(n_shards) + self.reading
        )  # fmt: skip

    def on_disk(self, shard_rows: int) -> int:
        """Bytes with shards of so many rows on disk."""
        n_shards = -(-self.n_rows // shard_rows)
        fitting = 2 * self.a_row + self.work_a_row
        return (
            shard_rows * max(fitting, self.making_a_row + self.a_row)
            + self.fixed(n_shards) + self.reading
        )  # fmt: skip

    @property
    def reading(self) -> int:
        """Bytes that reading a source block by block takes."""
        return READING + 2 * LIMITS.read_rows * 8 * (self.n_columns + self.n_outputs + 1)

    def disk(self) -> int:
        """Bytes of all shards on disk."""
        return self.n_rows * self.a_row

    def place(self, limit: int | None) -> tuple[bool, int]:
        """Whether all rows stay in memory, and the rows of a shard.

        Raises
        ------
        MemoryError
            If the limit is too small; says the smallest that works.
        """
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
        if limit is None:
            raise MemoryError(
                f"this fit takes {least} at least, and only {format_bytes(2 * bound)} are free; "
                "use a smaller rank, fewer bins (max_bins), or a machine with more memory"
            )
        raise MemoryError(
            f"memory_limit={format_bytes(bound)} is too small for this fit; the smallest that "
            f"works is {least!r}. A smaller rank or fewer bins (max_bins) need less."
        )
