"""Selection: the parameters of a model chosen by cross-validation, in a fraction of the time.

A search fits an estimator with many parameters to the same few sets of rows; here all that
depends on the rows alone is made once, and candidates that fall behind are given up early.
"""

from .display import SearchDisplay
from .tuned import QTKMClassifierCV, QTKMRegressorCV

__all__ = ["QTKMClassifierCV", "QTKMRegressorCV", "SearchDisplay"]
