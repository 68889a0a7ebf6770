"""Files of arrays and plain values: safetensors for numbers, JSON for the rest, never pickle.

What saved models and checkpoints are written with. Nothing here knows what the values mean.
"""

from .file import DamagedFileError, ForeignFileError, read, shortened, write
from .trees import join, split

__all__ = ["DamagedFileError", "ForeignFileError", "join", "read", "shortened", "split", "write"]
