"""Planes: complex matrices as real ones, [Re | Im], and packed Hermitian triangles."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: bytes of a cache line
LINE = 64


def to_planes(matrix: NDArray, width: int) -> NDArray[np.float64]:
    """[Re | Im] of an (n, R) matrix, or the matrix itself where the model is real."""
    if width == matrix.shape[1]:
        return np.ascontiguousarray(matrix.real, dtype=np.float64)
    return np.hstack([matrix.real, matrix.imag])


def from_planes(planes: NDArray, rank: int) -> NDArray:
    """Undo `to_planes` along the last axis."""
    if planes.shape[-1] == rank:
        return planes
    return planes[..., :rank] + 1j * planes[..., rank:]


def weigh_triangle(packed: NDArray, matrix: NDArray) -> None:
    """Multiply packed upper triangles entry by entry by those of an (R, R) matrix, in place."""
    rows, columns = np.triu_indices(len(matrix))
    weight = matrix[rows, columns]
    if packed.shape[1] == len(weight):
        packed *= weight.real
        return
    half = len(weight)
    real, imaginary = packed[:, :half].copy(), packed[:, half:]
    packed[:, :half] = real * weight.real - imaginary * weight.imag
    packed[:, half:] = real * weight.imag + imaginary * weight.real


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
