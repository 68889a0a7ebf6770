"""What trains and rings share: cores (left, Q, right) in a row, tables that are matrices.

    R₀ ─[W₁]─[W₂]─ … ─[W_n]─ R₀          f = tr Π_sites Σ_q s_q·W[:, q, :]
         │    │        │
         s₁   s₂       s_n

A column's table is the product of its levels' matrices, so that a row costs O(D·R²) (O(D·R³)
for a ring) whatever the number of basis functions is.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.products import wide
from . import product_cores as algebra
from . import product_levels as levels
from .cpd import site_legs
from .network import Cores, Network, Run, flatten, like
from .planes import as_planes
from .product_evaluate import ProductEvaluator
from .product_pairs import PairProblem, Truncation
from .product_passes import GradientPass, ResponsePass, Tables, TangentPass, respond
from .product_paths import choose_paths
from .product_problems import make_problem
from .structure import Edge, Structure
from .train_frame import TrainFrame

#: size of the noise of a smooth start
SMOOTH_NOISE = 0.1


class MatrixProduct(Network):
    """A train or a ring; see the subclasses.

    Parameters
    ----------
    rank : int, sequence of int or "auto"
    """

    is_ring = False

    def __init__(self, rank="auto"):
        self.rank = rank

    def check(self) -> None:
        """Raise a ValueError for parameters that make no sense."""
        algebra.check_rank(self.rank)

    def default_rank(self, n_rows: int, n_columns: int) -> int:
        """Rank that "auto" stands for: about as many parameters as a CPD would have."""
        return max(2, round(super().default_rank(n_rows, n_columns) ** 0.5))

    def rank_of(self, cores: Any) -> list[int] | None:
        """Bonds of cores that a user gives, or None where they cannot be seen."""
        try:
            left = [int(np.shape(core)[0]) for core in flatten(list(cores))]
        except (IndexError, TypeError, ValueError):
            return None
        return (left if self.is_ring else left[1:]) or None

    def fitted_to(self, cores: Cores) -> "MatrixProduct":
        """The same network with the ranks of some cores, where they differ from its own."""
        shapes = [core.shape for core in flatten(cores)]
        bonds = [shape[0] for shape in shapes] + [shapes[-1][2]]
        if bonds == self.bonds([shape[1] for shape in shapes]):
            return self
        return type(self)(self.rank_of(cores))

    def bonds(self, sizes: Sequence[int]) -> list[int]:
        """Bonds before, between and after sites of given sizes."""
        raise NotImplementedError

    def structure(self, radices: Sequence[Sequence[int]], n_outputs: int) -> Structure:
        """Vertices and edges for the sites of a fit."""
        legs, names = site_legs(radices, n_outputs)
        bonds = self.bonds([leg.size for leg in legs])
        count = len(names)
        edges: list[Edge] = []
        for k, leg in enumerate(legs):
            if k > 0:
                edges.append(Edge(f"bond {k}", bonds[k], (k - 1, k)))
            edges.append(leg)
        if self.is_ring and count > 1:
            edges.insert(0, Edge("bond 0", bonds[0], (0, count - 1)))
        return Structure(names, tuple(edges))

    def shapes(self, radices: Sequence[Sequence[int]], n_outputs: int) -> list[Any]:
        """Shapes (left, Q, right) of the cores, in the layout of the cores."""
        legs, _ = site_legs(radices, n_outputs)
        bonds = self.bonds([leg.size for leg in legs])
        flat = [(bonds[k], leg.size, bonds[k + 1]) for k, leg in enumerate(legs)]
        shapes: list[Any] = [[flat.pop(0) for _ in column] for column in radices]
        return shapes + flat

    def start(
        self,
        constants: Sequence[Sequence[NDArray]],
        n_outputs: int,
        is_complex: bool,
        kind: str,
        rng: np.random.RandomState,
    ) -> Cores:
        """Cores to start from, in the network's gauge; see `Network.start`."""
        shapes = self.shapes([[len(c) for c in column] for column in constants], n_outputs)
        flat = [c for column in constants for c in column]
        if n_outputs > 1:
            flat.append(np.zeros(n_outputs))
        sites = [
            self._core(constant, shape, is_complex, kind, rng)
            for constant, shape in zip(flat, flatten(shapes), strict=True)
        ]
        # the norm of the constant function 1, so that responses are of order one
        scale = algebra.squared_norm(sites) ** (-0.5 / len(sites))
        return like(shapes, self.settle([scale * core for core in sites]))

    def _core(self, constant, shape, is_complex, kind, rng):
        noise = rng.standard_normal(shape)
        if is_complex:
            noise = noise + 1j * rng.standard_normal(shape)
        if kind == "random" or not constant.any():
            return noise / np.linalg.norm(noise)
        # noise that does not grow over many sites: a product of R×R matrices grows like √R each
        eye, size = np.eye(shape[0], shape[2]), SMOOTH_NOISE / max(shape[0], shape[2]) ** 0.5
        return constant[None, :, None] * eye[:, None, :] + size * noise

    def settle(self, sites: list[NDArray]) -> list[NDArray]:
        """The same network in the gauge that an epoch begins with."""
        raise NotImplementedError

    def iterate(
        self, columns: Sequence[Any], cores: Cores, dtype: Any, run: Run
    ) -> "ProductIterate":
        """Cores with their tables, ready to be updated."""
        return ProductIterate(self, columns, cores, dtype, run)

    def numbers_held(
        self, sizes: Sequence[int], radices: Sequence[Sequence[int]], n_outputs: int, planes: int
    ) -> tuple[int, int]:
        """Numbers that a fit from sums over shards holds; see `Network.numbers_held`."""
        size = max(shape[0] * shape[2] for shape in flatten(self.shapes(radices, n_outputs)))
        square = planes**2 * size * (size + 1) // 2
        return 2 * planes * size * sum(sizes), max(sizes) * (square + planes * size)

    def dense(self, cores: Cores, radices: Sequence[Sequence[int]]) -> NDArray:
        """The whole weight tensor, (ΠM, n_outputs)."""
        outer = cores[0][0].shape[0]
        whole = np.eye(outer, dtype=cores[0][0].dtype)[:, None, :]  # (R₀, M, right)
        for entry in cores[: len(radices)]:
            column = entry[0]
            for core in entry[1:]:  # the lowest digit runs fastest
                column = np.einsum("aqb,bpc->apqc", column, core)
                column = column.reshape(len(column), -1, core.shape[2])
            whole = np.einsum("amb,bnc->amnc", whole, column)
            whole = whole.reshape(outer, -1, column.shape[2])
        if len(cores) > len(radices):
            return np.einsum("amb,bka->mk", whole, cores[-1])
        return np.einsum("ama->m", whole)[:, None]

    def evaluator(self, cores: Cores, frequencies: Sequence[NDArray | None]) -> ProductEvaluator:
        """Cores made ready for values that lie on no grid."""
        return ProductEvaluator(cores, frequencies)


