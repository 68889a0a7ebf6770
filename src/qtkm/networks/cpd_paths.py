"""How the local problems of a CPD meet the rows: statistics, the rows, a chain, or lags.

Statistics cost one Gram product a row and column, and then work on the grid alone; the rows
cost one Gram product a row and *level*.  Statistics win unless there are about as many grid
values as rows, or their matrices need more memory than is reasonable.  Few rows are best
served by the chain, which keeps partial products at the rows and runs in compiled code from end
to end.  A model with one Fourier column needs no more of the rows than the lags of that column.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from .chain import GROUPED
from .cpd_lags import first_line, numbers_held

# measured in docs/decisions/0003-paths.md
#: operations a nanosecond of a Gram product, of a loop over the grid or over lines in steps of a
#: level, and of one over the lines of all levels in a compiled call
GRAM_RATE, LOOP_RATE, LINE_RATE = 25.0, 3.0, 15.0
#: nanoseconds of a level, of a column in a compiled call and of one in a chain outside of loops
LEVEL_COST, COLUMN_COST, LINK_COST = 150_000.0, 100_000.0, 40_000.0
#: nanoseconds of a row, of a table in the environment of a row, and of a component of that
ROW_COST, TABLE_COST, COMPONENT_COST = 30.0, 4.0, 0.8
#: nanoseconds of a component of a row in a chain, in cache and out of it; components it holds
CHAIN_COSTS, CACHED_COMPONENTS = (10.0, 15.0), 40_000
#: nanoseconds of an entry of the statistics of a grid value beside those of its rows
ENTRY_COST = 3.0
#: bytes that the statistics of one column may take
STATISTICS_BYTES = 600_000_000
#: numbers that a chain may hold
CHAIN_NUMBERS = 16_000_000
#: numbers that the lags path may hold, and epochs over which its sums are thought to pay off
LAG_NUMBERS, LAG_EPOCHS = 60_000_000, 10
#: without regularization, columns of up to this many rows are solved by QR on the rows
QR_ROWS = 2000


def choose_path(
    column: Any, n_rows: int, rank: int, is_complex: bool, alpha: float, compiled: bool = False
) -> tuple[str, float]:
    """Path of the smaller estimated cost for one column, and that cost in nanoseconds.

    `compiled` says whether all levels can be updated from statistics in one call.
    """
    square = (4 if is_complex else 1) * rank**2
    if column.is_categorical:
        return "statistics", square * n_rows / GRAM_RATE + LEVEL_COST
    overhead = len(column.radices) * LEVEL_COST
    rows = _row_cost(column, n_rows, rank, square) + overhead
    if (alpha == 0 and n_rows <= QR_ROWS) or 8 * len(column) * square > STATISTICS_BYTES:
        return "rows", rows
    rate = LINE_RATE if compiled else LOOP_RATE
    statistics = _statistics_cost(column, n_rows, square, rate)
    statistics += COLUMN_COST if compiled else overhead
    return ("statistics", statistics) if statistics <= rows else ("rows", rows)


def _row_cost(column: Any, n_rows: int, rank: int, square: int) -> float:
    gram = sum(radix**2 * square for radix in column.radices) / GRAM_RATE
    loops = sum(20 * radix * rank for radix in column.radices) / LOOP_RATE
    return n_rows * (gram + loops)


def _statistics_cost(column: Any, n_rows: int, square: int, rate: float) -> float:
    sums = square * (n_rows / GRAM_RATE + ENTRY_COST * len(column))
    return sums + _level_cost(column, len(column), square, rate)


def _level_cost(column: Any, n_points: int, square: int, rate: float) -> float:
    """Of the Gram matrices of all levels from sums over so many grid values or rows."""
    return sum(1.25 * (2 + radix) * square * n_points for radix in column.radices) / rate


def choose_paths(
    columns: Sequence[Any],
    n_rows: int,
    rank: int,
    is_complex: bool,
    alpha: float,
    chain: bool,
    lags: bool = False,
    compiled: bool = False,
) -> list[str]:
    """Path of every column; the chain serves all of them or none.

    `chain` says whether it may: one shard, one output, double precision, a positive alpha, and
    a loss that sees the complex response or a model that is real.  `lags` says whether that path
    may, see `why_no_lags`; `compiled` as in `choose_path`.
    """
    choices = [choose_path(c, n_rows, rank, is_complex, alpha, compiled) for c in columns]
    if lags and (alpha > 0 or n_rows > QR_ROWS):
        cost = _lags_cost(columns[0], rank)
        if cost < choices[0][1]:
            choices = [("lags", cost)]
    paths = [path for path, _ in choices]
    if not chain or any(column.is_categorical for column in columns):
        return paths
    numbers = 2 * n_rows * sum(rank + column.n_lines for column in columns)
    tables = (len(columns) - 1) * (TABLE_COST + COMPONENT_COST * rank)
    environments = 0 if paths == ["lags"] else n_rows * len(columns) * (ROW_COST + tables)
    general = environments + sum(cost for _, cost in choices)
    chained = sum(_link_cost(column, n_rows, rank, is_complex) for column in columns)
    return ["chain"] * len(columns) if numbers <= CHAIN_NUMBERS and chained < general else paths


def _link_cost(column: Any, n_rows: int, rank: int, is_complex: bool) -> float:
    """Estimated cost of a column in a chain, which mostly treats models as complex."""
    square = 4 * rank**2
    products = n_rows * rank * CHAIN_COSTS[n_rows * rank > CACHED_COMPONENTS]
    if n_rows >= GROUPED * len(column):
        return LINK_COST + products + _statistics_cost(column, n_rows, square, LINE_RATE)
    lines = products + _level_cost(column, n_rows, square, LINE_RATE)
    tiles = _row_cost(column, n_rows, rank, square if is_complex else rank**2)
    return LINK_COST + min(lines, tiles)


def _lags_cost(column: Any, rank: int) -> float:
    """Estimated cost of an epoch from lags, in nanoseconds, with its share in summing them."""
    radices = column.radices
    n_basis, first = prod(radices), first_line(radices, rank)
    if numbers_held(radices, rank) > LAG_NUMBERS:
        return float("inf")
    sums = 6 * len(column) * n_basis / GRAM_RATE / LAG_EPOCHS
    n_points = [2 * prod(radices[level:]) for level in range(len(radices))]
    products = 8 * rank**2 * n_points[0] * (first + 1) / GRAM_RATE
    pairs = list(zip(radices, n_points, strict=True))[first:]
    lines = sum(10 * radix * points * rank**2 for radix, points in pairs)
    loops = 20 * rank * sum(n_points)
    return sums + products + (lines + loops) / LOOP_RATE + len(radices) * LEVEL_COST


def why_no_lags(iterate: Any, setting: Any) -> str | None:
    """What keeps a fit from the lags path, or None where nothing does."""
    columns = iterate.columns
    if len(columns) != 1 or columns[0].is_categorical or columns[0].turns is None:
        return "more than one column, or one that is not of Fourier features"
    if setting.n_outputs != 1:
        return f"{setting.n_outputs} outputs"
    if not setting.is_exact:
        return "a loss that is not quadratic"
    if setting.real_part:
        return "a loss that sees the real part of the response alone"
    if iterate.table_type != np.float64:
        return f"tables of {iterate.table_type}"
    return None


def refuse_lags(iterate: Any, setting: Any) -> None:
    """Raise a ValueError where the lags path cannot serve."""
    reason = why_no_lags(iterate, setting)
    if reason is not None:
        raise ValueError(
            f"path='lags' was given with {reason}; it serves one Fourier column, one output, the "
            "squared loss of the complex residual and double precision. Use path='auto'."
        )
