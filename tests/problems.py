"""Small random problems, made from the layers themselves and not through an estimator."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from qtkm.data import Box
from qtkm.engines import Threads
from qtkm.features import REGISTRY, FeatureMap
from qtkm.limits import LIMITS
from qtkm.losses import REGISTRY as LOSSES
from qtkm.losses import Loss
from qtkm.networks import REGISTRY as NETWORKS
from qtkm.networks import Graph, Network, flatten, unflatten
from qtkm.objective import Column, Objective
from qtkm.penalties import REGISTRY as PENALTIES
from qtkm.penalties import Penalty
from tests.coded import build, encode

NUMERIC = [name for name, cls in REGISTRY.items() if not cls.is_categorical]


class Bumps(FeatureMap):
    """A map of a user's own, whose products of functions all differ."""

    def __init__(self, quantization=(3, 2, 2)):
        self.quantization = quantization

    @property
    def radices(self):
        return tuple(self.quantization)

    def factors(self, values):
        places = np.arange(sum(self.radices)) / 3 + 0.1
        return np.exp(-((np.asarray(values)[:, None] - places) ** 2))

    @property
    def frequencies(self):
        return np.arange(self.n_features, dtype=float)


class Chirps(Bumps):
    """The same with complex functions, each of a size of its own."""

    is_complex = True

    def factors(self, values):
        bumps = super().factors(values)
        return bumps * np.exp(2j * bumps)

    @property
    def frequencies(self):
        return np.arange(self.n_features) - 4.0


class Damped(FeatureMap):
    """Damped waves, whose products depend on sums, but are no conjugates of one another."""

    is_complex = True
    radices = (5,)

    def factors(self, values):
        return np.exp(np.multiply.outer(np.asarray(values), (2j - 1) * np.arange(-2, 3)))

    def kind(self, conjugate):
        return "pairs" if conjugate else "sums"


#: what columns a problem may have: (name, number of basis functions, quantization) of each
MODELS = {
    "fourier": [("fourier", 4, 2), ("fourier", 6, "prime")],
    "fourier not quantized": [("fourier", 4, None), ("fourier", 3, None), ("fourier", 2, None)],
    "power": [("power", 4, 2), ("power", 3, None)],
    "mixed": [("fourier", 4, 2), ("categorical", 3, None), ("power", 4, 2)],
}


def use_loops(monkeypatch: Any, loops: str) -> None:
    """Make all passes over rows run in NumPy ("numpy") or in compiled loops ("compiled")."""
    monkeypatch.setattr(LIMITS, "few_rows", 10**9 if loops == "numpy" else 0)


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


def make_penalty(name: str, **parameters: Any) -> Penalty:
    """Penalty of a registered name whose variances differ by about ten, where it has any."""
    given = {"length_scale": 0.15, "share": 0.8, **parameters}
    cls = PENALTIES[name]
    return cls(**{key: value for key, value in given.items() if key in cls().get_params()})


def make_maps(model: str | Sequence[Any]) -> list[FeatureMap]:
    """Feature maps of the columns of a model; a column may be given as a map itself."""
    columns = MODELS[model] if isinstance(model, str) else model
    return [c if isinstance(c, FeatureMap) else make_map(*c) for c in columns]


def make_network(name: str, rank: Any, radices: Sequence[Sequence[int]]) -> Network:
    """Network of a registered name; for "graph" an example that fits the sites."""
    return example_graph(radices) if name == "graph" else NETWORKS[name](rank=rank)


def example_graph(radices: Sequence[Sequence[int]]) -> Graph:
    """Two sites a vertex; an index that all vertices share, and bonds between neighbours.

    The outputs, if there are several, have their leg at the first vertex.
    """
    sites: list[Any] = [(d, k) for d, column in enumerate(radices) for k in range(len(column))]
    vertices = {f"v{i // 2}": sites[i : i + 2] for i in range(0, len(sites), 2)}
    vertices["v0"] = [*vertices["v0"], "outputs"]
    names = list(vertices)
    edges: list[Any] = [(f"{a}-{b}", (a, b), 2) for a, b in pairwise(names)]
    return Graph(vertices, [*edges, ("shared", names, 2)] if edges else [])


def make_loss(loss: str | Loss, residual: str) -> Loss:
    """Loss of a registered name, with the kind of residual where it has one."""
    if not isinstance(loss, str):
        return loss
    cls = LOSSES[loss]
    return cls(residual=residual) if "residual" in cls().get_params() else cls()


