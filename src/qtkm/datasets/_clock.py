"""Clock times."""

from typing import Any


def minutes_after_midnight(hhmm: Any) -> Any:
    """Clock times written as the number hhmm, in minutes."""
    return hhmm // 100 * 60 + hhmm % 100
