"""The one layout of numbers in memory that compiled loops read, and its conversions.

A line holds the numbers of an element: all real parts, then, where the model is complex, all
imaginary parts.  The last axis of an element is padded with zeros to whole vectors.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike, NDArray

#: numbers of a vector
LANES = 4
#: degree of the polynomials that predictions look up, see `kernels.polynomials`
DEGREE = 7
#: bytes of a line of the cache
CACHE_LINE = 64


def padded(size: int) -> int:
    """Length of a padded axis."""
    return size + (-size) % LANES


def empty_lines(shape: Sequence[int], dtype: DTypeLike = np.float64) -> NDArray:
    """Array of zeros that begins at a line of the cache."""
    count, kind = math.prod(shape), np.dtype(dtype)
    raw = np.zeros(count + CACHE_LINE // kind.itemsize, dtype=kind)
    first = -raw.ctypes.data % CACHE_LINE // kind.itemsize
    return raw[first : first + count].reshape(shape)


def to_lines(elements: NDArray, is_complex: bool, out: NDArray | None = None) -> NDArray:
    """Lines (n, width) of elements (n, …), written to `out` if it is given."""
    n, *shape, size = elements.shape
    whole = (n, 2 if is_complex else 1, *shape, padded(size))
    planes = empty_lines(whole) if out is None else out.reshape(whole)
    planes[:, 0, ..., :size] = elements.real
    if is_complex:
        planes[:, 1, ..., :size] = elements.imag
    return planes.reshape(n, -1)


def from_lines(lines: NDArray, shape: tuple[int, ...], is_complex: bool) -> NDArray:
    """Elements (n, *shape) of lines (n, width)."""
    whole = (len(lines), 2 if is_complex else 1, *shape[:-1], padded(shape[-1]))
    planes = lines.reshape(whole)[..., : shape[-1]]
    return planes[:, 0] + 1j * planes[:, 1] if is_complex else planes[:, 0]


def closing_matrix(closing: NDArray, is_complex: bool) -> NDArray:
    """Real matrix that turns lines into their sums Σ element·closing_k, (width, n_outputs·planes).

    Re and Im of an output stand side by side, as in an array of complex numbers.
    """
    lines = to_lines(closing, is_complex)
    if not is_complex:
        return lines.T
    real, imaginary = np.split(lines, 2, axis=1)
    rows = [np.hstack([real, -imaginary]), np.hstack([imaginary, real])]
    return np.stack(rows, axis=1).reshape(2 * len(lines), -1).T
