"""The weights of three columns with eight features each: a CPD and a train, plain and quantized."""

import matplotlib.pyplot as plt

from qtkm import CPD, TensorTrain

PLAIN, QUANTIZED = [[8], [8], [8]], [[2, 2, 2]] * 3

figure, axes = plt.subplots(2, 2, figsize=(9.5, 5.2), height_ratios=[2.2, 1])
for row, network in zip(axes, (CPD(rank=4), TensorTrain(rank=4)), strict=True):
    for ax, radices, kind in zip(row, (PLAIN, QUANTIZED), ("plain", "quantized"), strict=True):
        network.plot(radices, ax=ax)
        size = network.structure(radices, 1).n_parameters
        ax.set_title(f"{type(network).__name__}, {kind}: {size} numbers", fontsize=10)
