"""What kind of model a target asks for, and what the texts of a column look like."""

from collections.abc import Iterable, Sequence
from shlex import quote
from typing import Any

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


def are_numbers(texts: Iterable[Any]) -> bool:
    """Return True if all texts are numbers."""
    import pandas

    return bool(pandas.to_numeric(pandas.Series(list(texts)), errors="coerce").notna().all())


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
        f"column {name!r} has {count} categories in {n_rows:,} rows; rare ones are taken for "
        f"nearly a mean one. If they name the rows, they teach nothing: --drop {quote(name)}"
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


def remark_on_running(name: str) -> str:
    """Return a remark on a column that counts the rows."""
    return (
        f"column {name!r} counts the rows, which new rows go beyond; unless the order matters, "
        f"leave it out: --drop {quote(name)}"
    )


def remark_on_header(names: Sequence[str]) -> str:
    """Return a remark on names of columns that look like values."""
    told = ", ".join(map(repr, names[:3]))
    return f"columns are named {told}, …, like values: has the file no line of names?"


def remark_on_whole(name: str, count: int) -> str:
    """Return a remark on a target of few whole numbers."""
    return (
        f"the target {name!r} has {count} different whole numbers, which are predicted as numbers; "
        "if they are classes, use --task classification, and if they are counts, --loss poisson"
    )


def remark_on_text(names: Sequence[str]) -> str:
    """Return a remark on numbers that are written as text."""
    told = ", ".join(map(repr, names[:MOST_NAMES])) + ", …" * (len(names) > MOST_NAMES)
    return f"numbers written as text are read as numbers: {told}; --category makes them categories"
