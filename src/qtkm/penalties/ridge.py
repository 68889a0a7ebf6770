"""The paper's penalty: the squared norm of the weights, all functions alike."""

import numpy as np
from numpy.typing import NDArray

from .base import Penalty


class Ridge(Penalty):
    """Squared norm of the weights.

    Notes
    -----
    α‖w‖² is the penalty of the paper.  It is the prior of a kernel machine whose kernel is a
    product of Dirichlet kernels: all frequencies are alike, so that smoothness comes from the
    number of functions alone.
    """

    def variances(self, frequencies: NDArray[np.float64]) -> None:
        return None