class ProductIterate:
    """Cores of a train or ring and their tables."""

    def __init__(
        self, network: MatrixProduct, columns: Sequence[Any], cores: Cores, dtype: Any, run: Run
    ):
        self.network, self.columns, self.run, self.dtype = network, columns, run, dtype
        self.cores: Cores = [list(c) if isinstance(c, list) else c for c in cores]
        self.is_complex = np.iscomplexobj(flatten(cores)[0])
        self.token = object()
        self._tables: list[tuple[NDArray, NDArray] | None] = [None] * len(columns)
        self._all: tuple[object, Tables] | None = None

    @property
    def n_blocks(self) -> int:
        """Blocks of cores: the columns, then the output core."""
        return len(self.cores)

    @property
    def output_core(self) -> NDArray | None:
        """Core of several outputs, or None."""
        return self.cores[-1] if len(self.cores) > len(self.columns) else None

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        core = self.output_core
        return 1 if core is None else core.shape[1]

    @property
    def sites(self) -> list[NDArray]:
        """All cores in one list."""
        return flatten(self.cores)

    @property
    def bonds(self) -> NDArray[np.int64]:
        """Bonds before, between and after the columns."""
        bonds = [self.cores[d][0].shape[0] for d in range(len(self.columns))]
        last = self.cores[len(self.columns) - 1][-1].shape[2]
        return np.array([*bonds, last], dtype=np.int64)

    def snapshot(self) -> Cores:
        """Return the cores as they stand; later updates leave these alone."""
        return [list(c) if isinstance(c, list) else c for c in self.cores]

    def restore(self, cores: Cores) -> None:
        """Put a snapshot back."""
        for block, entry in enumerate(cores):
            self.put(block, entry)

    def put(self, block: int, entry: Any) -> None:
        """Put in the cores of a block."""
        old = self.cores[block]
        if isinstance(entry, list):
            if len(entry) == len(old) and all(a is b for a, b in zip(entry, old, strict=True)):
                return
            self._tables[block] = None
        self.token = object()
        self.cores[block] = list(entry) if isinstance(entry, list) else entry

    def put_sites(self, sites: list[NDArray]) -> None:
        """Put in all cores, given as one list."""
        self.restore(like(self.cores, sites))

    def settle(self) -> None:
        """Bring the cores to the gauge that an epoch begins with; no response changes."""
        self.put_sites(self.network.settle(self.sites))

    # -- tables -----------------------------------------------------------------------------

    def table(self, d: int) -> tuple[NDArray, NDArray]:
        """A column's matrices at its grid values, and the same transposed, as passes need them."""
        table = self._tables[d]
        if table is None:
            matrices = levels.table(self.columns[d], self.cores[d])
            table = self.to_table(matrices), self.to_table(matrices.transpose(0, 2, 1))
            self._tables[d] = table
        return table

    def to_table(self, matrices: NDArray) -> NDArray:
        """Matrices (n_grid, left, right) as one padded line of planes."""
        return levels.to_buffer(levels.pad(matrices), self.is_complex).astype(self.dtype).ravel()

    @property
    def tables(self) -> Tables:
        """Tables of all columns, as passes need them."""
        if self._all is None or self._all[0] is not self.token:
            parts = [self.table(d) for d in range(len(self.columns))]
            offsets, turned_offsets = (
                np.cumsum([0, *(part[side].size for part in parts)]) for side in (0, 1)
            )
            buffer, turned = (np.concatenate(side) for side in zip(*parts, strict=True))
            self._all = (
                self.token,
                Tables(buffer, turned, offsets, turned_offsets, self.bonds, self.closing),
            )
        return self._all[1]

    @property
    def closing(self) -> NDArray[np.float64]:
        """Matrices that close the chain, (n_outputs, planes, right·left)."""
        core = self.output_core
        size = int(self.bonds[0])
        if core is None:
            matrices = np.eye(size).reshape(1, -1)
        else:
            matrices = core.transpose(1, 0, 2).reshape(core.shape[1], -1)
        return np.ascontiguousarray(as_planes(matrices, self.is_complex).transpose(0, 2, 1))

    def squared_norm(self) -> float:
        """‖w‖² of the whole weight tensor."""
        return algebra.squared_norm(self.sites)

    def responses(self, shard: Any) -> NDArray:
        """Responses of a shard's rows, (n_rows, n_outputs), complex where the model is."""
        return respond(self.tables, shard, self.run)

    def response_pass(self) -> ResponsePass:
        """Pass that gives the responses of a shard's rows."""
        return ResponsePass(self.tables)

    # -- local problems ---------------------------------------------------------------------

    def paths(self, setting: Any) -> list[str]:
        """How each block's local problem best meets the rows."""
        return choose_paths(self, setting)

    def problem(self, block: int, setting: Any, path: str) -> Any:
        """Local problem of a column or of the output core."""
        if block == 0:
            self.settle()
        return make_problem(self, block, setting, path)

    def truncation(self, max_rank: int, tol: float) -> Truncation:
        """Rule by which two-site problems choose bonds."""
        return Truncation(max_rank, tol)

    def pair_problem(self, block: int, setting: Any, path: str, truncation: Any) -> PairProblem:
        """Two-site problems of a train's column, and of its last core with the next column's."""
        if block == 0:
            self.settle()
        return PairProblem(self, block, setting, path, truncation)

    # -- derivatives ------------------------------------------------------------------------

    def frame(self) -> TrainFrame:
        """Tangent space of a train of these ranks."""
        return TrainFrame(self)

    def gradient_pass(self) -> GradientPass:
        """Pass that sums slopes times environments of all columns."""
        return GradientPass(self.tables, self.tables.turned)

    def gradient(self, sums: Any) -> Cores:
        """Gradient with respect to the cores from the sums of the pass."""
        return self.chain_rule(sums, self.cores, self.cores)

    def chain_rule(self, sums: Any, before: Cores, after: Cores) -> Cores:
        """Gradient where the cores of the levels before and after stand in two gauges."""
        buffer, closing = sums
        offsets, bonds = self.tables.offsets, self.bonds
        gradient: Cores = []
        for d, column in enumerate(self.columns):
            rows = buffer[offsets[d] : offsets[d + 1]].reshape(len(column), -1)
            right_bond = int(bonds[d + 1])
            part = levels.from_buffer(rows, bonds[d], wide(right_bond))[:, :, :right_bond]
            if column.is_categorical:
                gradient.append([part.transpose(1, 0, 2).conj()])
                continue
            left = levels.prefixes(column, before[d])
            right = levels.suffixes(column, after[d])
            gradient.append([
                levels.pull_back(column, k, left[k], right[k], part).conj()
                for k in range(len(column.radices))
            ])  # fmt: skip
        core = self.output_core
        if core is not None:
            flat = closing[:, 0] - 1j * closing[:, 1] if self.is_complex else closing[:, 0]
            k, left_bond, right_bond = core.shape[1], core.shape[0], core.shape[2]
            gradient.append(flat.reshape(k, left_bond, right_bond).transpose(1, 0, 2).copy())
        return gradient

    def tangent(self, direction: Cores) -> TangentPass:
        """Pass that gives the change of the responses in a direction."""
        changes = [
            self.to_table(levels.table_change(column, self.cores[d], direction[d]))
            for d, column in enumerate(self.columns)
        ]
        closing = np.zeros_like(self.closing)
        if self.output_core is not None:
            matrices = direction[-1].transpose(1, 0, 2).reshape(self.n_outputs, -1)
            closing = as_planes(matrices, self.is_complex).transpose(0, 2, 1)
        return TangentPass(
            self.tables, np.concatenate(changes), np.ascontiguousarray(closing), self.tables.buffer
        )

    def norm_gradient(self) -> Cores:
        """Gradient of ‖w‖² with respect to the cores."""
        return self.norm_product(self.cores)

    def norm_product(self, direction: Cores) -> Cores:
        """Product of a direction with the Hessian of ‖w‖², one core at a time."""
        return like(self.cores, algebra.norm_products(self.sites, flatten(direction)))
