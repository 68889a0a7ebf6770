"""The objective: mean loss plus α times the squared norm of the weights.

It joins data, features, network, loss and engine, and is all that a solver sees:

    iterate = objective.at(cores)           cores with their tables
    objective.blocks                        columns, then the output core
    objective.problem(iterate, block)       a block's local problem (one pass over the rows)
    objective.value(iterate)                the objective itself (one cheap pass)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Shard
from ..engines import Engine
from ..losses import Squared
from ..networks import CPD, Cores
from .column import Column
from .paths import choose_paths


@dataclass
class Objective:
    """Mean loss of the rows of some shards plus α‖w‖².

    Attributes
    ----------
    columns : list of Column
    shards : list of Shard
        Training rows.
    network, loss, engine : the parts
    alpha : float
        Regularization λ.
    scatter : float
        Weighted sum of squares that merging rows took out of the targets.
    dtype : dtype
        Type of tables and environments; sums and solves are double.
    path : {"auto", "statistics", "rows", "chain"}
        How local problems meet the rows, see `objective.paths`.
    """

    columns: Sequence[Column]
    shards: Sequence[Shard]
    network: CPD
    loss: Squared
    engine: Engine
    alpha: float
    scatter: float = 0.0
    dtype: Any = np.float64
    path: str = "auto"

    def __post_init__(self) -> None:
        self.n_rows = sum(len(shard) for shard in self.shards)
        weight, squares = self.engine.sum(_totals, self.shards)
        self.total_weight = float(weight[0])
        self.constant = (float(squares[0]) + self.scatter) / self.total_weight
        self.real_part = self.loss.residual == "real"

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.shards[0].target.shape[1]

    @property
    def blocks(self) -> range:
        """Blocks of weights: the columns, then the output core of several outputs."""
        return range(len(self.columns) + (self.n_outputs > 1))

    def at(self, cores: Cores) -> Any:
        """Cores with their tables."""
        return self.network.iterate(self.columns, cores, self.dtype, self.engine.run)

    def paths(self, cores: Cores) -> list[str]:
        """How each column's local problem meets the rows."""
        first = cores[0][0]
        is_complex = np.iscomplexobj(first)
        if self.path != "auto":
            return ["statistics" if c.is_categorical else self.path for c in self.columns]
        chain = (
            len(self.shards) == 1
            and self.n_outputs == 1
            and self.alpha > 0
            and np.dtype(self.dtype) == np.float64
            and not (self.real_part and is_complex)
        )
        return choose_paths(
            self.columns, self.n_rows, first.shape[1], is_complex, self.alpha, chain
        )

    def problem(self, iterate: Any, block: int, path: str = "statistics") -> Any:
        """Local problem of a block of weights."""
        if path == "chain":
            problem = iterate.chain_problem(block, self.shards, self)
            if problem is not None:
                return problem
        if path in ("rows", "chain"):
            return iterate.row_problem(block, self.shards, self)
        both = self.real_part and iterate.is_complex
        sums = self.engine.sum(iterate.statistics(block, both), self.shards)
        return iterate.problem(block, sums, self)

    def value(self, iterate: Any) -> float:
        """Mean loss plus α‖w‖²."""
        return self.mean_loss(iterate) + self.alpha * iterate.squared_norm()

    def mean_loss(self, iterate: Any) -> float:
        """Weighted mean loss over the rows."""
        total = 0.0
        for shard in self.shards:
            losses = self.loss.value(iterate.responses(shard), shard.target).sum(axis=1)
            total += float(_weights(shard) @ losses)
        return (total + self.scatter) / self.total_weight

    def mean_square(self, iterate: Any, shards: Sequence[Shard]) -> float:
        """Weighted mean square error of Re f over rows that need not be those of the fit."""
        total = weight = 0.0
        for shard in shards:
            error = iterate.responses(shard).real - shard.target
            w = _weights(shard)
            total, weight = total + float(w @ (error**2).sum(axis=1)), weight + float(w.sum())
        return total / weight


def _weights(shard: Shard) -> NDArray:
    return np.ones(len(shard)) if shard.weight is None else shard.weight


def _totals(shard: Shard, run: Any) -> tuple[NDArray, NDArray]:
    """Total weight and weighted sum of squared targets."""
    target = shard.scaled[1]
    weight = len(shard) if shard.weight is None else shard.weight.sum()
    return np.array([float(weight)]), np.array([float(np.vdot(target, target))])
