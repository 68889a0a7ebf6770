"""What basis functions and period do: fits of one column, and test errors of two data sets."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold, cross_val_predict

from qtkm import QTKMRegressor
from qtkm.datasets import load_airfoil

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(size=60))[:, None]
y = np.sin(8 * x[:, 0]) + 0.3 * rng.normal(size=60)
line = np.linspace(0, 1, 400)[:, None]

figure = plt.figure(figsize=(9.5, 6))
top, bottom = figure.subfigures(2, 1, height_ratios=[1, 1.15])
for ax, (n_basis, period) in zip(
    top.subplots(1, 3, sharey=True), ((4, 10), (16, 4), (64, 2)), strict=True
):
    model = QTKMRegressor(
        n_basis=n_basis, period=period, rank=6, random_state=0, penalty="ridge"
    ).fit(x, y)
    ax.plot(x, y, ".", color="0.6")
    ax.plot(line, np.sin(8 * line), color="0.3", lw=1, ls=":")
    ax.plot(line, model.predict(line), color="C0")
    ax.set_title(f"M = {n_basis}, L = {period}: band {n_basis / period:g}", fontsize=10)
    ax.set(ylim=(-2, 2))

airfoil = load_airfoil()
diabetes = load_diabetes()
sets = [
    ("airfoil: 1,503 rows, little noise", airfoil.data, airfoil.target, 6),
    ("diabetes: 442 rows, much noise", diabetes.data, diabetes.target, 2),
]
sizes, periods = (4, 8, 16, 32), (10, 4, 1.5)
folds = KFold(3, shuffle=True, random_state=0)
for ax, (title, X, target, rank) in zip(bottom.subplots(1, 2), sets, strict=True):
    errors = np.zeros((len(periods), len(sizes)))
    for i, period in enumerate(periods):
        for j, n_basis in enumerate(sizes):
            model = QTKMRegressor(
                n_basis=n_basis, period=period, rank=rank, random_state=0, penalty="ridge",
                posterior=False,
            )  # fmt: skip
            guess = cross_val_predict(model, X, target, cv=folds)
            errors[i, j] = np.mean((guess - target) ** 2) / np.var(target)
    image = ax.imshow(np.log(errors), cmap="Blues", aspect="auto")
    middle = np.mean(image.get_clim())
    for (i, j), error in np.ndenumerate(errors):
        color = "white" if np.log(error) > middle else "black"
        ax.text(j, i, f"{error:.3g}", ha="center", va="center", color=color, fontsize=9)
    ax.set(xticks=range(len(sizes)), xticklabels=sizes, xlabel="M", ylabel="L")
    ax.set(yticks=range(len(periods)), yticklabels=periods)
    ax.set_title(f"test error / variance, {title}, R = {rank}", fontsize=9)
