"""The model written out: all features, all weights, one plain least-squares problem.

Nothing here is shared with the library but the order of basis functions and cores: features
come from their definition, the weight tensor is formed, and the design of a core follows
from the response being linear in it.
"""

from typing import Any

import numpy as np


def features(feature_map: Any, values: np.ndarray) -> np.ndarray:
    """All basis functions at some values, from their definition: (n, M)."""
    m = np.arange(feature_map.n_features)
    if feature_map.is_categorical:
        return (values[:, None] == m).astype(float)
    if not feature_map.is_complex:
        return values[:, None] ** m
    frequency = m - len(m) // 2
    return np.exp(2j * np.pi * values[:, None] * frequency / feature_map.period)


def rows(objective: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All basis functions of all columns (n_rows, ΠM), targets and weights of the fit."""
    shards = objective.shards
    codes = np.concatenate([shard.codes for shard in shards])
    target = np.concatenate([shard.target for shard in shards])
    weight = [np.ones(len(s)) if s.weight is None else s.weight for s in shards]
    phi = np.ones((len(codes), 1))
    for d, column in enumerate(objective.columns):
        phi = _row_products(phi, features(column.feature_map, column.values[codes[:, d]]))
    return phi, target, np.concatenate(weight)


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


def value(objective: Any, cores: list[Any]) -> float:
    """The objective, from its definition."""
    phi, target, weight = rows(objective)
    w = weights(cores)
    error = phi @ w - target
    if objective.loss.residual == "real":
        error = error.real
    loss = weight @ (np.abs(error) ** 2).sum(axis=1) / weight.sum()
    return float(loss + objective.alpha * np.sum(np.abs(w) ** 2))


def best_core(objective: Any, cores: list[Any], block: int, level: int) -> tuple[Any, float]:
    """Minimiser of the objective over one core, and the minimum, by one least squares."""
    phi, target, weight = rows(objective)
    root = np.sqrt(weight / weight.sum())[:, None]
    core = _core(cores, block, level)
    units = np.eye(core.size, dtype=core.dtype).reshape(core.size, *core.shape)
    tensors = [weights(replace(cores, block, level, unit)) for unit in units]
    design = np.column_stack([(root * (phi @ w)).ravel() for w in tensors])
    penalty = np.sqrt(objective.alpha) * np.column_stack([w.ravel() for w in tensors])
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


def _core(cores: list[Any], block: int, level: int) -> np.ndarray:
    return cores[block][level] if isinstance(cores[block], list) else cores[block]


def _row_products(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)
