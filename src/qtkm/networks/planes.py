"""Planes: complex numbers as real ones, for compiled loops."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: bytes of a cache line
LINE = 64


def as_planes(values: NDArray, is_complex: bool) -> NDArray[np.float64]:
    """Numbers (n, k) as planes (n, k, 2) of a complex model, or (n, k, 1) of a real one."""
    planes = np.zeros((*values.shape, 2 if is_complex else 1))
    planes[..., 0] = values.real
    if is_complex and np.iscomplexobj(values):
        planes[..., 1] = values.imag
    return planes


def complex_numbers(planes: NDArray) -> NDArray:
    """Undo `as_planes`: complex numbers of two planes, real ones of one."""
    if planes.shape[-1] == 1:
        return planes[..., 0]
    return np.ascontiguousarray(planes).view(np.complex128)[..., 0]


def aligned(shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray:
    """Zeros that begin at a cache line, so that no vector of a table lies across two."""
    kind = np.dtype(dtype)
    count = int(np.prod(shape))
    raw = np.zeros(count + LINE // kind.itemsize, dtype=kind)
    first = -raw.ctypes.data % LINE // kind.itemsize
    return raw[first : first + count].reshape(shape)
