"""Errors against the rank and against the penalty, on a clean and on a noisy data set."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from qtkm import QTKMRegressor
from qtkm.datasets import load_airfoil

airfoil, diabetes = load_airfoil(), load_diabetes()
sets = {
    "airfoil": (airfoil.data, airfoil.target, {"n_basis": 16, "period": 4}),
    "diabetes": (diabetes.data, diabetes.target, {"n_basis": 4, "period": 10}),
}


def errors(X, y, values, name, **settings):
    """Training and test errors (values, 2) over the variance."""
    found = []
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    for value in values:
        model = QTKMRegressor(
            penalty="ridge", posterior=False, random_state=0, **settings, **{name: value}
        )
        model.fit(X_train, y_train)
        found.append([1 - model.score(X_train, y_train), 1 - model.score(X_test, y_test)])
    return np.array(found)


ranks, penalties = (1, 2, 4, 8, 16), np.logspace(-7, 0, 8)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
for color, (name, (X, y, settings)) in zip(("C0", "C1"), sets.items(), strict=True):
    by_rank = errors(X, y, ranks, "rank", **settings)
    rank = ranks[int(np.argmin(by_rank[:, 1]))]
    by_alpha = errors(X, y, penalties, "alpha", rank=rank, **settings)
    for ax, values, result in ((axes[0], ranks, by_rank), (axes[1], penalties, by_alpha)):
        ax.plot(values, result[:, 1], "o-", ms=4, color=color, label=f"{name}, test")
        ax.plot(values, result[:, 0], ":", color=color, label=f"{name}, training")
axes[0].set(xlabel="rank R", xscale="log", xticks=ranks, xticklabels=ranks)
axes[0].set(ylabel="error / variance", ylim=(0, 1.05))
axes[0].minorticks_off()
axes[1].set(xlabel="alpha, at the best rank of the left", xscale="log")
axes[1].legend(frameon=False, fontsize=8, loc="upper left")
