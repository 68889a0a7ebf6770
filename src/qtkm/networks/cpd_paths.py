"""How the local problems of a CPD meet the rows: by statistics, by the rows, or along a chain.

Statistics cost one Gram product a row and column, and then work on the grid alone; the rows
cost one Gram product a row and *level*.  Statistics win unless there are about as many grid
values as rows, or their matrices need more memory than is reasonable.  Few rows are best
served by the chain, which costs as much as the rows but runs in compiled code from end to end.
"""

from collections.abc import Sequence
from typing import Any

#: operations a nanosecond of a Gram product and of a loop over the grid or over lines, and
#: nanoseconds that a level costs outside of them; measured in docs/decisions/0003-paths.md
GRAM_RATE, LOOP_RATE, LEVEL_COST = 25.0, 3.0, 150_000.0
#: bytes that the statistics of one column may take
STATISTICS_BYTES = 600_000_000
#: numbers that the partial products of a chain may take
CHAIN_NUMBERS = 16_000_000
#: without regularization, columns of up to this many rows are solved by QR on the rows
QR_ROWS = 2000


def choose_path(
    column: Any, n_rows: int, rank: int, is_complex: bool, alpha: float
) -> tuple[str, float]:
    """Path of the smaller estimated cost for one column, and that cost in nanoseconds."""
    square = (4 if is_complex else 1) * rank**2
    if column.is_categorical:
        return "statistics", square * n_rows / GRAM_RATE + LEVEL_COST
    overhead = len(column.radices) * LEVEL_COST
    rows = _row_cost(column, n_rows, rank, square)
    if (alpha == 0 and n_rows <= QR_ROWS) or 8 * len(column) * square > STATISTICS_BYTES:
        return "rows", rows + overhead
    grid = sum(2.5 * radix * square * len(column) for radix in column.radices) / LOOP_RATE
    statistics = square * n_rows / GRAM_RATE + grid
    if statistics <= rows:
        return "statistics", statistics + overhead
    return "rows", rows + overhead


def _row_cost(column: Any, n_rows: int, rank: int, square: int) -> float:
    gram = sum(radix**2 * square for radix in column.radices) / GRAM_RATE
    loops = sum(20 * radix * rank for radix in column.radices) / LOOP_RATE
    return n_rows * (gram + loops)


def choose_paths(
    columns: Sequence[Any], n_rows: int, rank: int, is_complex: bool, alpha: float, chain: bool
) -> list[str]:
    """Path of every column; the chain serves all of them or none.

    `chain` says whether it may: one shard, one output, double precision, a positive alpha, and
    a loss that sees the complex response or a model that is real.
    """
    choices = [choose_path(column, n_rows, rank, is_complex, alpha) for column in columns]
    paths = [path for path, _ in choices]
    if not chain or any(column.is_categorical for column in columns):
        return paths
    n_sites = sum(len(column.radices) for column in columns)
    if n_sites * (2 if is_complex else 1) * rank * n_rows > CHAIN_NUMBERS:
        return paths
    square = (4 if is_complex else 1) * rank**2
    cost = sum(_row_cost(column, n_rows, rank, square) for column in columns)
    return ["chain"] * len(columns) if cost < sum(c for _, c in choices) else paths
