"""The weights of three columns with eight features each: a CPD and a train, plain and quantized."""

import matplotlib.pyplot as plt
import numpy as np

from qtkm import CPD, TensorTrain

PLAIN, QUANTIZED = [[8], [8], [8]], [[2, 2, 2]] * 3
LINES = [
    [("CPD, plain", CPD(rank=4), PLAIN), ("train, plain", TensorTrain(rank=4), PLAIN)],
    [("CPD, quantized", CPD(rank=4), QUANTIZED)],
    [("train, quantized", TensorTrain(rank=4), QUANTIZED)],
]
UNIT, TITLE, GAP = 0.82, 0.35, 0.2  # inches: of a unit of the drawings, of a title, below a line


def extent(network, radices):
    """Width and height of a drawing, in inches."""
    ax = network.plot(radices)
    plt.close(ax.figure)
    return UNIT * np.ptp(ax.get_xlim()), UNIT * np.ptp(ax.get_ylim())


# All drawings have one scale, so that their cores can be compared.
sizes = [[extent(network, radices) for _, network, radices in line] for line in LINES]
heights = [max(height for _, height in line) + TITLE + GAP for line in sizes]
width, height = max(sum(w for w, _ in line) for line in sizes), sum(heights)
figure = plt.figure(figsize=(width, height), layout="none")
for i, (line, drawn) in enumerate(zip(LINES, sizes, strict=True)):
    left = (width - sum(w for w, _ in drawn)) / 2
    top = height - sum(heights[:i]) - TITLE
    for (name, network, radices), (w, h) in zip(line, drawn, strict=True):
        place = (left / width, (top - h) / height, w / width, h / height)
        ax = network.plot(radices, ax=figure.add_axes(place))
        ax.set_title(f"{name}: {network.structure(radices, 1).n_parameters} numbers", fontsize=12)
        left += w
