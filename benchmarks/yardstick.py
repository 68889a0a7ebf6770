"""The paper's alternating least squares in plain NumPy: what qtkm is measured against.

This is the textbook algorithm, written for clarity and with NumPy used well: factors of
all sites computed once, every step vectorised over the rows, matrix products in BLAS.
Each core update touches all rows. It shares no code with qtkm.

Vocabulary: a *site* is one level of one column; its *factor* is the ``(n_rows, radix)``
matrix of features, its *core* the ``(radix, rank)`` matrix of weights. The *state* is the
``(n_rows, rank)`` product of all ``factor @ core``; the model is its sum over the rank.

``python -m benchmarks.yardstick FILE.npz ...`` checks it against recorded traces of the
authors' program.
"""

import sys
from time import perf_counter
from typing import NamedTuple

import numpy as np

__all__ = ["Trace", "als", "check_traces", "factors", "flatten", "predict", "radices"]


class Trace(NamedTuple):
    """What a fit did: flat list of cores, objective per core update, seconds per epoch."""

    cores: list
    objective_updates: np.ndarray
    seconds: np.ndarray


def radices(n_basis, quantization=2):
    """Split ``n_basis`` into digits: ``quantization`` while it divides, then primes."""
    digits, rest = [], n_basis
    while rest % quantization == 0:
        digits.append(quantization)
        rest //= quantization
    prime = 2
    while rest > 1:
        if rest % prime == 0:
            digits.append(prime)
            rest //= prime
        else:
            prime += 1
    return digits or [1]


