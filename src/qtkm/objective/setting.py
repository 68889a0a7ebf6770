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
    """A least-squares objective: rows with weights and targets, and the penalty."""

    shards: Sequence[Shard]
    engine: Engine
    alpha: float
    #: what the sum over the rows is divided by
    total_weight: float
    #: value of the objective at zero weights
    constant: float
    #: whether the loss sees the real part of the response alone
    real_part: bool
    n_outputs: int
    n_rows: int
    #: whether this is the objective itself, or the quadratic model of another loss
    is_exact: bool = True
    #: whether shards are in this process's memory; else all that a problem has is `sum`
    rows_are_here: bool = True
    #: view(shard, run=…) gives a shard with other weights and targets than its own
    view: Callable[..., Shard] | None = None
    #: whether the weights of the rows stay the same throughout the fit, as they do if it is exact
    has_constant_weights: bool = False
    #: what a network has computed of these rows once and for all, by name
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
