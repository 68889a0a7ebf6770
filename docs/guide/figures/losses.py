"""The losses of a classifier as functions of the margin."""

import matplotlib.pyplot as plt
import numpy as np

from qtkm import Hinge, Logistic, Squared, SquaredHinge

margin = np.linspace(-2, 3, 400)[:, None]
target = np.ones_like(margin)
figure, ax = plt.subplots(figsize=(5.2, 3.2))
for loss, style in ((Logistic(), "-"), (Hinge(), "-"), (Squared(), "-"), (SquaredHinge(), "--")):
    ax.plot(margin, loss.value(margin, target), style, label=type(loss).__name__)
ax.axvline(0, color="0.7", lw=0.8)
ax.set(xlabel="margin y·Re f: right of 0 the sign is right", ylabel="loss", ylim=(0, 4.5))
ax.legend(frameon=False)
