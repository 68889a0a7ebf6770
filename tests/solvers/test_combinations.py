"""Every solver on every network that it fits to, with every loss and every penalty."""

from dataclasses import replace

import numpy as np
import pytest

from qtkm.losses import REGISTRY as LOSSES
from qtkm.networks import REGISTRY as NETWORKS
from qtkm.networks import flatten
from qtkm.penalties import REGISTRY as PENALTIES
from qtkm.solvers import REGISTRY as SOLVERS
from qtkm.solvers import Stopping, solve
from tests import dense
from tests.covering import cover
from tests.problems import make_cores, make_map, make_network, make_objective, make_penalty

MAPS = [make_map("fourier", 4), make_map("power", 3, None), make_map("categorical", 3)]
PAIRS = [
    (n, s)
    for n, network in NETWORKS.items()
    for s, solver in SOLVERS.items()
    if issubclass(network, solver.fits)
]


CASES = [
    (*pair, loss, penalty)
    for pair in PAIRS
    for loss in LOSSES
    for penalty in PENALTIES
    if SOLVERS[pair[1]].takes_priors or penalty == "ridge"
]


@pytest.mark.parametrize(("network", "solver", "loss", "penalty"), cover(CASES))
def test_a_solver_lowers_the_objective_of_every_network_that_it_fits_to(
    network, solver, loss, penalty
):
    n_outputs = 2 if loss == "softmax" else 1
    made = make_network(network, 2, [feature_map.radices for feature_map in MAPS])
    objective = make_objective(
        MAPS, network=made, loss=loss, n_outputs=n_outputs, n_rows=40, alpha=1e-2,
        penalty=make_penalty(penalty),
    )  # fmt: skip
    cores = make_cores(objective, size=0.5)
    result = solve(SOLVERS[solver](), objective, cores, Stopping(3, 0.0))
    fitted = replace(
        objective,
        network=objective.network.fitted_to(result.cores),
        penalties=objective.learned_penalties(result.precisions),
    )
    before, after = dense.value(objective, cores), dense.value(fitted, result.cores)
    assert after < before
    assert min(result.history.objective) == pytest.approx(after, rel=1e-6)
    if SOLVERS[solver].is_monotone:
        assert np.all(np.diff(result.history.objective) <= 1e-9 * abs(before))
    assert all(np.isfinite(core).all() for core in flatten(result.cores))


def test_only_two_solvers_are_for_trains_alone():
    rest = {name for name in SOLVERS if ("cpd", name) not in PAIRS}
    assert rest == {"dmrg", "riemannian"}
    assert all(("train", name) in PAIRS for name in SOLVERS)
