"""What every network offers to the layers above.

A `Network` knows shapes and starts; an `Iterate` is a network with cores in place and what
follows from them on the grids of the columns: tables, responses, gradients, local problems.
It reads shards but owns none; loss and regularization reach it as numbers.

Derivatives are written as complex numbers: the gradient with respect to w is
∂/∂Re w + i·∂/∂Im w, so that a step δ changes a function by Re Σ conj(gradient)·δ.
"""

from collections.abc import Sequence
from math import prod
from typing import ClassVar, Protocol

from numpy.random import RandomState
from numpy.typing import DTypeLike, NDArray
from sklearn.base import BaseEstimator

from .. import drawing
from ..protocols import (
    AnyColumn,
    AnyShard,
    Arrays,
    Columns,
    Cores,
    Given,
    Levels,
    Pass,
    Precisions,
    Radices,
    Run,
    Setting,
)  # fmt: skip
from ..structure import Structure


class Network(BaseEstimator):
    """Interface of a tensor network; parameters are those of the constructor."""

    #: whether there are main effects beside it, with a penalty of their own
    has_main_effects: ClassVar[bool] = False

    @property
    def n_real(self) -> int:
        """Number of cores, the last ones, that are real even where features are complex."""
        return 0

    def check(self) -> None:
        """Raise a ValueError for parameters that make no sense."""

    def default_rank(self, n_rows: int, n_columns: int) -> int:
        """Rank that "auto" stands for, see docs/decisions/0004-defaults.md."""
        return min(40, max(2, round(1.5 * (n_rows / (8 * n_columns)) ** 0.4)))

    def rank_of(self, cores: Given) -> Given:
        """Rank of cores that a user gives, or None where it cannot be seen."""
        return None

    def fitted_to(self, cores: Cores) -> "Network":
        """Return the network that fitted cores belong to, with adapted ranks if they were."""
        return self

    def structure(self, radices: Radices, n_outputs: int) -> Structure:
        """Vertices and edges for the sites of a fit.

        Raises a ValueError where ranks or legs do not fit the sites.
        """
        raise NotImplementedError

    def shapes(self, radices: Radices, n_outputs: int) -> Cores:
        """Shapes of the cores, in the layout of the cores: columns, levels, output core."""
        flat = iter(self.structure(radices, n_outputs).shapes)
        shapes: Cores = [[next(flat) for _ in column] for column in radices]
        return shapes + list(flat)

    def describe(self, radices: Radices, n_outputs: int = 1) -> str:
        """Return the network as text, with the sizes of its bonds and legs.

        Parameters
        ----------
        radices : sequence of sequence of int
            Sizes of the levels of every column.
        n_outputs : int
        """
        self._refuse_open_rank()
        return drawing.describe(self.structure(radices, n_outputs), type(self).__name__)

    def _refuse_open_rank(self) -> None:
        if isinstance(rank := getattr(self, "rank", None), str):
            raise ValueError(
                f"rank={rank!r} is chosen in a fit; give a number to draw a network of that rank, "
                f"as in {type(self).__name__}(8), or draw `network_` of a fitted model."
            )

    def plot(
        self,
        radices: Radices,
        n_outputs: int = 1,
        ax: Given = None,
        column_names: Sequence[str] | None = None,
    ) -> Given:
        """Plot the network with the sizes of its bonds and legs on matplotlib Axes.

        Parameters are those of `describe`, Axes to plot on and names of the columns.
        """
        self._refuse_open_rank()
        return drawing.plot(self.structure(radices, n_outputs), ax, column_names)

    def start(
        self, constants: Levels, n_outputs: int, is_complex: bool, kind: str, rng: RandomState
    ) -> Cores:
        """Cores to start from.

        Parameters
        ----------
        constants : list of list of (Q,) arrays
            For every column and level, the weights that make the constant function.
        n_outputs : int
            Number of outputs; an output core is made for more than one.
        is_complex : bool
            Type of the cores.
        kind : {"smooth", "random"}
            "smooth": near the constant function; "random": Gaussian cores.
        rng : RandomState
        """
        raise NotImplementedError

    def n_parameters(self, cores: Cores) -> int:
        """Count the parameters as the paper does, a complex number as one."""
        return sum(core.size for core in flatten(cores))

    def iterate(
        self, columns: Columns, cores: Cores, dtype: DTypeLike, run: Run, precisions: Precisions
    ) -> "Iterate":
        """Cores with what follows from them on the columns' grids.

        `precisions` holds for every column what the penalty multiplies the squared weight of
        each function by, (M,), or None for 1.
        """
        raise NotImplementedError

    def numbers_held(
        self, sizes: Sequence[int], radices: Radices, n_outputs: int, planes: int
    ) -> tuple[int, int]:
        """Return how many numbers a fit from sums over shards holds, whatever the number of rows.

        Those of all columns' tables, and of what the largest local problem sums over the rows.
        `sizes` are those of the columns' grids; complex numbers have two planes.
        """
        cores = [prod(shape) for shape in flatten(self.shapes(radices, n_outputs))]
        return planes * sum(cores), planes**2 * max(cores) ** 2

    def dense(self, cores: Cores, radices: Radices) -> NDArray:
        """Return the whole weight tensor, (ΠM, n_outputs), for tests and tiny models.

        The lowest digit of a column runs fastest, the first column slowest.
        """
        raise NotImplementedError

    def evaluator(self, cores: Cores, frequencies: Precisions) -> Given:
        """Return what has responses(maps, values) -> (n, n_outputs) at values on no grid.

        For a categorical column `frequencies` holds the share of each category, by which an
        unknown one takes the mean of the core's entries; None for numbers.
        """
        raise NotImplementedError


