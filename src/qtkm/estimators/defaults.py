"""What "auto" stands for; the evidence is in docs/decisions/0004-defaults.md.

The norm of the weights does not tell a smooth function from a rough one, so what keeps a model
from fitting noise is above all its band (M/L frequencies a unit), then its rank.  Both grow with
the number of rows for each column.
"""


def n_basis(n_rows: int, n_columns: int) -> int:
    """Return the number of basis functions of a column."""
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


def least_rank(n_outputs: int, is_cpd: bool) -> int:
    """Rank below which several outputs, combinations of as many functions, would be too alike.

    Ten digits (1,797 rows, 64 columns) were told apart with an accuracy of 0.20 at rank 2, of
    0.95 at rank 10 and of 0.97 at rank 20.  Other networks than a CPD grow faster with their rank.
    """
    if n_outputs == 1:
        return 1
    return min(40, 2 * n_outputs) if is_cpd else min(10, n_outputs)


def alpha(n_rows: int, n_columns: int) -> float:
    """Regularization of the weights for standardized targets."""
    return 1.0 / n_rows


def tol(has_validation: bool) -> float:
    """Least relative progress of an epoch; noise is fitted slowly, so this too holds it off."""
    return 1e-3 if has_validation else 5e-3
