"""What kind of model a target asks for, and what the texts of a column look like."""

import re
from collections.abc import Iterable, Sequence
from shlex import quote
from typing import Any

#: dates such as 2013-05-20, 20.05.2013 and 5/20/2013, and times such as 17:05, at the beginning
TIME = re.compile(
    r"\s*(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3\d{4}|\d{1,2}:\d{2})(?!\d)"
)
#: text of which so large a part of the different values are numbers is a mistake in numbers
MOSTLY = 0.9
#: from so many classes on, a fit takes long enough to say so beforehand
MANY_CLASSES = 100
#: columns that are named in a remark
MOST_NAMES = 8


def task_of_numbers(n_distinct: int, whole: bool, n_rows: int) -> str:
    """Tell "classification" or "regression" of a target of numbers.

    Parameters
    ----------
    n_distinct : int
        Number of different values.
    whole : bool
        Whether all are whole numbers.
    n_rows : int
    """
    # counts such as ratings are whole, too: two values are classes, more only if written so
    return "classification" if whole and n_distinct == 2 <= n_rows / 20 else "regression"


def look_like_times(texts: Iterable[Any]) -> bool:
    """Whether texts, some at least, are all dates or times of day."""
    found = [isinstance(text, str) and bool(TIME.match(text)) for text in texts]
    return bool(found) and all(found)


def find_strange(texts: Iterable[Any]) -> list[Any]:
    """Those of different texts that are no numbers, if all but a few are numbers.

    Parameters
    ----------
    texts : iterable

    Returns
    -------
    list
        Empty if these are just texts, or just numbers.
    """
    import pandas

    distinct = pandas.Series(list(texts), dtype=object)
    strange = distinct[pandas.to_numeric(distinct, errors="coerce").isna()].tolist()
    return strange if len(strange) <= (1 - MOSTLY) * len(distinct) else []


def remark_on_categories(name: str, count: str, n_rows: int) -> str:
    """Return a remark on a column with so many categories that it may identify rows."""
    return (
        f"column {name!r} has {count} categories in {n_rows:,} rows; if they name the rows, they "
        f"teach nothing: leave them out, --drop {quote(name)}"
    )


def remark_on_constants(names: Sequence[str]) -> str:
    """Return a remark on constant columns."""
    told = ", ".join(map(repr, names[:MOST_NAMES])) + ", …" * (len(names) > MOST_NAMES)
    if len(names) == 1:
        return f"column {told} has one value and tells nothing"
    return f"{len(names)} columns have one value each and tell nothing: {told}"


def remark_on_classes(name: str, count: str, are_numbers: bool) -> str:
    """Return a remark on a target with many classes, shown before a long fit."""
    text = f"the {count} different {'numbers' if are_numbers else 'texts'} of the target {name!r} "
    text += "are taken for classes; a fit to so many takes long"
    return f"{text}. --task regression predicts them as numbers" if are_numbers else text
