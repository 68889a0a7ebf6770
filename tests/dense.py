"""The model written out: all features, all weights, one plain sum over the rows.

Nothing here is shared with the library but the order of basis functions and cores: features
and losses come from their definition, the weight tensor is one sum over all indices of the
network, and whatever is linear in a core follows from putting unit cores in its place.
"""

from typing import Any

import numpy as np
from scipy.special import xlogy

from qtkm.networks import flatten, unflatten

#: the basis functions of numbers m at some values
DEFINITIONS = {
    "Categorical": lambda feature_map, values, m: (
        (values == m - feature_map.pooled) | (feature_map.pooled & (m == 0))
    ).astype(float),
    "Power": lambda feature_map, values, m: values**m,
    "Fourier": lambda feature_map, values, m: np.exp(
        2j * np.pi * values * (m - feature_map.n_features // 2) / feature_map.period
    ),
}


def features(feature_map: Any, values: np.ndarray) -> np.ndarray:
    """All basis functions at some values, from their definition: (n, M).

    A map that has none here is taken at its word; tests/features compares it with its factors.
    """
    definition = DEFINITIONS.get(type(feature_map).__name__)
    if definition is None:
        return feature_map.features(values)
    return definition(feature_map, values[:, None], np.arange(feature_map.n_features))


def all_features(columns: list[np.ndarray]) -> np.ndarray:
    """Products of the basis functions (n, M) of all columns: (n, ΠM)."""
    phi = np.ones((len(columns[0]), 1))
    for column in columns:
        phi = (phi[:, :, None] * column[:, None, :]).reshape(len(phi), -1)
    return phi


def rows(objective: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All basis functions of all columns (n_rows, ΠM), targets and weights of the fit."""
    shards = objective.shards
    codes = np.concatenate([shard.codes for shard in shards])
    target = np.concatenate([shard.target for shard in shards])
    weight = [np.ones(len(s)) if s.weight is None else s.weight for s in shards]
    columns = [
        features(column.feature_map, column.values[codes[:, d]])
        for d, column in enumerate(objective.columns)
    ]
    return all_features(columns), target, np.concatenate(weight)


# -- the weight tensor ------------------------------------------------------------------------


def weights(cores: list[Any]) -> np.ndarray:
    """The weight tensor of a CPD, one column an output: (ΠM, n_outputs)."""
    rank = cores[0][0].shape[1]
    terms = np.ones((1, rank))
    output = np.ones((1, rank))
    for entry in cores:
        if not isinstance(entry, list):
            output = entry
            continue
        column = np.ones((1, rank))
        for core in entry:  # the lowest digit runs fastest
            column = (core[:, None, :] * column[None, :, :]).reshape(-1, rank)
        terms = (terms[:, None, :] * column[None, :, :]).reshape(-1, rank)
    return terms @ output.T


def tensor(objective: Any, cores: list[Any]) -> np.ndarray:
    """The weight tensor of any network, one column an output: (ΠM, n_outputs)."""
    terms, result = _indices(objective)
    whole = _sum(flatten(cores), terms, result)
    return whole.reshape(-1, objective.n_outputs)


def tangents(objective: Any, cores: list[Any], position: int) -> np.ndarray:
    """The weight tensor for every unit core in the place of one: (size, ΠM, n_outputs).

    The tensor is linear in each core, so this is its derivative with respect to that core.
    """
    terms, result = _indices(objective)
    flat = flatten(cores)
    core = flat[position]
    unit = max(index for term in terms for index in term) + 1
    flat[position] = np.eye(core.size, dtype=core.dtype).reshape(core.size, *core.shape)
    terms[position] = [unit, *terms[position]]
    whole = _sum(flat, terms, [unit, *result])
    return whole.reshape(core.size, -1, objective.n_outputs)


def _indices(objective: Any) -> tuple[list[list[int]], list[int]]:
    """Indices of every core's axes, and of the tensor: the lowest digit runs fastest."""
    radices = [column.radices for column in objective.columns]
    structure = objective.network.structure(radices, objective.n_outputs)
    terms = [list(edges) for edges in structure.edges_of]
    if hasattr(objective.network, "is_ring"):  # cores (left, Q, right)
        terms = _chain(structure, objective.network.is_ring)
    sites = [(d, k) for d, column in enumerate(radices) for k in reversed(range(len(column)))]
    if objective.n_outputs > 1:
        sites.append((len(radices), 0))
    return terms, [structure.legs[site] for site in sites]


def _chain(structure: Any, is_ring: bool) -> list[list[int]]:
    """Indices (left, leg, right) of cores in a row; open ends have indices of size 1."""
    edges, count = structure.edges, len(structure.edges)
    bonds = [e for e in range(count) if edges[e].site is None]
    legs = [e for e in range(count) if edges[e].site is not None]
    bonds = [*bonds, bonds[0]] if is_ring and bonds else [count, *bonds, count + 1]
    return [[bonds[k], leg, bonds[k + 1]] for k, leg in enumerate(legs)]


def _sum(arrays: list[np.ndarray], terms: list[list[int]], result: list[int]) -> np.ndarray:
    """Sum over all indices that the result does not have."""
    operands = [x for pair in zip(arrays, terms, strict=True) for x in pair]
    return np.einsum(*operands, result, optimize="greedy")


# -- the objective ----------------------------------------------------------------------------


def precisions(objective: Any) -> np.ndarray:
    """What the penalty multiplies the squared weight of every product of functions by: (ΠM, 1)."""
    product = np.ones(1)
    for column, penalty in zip(objective.columns, objective.penalties or [], strict=False):
        variances = penalty.variances_of(column.feature_map)
        own = np.ones(column.feature_map.n_features) if variances is None else 1 / variances
        product = np.multiply.outer(product, own).ravel()
    return product[:, None]


#: what (Im f)² is multiplied by in losses of a complex residual
IMAGINARY = {"Logistic": 1 / 8, "Softmax": 1 / 4, "SquaredHinge": 1.0}


def losses(loss: Any, response: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Loss of every row from its definition: (..., n_outputs) -> (...).

    A loss that has none here is taken at its word; tests/losses compares it with its slopes.
    """
    name, real = type(loss).__name__, response.real
    if name in IMAGINARY and loss.residual == "complex":
        penalty = IMAGINARY[name] * np.sum(response.imag**2, axis=-1)
        return penalty + losses(type(loss)("real"), real, target)
    if loss.has_log_link:
        return _deviances(loss, response, target).sum(axis=-1)
    if name in ("Huber", "Quantile"):
        residual = (response if loss.sees_complex else real) - target
        return _beside_a_line(loss, np.abs(residual), residual.real).sum(axis=-1)
    if name == "Squared":
        return np.sum(np.abs((real if loss.residual == "real" else response) - target) ** 2, -1)
    if name == "Softmax":
        shift = real.max(axis=-1, keepdims=True)
        total = np.log(np.exp(real - shift).sum(axis=-1)) + shift[..., 0]
        return total - np.sum(real * (target > 0), axis=-1)
    short = 1 - target * real
    if name == "Logistic":
        return np.logaddexp(0, short - 1).sum(axis=-1)
    if name == "SquaredHinge":
        return (np.maximum(short, 0) ** 2).sum(axis=-1)
    if name != "Hinge":
        return _row_by_row(loss, response, target)
    distance = np.abs(1 - target * (response if loss.sees_complex else real))
    corner = (distance**2 + loss.smoothing**2) / (2 * loss.smoothing or 1)
    return (short + np.where(distance < loss.smoothing, corner, distance)).sum(axis=-1) / 2


def _row_by_row(loss: Any, response: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Call a loss with a leading axis of many responses as if they were many rows."""
    n_outputs = response.shape[-1]
    rows = np.broadcast_to(target, response.shape).reshape(-1, n_outputs)
    return loss.value(response.reshape(-1, n_outputs), rows).reshape(response.shape[:-1])


def _deviances(loss: Any, response: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Deviance of every response, and what Im f adds to it."""
    mean, power = np.exp(response.real), loss.power
    if power == 1:
        deviance = 2 * (xlogy(target, target / mean) - target + mean)
    elif power == 2:
        deviance = 2 * (target / mean - 1 - np.log(target / mean))
    else:
        integrals = (target / mean ** (power - 1) / (power - 1), mean ** (2 - power) / (2 - power))
        least = target ** (2 - power) / (power - 1) / (2 - power)
        deviance = 2 * (sum(integrals) - least)
    curvature = 2 * mean ** (1 - power) * np.maximum(mean, target)
    return deviance + loss.sees_complex * curvature * response.imag**2 / 2


def _beside_a_line(loss: Any, distance: np.ndarray, residual: np.ndarray) -> np.ndarray:
    """Huber and quantile losses of |f - y| and Re f - y."""
    if hasattr(loss, "delta"):
        delta = loss.delta
        return np.where(distance < delta, distance**2, 2 * delta * distance - delta**2)
    width = loss.smoothing
    rounded = np.where(distance < width, (distance**2 + width**2) / (2 * width), distance)
    return rounded / 2 + (0.5 - loss.level) * residual


def distance_to_kinks(loss: Any, response: np.ndarray, target: np.ndarray) -> np.ndarray:
    """How far every row is from where the loss has no second derivative, (n,)."""
    name, width = type(loss).__name__, getattr(loss, "smoothing", getattr(loss, "delta", 0.0))
    if loss.has_log_link:
        return np.abs(np.exp(response.real) - target).min(axis=-1)
    if name in ("Huber", "Quantile", "Hinge"):
        residual = (response if loss.sees_complex else response.real) - target
        return np.abs(np.abs(residual) - width).min(axis=-1)
    if name != "SquaredHinge":
        return np.full(len(response), np.inf)
    return np.abs(np.abs(1 - target * response.real) - width).min(axis=-1)


def value(objective: Any, cores: list[Any]) -> float:
    """The objective, from its definition."""
    phi, target, weight = rows(objective)
    w = tensor(objective, cores)
    loss = weight @ losses(objective.loss, phi @ w, target) / weight.sum()
    return float(loss + objective.alpha * np.sum(precisions(objective) * np.abs(w) ** 2))


def gradient(objective: Any, cores: list[Any], step: float = 1e-5) -> list[Any]:
    """Central differences of the objective by every entry of every core, Re and Im."""
    phi, target, weight = rows(objective)
    w = tensor(objective, cores)
    response, total, rho = phi @ w, weight.sum(), precisions(objective)

    def change(moved: np.ndarray) -> np.ndarray:
        """Differences along changes of the weights, (size, ΠM, n_outputs)."""
        ends = [
            losses(objective.loss, response + sign * step * (phi @ moved), target) @ weight / total
            + objective.alpha * np.sum(rho * np.abs(w + sign * step * moved) ** 2, axis=(1, 2))
            for sign in (1, -1)
        ]
        return (ends[0] - ends[1]) / (2 * step)

    flat = []
    for position, core in enumerate(flatten(cores)):
        moved = tangents(objective, cores, position)
        slope = change(moved)
        if np.iscomplexobj(core):
            slope = slope + 1j * change(1j * moved)
        flat.append(slope.reshape(core.shape))
    return unflatten(cores, flat)


def best_core(objective: Any, cores: list[Any], block: int, level: int) -> tuple[Any, float]:
    """Minimiser of the objective over one core, and the minimum, by one least squares."""
    phi, target, weight = rows(objective)
    root = np.sqrt(weight / weight.sum())[:, None]
    core = cores[block][level] if isinstance(cores[block], list) else cores[block]
    before = sum(len(entry) if isinstance(entry, list) else 1 for entry in cores[:block])
    units = tangents(objective, cores, before + level)
    design = (root * (phi @ units)).reshape(core.size, -1).T
    penalty = (np.sqrt(objective.alpha * precisions(objective)) * units).reshape(core.size, -1).T
    goal = (root * target).ravel()
    if np.iscomplexobj(core):  # unknowns [Re | Im], equations for Re and Im
        equations = [np.hstack([design.real, -design.imag])]
        if objective.loss.residual == "complex":
            equations.append(np.hstack([design.imag, design.real]))
        equations.append(np.hstack([penalty.real, -penalty.imag]))
        equations.append(np.hstack([penalty.imag, penalty.real]))
    else:
        equations = [design, penalty]
    matrix = np.vstack(equations)
    right = np.concatenate([goal, np.zeros(len(matrix) - len(goal))])
    solution = np.linalg.lstsq(matrix, right, rcond=1e-13)[0]
    minimum = float(np.sum((matrix @ solution - right) ** 2))
    if np.iscomplexobj(core):
        solution = solution[: core.size] + 1j * solution[core.size :]
    return solution.reshape(core.shape), minimum


def replace(cores: list[Any], block: int, level: int, core: np.ndarray) -> list[Any]:
    """Cores with one of them replaced."""
    new = [list(entry) if isinstance(entry, list) else entry for entry in cores]
    if isinstance(new[block], list):
        new[block][level] = core
    else:
        new[block] = core
    return new
