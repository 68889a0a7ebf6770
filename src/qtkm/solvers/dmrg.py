"""Two-site alternating scheme for trains, which adapts the ranks."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar

from ..networks import Cores, Network, TensorTrain
from ..networks.chain import ChainIterate
from ..networks.train.pairs import PairProblem
from ..objective import Objective
from ..parameters import check_number, keep_parameters
from .solver import Report, Solver, State


@dataclass
class DMRGState(State):
    """Iterate, and the largest rank of a bond."""

    iterate: ChainIterate
    max_rank: int


class DMRG(Solver[DMRGState]):
    """Density-matrix renormalization group: pairs of neighbouring cores, ranks by truncation.

    An epoch visits the pairs of neighbouring cores of a train.  Each pair is merged, brought to
    the minimum of the objective with all other cores fixed, and split again by a singular value
    decomposition, which determines the size of the bond between them.

    Parameters
    ----------
    max_rank : int or None
        Maximum rank of any bond; None for the largest one at the start.
    tol : float
        Largest fraction of a merged core's norm that a split may discard.

    Notes
    -----
    Splits that would raise the objective are rejected.  ``history.records`` contains for every
    epoch ``"ranks"``, the bonds between the cores, and ``"truncation"``, by how much truncation
    raised the objective.

    Pairs inside a column are solved from its moments, pairs of two columns from the rows, with
    4·(Q²R²)² operations per row: several times the cost of an epoch of ALS, which should finish the
    fit.  Merged cores of more than 2048 unknowns (columns with many categories) are not updated,
    and with several outputs the last bond keeps its rank.
    """

    needs_rows: ClassVar[bool] = True
    fits: ClassVar[tuple[type[Network], ...]] = (TensorTrain,)
    state: ClassVar[type[State] | None] = DMRGState

    def __init__(self, max_rank=None, tol=1e-3):
        keep_parameters(self, locals())

    def check(self) -> None:
        if self.max_rank is not None:
            hint = ", or None for the start's largest rank"
            check_number("max_rank", self.max_rank, Integral, 1, hint=hint)
        check_number("tol", self.tol, Real, 0, below=1, hint="; 1e-3 is usual")

    def start(self, objective: Objective, cores: Cores) -> DMRGState:
        iterate = objective.at(cores)
        return DMRGState(iterate, self.max_rank or max(core.shape[2] for core in iterate.sites))

    def step(self, objective: Objective, state: DMRGState, report: Report) -> DMRGState:
        iterate, cost = state.iterate, 0.0
        for block in objective.blocks:
            if block == len(iterate.columns):  # the output core
                values = objective.update(iterate, block)
            else:
                made: list[PairProblem] = []  # for another loss, one after the other

                def make_problem(setting, block=block, made=made):
                    made.append(PairProblem(iterate, block, setting, state.max_rank, self.tol))
                    return made[-1]

                values = objective.update(iterate, block, 1, make_problem)
                cost += made[-1].cost
            report(iterate.snapshot(), values)
        iterate.settle()  # a bond that a later split made too large shrinks here
        report(iterate.snapshot(), [])
        ranks = [core.shape[2] for core in iterate.sites[:-1]]
        state.record = {"truncation": cost, "ranks": ranks}
        return state
