"""Covering arrays: every choice beside every other choice, in few cases instead of all."""

from collections.abc import Callable, Iterable
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest


def covered(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test on so many of the cases below that any two choices meet in one of them.

    A fault shows with one choice or with two that meet, and rarely only with three. Of the
    a × b × c cases that three lines of `parametrize` stand for, about the product of the longest
    two is left. The rows are chosen by a rule, so that they are the same every time.
    """
    marks = [mark for mark in test.pytestmark if mark.name == "parametrize"]  # type: ignore
    lists = [_choices(mark) for mark in marks]
    cases = [
        pytest.param(
            *(value for k, choice in enumerate(row) for value in lists[k][choice][1]),
            id="-".join(lists[k][choice][0] for k, choice in enumerate(row)),
        )
        for row in _cover_sizes(tuple(map(len, lists)))
    ]
    names = [name for mark in marks for name in _names(mark.args[0])]
    others = [mark for mark in test.pytestmark if mark.name != "parametrize"]  # type: ignore
    test.pytestmark = others  # type: ignore
    return pytest.mark.parametrize(names, cases)(test)


@cache
def _cover_sizes(sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Cover lists of such sizes; many tests have the same ones."""
    return cover(product(*map(range, sizes)))


def crossed(
    ones: Iterable[Any], others: Iterable[Any], few: Iterable[Any], fewer: Iterable[Any]
) -> list[tuple[Any, Any]]:
    """Pair all of one list with a few of the other, and the other way round.

    For parts that meet only through a third one, such as networks and losses, which see each other
    as weights and targets alone.
    """
    few, fewer = set(few), set(fewer)
    return [(a, b) for a, b in product(ones, others) if a in few or b in fewer]


def cover(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Choose rows, always the one that brings most new pairs, until no pair of these is missing."""
    every, numbers = list(rows), dict[Any, int]()
    met = np.array(  # numbers of the pairs of every row
        [
            [numbers.setdefault(pair, len(numbers)) for pair in combinations(enumerate(row), 2)]
            for row in every
        ]
    )
    missing, chosen = np.ones(len(numbers), dtype=bool), set()
    while missing.any():
        best = int(missing[met].sum(axis=1).argmax())
        chosen.add(best)
        missing[met[best]] = False
    return [every[row] for row in sorted(chosen)]


def _names(names: Any) -> list[str]:
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def _choices(mark: pytest.Mark) -> list[tuple[str, tuple[Any, ...]]]:
    """What each choice of a line is called, and its values."""
    names, values = mark.args
    alone, values = len(_names(names)) == 1, list(values)
    ids = mark.kwargs.get("ids") or [None] * len(values)
    ids = [ids(value) for value in values] if callable(ids) else list(ids)
    choices = []
    for value, given in zip(values, ids, strict=True):
        if isinstance(value, type(pytest.param())):
            choices.append((str(value.id), tuple(value.values)))
        else:
            choices.append((str(given or value), (value,) if alone else tuple(value)))
    return choices
