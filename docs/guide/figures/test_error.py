"""Test error against the number of parameters on two sets of measured data."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from qtkm import QTKMRegressor
from qtkm.datasets import load_airfoil, load_nyc_flights


def course(X, y, ranks, starts, **settings):
    """Parameters, and test errors (ranks, starts), of models with these ranks."""
    y = (y - y.mean()) / y.std()
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    sizes, errors = [], []
    for rank in ranks:
        models = [
            QTKMRegressor(
                rank=rank, penalty="ridge", random_state=s, early_stopping=False, posterior=False,
                **settings,
            )
            for s in range(starts)
        ]  # fmt: skip
        residuals = [m.fit(X_train, y_train).predict(X_test) - y_test for m in models]
        sizes.append(models[0].n_parameters_)
        errors.append([np.mean(residual**2) for residual in residuals])
    return sizes, np.array(errors)


flights = load_nyc_flights().frame.sample(10_000, random_state=0)
delay = flights.pop("ArrDelay")
airfoil = load_airfoil()
panels = [
    ("airfoil noise, 1,202 rows, M = 16", airfoil.data, airfoil.target, (1, 2, 4, 6),
     (2, 4, 8, 12), 3, {"n_basis": 16, "period": 2, "alpha": 1e-5, "max_iter": 40, "tol": 1e-3}),
    ("New York flights, 8,000 rows, M = 64", flights, delay, (1, 2, 4), (5, 10, 20), 2,
     {"n_basis": 64, "period": 10, "alpha": 1e-6, "max_iter": 15}),
]  # fmt: skip

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
for ax, (title, X, y, plain, quantized, starts, settings) in zip(axes, panels, strict=True):
    kinds = [("not quantized", None, plain, "C1"), ("quantized", 2, quantized, "C0")]
    for kind, quantization, ranks, color in kinds:
        sizes, errors = course(X, y, ranks, starts, quantization=quantization, **settings)
        ax.plot(sizes, np.median(errors, axis=1), "o-", ms=4, color=color, label=kind)
        ax.plot(np.repeat(sizes, starts), errors.ravel(), ".", ms=4, color=color, alpha=0.5)
    ax.set_title(title, fontsize=10)
    ax.set(xlabel="parameters P")
axes[0].set_ylabel("test mean squared error")
axes[0].legend(frameon=False)
