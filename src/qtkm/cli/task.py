"""What kind of model a target asks for, and which columns are categories."""

import re
from collections.abc import Iterable, Sequence
from shlex import quote
from typing import Any

#: how a date begins
DATE = re.compile(r"\s*\d{4}-\d{1,2}-\d{1,2}(?!\d)")
#: text of which so large a part of the different values are numbers is a mistake in numbers
MOSTLY = 0.9
#: with more categories than this part of the rows, a column tells rows apart, not kinds of them
MOST_CATEGORIES = 0.5
#: what may be done with a target of text among numbers, beside correcting it
REMEDY_FOR_TARGET = "or say --task classification if these are classes"


def find_task(target: Any) -> str:
    """Tell "classification" or "regression" by a target's values.

    Text, categories and truth values are classes; so are whole numbers of few different values
    that all occur often. Everything else is a number to be predicted.

    Parameters
    ----------
    target : pandas.Series

    Raises
    ------
    ValueError
        For text that is numbers but for a few values.
    """
    refuse_mixed(target, "the target", REMEDY_FOR_TARGET)
    if getattr(target.dtype, "kind", "O") not in "iuf":
        return "classification"
    values = target.dropna()
    whole = bool((values == values.round()).all())
    return task_of_numbers(int(values.nunique()), whole, len(values))


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


def find_categories(frame: Any, category: Sequence[str] = ()) -> list[str]:
    """Columns of text, categories or truth values, and those that are named."""
    return [
        name for name in frame.columns
        if name in category or getattr(frame[name].dtype, "kind", "O") not in "iufmM"
    ]  # fmt: skip


def refuse_times(frame: Any) -> None:
    """Raise a ValueError for columns of dates, which need a decision of the user."""
    for name in frame.columns:
        kind = getattr(frame[name].dtype, "kind", "O")
        if kind in "mM" or (kind not in "biuf" and look_like_times(frame[name].dropna().unique())):
            raise holds_times(name)


def look_like_times(texts: Iterable[Any]) -> bool:
    """Whether texts, some at least, are all dates such as 2013-05-20, with or without a time."""
    found = [isinstance(text, str) and bool(DATE.match(text)) for text in texts]
    return bool(found) and all(found)


def holds_times(name: str) -> ValueError:
    """Error for a column of dates."""
    return ValueError(
        f"column {name!r} holds times; leave it out (--drop {quote(name)}), give what may matter "
        "of it as numbers, such as the hour or the weekday, or take its values for categories "
        f"(--category {quote(name)})"
    )


def refuse_mixed(column: Any, what: str, remedy: str) -> None:
    """Raise a ValueError for text that is numbers but for a few values.

    Parameters
    ----------
    column : pandas.Series
    what : str
        What it is called.
    remedy : str
        What else may be done than to correct the values.
    """
    if getattr(column.dtype, "kind", "O") not in "biufmM":
        counts = column.value_counts()
        refuse_mixed_values(column.name, counts[counts > 0].to_dict(), len(column), what, remedy)


def refuse_mixed_values(
    name: str, counts: dict[Any, int], n_rows: int, what: str, remedy: str
) -> None:
    """Raise a ValueError for texts that are numbers but for a few.

    Parameters
    ----------
    name : str
        Of the column.
    counts : dict
        How many rows hold each text.
    n_rows : int
    what, remedy : str
        As of `refuse_mixed`.
    """
    import pandas

    distinct = pandas.Series(list(counts), dtype=object)
    strange = distinct[pandas.to_numeric(distinct, errors="coerce").isna()].tolist()
    if strange and len(strange) <= (1 - MOSTLY) * len(distinct):
        count = sum(counts[text] for text in strange)
        raise ValueError(
            f"{what} {name!r} has text among its numbers: {strange[0]!r:.40} and the like in "
            f"{count:,} of {n_rows:,} rows; correct them, {remedy}"
        )


def refuse_missing(frame: Any, path: Any, remedy: str) -> None:
    """Raise a ValueError for columns of numbers that have missing ones, with what may be done."""
    for name in frame.columns:
        count = int(frame[name].isna().sum())
        if count and getattr(frame[name].dtype, "kind", "O") in "iuf":
            raise ValueError(
                f"{path} has no number in column {name!r} in {count:,} of {len(frame):,} rows; "
                f"fill them in, or leave out {remedy.format(quote(name))}"
            )


def find_names(frame: Any) -> list[tuple[str, int]]:
    """Columns of text with so many values that they tell rows apart, and how many."""
    counts = [(name, int(frame[name].nunique())) for name in find_categories(frame)]
    return [(name, count) for name, count in counts if count > MOST_CATEGORIES * len(frame)]


def remark_on_names(name: str, count: str, n_rows: int) -> str:
    """What to say of a column of text that tells rows apart."""
    return (
        f"column {name!r} has {count} different texts in {n_rows:,} rows; if they name the rows, "
        f"they teach nothing: leave them out, --drop {quote(name)}"
    )
