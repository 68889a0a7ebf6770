"""Readable numbers at the ticks of an axis; needs matplotlib, which other files import late."""

import math
from typing import Any

import numpy as np
from matplotlib.ticker import Formatter
from numpy.typing import NDArray

from ..estimators.wording import PARTED, readable


class Numbers(Formatter):
    """Writes 20,000 and 0.002, with as many digits as tell ticks apart."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return readable(x)

    def format_ticks(self, values: Any) -> list[str]:
        return write_ticks(np.asarray(values, dtype=np.float64))


def write_ticks(ticks: NDArray[np.float64]) -> list[str]:
    """Ascending numbers with as many digits as tell them apart."""
    step = np.min(np.diff(ticks), initial=np.inf)
    if not 0 < step < np.inf:
        return [readable(tick) for tick in ticks]
    top = np.abs(ticks).max()
    digits = 3 + max(0, math.ceil(math.log10(top / step)))
    # thousands alike at all ticks, and what is left of a tick at zero is rounding
    parted = 1000 if top >= PARTED else PARTED
    ticks = np.where(np.abs(ticks) < 1e-9 * step, 0.0, ticks)
    texts = [readable(tick, digits, parted=parted) for tick in ticks]
    if any("e" in text for text in texts):
        return texts
    # as many decimals everywhere: 0.60 above 0.58
    parts = [text.partition(".") for text in texts]
    decimals = max(len(fraction) for _, _, fraction in parts)
    return [f"{whole}.{fraction:0<{decimals}}" if decimals else whole
            for whole, _, fraction in parts]  # fmt: skip
