"""Two surfaces, fitted from the same 64 × 64 features with about the same number of weights."""

import matplotlib.pyplot as plt
import numpy as np

from qtkm import QTKMRegressor

rng = np.random.default_rng(3)
side = np.linspace(0, 1, 64)
grid = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1)  # (64, 64, 2)
front = np.tanh(12 * (np.sin(4 * grid[..., 0]) + grid[..., 1] - 1.2))
rough = np.outer(*rng.normal(size=(2, 32)).repeat(2, axis=1))
surfaces = {"a curved front": front, "a product of two rough functions": rough}
models = {"not quantized": {"quantization": None, "rank": 2}, "quantized": {"rank": 11}}

figure, axes = plt.subplots(2, 3, figsize=(8.6, 5.9))
for row, (name, surface) in zip(axes, surfaces.items(), strict=True):
    size = np.abs(surface).max()
    style = {"cmap": "RdBu", "vmin": -size, "vmax": size, "origin": "lower"}
    row[0].imshow(surface, **style)
    row[0].set_ylabel(name)
    for ax, (kind, settings) in zip(row[1:], models.items(), strict=True):
        model = QTKMRegressor(
            n_basis=64, period=1.2, alpha=1e-8, init="random", max_iter=60, tol=1e-4,
            penalty="ridge", random_state=0, **settings,
        ).fit(grid.reshape(-1, 2), surface.ravel())  # fmt: skip
        fit = model.predict(grid.reshape(-1, 2)).reshape(surface.shape)
        error = np.mean((fit - surface) ** 2) / surface.var()
        ax.imshow(fit, **style)
        ax.set_title(
            f"{kind}, R = {model.rank_}, P = {model.n_parameters_}\nunexplained: {error:.1%}",
            fontsize=9,
        )
axes[0, 0].set_title("the surface", fontsize=9)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
