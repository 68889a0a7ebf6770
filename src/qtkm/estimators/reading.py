"""How a fitted model reads X and y: all that predictions need besides the cores."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Box
from .categories import UNKNOWN
from .inputs import Inputs
from .targets import TargetScale


@dataclass
class Reading:
    """What stands between X and the cores, and between responses and y.

    Attributes
    ----------
    inputs : Inputs
        Names and categories of the columns.
    maps : list of FeatureMap
    boxes : list of Box or None
        None for categorical columns.
    scale : TargetScale
    counts : dict of int to array
        Training weight of each category, for the categorical columns.
    """

    inputs: Inputs
    maps: list[Any]
    boxes: list[Box | None]
    scale: TargetScale
    counts: dict[int, NDArray]

    @property
    def frequencies(self) -> list[NDArray | None]:
        """Shares of the categories of each categorical column; None for numbers."""
        shares = {d: count / count.sum() for d, count in self.counts.items()}
        return [shares.get(d) for d in range(len(self.maps))]

    def values(self, arrays: Sequence[NDArray], part: slice) -> list[NDArray]:
        """Values in the unit box, or category codes, of some rows."""
        result = []
        for d, (array, box) in enumerate(zip(arrays, self.boxes, strict=True)):
            if box is not None:
                result.append(box.to_unit(box.contain(array[part])))
                continue
            codes = array[part]
            # the last entry serves the code UNKNOWN itself
            untrained = np.append(self.counts[d] == 0, True)[codes]
            result.append(np.where(untrained, UNKNOWN, codes))
        return result

    # -- for a fit that goes on from this one -------------------------------------------------

    def boxes_with(self, extrapolation: str) -> list[Box | None]:
        """The same boxes, with a rule that may be another."""
        return [box and replace(box, extrapolation=extrapolation) for box in self.boxes]

    @property
    def known_scale(self) -> TargetScale | None:
        """The scale of y; None if y was constant, which says nothing of one that varies."""
        return None if self.scale.is_constant.any() else self.scale

    def check_same(self, inputs: Inputs, n_outputs: int) -> None:
        """Raise a ValueError if a further fit has other categorical columns or outputs."""
        problem = None
        if inputs.is_categorical != self.inputs.is_categorical:
            problem = "categorical_features names other columns than in the first fit"
        elif n_outputs != len(self.scale.mean):
            problem = f"y has {n_outputs} outputs, and the first fit had {len(self.scale.mean)}"
        if problem:
            raise ValueError(
                f"warm_start=True cannot go on: {problem}; use warm_start=False to start anew."
            )
