"""
A basis of your own
===================

Hat functions instead of waves: a column with a kink is piecewise linear, and Fourier features
would have to pile up frequencies at it.
"""

# sphinx_gallery_thumbnail_number = 2

# %%
# A feature map turns values in the unit box into factors, one block of entries for each level, that
# is for each digit.  Hat functions are not powers of one number, so they have one level: they are
# not quantized.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from qtkm import QTKMRegressor
from qtkm.features import FeatureMap


class Hats(FeatureMap):
    """Piecewise linear functions, 1 at one knot and 0 at all others."""

    def __init__(self, n_basis=8):
        self.n_basis = n_basis

    @property
    def radices(self):
        """One level."""
        return (self.n_basis,)

    def factors(self, values):
        """All functions at the values, (n, n_basis)."""
        knots = np.linspace(0, 1, self.n_basis)
        distance = np.abs(np.asarray(values)[:, None] - knots)
        return np.maximum(0, 1 - distance * (self.n_basis - 1))

    def constant(self):
        """Weights of the constant function: the hats add up to 1."""
        return [np.ones(self.n_basis)]

    def bin_error(self, width):
        """How far a function moves with its value by half of the width."""
        return (self.n_basis - 1) * width / 2


line = np.linspace(0, 1, 400)
plt.figure(figsize=(6, 2), layout="constrained")
plt.plot(line, Hats(6).factors(line))
plt.show()

# %%
# A price that stops falling at one point, and a season that goes round.  Each column gets the basis
# that suits it.

rng = np.random.default_rng(0)
amount, day = rng.uniform(0, 100, size=2000), rng.uniform(0, 365, size=2000)


def price(amount, day):
    return 10 - 0.12 * np.minimum(amount, 40) * (1 + 0.4 * np.sin(2 * np.pi * day / 365))


X = np.column_stack([amount, day])
y = price(amount, day) + 0.3 * rng.normal(size=2000)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

models = {
    "hats and waves": QTKMRegressor(
        basis=[Hats(11), "fourier"],
        n_basis=["auto", 4],
        period=["auto", 1],
        rank=3,
        random_state=0,
        penalty="ridge",
    ),
    "waves": QTKMRegressor(n_basis=[8, 4], period=[2, 1], rank=3, random_state=0, penalty="ridge"),
}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="constrained")
amounts = np.linspace(0, 100, 300)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X_train, y_train)
    for when, color in ((91, "C0"), (274, "C1")):
        rows = np.column_stack([amounts, np.full(300, when)])
        ax.plot(amounts, price(amounts, when), color="0.4", ls=":")
        ax.plot(amounts, model.predict(rows), color=color, label=f"day {when}")
    ax.set(title=f"{name}: R2 = {model.score(X_test, y_test):.3f}", xlabel="amount")
axes[0].set_ylabel("price")
axes[0].legend(frameon=False)
plt.show()

# %%
# :doc:`/extend/feature-map` says what else a map can tell the library.
