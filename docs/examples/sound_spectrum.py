"""
Spectrum of a sound with gaps
=============================

One column, thousands of Fourier functions, a few hundred parameters: with few of them the model
finds the highest peaks of the spectrum first.  A small version of the paper's sound experiment.
"""

# sphinx_gallery_thumbnail_number = 2

# %%
# Two chords, each dying away, sampled 8,000 times, with a little noise and twelve gaps.

import matplotlib.pyplot as plt
import numpy as np

from qtkm import ALS, QTKMRegressor
from qtkm.inspection import SpectrumDisplay, spectrum

rng = np.random.default_rng(0)
time = np.linspace(0, 1, 8000)
sound = 0.05 * rng.normal(size=time.size)
for onset, notes in ((0.0, (131, 196, 311)), (0.45, (147, 220, 349, 440))):
    since = np.clip(time - onset, 0, None)
    envelope = np.where(time >= onset, np.exp(-4 * since), 0)
    for note in notes:
        for overtone, loudness in ((1, 1.0), (2, 0.5), (3, 0.2)):
            phase = rng.uniform(0, 2 * np.pi)
            sound += loudness * envelope * np.sin(2 * np.pi * overtone * note * time + phase)

known = np.ones(time.size, dtype=bool)
for start in rng.integers(100, 7800, size=12):
    known[start : start + 6] = False
X, y = time[known, None], sound[known]

plt.figure(figsize=(8, 2.6), layout="constrained")
plt.plot(time, sound, lw=0.4)
plt.xlabel("seconds")
plt.show()

# %%
# M = 4,096 functions are told apart by twelve binary digits, so a term has 24 numbers.  Momentum
# helps alternating least squares to converge; with one Fourier column no row is read after the
# first epoch.

models = {}
for rank in (10, 40):
    models[rank] = QTKMRegressor(
        n_basis=4096, period=1, rank=rank, alpha=0, init="random", solver=ALS(momentum=True),
        max_iter=40, tol=1e-5, early_stopping=False, random_state=0, penalty="ridge",
        posterior=False,
    ).fit(X, y)  # fmt: skip
    model = models[rank]
    print(
        f"R = {rank:2}, P = {model.n_parameters_:4}: R2 on known samples {model.score(X, y):.2f}, "
        f"in the gaps {model.score(time[~known, None], sound[~known]):.2f}"
    )

# %%
# The largest peaks are there with ten terms; with forty come the smaller ones.  Grey is the
# discrete Fourier transform of the sound without gaps.

transform = np.abs(np.fft.rfft(sound)) / sound.size
figure, axes = plt.subplots(2, 1, figsize=(8, 4.6), sharex=True, sharey=True, layout="constrained")
for ax, (rank, model) in zip(axes, models.items(), strict=True):
    found = spectrum(model)
    ax.plot(np.arange(transform.size), transform, color="0.7", lw=1, label="transform")
    ax.plot(found.frequencies, found.magnitudes, lw=1, label=f"R = {rank}, P = {24 * rank}")
    ax.set(xlim=(100, 1000), ylabel="magnitude")
    ax.legend(frameon=False)
axes[1].set_xlabel("hertz")
plt.show()

# %%
# The library has a display for it, too.

SpectrumDisplay.from_estimator(models[40])
plt.show()