def make_target(loss: Loss, n_rows: int, n_outputs: int, rng: np.random.Generator) -> np.ndarray:
    """Targets that a loss is made for: numbers, signs, or one sign +1 among several a row.

    With a logarithmic link, positive numbers, and zeros where the loss takes them.
    """
    if loss.has_log_link:
        target = rng.gamma(2, size=(n_rows, n_outputs))
        return target if getattr(loss, "power", 1) == 2 else np.floor(target)
    if not loss.is_margin:
        return rng.normal(size=(n_rows, n_outputs))
    if n_outputs == 1:
        return rng.choice([-1.0, 1.0], size=(n_rows, 1))
    return 2 * np.eye(n_outputs)[rng.integers(n_outputs, size=n_rows)] - 1


def make_columns(
    maps: Sequence[FeatureMap], n_rows: int, n_values: Sequence[int], rng: np.random.Generator
) -> tuple[list[Column], np.ndarray]:
    """Columns of so many distinct values, and the codes of random rows."""
    columns, codes = [], []
    for d, (feature_map, count) in enumerate(zip(maps, n_values, strict=True)):
        if feature_map.is_categorical:
            size = feature_map.n_categories
            columns.append(Column(f"column {d}", feature_map, None, size))
            codes.append(rng.integers(size, size=n_rows))
            continue
        raw = rng.choice(rng.uniform(-3, 5, size=count), size=n_rows)
        low, high = float(raw.min()), float(raw.max())
        if feature_map.has_gaps:
            raw = np.where(rng.random(n_rows) < 0.3, np.nan, raw)
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
    penalty: Penalty | Sequence[Penalty] | None = None,
    dtype: Any = np.float64,
    n_jobs: int = 1,
    seed: int = 0,
    network: str | Network = "cpd",
    loss: str | Loss = "squared",
) -> Objective:
    """Objective over random rows.

    One penalty serves all columns, or there is one per column.  Network and loss are given by name
    or as objects; `rank` and `residual` belong to names.

    By default the first column has 3 distinct values and the second about as many as there
    are rows, so that sums meet large groups of rows, small ones and lonely rows.
    """
    rng = np.random.default_rng(seed)
    if n_values is None:
        n_values = [(3, n_rows, 10, 5)[d % 4] for d in range(len(maps))]
    columns, codes = make_columns(maps, n_rows, n_values, rng)
    loss = make_loss(loss, residual)
    target = make_target(loss, n_rows, n_outputs, rng)
    weight = rng.uniform(0.2, 2, size=n_rows) if weighted else None
    shards = build(codes, target, weight, tuple(len(column) for column in columns))
    if isinstance(network, str):
        network = make_network(network, rank, [column.radices for column in columns])
    if penalty is not None and not isinstance(penalty, Sequence):
        penalty = [penalty] * len(columns)
    kind = np.dtype(dtype)
    return Objective(columns, shards, network, loss, Threads(n_jobs), alpha, kind, penalty)


def make_cores(objective: Objective, seed: int = 1, size: float | None = None) -> list[Any]:
    """Gaussian cores for an objective, complex where some map is.

    With a size, they are scaled so that it is the root mean square of the real responses.
    """
    rng = np.random.default_rng(seed)
    cores = _draw(objective.shapes, objective.is_complex, rng)
    if size is not None:
        iterate = objective.at(cores)
        squares = [iterate.responses(shard).real ** 2 for shard in objective.shards]
        flat = flatten(cores)
        scale = (size / np.sqrt(np.mean(np.concatenate(squares)))) ** (1 / len(flat))
        cores = unflatten(cores, [scale * core for core in flat])
    return cores


def random_like(cores: list[Any], seed: int = 5) -> list[Any]:
    """Gaussian arrays of the shapes and the type of some cores."""
    rng, flat = np.random.default_rng(seed), flatten(cores)
    is_complex = np.iscomplexobj(flat[0])
    return unflatten(cores, [_draw(core.shape, is_complex, rng) for core in flat])


def _draw(shape: Any, is_complex: bool, rng: np.random.Generator) -> Any:
    if isinstance(shape, list):
        return [_draw(entry, is_complex, rng) for entry in shape]
    core = rng.normal(size=shape)
    return core + 1j * rng.normal(size=shape) if is_complex else core


def update(objective: Objective, iterate: Any, block: int) -> list[float]:
    """Update the cores of a block, lowest level first; the objective after each."""
    problem = iterate.problem(block, objective.setting)
    values = problem.sweep()
    problem.finish()
    return values
