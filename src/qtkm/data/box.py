"""The unit box: a column's raw values to [0, 1] and back, and what lies outside."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

EXTRAPOLATIONS = ("clip", "continue", "error")


@dataclass(frozen=True)
class Box:
    """Range of one column that is mapped to [0, 1].

    Attributes
    ----------
    low, high : float
        Raw values mapped to 0 and 1.
    extrapolation : {"clip", "continue", "error"}
        What happens to values outside.
    name : str
        The column's name, for messages.
    """

    low: float
    high: float
    extrapolation: str
    name: str

    @property
    def is_point(self) -> bool:
        """Whether the column has one value."""
        return self.low == self.high

    def contain(self, raw: NDArray[np.generic]) -> NDArray[np.float64]:
        """Raw values with the rule for those outside applied."""
        values = np.asarray(raw, dtype=np.float64)
        if self.extrapolation == "clip":
            return np.clip(values, self.low, self.high)
        if self.extrapolation == "error":
            self._refuse(values[(values < self.low) | (values > self.high)])
        return values

    def _refuse(self, outside: NDArray[np.float64]) -> None:
        if len(outside) == 0:
            return
        # halves: differences may overflow
        distance = np.maximum(outside / 2 - self.high / 2, self.low / 2 - outside / 2)
        raise ValueError(
            f"{self.name} has the value {outside[np.argmax(distance)]:g}, outside of its range "
            f"[{self.low:g}, {self.high:g}]; use extrapolation='clip' to take the nearest end "
            "instead, or widen the range with `bounds`."
        )

    def to_unit(self, raw: NDArray[np.generic]) -> NDArray[np.float64]:
        """Map raw values to the unit box; a column of one value goes to 0."""
        values = np.asarray(raw, dtype=np.float64)
        if self.is_point:
            return np.where(np.isnan(values), values, 0.0)
        if self.low == 0.0 and self.high == 1.0:
            return values
        # the difference of two large numbers may overflow, half of a tiny one vanishes
        half = 0.5 if max(-self.low, self.high) > 1e300 else 1.0
        with np.errstate(over="ignore"):  # of values far outside, where the basis continues
            return (values * half - self.low * half) / (self.high * half - self.low * half)
