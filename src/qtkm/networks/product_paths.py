"""How the local problems of a train or ring meet the rows.

By column statistics, one Gram product of R²-vectors a row and column and then work on the grid
alone; by the rows, a Gram product a row and level, where there are few rows; or iteratively, by
conjugate gradients without any matrix, where R⁴ is too much.
"""

from typing import Any

#: operations a nanosecond: Gram products, loops over the grid, BLAS on rows, loops over rows
GRAM_RATE, GRID_RATE, ROW_RATE, LOOP_RATE = 40.0, 6.0, 12.0, 3.0
#: nanoseconds of a level outside of them
LEVEL_COST = 300_000.0
#: iterations that conjugate gradients are expected to take
ITERATIONS = 25
#: bytes that the statistics of one column may take
STATISTICS_BYTES = 600_000_000
#: numbers that the environments of the rows may take
ROW_NUMBERS = 20_000_000


def choose_paths(iterate: Any, setting: Any) -> list[str]:
    """Path of every block."""
    columns = iterate.columns
    paths = [_choose(iterate, d, setting) for d in range(len(columns))]
    if setting.path != "auto":
        paths = ["statistics" if c.is_categorical else setting.path for c in columns]
    return paths + ["rows"] * (iterate.n_blocks - len(columns))


def _choose(iterate: Any, d: int, setting: Any) -> str:
    column, bonds = iterate.columns[d], iterate.bonds
    if column.is_categorical:
        return "statistics"
    n_rows, n_grid, planes = setting.n_rows * setting.n_outputs, len(column), _planes(iterate)
    both = 2 if setting.real_part and iterate.is_complex else 1
    size, outer, rank = int(bonds[d] * bonds[d + 1]), int(bonds[0]), int(bonds.max())
    walk = len(bonds) * outer * rank**2 * 2 * planes**2 * n_rows / LOOP_RATE
    costs = {
        "statistics": _statistics(column, n_rows, n_grid, size, rank, planes, both) + walk,
        "rows": _rows(column, n_rows, size, planes, both) + walk,
        "iterative": len(column.radices) * ITERATIONS * (walk + LEVEL_COST),
    }
    if 8 * n_grid * both * planes * size**2 / 2 > STATISTICS_BYTES:
        del costs["statistics"]
    if not setting.rows_are_here or n_rows * size * planes > ROW_NUMBERS:
        del costs["rows"]
    return min(costs, key=lambda path: costs[path])


def _planes(iterate: Any) -> int:
    return 2 if iterate.is_complex else 1


def _statistics(
    column: Any, n_rows: int, n_grid: int, size: int, rank: int, planes: int, both: int
) -> float:
    pass_cost = n_rows * planes**2 * size**2 / GRAM_RATE
    change = 4 * size**2 * rank * 2 * planes**2
    per_level = n_grid * both * (change + 4 * planes**2 * size**2) / GRID_RATE + LEVEL_COST
    return pass_cost + len(column.radices) * per_level


def _rows(column: Any, n_rows: int, size: int, planes: int, both: int) -> float:
    flops = sum(2 * both * planes**2 * (radix * size) ** 2 for radix in column.radices)
    return n_rows * flops / ROW_RATE + len(column.radices) * LEVEL_COST
