"""How many basis functions the columns of a search have; see docs/decisions/0020-bands.md."""

from typing import Any

from sklearn.base import clone

from ...limits import LIMITS
from ...objective.terms import has_waves, wanted
from ..prepare import fit_main_effects
from .full_rank import MOST_ROWS
from .held_out import sampled_objective

#: rows from which a search takes its time for what many rows allow for
MANY_ROWS = 12_000
#: functions of a column with as many values, where rows are too many for a full-rank model
FINE = 81


def choose_sizes(prepared: Any) -> None:
    """Choose the number of basis functions of every column.

    There are more than usual where main effects leave fine detail unexplained, and for fine columns
    of very many rows; fewer for few values of many rows, where they would take time.
    """
    if prepared.objective.n_rows > MANY_ROWS:
        _use_sizes(prepared, [_few_functions(column) for column in prepared.objective.columns])
    sample = objective = prepared.objective
    if not objective.rows_are_here or objective.n_rows > LIMITS.merge_rows:
        sample = sampled_objective(objective)
    sizes = wanted(sample, fit_main_effects(sample))
    if objective.n_rows > MOST_ROWS:
        sizes = [
            max(size, FINE) if len(column) >= FINE and has_waves(column) else size
            for size, column in zip(sizes, objective.columns, strict=True)
        ]
    _use_sizes(prepared, sizes)


def _few_functions(column: Any) -> int:
    """Return the least power of three that suits any function of a column's values, or all."""
    own, size = column.feature_map, 3
    if not has_waves(column):
        return own.n_features
    needed = len(column) if own.period == 1 else 2 * len(column) - 1
    while size < needed:
        size *= 3
    return min(size, own.n_features)


def _use_sizes(prepared: Any, sizes: list[int]) -> None:
    maps = [column.feature_map for column in prepared.objective.columns]
    if sizes != [own.n_features for own in maps]:
        prepared.use_maps([
            own if size == own.n_features else clone(own).set_params(n_basis=size)
            for own, size in zip(maps, sizes, strict=True)
        ])  # fmt: skip
