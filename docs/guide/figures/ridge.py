"""Ridge regression on Fourier features of one column: the features, and fits with more of them."""

import matplotlib.pyplot as plt
import numpy as np

from qtkm.features import Fourier

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(size=80))
line = np.linspace(0, 1, 400)


def target(x):
    return np.sin(3 * x) + 0.4 * np.sin(25 * x) * (x > 0.5)


y = target(x) + 0.1 * rng.normal(size=len(x))

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2))
basis = Fourier(n_basis=8, period=2, quantization=None)
for m, function in enumerate(basis.features(line).T):
    left.plot(line, function.real + 2.4 * m, color="C0")
    left.text(1.03, 2.4 * m, f"{m - 4:+d}" if m != 4 else "  0", va="center", fontsize=9)
left.set(title="M = 8 features (real parts), period L = 2", xlabel="x", yticks=[])
left.set(xlim=(-0.05, 1.14), ylabel="m = −4 … 3")

right.plot(x, y, ".", color="0.6", label="rows")
for n_basis, color in ((4, "C1"), (16, "C0")):
    basis = Fourier(n_basis=n_basis, period=2, quantization=None)
    features = basis.features(x)  # (n, M)
    gram = features.conj().T @ features + 1e-3 * len(x) * np.eye(n_basis)
    weights = np.linalg.solve(gram, features.conj().T @ y)
    right.plot(line, (basis.features(line) @ weights).real, color=color, label=f"M = {n_basis}")
right.set(title="ridge regression on them", xlabel="x")
right.legend(loc="lower center", frameon=False)
