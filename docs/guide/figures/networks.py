"""The weights of three columns with eight features each: a CPD and a train, plain and quantized."""

import matplotlib.pyplot as plt

from qtkm import CPD, TensorTrain

PLAIN, QUANTIZED = [[8], [8], [8]], [[2, 2, 2]] * 3

figure = plt.figure(figsize=(8, 6.8))
axes = figure.subplot_mosaic(
    [
        ["CPD, plain", "CPD, quantized"],
        ["train, plain", "CPD, quantized"],
        ["train, quantized"] * 2,
    ],
    height_ratios=[3, 2, 1.5],
    width_ratios=[3.2, 4.4],
)
for name, ax in axes.items():
    network = CPD(rank=4) if name.startswith("CPD") else TensorTrain(rank=4)
    radices = PLAIN if name.endswith("plain") else QUANTIZED
    network.plot(radices, ax=ax)
    size = network.structure(radices, 1).n_parameters
    ax.set_title(f"{name}: {size} numbers", fontsize=11)
