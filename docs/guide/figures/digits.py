"""Eight Fourier features of a column as products of three digits."""

import matplotlib.pyplot as plt
import numpy as np

from qtkm.features import Fourier

basis = Fourier(n_basis=8, period=1, quantization=2)
line = np.linspace(0, 1, 400)
features = basis.features(line)

figure, axes = plt.subplots(1, 4, figsize=(9.5, 3.8), width_ratios=[1, 1, 1, 1.9])
for k, ax in enumerate(axes[:3]):
    for q in range(2):
        entry = np.exp(2j * np.pi * line * q * 2**k)
        ax.plot(line, entry.real + 3 * q, color=f"C{k}")
        ax.plot(line, entry.imag + 3 * q, color=f"C{k}", ls=":", lw=1)
        ax.text(0.5, 3 * q + 1.25, f"$q_{k + 1}$ = {q}", ha="center", fontsize=9)
    ax.set(title=f"digit {k + 1}, weight {2**k}", ylim=(-1.4, 5), xticks=[0, 1], yticks=[])
    ax.text(1.08 if k < 2 else 1.05, 0.5, "⊗" if k < 2 else "=", transform=ax.transAxes,
            fontsize=13, ha="center", va="center")  # fmt: skip

ax = axes[-1]
for m, feature in enumerate(features.T):
    ax.plot(line, feature.real + 2.5 * m, color="0.25")
    digits = "".join(str(m >> k & 1) for k in (2, 1, 0))
    ax.text(1.05, 2.5 * m, f"{m} = {digits}₂", va="center", fontsize=9)
ax.set(title="all M = 8 features", xticks=[0, 1], yticks=[], ylim=(-1.6, 19.2), xlim=(-0.05, 1.38))
