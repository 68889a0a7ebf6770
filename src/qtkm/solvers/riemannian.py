"""Riemannian conjugate gradients on tensor trains of fixed ranks."""

from dataclasses import dataclass, field
from numbers import Integral
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..networks import Cores, Network, TensorTrain
from ..networks.chain import ChainIterate
from ..networks.train.gauge import TrainFrame
from ..objective import Objective
from ..parameters import check_number
from .solver import Report, Solver, State, Vector

#: a step must gain at least this fraction of what its slope promises
LEAST_GAIN = 1e-4
#: step lengths that are tried, each half of the one before
TRIES = 20


@dataclass
class FrameState(State):
    """Objective, and tangent space, gradient and direction of the last step (if any)."""

    iterate: ChainIterate
    value: float
    left: list[NDArray] = field(default_factory=list)
    right: list[NDArray] = field(default_factory=list)
    gradient: Vector = field(default_factory=lambda: np.empty(0))
    direction: Vector = field(default_factory=lambda: np.empty(0))


class Riemannian(Solver[FrameState]):
    """Conjugate gradients on the manifold of tensor trains of fixed ranks.

    Parameters
    ----------
    iterations : int
        Iterations per epoch.

    Notes
    -----
    An iteration projects the gradient to the tangent space of the trains of these ranks, combines
    it with the last direction (Polak-Ribière, transported by projection), takes the step of the
    Gauss-Newton curvature along it, halved until the objective falls, and returns to the trains by
    singular value decompositions.  It costs O(N·D·R²), while alternating least squares takes R⁴, so
    this is a solver for trains of ranks above about 10.
    """

    fits: ClassVar[tuple[type[Network], ...]] = (TensorTrain,)
    #: in its coordinates only the norm of the weights is simple
    takes_priors: ClassVar[bool] = False
    state: ClassVar[type[State] | None] = FrameState

    def __init__(self, iterations=5):
        self.iterations = iterations

    def check(self) -> None:
        check_number("iterations", self.iterations, Integral, 1, hint="; 5 is usual")

    def start(self, objective: Objective, cores: Cores) -> FrameState:
        iterate = objective.at(cores)
        return FrameState(iterate, objective.value(iterate))

    def step(self, objective: Objective, state: FrameState, report: Report) -> FrameState:
        for _ in range(self.iterations):
            frame = TrainFrame(state.iterate)
            state.value, cores = objective.gradient(frame)
            gradient = objective.to_vector(cores)
            state.record = {"gradient_norm": float(np.linalg.norm(gradient))}
            if not gradient.any():
                state.finished = "The gradient is zero."
            elif not self._move(objective, state, frame, gradient):
                state.finished = "No step lowers the objective: it is a minimum up to rounding."
            report(state.iterate.snapshot(), [state.value])
            if state.finished:
                break
        return state

    def _move(
        self, objective: Objective, state: FrameState, frame: TrainFrame, gradient: Vector
    ) -> bool:
        """Take a step that lowers the objective; return False if there is none."""
        directions = [-gradient]
        if state.left:  # the conjugate direction first, if it descends
            old_gradient, old_direction = (
                frame.transport(state.left, state.right, objective.from_vector(old))
                for old in (state.gradient, state.direction)
            )
            change = float(gradient @ (gradient - objective.to_vector(old_gradient)))
            beta = max(0.0, change / float(state.gradient @ state.gradient))
            conjugate = beta * objective.to_vector(old_direction) - gradient
            if beta > 0 and conjugate @ gradient < 0:
                directions.insert(0, conjugate)
        start, before = state.iterate.snapshot(), state.value
        for direction in directions:
            tangent, slope = objective.from_vector(direction), float(gradient @ direction)
            curved = float(objective.to_vector(objective.curvature(frame)(tangent)) @ direction)
            length = -slope / curved if curved > 0 else 1.0
            for _ in range(TRIES):
                state.iterate.put_sites(frame.retract(tangent, length))
                value = objective.value(state.iterate)
                if value <= before + LEAST_GAIN * length * slope and value < before:
                    state.value, state.left, state.right = value, frame.left, frame.right
                    state.gradient, state.direction = gradient, direction
                    return True
                length /= 2
            state.iterate.restore(start)
        return False
