"""Neighbours: the order of a first look, in which a candidate starts from its neighbour's cores.

    alpha    large ──► small         the cores as they are
    rank     small ──► large         with small columns added

Neighbours have nearly the same solution, so that one epoch from there tells more than one from
the start.
"""

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from ..estimators.cores import is_zero
from ..estimators.prepare import Prepared
from ..networks import CPD, flatten, unflatten

#: size of added columns, relative to those of a fit's own start
SMALL = 0.1

#: candidates, each with the neighbour that it starts from
Path = list[tuple[int, int | None]]
Start = Callable[[Prepared], Any]


def make_paths(candidates: Sequence[dict[str, Any]]) -> list[Path]:
    """Paths through candidates that differ in alpha and rank alone.

    Returns
    -------
    list of lists of (candidate, neighbour or None)
        Neighbours come first.
    """
    paths: dict[str, list[int]] = {}
    for number, candidate in enumerate(candidates):
        others = {k: v for k, v in candidate.items() if k != "alpha" and not _is_rank(k, v)}
        paths.setdefault(repr(others), []).append(number)
    return [_make_path(members, candidates) for members in paths.values()]


def _is_rank(name: str, value: Any) -> bool:
    return name == "rank" and isinstance(value, Real)


def _make_path(members: list[int], candidates: Sequence[dict[str, Any]]) -> Path:
    def place(number: int) -> tuple[Any, float]:
        rank, alpha = candidates[number].get("rank"), candidates[number].get("alpha", 0.0)
        return (rank if isinstance(rank, Real) else 0, -alpha)

    path: Path = []
    first = before = None  # the largest alpha of the rank below; the candidate before
    for number in sorted(members, key=place):
        is_first = before is None or place(number)[0] != place(before)[0]
        path.append((number, first if is_first else before))
        first, before = number if is_first else first, number
    return path


def find_adjacent(candidates: Sequence[dict[str, Any]]) -> list[list[int]]:
    """For every candidate those that are one step away from it, in one of the parameters."""
    places = np.zeros((len(candidates), len(candidates[0])), dtype=int)
    for k, name in enumerate(candidates[0]):
        entries = [candidate[name] for candidate in candidates]
        values = list(dict.fromkeys(entries))
        if all(isinstance(value, Real) for value in values):
            values.sort()
        places[:, k] = [values.index(entry) for entry in entries]
    steps = np.abs(places[:, None] - places).sum(axis=2)  # (n_candidates, n_candidates)
    return [np.flatnonzero(row == 1).tolist() for row in steps]


def start_from(cores: Any, init: Any) -> Start:
    """Start of a fit at the cores of a neighbour, as far as they fit, else as `init` says."""

    def start(prepared: Prepared) -> Any:
        objective = prepared.objective
        there, shapes = flatten(cores), flatten(objective.shapes)
        if is_zero(cores) or len(there) != len(shapes):
            return prepared.start(init)
        if all(core.shape == shape for core, shape in zip(there, shapes, strict=True)):
            return unflatten(cores, [core.copy() for core in there])
        drawn = prepared.start(init)
        if not isinstance(objective.network, CPD):
            return drawn
        for number, (wide, core) in enumerate(zip(flatten(drawn), there, strict=True)):
            if number == 0:  # one small factor makes the whole of an added term small
                wide[:, core.shape[1] :] *= SMALL
            wide[:, : core.shape[1]] = core
        return drawn

    return start
