"""How a column's local problems meet the rows: by its statistics, or by the rows themselves.

Statistics cost one Gram product a row and pass, and then work on the grid alone; the rows
cost one Gram product a row and *level*.  Statistics win unless there are about as many
grid values as rows, or their matrices need more memory than is reasonable.
"""

from typing import Any

#: operations a nanosecond of the two kinds of loop, measured in docs/decisions/0003-shards.md
BLAS_RATE, GRID_RATE = 20.0, 3.0
#: bytes that the statistics of one column may take
STATISTICS_BYTES = 600_000_000
#: without regularization, columns of up to this many rows are solved by QR on the rows
QR_ROWS = 2000


def choose_path(column: Any, n_rows: int, rank: int, is_complex: bool, alpha: float) -> str:
    """Path of the smaller estimated cost: "statistics" or "rows"."""
    if column.is_categorical:
        return "statistics"
    if alpha == 0 and n_rows <= QR_ROWS:
        return "rows"
    planes = 4 if is_complex else 1
    square = planes * rank**2
    if 8 * len(column) * square > STATISTICS_BYTES:
        return "rows"
    n_levels = len(column.radices)
    grid = sum(2.5 * radix * square * len(column) for radix in column.radices) / GRID_RATE
    statistics = square * n_rows / BLAS_RATE + grid
    rows = sum(radix**2 * square * n_rows for radix in column.radices) / BLAS_RATE
    return "statistics" if statistics <= rows + n_levels else "rows"
