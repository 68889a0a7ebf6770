"""What a local problem is told of the objective it belongs to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..data import Shard
from ..engines import Engine
from ..protocols import Run


@dataclass
class Setting:
    """A least-squares objective: rows with weights and targets, and the penalty.

    Attributes
    ----------
    shards : sequence of Shard
    engine : Engine
    alpha : float
    total_weight : float
        What the sum over the rows is divided by.
    constant : float
        Value of the objective at zero weights.
    real_part : bool
        Whether the loss sees the real part of the response alone.
    n_outputs, n_rows : int
    is_exact : bool
        Whether this is the objective itself, which stays the same throughout the fit, or
        the quadratic model of another loss.
    has_constant_weights : bool
        Whether the weights of the rows stay the same throughout the fit, as they do if it is exact.
    kept : dict
        What a network has computed of these rows once and for all, by name.
    rows_are_here : bool
        Whether `shards` are in this process's memory, so that a problem may look at them itself
        and keep something a row. Else all it has is `sum`.
    view : callable or None
        view(shard, run=…) gives a shard with the weights and targets of this objective, where
        they are not its own.
    """

    shards: Sequence[Shard]
    engine: Engine
    alpha: float
    total_weight: float
    constant: float
    real_part: bool
    n_outputs: int
    n_rows: int
    is_exact: bool = True
    rows_are_here: bool = True
    view: Callable[..., Shard] | None = None
    has_constant_weights: bool = False
    kept: dict[str, Any] = field(init=False, repr=False, default_factory=dict)

    @property
    def scale(self) -> tuple[float, float, float]:
        return self.total_weight, self.alpha, self.constant

    def sum(self, function: Callable[..., Any]) -> Any:
        if self.view is not None:
            function = partial(_viewed, view=self.view, function=function)
        return self.engine.sum(function, self.shards)


def _viewed(
    shard: Shard, run: Run, view: Callable[..., Shard], function: Callable[..., Any]
) -> Any:
    return function(view(shard, run=run), run=run)
