"""Drawings of a network with its dimensions: as text, and as a plot with matplotlib.

Both see a `Structure` and nothing else, so they draw networks to come as well.
"""

from .plot import plot
from .text import describe

__all__ = ["describe", "plot"]
