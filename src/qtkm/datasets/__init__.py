"""Loaders for the data of the examples, the demo and the experiments.

A loader reads files that are on the machine already: inside an installed
package, or in the data home (see :mod:`qtkm.datasets._home`). None of them
downloads anything, and none of them knows the rest of the library.
"""

from .nyc_flights import load_nyc_flights

__all__ = ["load_nyc_flights"]
