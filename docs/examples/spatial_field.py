"""
A field on a map
================

A height is measured at 3,000 places, with some noise; what does the land look like?  A kernel
method would do for so few rows, and is drawn beside; the model here has 500 parameters, and would
take millions of places as well.
"""

# %%
# Hills, a ridge that runs across the map, and ripples in one corner.

import matplotlib.pyplot as plt
import numpy as np

from qtkm import QTKMRegressor
from qtkm.baselines import ProductKernelRidge

rng = np.random.default_rng(1)
side = np.linspace(0, 1, 120)
land = np.stack(np.meshgrid(side, side), axis=-1)  # (120, 120, 2)


def height(place):
    east, north = place[..., 0], place[..., 1]
    hills = np.exp(-((east - 0.25) ** 2 + (north - 0.7) ** 2) / 0.02)
    ridge = np.exp(-((north - 0.3 - 0.25 * np.sin(5 * east)) ** 2) / 0.004)
    ripples = 0.3 * np.sin(40 * (east + 0.4 * north)) * (east > 0.6) * (north > 0.6)
    return hills + 0.8 * ridge + ripples


places = rng.uniform(size=(3000, 2))
measured = height(places) + 0.05 * rng.normal(size=3000)

# %%
# The land is not smooth at one scale: 32 functions for each direction.  A random start suits a
# field better than the smooth one; two starts tell whether it was luck.

models = {
    "QTKM": QTKMRegressor(
        n_basis=32,
        period=1.5,
        rank=25,
        alpha=1e-5,
        init="random",
        tol=1e-3,
        random_state=0,
        penalty="ridge",
    ),
    "QTKM, another start": QTKMRegressor(
        n_basis=32,
        period=1.5,
        rank=25,
        alpha=1e-5,
        init="random",
        tol=1e-3,
        random_state=1,
        penalty="ridge",
    ),
    "kernel ridge, same features": ProductKernelRidge(n_basis=32, period=1.5, alpha=1e-5),
}
truth = height(land)
figure, axes = plt.subplots(1, 4, figsize=(12, 3.7), layout="constrained")
style = {"origin": "lower", "cmap": "terrain", "vmin": -0.4, "vmax": 1.5}
axes[0].imshow(truth, **style)
axes[0].set_title("the land", fontsize=9)
for ax, (name, model) in zip(axes[1:], models.items(), strict=True):
    model.fit(places, measured)
    guess = model.predict(land.reshape(-1, 2)).reshape(truth.shape)
    error = np.sqrt(np.mean((guess - truth) ** 2))
    ax.imshow(guess, **style)
    ax.set_title(f"{name}\nroot mean square error {error:.3f}", fontsize=9)
for ax in axes:
    ax.set(xticks=[], yticks=[])
plt.show()

# %%
# Kernel ridge regression has the weights of all 32 · 32 products at its disposal.  The network has
# fewer numbers, and less to fit noise with.

print(models["QTKM"].n_parameters_, "parameters instead of", 32**2)
