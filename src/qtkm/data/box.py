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

    def contain(self, values: NDArray[np.floating]) -> NDArray[np.floating]:
        """Raw values with the rule for those outside applied."""
        if self.extrapolation == "clip":
            return np.clip(values, self.low, self.high)
        if self.extrapolation == "error" and len(values):
            worst = values[np.argmax(np.maximum(values - self.high, self.low - values))]
            if not self.low <= worst <= self.high:
                raise ValueError(
                    f"{self.name} has the value {worst:g}, outside of its range "
                    f"[{self.low:g}, {self.high:g}]; use extrapolation='clip' to take the nearest "
                    "end instead, or widen the range with `bounds`."
                )
        return values

    def to_unit(self, raw: NDArray[np.floating]) -> NDArray[np.float64]:
        """Map raw values to the unit box; a column of one value goes to 0."""
        values = np.asarray(raw, dtype=np.float64)
        if self.low == self.high:
            return np.zeros_like(values)
        if self.low == 0.0 and self.high == 1.0:
            return values
        # halves first: high - low may overflow
        return (values / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
