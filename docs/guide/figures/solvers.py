"""Objective against time for the solvers of a CPD and of a train, from the same start."""

import matplotlib.pyplot as plt
from sklearn.base import clone

from qtkm import ALS, QTKMRegressor
from qtkm.datasets import load_concrete

X, y = load_concrete(return_X_y=True)
solvers = {
    "cpd": {"als": "als", "als, momentum": ALS(momentum=True), "lbfgs": "lbfgs",
            "gauss_newton": "gauss_newton", "adam": "adam"},
    "train": {"als": "als", "dmrg": "dmrg", "lbfgs": "lbfgs", "riemannian": "riemannian",
              "gauss_newton": "gauss_newton", "adam": "adam"},
}  # fmt: skip
ranks, seconds = {"cpd": 8, "train": 4}, 0.8
colours = {name: f"C{i}" for i, name in enumerate({**solvers["cpd"], **solvers["train"]})}
ticks = [0.03, 0.05, 0.1, 0.2, 0.5, 1]


def enough(progress):
    """End a fit after so many seconds."""
    return progress.history.seconds and progress.history.seconds[-1] > seconds


figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
for ax, (network, choices) in zip(axes, solvers.items(), strict=True):
    for name, solver in choices.items():
        model = QTKMRegressor(
            network=network, rank=ranks[network], solver=solver, n_basis=16, period=4, alpha=1e-3,
            max_iter=400, tol=0, callbacks=enough, random_state=0, n_jobs=1, penalty="ridge",
            posterior=False,
        )  # fmt: skip
        clone(model).set_params(max_iter=1).fit(X, y)  # loads the compiled loops
        model.fit(X, y)
        history = model.history_
        ax.plot(history["seconds"], history["objective"], label=name, color=colours[name])
    ax.set(title=f"{network}, R = {ranks[network]}", xlabel="seconds", yscale="log")
    ax.set(xlim=(0, seconds), ylim=(0.03, 4), yticks=ticks, yticklabels=ticks)
    ax.minorticks_off()
    ax.legend(frameon=False, fontsize=8, ncols=2, loc="upper right")
axes[0].set_ylabel("objective")
