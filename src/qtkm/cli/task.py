"""What kind of model a target asks for, and which columns are categories."""

from typing import Any

#: whole numbers of up to so many values are taken for classes
MOST_CLASSES = 20


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
            f"column {times[0]!r} holds times; leave it out (--drop {times[0]}), or give what may "
            "matter of it as numbers, such as the hour or the weekday"
        )
