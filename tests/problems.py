"""Small random problems, made from the layers themselves and not through an estimator."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from qtkm.data import Box, build, encode
from qtkm.engines import Threads
from qtkm.features import REGISTRY, FeatureMap
from qtkm.losses import Squared
from qtkm.networks import CPD
from qtkm.objective import Column, Objective

NUMERIC = [name for name, cls in REGISTRY.items() if not cls.is_categorical]


def make_map(name: str, n_basis: int, quantization: Any = 2, period: float = 1.7) -> FeatureMap:
    """Feature map of a registered name, with those of the parameters that it has."""
    given = {
        "n_basis": n_basis,
        "n_categories": n_basis,
        "quantization": quantization,
        "period": period,
    }
    cls = REGISTRY[name]
    return cls(**{key: value for key, value in given.items() if key in cls().get_params()})


def make_columns(
    maps: Sequence[FeatureMap], n_rows: int, n_values: Sequence[int], rng: np.random.Generator
) -> tuple[list[Column], np.ndarray]:
    """Columns of so many distinct values, and the codes of random rows."""
    columns, codes = [], []
    for d, (feature_map, count) in enumerate(zip(maps, n_values, strict=True)):
        if feature_map.is_categorical:
            size = feature_map.n_features
            columns.append(Column(f"column {d}", feature_map, None, size))
            codes.append(rng.integers(size, size=n_rows))
            continue
        raw = rng.choice(rng.uniform(-3, 5, size=count), size=n_rows)
        low, high = float(raw.min()), float(raw.max())
        grid, column_codes = encode(raw, low, high, None)
        columns.append(Column(f"column {d}", feature_map, Box(low, high, "clip", "x"), grid))
        codes.append(column_codes)
    return columns, np.column_stack(codes).astype(np.uint16)


def make_objective(
    maps: Sequence[FeatureMap],
    n_rows: int = 60,
    n_values: Sequence[int] | None = None,
    n_outputs: int = 1,
    weighted: bool = False,
    residual: str = "complex",
    alpha: float = 1e-2,
    rank: int = 2,
    path: str = "auto",
    dtype: Any = np.float64,
    n_jobs: int = 1,
    seed: int = 0,
) -> Objective:
    """Objective over random rows.

    By default the first column has 3 distinct values and the second about as many as there
    are rows, so that sums meet large groups of rows, small ones and lonely rows.
    """
    rng = np.random.default_rng(seed)
    if n_values is None:
        n_values = [(3, n_rows, 10, 5)[d % 4] for d in range(len(maps))]
    columns, codes = make_columns(maps, n_rows, n_values, rng)
    target = rng.normal(size=(n_rows, n_outputs))
    weight = rng.uniform(0.2, 2, size=n_rows) if weighted else None
    shards = build(codes, target, weight, tuple(len(column) for column in columns))
    network, loss, engine = CPD(rank), Squared(residual), Threads(n_jobs)
    return Objective(columns, shards, network, loss, engine, alpha, 0.0, np.dtype(dtype), path)


def make_cores(objective: Objective, seed: int = 1) -> list[Any]:
    """Gaussian cores for an objective, complex where some map is."""
    rng = np.random.default_rng(seed)
    is_complex = any(column.feature_map.is_complex for column in objective.columns)

    def draw(shape: Any) -> Any:
        if isinstance(shape, list):
            return [draw(entry) for entry in shape]
        core = rng.normal(size=shape)
        return core + 1j * rng.normal(size=shape) if is_complex else core

    radices = [column.radices for column in objective.columns]
    return draw(objective.network.shapes(radices, objective.n_outputs))


def update(objective: Objective, iterate: Any, block: int, path: str = "statistics") -> list[float]:
    """Update the cores of a block, lowest level first; the objective after each."""
    problem = objective.problem(iterate, block, path)
    values = problem.sweep()
    problem.finish()
    return values
