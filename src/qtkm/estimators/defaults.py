"""What "auto" stands for; the evidence is in docs/decisions/0004-defaults.md."""

import numpy as np


def n_basis(n_rows: int, n_columns: int) -> int:
    """Basis functions a column."""
    return 16 if n_rows < 20_000 else 32


def period(n_rows: int, n_columns: int) -> float:
    """Period in units of the box."""
    return 4.0


def rank(n_rows: int, n_columns: int) -> int:
    """Rank of a CPD."""
    return int(np.clip(np.sqrt(n_rows) / 4, 4, 20))


def alpha(n_rows: int, n_columns: int) -> float:
    """Regularization of the weights for standardized targets."""
    return float(np.clip(1e-3 * 300 / n_rows, 1e-7, 1e-2))
