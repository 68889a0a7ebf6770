"""What "auto" stands for; the evidence is in docs/decisions/0004-defaults.md.

The norm of the weights does not tell a smooth function from a rough one, so what keeps a model
from fitting noise is above all its band (M/L frequencies a unit), then its rank.  Both grow with
the number of rows for each column.
"""


def n_basis(n_rows: int, n_columns: int) -> int:
    """Basis functions a column."""
    rows = n_rows / n_columns
    if rows < 40:
        return 4
    if rows < 150:
        return 16
    return 32 if rows < 5000 else 64


def period(n_rows: int, n_columns: int) -> float:
    """Period in units of the box."""
    rows = n_rows / n_columns
    if rows < 40:
        return 10.0
    return 4.0 if rows < 5000 else 8.0


def alpha(n_rows: int, n_columns: int) -> float:
    """Regularization of the weights for standardized targets."""
    return 1.0 / n_rows


def tol(has_validation: bool) -> float:
    """Least relative progress of an epoch; noise is fitted slowly, so this too holds it off."""
    return 1e-3 if has_validation else 5e-3