def factors(X, n_basis, period, quantization=2):
    """Fourier factors of all sites, column by column, lowest digit first.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    n_basis : int
        Frequencies per column, from ``-(n_basis // 2)`` upwards.
    period : float
    quantization : int

    Returns
    -------
    list of ndarray of shape (n_rows, radix)
        Entry ``q`` of a level of weight ``B`` is ``exp(2i pi x q B / period)``. The phase
        ``exp(-2i pi x (n_basis // 2) / period)`` of a column is part of its first factor.
    """
    sites = []
    for x in X.T:
        angle = 2j * np.pi / period * x
        weight, first = 1, np.exp(-(n_basis // 2) * angle)
        for radix in radices(n_basis, quantization):
            factor = np.empty((len(x), radix), dtype=complex)
            factor[:, 0] = first
            step = np.exp(weight * angle)
            for q in range(1, radix):
                np.multiply(factor[:, q - 1], step, out=factor[:, q])
            sites.append(factor)
            weight, first = weight * radix, 1.0
    return sites


def flatten(cores):
    """Nested cores (a list of levels per column) as one list over the sites."""
    return [core for column in cores for core in column]


def als(sites, y, cores, alpha, n_epochs, block=None):
    """Minimise ``mean |f - y|**2 + alpha * |w|**2`` one core at a time.

    Parameters
    ----------
    sites : list of ndarray of shape (n_rows, radix)
        Factors, see `factors`.
    y : ndarray of shape (n_rows,)
    cores : list of ndarray of shape (radix, rank)
        Start, not overwritten.
    alpha : float
    n_epochs : int
    block : int or None
        Rows handled at a time; None takes all at once, as the textbook does. Blocks that
        stay in cache are somewhat faster on many rows.

    Returns
    -------
    Trace

    Notes
    -----
    With the other cores fixed the model is linear in one core: the design is the row-wise
    Khatri-Rao product of the site's factor and its environment, the state with the site's
    own response divided out, and the normal equations carry ``n_rows * alpha`` times the
    Hadamard product of the other cores' Gram matrices. An updated core is normalised and
    its scale moves to the next one; the last core of an epoch keeps it.
    """
    cores = [np.array(core, dtype=complex) for core in cores]
    grams = np.array([core.conj().T @ core for core in cores])
    blocks = [slice(i, i + (block or len(y))) for i in range(0, len(y), block or len(y))]
    state = _response(sites, cores)
    objective, seconds = [], []
    for _ in range(n_epochs):
        start = perf_counter()
        for site, factor in enumerate(sites):
            other_grams = np.prod(np.delete(grams, site, axis=0), axis=0)
            environment = _divide_out(state, factor, cores[site], blocks)
            core = _solve_core(factor, environment, y, alpha, other_grams, blocks)
            state, loss = _multiply_in(environment, factor, core, y, blocks)
            cores[site], grams[site] = core, core.conj().T @ core
            penalty = alpha * (other_grams * grams[site]).sum().real
            objective.append(loss / len(y) + penalty)
            if site + 1 < len(sites):
                _push_scale(cores, grams, site)
        seconds.append(perf_counter() - start)
    return Trace(cores, np.array(objective), np.array(seconds))


def _response(sites, cores):
    """Product over the sites of ``factor @ core``, of shape (n_rows, rank)."""
    state = sites[0] @ cores[0]
    for factor, core in zip(sites[1:], cores[1:], strict=True):
        state *= factor @ core
    return state


def _divide_out(state, factor, core, blocks):
    """The environment of a site, in place of the state."""
    for rows in blocks:
        state[rows] /= factor[rows] @ core
    return state


def _solve_core(factor, environment, y, alpha, other_grams, blocks):
    """Solve the normal equations of one core."""
    n_rows, radix = factor.shape
    gram = n_rows * alpha * np.kron(np.eye(radix), other_grams)
    target = np.zeros(len(gram), dtype=complex)
    for rows in blocks:
        design = factor[rows, :, None] * environment[rows, None, :]
        design = design.reshape(len(design), -1)
        adjoint = design.conj().T
        gram += adjoint @ design
        target += adjoint @ y[rows]
    return np.linalg.solve(gram, target).reshape(radix, -1)


def _multiply_in(environment, factor, core, y, blocks):
    """The state, in place of the environment, and the sum of squared residuals."""
    loss = 0.0
    for rows in blocks:
        environment[rows] *= factor[rows] @ core
        residual = environment[rows].sum(axis=1) - y[rows]
        loss += np.vdot(residual, residual).real
    return environment, loss


def _push_scale(cores, grams, site):
    """Normalise the columns of a core; the state does not change."""
    scale = np.linalg.norm(cores[site], axis=0)
    outer = np.outer(scale, scale)
    cores[site] /= scale
    grams[site] /= outer
    cores[site + 1] *= scale
    grams[site + 1] *= outer


def train_epoch(sites, y, cores, alpha):
    """One epoch of textbook alternating least squares of a tensor train.

    Parameters
    ----------
    sites : list of ndarray of shape (n_rows, radix)
    y : ndarray of shape (n_rows,)
    cores : list of ndarray of shape (left, radix, right)
        Start, right-orthogonal from the second core on; not overwritten.
    alpha : float

    Returns
    -------
    cores : list
    objective : float

    Notes
    -----
    The products of the cores to the right are kept for all rows and sites, those to the left
    are carried along.  The design of a core is the row-wise product of left state, factor and
    right state; the core is solved for, made left-orthogonal, and its factor given on.  In
    this gauge the penalty is alpha times the squared entries of the core at hand.
    """
    cores = [np.array(core, dtype=complex) for core in cores]
    right = [np.ones((len(y), 1), dtype=complex)]
    for factor, core in zip(sites[:0:-1], cores[:0:-1], strict=True):
        moved = right[-1] @ core.reshape(-1, core.shape[2]).T  # (n_rows, left·radix)
        moved = moved.reshape(len(y), *core.shape[:2])
        right.append(_weigh(moved.transpose(2, 0, 1), factor))
    left = np.ones((len(y), 1), dtype=complex)
    for site, factor in enumerate(sites):
        after = right.pop()
        design = (left[:, :, None] * factor[:, None, :]).reshape(len(y), -1)
        design = (design[:, :, None] * after[:, None, :]).reshape(len(y), -1)
        adjoint = design.conj().T
        gram = adjoint @ design
        gram.flat[:: len(gram) + 1] += len(y) * alpha
        core = np.linalg.solve(gram, adjoint @ y)
        shape = cores[site].shape
        if site + 1 == len(sites):
            cores[site] = core.reshape(shape)
            residual = design @ core - y
            break
        q, r = np.linalg.qr(core.reshape(-1, shape[2]))
        cores[site] = q.reshape(shape)
        cores[site + 1] = np.tensordot(r, cores[site + 1], 1)
        moved = (left @ q.reshape(shape[0], -1)).reshape(len(y), shape[1], shape[2])
        left = _weigh(moved.transpose(1, 0, 2), factor)
    penalty = alpha * np.vdot(core, core).real
    return cores, float(np.vdot(residual, residual).real / len(y) + penalty)


def _weigh(states, factor):
    """Sum over a site's entries of ``factor[:, q] * states[q]``, of shape (n_rows, rank)."""
    total = states[0] * factor[:, :1]
    for q in range(1, len(states)):
        total += states[q] * factor[:, q, None]
    return total


def predict(X, cores, n_basis, period, quantization=2, block=2048):
    """Real part of the model at the rows of ``X``.

    Rows go through in blocks that stay in cache, which is faster than all at once and
    bounds the memory.
    """
    result = np.empty(len(X))
    for start in range(0, len(X), block):
        sites = factors(X[start : start + block], n_basis, period, quantization)
        result[start : start + block] = _response(sites, cores).sum(axis=1).real
    return result


def check_traces(paths):
    """Largest relative deviation from each recorded Fourier trace.

    Parameters
    ----------
    paths : iterable of path-like
        ``.npz`` files with the inputs, the start and the losses of the authors' program.

    Returns
    -------
    dict
        Path to ``(deviation of the losses, deviation of the test predictions)``.
    """
    deviations = {}
    for path in paths:
        with np.load(path) as trace:
            if str(trace["kind"]) != "fourier":
                continue
            n_basis, period = int(trace["M"]), float(trace["L"])
            start = [core for column in trace["W0"].swapaxes(0, 1) for core in column]
            sites = factors(trace["X"], n_basis, period)
            fit = als(sites, trace["y"], start, float(trace["alpha"]), int(trace["sweeps"]))
            losses, tests = trace["loss_quantized"], trace["pred_quantized"]
            predicted = predict(trace["Xt"], fit.cores, n_basis, period)
            deviations[str(path)] = (
                np.max(np.abs(fit.objective_updates / losses - 1)),
                np.max(np.abs(predicted - tests)) / np.max(np.abs(tests)),
            )
    return deviations


if __name__ == "__main__":
    worst = 0.0
    for name, (loss, prediction) in check_traces(sys.argv[1:]).items():
        print(f"{name}: losses {loss:.1e}, predictions {prediction:.1e}")
        worst = max(worst, loss, prediction)
    sys.exit(int(worst > 1e-6))
