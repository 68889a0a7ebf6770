"""Which local problem of a train or ring serves a block on which path."""

from typing import Any

from .product_column import Problem
from .product_iterative import IterativeProblem
from .product_rows import OutputProblem, RowsProblem
from .product_statistics import CategoricalProblem, StatisticsProblem


def make_problem(iterate: Any, block: int, setting: Any, path: str) -> Problem:
    """Local problem of a block on a given path."""
    if block == len(iterate.columns):
        return OutputProblem(iterate, setting)
    if iterate.columns[block].is_categorical:
        return CategoricalProblem(iterate, block, setting)
    kinds = {"statistics": StatisticsProblem, "rows": RowsProblem, "iterative": IterativeProblem}
    if path not in kinds:
        raise ValueError(f"path={path!r} is not known; use one of {', '.join(map(repr, kinds))}.")
    return kinds[path](iterate, block, setting)