class Point(Protocol):
    """Cores in place, as derivatives need them."""

    cores: Cores
    is_complex: bool

    @property
    def token(self) -> object:
        """Another one after every change of the cores."""

    def responses(self, shard: AnyShard) -> NDArray:
        """Responses of a shard's rows, (n_rows, n_outputs), complex where the model is."""

    def response_pass(self) -> Pass:
        """Return a pass: pass(shard, run=run) -> responses.

        Like all passes it carries only tables, so that it can be sent to where the rows are.
        """

    def gradient_pass(self) -> Pass:
        """Return a pass: pass(shard, slopes, run=run) -> arrays to be added up.

        `slopes` (n_rows, n_outputs) is the gradient of the loss with respect to the response.
        """

    def gradient(self, sums: Given) -> Cores:
        """Gradient with respect to the cores, in their layout, from the sums of the pass."""

    def tangent(self, direction: Cores) -> Pass:
        """Return a pass: pass(shard, run=run) -> change of the responses in a direction."""

    def penalty(self) -> float:
        """Σ precision·|w|² of the whole weight tensor: ‖w‖² where the penalty has no prior."""

    def penalty_gradient(self) -> Cores:
        """Gradient of the penalty with respect to the cores."""

    def penalty_product(self, direction: Cores) -> Cores:
        """Product of a direction with the Hessian of the penalty, one core at a time."""


class Iterate(Point, Protocol):
    """Cores in place, which local problems change."""

    columns: Sequence[AnyColumn]
    #: what the penalty multiplies squared weights by, (M,) for every column or None
    precisions: list[NDArray | None]

    @property
    def n_blocks(self) -> int:
        """Blocks of local problems: columns and output core, or the vertices of a graph."""

    def snapshot(self) -> Cores:
        """Return the cores as they stand; later updates leave these alone."""

    def restore(self, cores: Cores) -> None:
        """Put a snapshot back."""

    def energies(self, block: int) -> NDArray | None:
        """Return what the precision of each function of a column multiplies in the penalty."""

    def put_precision(self, d: int, precision: NDArray) -> None:
        """Put in another precision of a column that has energies."""

    def problem(self, block: int, setting: Setting) -> Given:
        """Local problem of a block: an object with `n_levels`, `sweep`, `restart` and `finish`."""


def flatten(cores: Cores) -> list[NDArray]:
    """All cores in one list: columns, then levels, then the output core."""
    flat: list[NDArray] = []
    for entry in cores:
        flat.extend(entry if isinstance(entry, list) else [entry])
    return flat


def unflatten(cores: Cores, flat: Arrays) -> Cores:
    """Arrays of a flat list in the layout of some cores."""
    rest = iter(flat)
    return [[next(rest) for _ in e] if isinstance(e, list) else next(rest) for e in cores]
