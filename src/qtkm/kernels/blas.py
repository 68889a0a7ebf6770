"""The symmetric rank-k product of BLAS, called from inside compiled loops.

SciPy ships the BLAS it uses as C function pointers.  They are handed to LLVM under
names of our own, so that compiled loops that call them can still be cached on disk
(a pointer baked into the code could not).
"""

import llvmlite.binding as llvm
import numpy as np
from numba import types
from numba.extending import get_cython_function_address, overload

_INT = types.CPointer(types.int32)
_CHAR = types.CPointer(types.uint8)


def _external(name: str, real: types.Type) -> types.ExternalFunction:
    symbol = f"qtkm_{name}"
    llvm.add_symbol(symbol, get_cython_function_address("scipy.linalg.cython_blas", name))
    scalar = types.CPointer(real)
    # uplo, trans, n, k, alpha, a, lda, beta, c, ldc
    signature = types.void(_CHAR, _CHAR, _INT, _INT, scalar, scalar, _INT, scalar, scalar, _INT)
    return types.ExternalFunction(symbol, signature)


_dsyrk = _external("dsyrk", types.float64)
_ssyrk = _external("ssyrk", types.float32)


def rank_k(rows, count, total, narrow, fresh):
    """Upper triangle of `total` (+)= rowsᵀrows over the first `count` rows.

    The product is added, or where `fresh` takes the place of what was there.  `total` is double; single-precision rows are multiplied into `narrow`, of their own
    type, and added from there.  BLAS reads column by column, so its lower triangle is ours
    above the diagonal.
    """
    total *= not fresh
    total += np.triu(rows[:count].T @ rows[:count])


@overload(rank_k)
def _rank_k(rows, count, total, narrow, fresh):
    if rows.dtype == types.float64:
        return _rank_k_double
    return _rank_k_single


def _rank_k_double(rows, count, total, narrow, fresh):
    letters = np.array([76, 78], dtype=np.uint8)  # "L", "N"
    size = np.array([rows.shape[1], count], dtype=np.int32)
    one = np.ones(1, dtype=np.float64)
    keep = np.zeros(1, dtype=np.float64) if fresh else one
    n, k = size[0:].ctypes, size[1:].ctypes
    uplo, trans = letters[0:].ctypes, letters[1:].ctypes
    _dsyrk(uplo, trans, n, k, one.ctypes, rows.ctypes, n, keep.ctypes, total.ctypes, n)


def _rank_k_single(rows, count, total, narrow, fresh):
    letters = np.array([76, 78], dtype=np.uint8)
    size = np.array([rows.shape[1], count], dtype=np.int32)
    one = np.ones(1, dtype=np.float32)
    zero = np.zeros(1, dtype=np.float32)
    n, k = size[0:].ctypes, size[1:].ctypes
    uplo, trans = letters[0:].ctypes, letters[1:].ctypes
    _ssyrk(uplo, trans, n, k, one.ctypes, rows.ctypes, n, zero.ctypes, narrow.ctypes, n)
    for r in range(rows.shape[1]):
        for s in range(r, rows.shape[1]):
            total[r, s] = narrow[r, s] if fresh else total[r, s] + narrow[r, s]
