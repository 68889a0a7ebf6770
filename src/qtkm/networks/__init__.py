"""Networks: cores in, tables, environments, norms and local systems out."""

from .cpd import CPD, Cores, fill_table, flatten
from .evaluate import Evaluator
from .local import LocalSystem

#: shorthand in the estimators -> class; a new network is one file and one line here
REGISTRY: dict[str, type[CPD]] = {"cpd": CPD}

__all__ = ["CPD", "REGISTRY", "Cores", "Evaluator", "LocalSystem", "fill_table", "flatten"]
