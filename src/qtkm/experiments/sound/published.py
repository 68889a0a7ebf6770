"""What the paper reports of the sound: its Table 2.

F. Wesel, K. Batselier, "Quantized Fourier and Polynomial Features for more Expressive Tensor
Network Models", AISTATS 2024, Figure 3, Section 5.2 and Table 2 of the supplement.
"""

from typing import NamedTuple

SOURCE = "Wesel and Batselier, AISTATS 2024, Table 2"
#: sweeps over all cores, from one start
EPOCHS = 5000


class Row(NamedTuple):
    """A row of Table 2: parameters, compression, weight error, error on the test rows."""

    parameters: int
    compression: float
    weight_error: float
    smae: float


#: rank → row
TABLE = {
    10: Row(260, 31.5, 0.841, 0.579),
    25: Row(650, 12.6, 0.712, 0.571),
    50: Row(1300, 6.3, 0.528, 0.451),
    100: Row(2600, 3.1, 0.310, 0.182),
}
