"""What a local problem is told of the objective it belongs to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..data import Shard
from ..engines import Engine


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
    path : str
        "auto", or how the local problems are to meet the rows.
    kept : dict
        What a network has computed of these rows once and for all, by name.
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
    path: str = "auto"
    kept: dict[str, Any] = field(init=False, repr=False, default_factory=dict)

    def sum(self, function: Callable[..., Any]) -> Any:
        """Sum of function(shard, run=…) over the shards."""
        return self.engine.sum(function, self.shards)
