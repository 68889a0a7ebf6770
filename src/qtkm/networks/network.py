"""Interface of networks for the layers above.

A `Network` defines shapes and initial cores; an `Iterate` is a network with cores and everything
computed from them on the grids of the columns: tables, responses, gradients, local problems.
It reads shards but owns none; loss and regularization reach it as numbers.

Derivatives are complex numbers: the gradient with respect to w is
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
        """Number of cores, the last ones, that are real even if features are complex."""
        return 0

    def check(self) -> None:
        """Raise a ValueError for invalid parameters."""

    def default_rank(self, n_rows: int, n_columns: int) -> int:
        """Return the rank for "auto", see docs/decisions/0004-defaults.md."""
        return min(40, max(2, round(1.5 * (n_rows / (8 * n_columns)) ** 0.4)))

    def rank_of(self, cores: Given) -> Given:
        """Return the rank of given cores, or None if they do not determine it."""
        return None

    def fitted_to(self, cores: Cores) -> "Network":
        """Return the network that fitted cores belong to, with adapted ranks if they were."""
        return self

    def structure(self, radices: Radices, n_outputs: int) -> Structure:
        """Return vertices and edges for the sites of a fit.

        Raises a ValueError if ranks or legs do not fit the sites.
        """
        raise NotImplementedError

    def shapes(self, radices: Radices, n_outputs: int) -> Cores:
        """Return the shapes of the cores in their layout: columns, levels, output core."""
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
                f"rank={rank!r} is only known after a fit; set a number to draw a network of that "
                f"rank, as in {type(self).__name__}(8), or draw `network_` of a fitted model."
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
        """Return initial cores.

        Parameters
        ----------
        constants : list of list of (Q,) arrays
            For every column and level, the weights that make the constant function.
        n_outputs : int
            Number of outputs; more than one have an output core.
        is_complex : bool
            Type of the cores.
        kind : {"smooth", "random"}
            "smooth": near the constant function; "random": Gaussian cores.
        rng : RandomState
        """
        raise NotImplementedError

    def n_parameters(self, cores: Cores) -> int:
        """Count the parameters as in the paper, where a complex number counts once."""
        return sum(core.size for core in flatten(cores))

    def iterate(
        self, columns: Columns, cores: Cores, dtype: DTypeLike, run: Run, precisions: Precisions
    ) -> "Iterate":
        """Return an iterate of cores on the columns' grids.

        `precisions` has for every column the factors (M,) of the squared weights in the penalty,
        or None for 1.
        """
        raise NotImplementedError

    def numbers_held(
        self, sizes: Sequence[int], radices: Radices, n_outputs: int, planes: int
    ) -> tuple[int, int]:
        """Return how many numbers a fit holds in memory, apart from the rows.

        These are the tables of all columns, and the sums of the largest local problem over the
        rows. `sizes` are those of the columns' grids; complex numbers have two planes.
        """
        cores = [prod(shape) for shape in flatten(self.shapes(radices, n_outputs))]
        return planes * sum(cores), planes**2 * max(cores) ** 2

    def dense(self, cores: Cores, radices: Radices) -> NDArray:
        """Return the whole weight tensor, (ΠM, n_outputs), for tests and tiny models.

        The lowest digit of a column runs fastest, the first column slowest.
        """
        raise NotImplementedError

    def evaluator(self, cores: Cores, frequencies: Precisions) -> Given:
        """Return an object with responses(maps, values) -> (n, n_outputs) at arbitrary values.

        For a categorical column `frequencies` has the share of each category, used for the mean of
        the core's entries for unknown ones; None for numbers.
        """
        raise NotImplementedError


class Point(Protocol):
    """Cores in place, as derivatives need them."""

    cores: Cores
    is_complex: bool
    run: Run
    #: object that changes with every change of the cores
    token: object

    def responses(self, shard: AnyShard) -> NDArray:
        """Return responses of a shard's rows, (n_rows, n_outputs), complex if the model is."""
        responses: NDArray = self.response_pass()(shard, run=self.run)
        return responses

    def response_pass(self) -> Pass:
        """Return a pass: pass(shard, run=run) -> responses.

        Like all passes it carries only tables, so that it can be sent to where the rows are.
        """
        raise NotImplementedError

    def gradient_pass(self) -> Pass:
        """Return a pass: pass(shard, slopes, run=run) -> arrays to be added up.

        `slopes` (n_rows, n_outputs) is the gradient of the loss with respect to the response.
        """

    def gradient(self, sums: Given) -> Cores:
        """Return the gradient with respect to the cores, in their layout, from the pass's sums."""

    def tangent(self, direction: Cores) -> Pass:
        """Return a pass: pass(shard, run=run) -> change of the responses in a direction."""

    def penalty(self) -> float:
        """Return Σ precision·|w|² of the whole weight tensor: ‖w‖² if there is no prior."""

    def penalty_gradient(self) -> Cores:
        """Return the gradient of the penalty with respect to the cores."""
        return self.penalty_product(self.cores)

    def penalty_product(self, direction: Cores) -> Cores:
        """Return the product of the penalty's Hessian with a direction, core by core."""


class Iterate(Point, Protocol):
    """Cores in place, which local problems change."""

    columns: Sequence[AnyColumn]
    #: what the penalty multiplies squared weights by, (M,) for every column or None
    precisions: list[NDArray | None]
    #: number of blocks of local problems: columns and output core, or vertices of a graph
    n_blocks: int

    def snapshot(self) -> Cores:
        """Return a copy of the cores, which later updates do not change."""

    def restore(self, cores: Cores) -> None:
        """Put a snapshot back."""

    def energies(self, block: int) -> NDArray | None:
        """Return the factor of the precision of each function of a column in the penalty.

        None for a column that keeps the penalty it starts with.
        """
        return None

    def put_precision(self, d: int, precision: NDArray) -> None:
        """Replace the precision of a column that has energies."""
        raise TypeError("The columns of this network keep the penalty they start with.")

    def problem(self, block: int, setting: Setting) -> Given:
        """Return the local problem of a block, (`n_levels`, `sweep`, `finish`, maybe `restart`)."""


def flatten(cores: Cores) -> list[NDArray]:
    """Return all cores in one list: columns, then levels, then the output core."""
    flat: list[NDArray] = []
    for entry in cores:
        flat.extend(entry if isinstance(entry, list) else [entry])
    return flat


def unflatten(cores: Cores, flat: Arrays) -> Cores:
    """Return the arrays of a flat list in the layout of `cores`."""
    rest = iter(flat)
    return [[next(rest) for _ in e] if isinstance(e, list) else next(rest) for e in cores]
