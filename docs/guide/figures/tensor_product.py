"""Products of the features of two columns, and how many of them there are for more columns."""

import matplotlib.pyplot as plt
import numpy as np

from qtkm.features import Fourier

n_basis = 5
values = np.linspace(0, 1, 60)
features = Fourier(n_basis=n_basis, period=1, quantization=None).features(values)  # (60, M)

figure = plt.figure(figsize=(9, 3.9))
left, right = figure.subfigures(1, 2, width_ratios=[1, 1.15])
axes = left.subplots(n_basis, n_basis, gridspec_kw={"wspace": 0.06, "hspace": 0.06})
for i in range(n_basis):
    for j in range(n_basis):
        product = np.outer(features[:, i], features[:, j]).real  # (60, 60)
        ax = axes[n_basis - 1 - i, j]
        ax.imshow(product, cmap="RdBu", vmin=-1, vmax=1, origin="lower")
        ax.set(xticks=[], yticks=[])
left.suptitle("a feature of (x₁, x₂) for every pair: 5 × 5", fontsize=10)
left.supxlabel("features of x₂", fontsize=9)
left.supylabel("features of x₁", fontsize=9)

ax = right.subplots()
columns = np.arange(1, 13)
rank, n_basis = 20, 64
ax.semilogy(columns, float(n_basis) ** columns, "o-", color="C3", ms=4, label="all weights, $M^D$")
ax.semilogy(columns, rank * n_basis * columns, "s-", color="C1", ms=4, label="CPD, $D·M·R$")
ax.semilogy(
    columns, rank * 12 * columns, "^-", color="C0", ms=4,
    label="quantized CPD, $D·2\\log_2 M·R$",
)  # fmt: skip
ax.set(title="numbers to store, M = 64, R = 20", xlabel="columns D", ylim=(50, 1e13))
ax.legend(frameon=False, fontsize=9)
