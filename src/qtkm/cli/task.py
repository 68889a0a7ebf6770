"""What kind of model a target asks for, and which columns are categories."""

from shlex import quote
from typing import Any

#: whole numbers of up to so many values are taken for classes
MOST_CLASSES = 20
#: text of which so large a part of the different values are numbers is a mistake in numbers
MOSTLY = 0.9
#: with more categories than this part of the rows, a column tells rows apart, not kinds of them
MOST_CATEGORIES = 0.5


def find_task(target: Any) -> str:
    """Tell "classification" or "regression" by a target's values.

    Text, categories and truth values are classes; so are whole numbers of few different values
    that all occur often. Everything else is a number to be predicted.

    Parameters
    ----------
    target : pandas.Series
    """
    kind = getattr(target.dtype, "kind", "O")
    if kind not in "iuf":
        return "classification"
    values = target.dropna()
    distinct = values.nunique()
    whole = bool((values == values.round()).all())
    if whole and distinct <= MOST_CLASSES and distinct <= len(values) / 20:
        # counts such as ratings are whole, too: two values are classes, more only if written so
        return "classification" if distinct == 2 else "regression"
    return "regression"


def find_categories(frame: Any) -> list[str]:
    """Columns of text, categories or truth values."""
    return [
        name for name in frame.columns
        if getattr(frame[name].dtype, "kind", "O") not in "iufmM"
    ]  # fmt: skip


def refuse_times(frame: Any) -> None:
    """Raise a ValueError for columns of dates, which need a decision of the user."""
    times = [name for name in frame.columns if getattr(frame[name].dtype, "kind", "O") in "mM"]
    if times:
        raise ValueError(
            f"column {times[0]!r} holds times; leave it out (--drop {quote(times[0])}), or give "
            "what may matter of it as numbers, such as the hour or the weekday"
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
    import pandas

    if getattr(column.dtype, "kind", "O") in "biufmM":
        return
    distinct = pandas.Series(column.dropna().unique(), dtype=object)
    strange = distinct[pandas.to_numeric(distinct, errors="coerce").isna()]
    if len(strange) and len(strange) <= (1 - MOSTLY) * len(distinct):
        count = int(column.isin(strange).sum())
        raise ValueError(
            f"{what} {column.name!r} has text among its numbers: {strange.iloc[0]!r:.40} and the "
            f"like in {count:,} of {len(column):,} rows; correct them, {remedy}"
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
