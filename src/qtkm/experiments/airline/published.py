"""What the paper reports: its Table 1 and the times in its text.

F. Wesel, K. Batselier, "Quantized Fourier and Polynomial Features for more Expressive Tensor
Network Models", AISTATS 2024, Table 1 and Section 5.3.
"""

from typing import NamedTuple

SOURCE = "Wesel and Batselier, AISTATS 2024, Table 1"
TRAINING_ROWS = 3_952_942
EPOCHS = 25
MACHINE = "a laptop with 4 cores and 16 GB"


class Row(NamedTuple):
    """A row of Table 1: basis functions, parameters, test error and its deviation."""

    basis: int
    parameters: int
    mse: float
    deviation: float


TABLE = {
    "VFF": Row(40, 320, 0.827, 0.004),
    "Hilbert-GP": Row(40, 320, 0.827, 0.005),
    "VISH": Row(660, 660, 0.834, 0.055),
    "SVIGP": Row(1000, 1000, 0.791, 0.005),
    "Falkon": Row(10000, 10000, 0.758, 0.005),
    "TKM R=4": Row(64, 2048, 0.789, 0.005),
    "TKM R=6": Row(64, 3072, 0.773, 0.006),
    "TKM R=8": Row(64, 4096, 0.765, 0.007),
    "QTKM R=20": Row(64, 1920, 0.764, 0.005),
    "QTKM R=30": Row(64, 2880, 0.754, 0.005),
    "QTKM R=40": Row(64, 3840, 0.748, 0.005),
}

#: seconds of a fit of 25 epochs
SECONDS = {"QTKM R=20": 6613.0, "QTKM R=40": 13039.0}
