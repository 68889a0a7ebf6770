"""
Boundary of a classifier
========================

Two interleaved spirals, told apart by three losses, and a problem with three classes.
"""

# %%
# Two turns of two spirals, with noise.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.model_selection import train_test_split

from qtkm import QTKMClassifier

rng = np.random.default_rng(0)
label = rng.integers(0, 2, size=1500)
angle = np.sqrt(rng.uniform(0.02, 1, size=label.size)) * 4 * np.pi
radius = angle / (4 * np.pi)
X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
X = np.where(label[:, None] == 1, -X, X) + 0.05 * rng.normal(size=(label.size, 2))
X_train, X_test, y_train, y_test = train_test_split(X, label, random_state=0)

# %%
# The logistic loss gives probabilities; the squared hinge leaves rows alone that are far enough on
# the right side; the squared loss punishes those, too.

figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
for ax, loss in zip(axes, ("logistic", "squared_hinge", "squared"), strict=True):
    model = QTKMClassifier(
        loss=loss, n_basis=16, period=2, rank=12, random_state=0, penalty="ridge"
    )
    model.fit(X_train, y_train)
    DecisionBoundaryDisplay.from_estimator(
        model, X, response_method="decision_function", ax=ax, cmap="RdBu", vmin=-2.5, vmax=2.5,
        levels=np.linspace(-2.5, 2.5, 11), extend="both", grid_resolution=150, eps=0.05,
    )  # fmt: skip
    ax.scatter(*X_test.T, c=y_test, cmap="RdBu", s=6, edgecolors="black", linewidths=0.2)
    ax.set_title(f"{loss}: {model.score(X_test, y_test):.1%} right", fontsize=10)
    ax.set(xticks=[], yticks=[])
plt.show()

# %%
# Three classes share one network, with an output for each, and the largest output wins.

X, label = make_blobs(
    900, centers=[[0, 0], [2, 2], [2, -2], [-3, 0]], cluster_std=0.8, random_state=1
)
label = np.array(["inner", "outer", "outer", "left"])[label]
model = QTKMClassifier(random_state=0).fit(X, label)
print(model.loss_, model.message_)

figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
DecisionBoundaryDisplay.from_estimator(
    model, X, response_method="predict", ax=ax, alpha=0.4, grid_resolution=150
)
for name in model.classes_:
    ax.scatter(*X[label == name].T, s=8, label=name)
ax.legend()
plt.show()
