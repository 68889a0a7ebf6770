"""The pass of a CPD's gradient against sums written out in NumPy."""

import numpy as np
import pytest

from qtkm.kernels import cpd, cpd_gradient, levels
from qtkm.networks.planes import from_planes, to_planes

N_ROWS, SIZES = 23, (3, 1, 4, 2, 5, 3, 2, 4, 3)


def problem(n_columns, rank, n_outputs, is_complex, seed=0):
    rng = np.random.default_rng(seed)

    def random(*shape):
        return rng.normal(size=shape) + 1j * rng.normal(size=shape) * is_complex

    offsets = np.concatenate([[0], np.cumsum(SIZES[:n_columns])])
    codes = np.column_stack([rng.integers(n, size=N_ROWS) for n in SIZES[:n_columns]])
    mixing = random(0 if n_outputs == 1 else n_outputs, rank)
    return codes.astype(np.uint16), offsets, random(offsets[-1], rank), mixing


def products(codes, offsets, table, left_out=None):
    """Products of the rows of the tables that each data row reads."""
    result = np.ones((len(codes), table.shape[1]), dtype=complex)
    for d in range(codes.shape[1]):
        if d != left_out:
            result *= table[offsets[d] + codes[:, d]]
    return result


@pytest.mark.parametrize("is_complex", [True, False])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("rank", [1, 4, 7])
@pytest.mark.parametrize("n_columns", range(1, 10))
def test_slopes_times_environments_are_summed_for_every_column(
    n_columns, rank, n_outputs, is_complex
):
    codes, offsets, table, mixing = problem(n_columns, rank, n_outputs, is_complex)
    rng = np.random.default_rng(1)
    slopes = rng.normal(size=(N_ROWS, n_outputs, 2 if is_complex else 1))
    numbers = slopes[..., 0] - (1j * slopes[..., 1] if is_complex else 0)  # conjugates
    seeds = numbers @ mixing if n_outputs > 1 else numbers * np.ones(rank)
    expected = np.zeros_like(table)
    for d in range(n_columns):
        terms = seeds * products(codes, offsets, table, d)
        np.add.at(expected, offsets[d] + codes[:, d], terms)

    width = rank * (2 if is_complex else 1)
    planes, mixing_planes = to_planes(table, width), to_planes(mixing, width)
    out, out_mixing = np.zeros(planes.shape), np.zeros(mixing_planes.shape)
    columns = rng.permutation(n_columns)
    for start, stop in ((0, 9), (9, N_ROWS)):
        cpd_gradient.gradient(
            start, stop, codes, columns, planes, offsets, mixing_planes, slopes, rank, out,
            out_mixing,
        )  # fmt: skip
    np.testing.assert_allclose(from_planes(out, rank), expected, rtol=1e-11, atol=1e-11)
    if n_outputs > 1:
        expected = numbers.T @ products(codes, offsets, table)
        np.testing.assert_allclose(from_planes(out_mixing, rank), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("rank", [1, 4, 7])
@pytest.mark.parametrize("n_columns", range(1, 10))
def test_a_response_is_the_sum_of_the_product_of_the_tables(n_columns, rank):
    codes, offsets, table, mixing = problem(n_columns, rank, 1, True)
    out = np.empty((N_ROWS, 1, 2))
    columns, planes = np.arange(n_columns)[::-1].copy(), to_planes(table, 2 * rank)
    cpd.responses(
        0, N_ROWS, codes, columns, planes, offsets, rank, to_planes(mixing, 2 * rank), out
    )
    expected = products(codes, offsets, table).sum(axis=1)
    np.testing.assert_allclose(out[:, 0, 0] + 1j * out[:, 0, 1], expected, rtol=1e-12)


@pytest.mark.parametrize("is_complex", [True, False])
@pytest.mark.parametrize("has_phase", [True, False])
def test_slopes_and_changes_of_levels_belong_to_the_table(is_complex, has_phase):
    """Σ_u s[u]·(change of the table) is the change of the cores times their slopes."""
    rng = np.random.default_rng(0)
    n_grid, rank, radices = 6, 3, np.array([2, 3, 2])
    width, n_entries = rank * (2 if is_complex else 1), int(radices.sum())

    def random(*shape):
        return rng.normal(size=shape) + 1j * rng.normal(size=shape) * is_complex

    def kind(array):
        return array if is_complex else array.real.copy()

    factors = kind(random(n_grid, n_entries))
    phase = kind(random(n_grid if has_phase else 0))
    core, change, sums = random(n_entries, rank), random(n_entries, rank), random(n_grid, rank)

    def table(entries):
        ends = np.cumsum(radices)
        parts = [
            factors[:, b - r : b] @ entries[b - r : b] for b, r in zip(ends, radices, strict=True)
        ]
        return (phase[:, None] if has_phase else 1) * np.prod(parts, axis=0)

    step = 1e-6
    expected = (table(core + step * change) - table(core - step * change)) / (2 * step)
    out = np.empty((n_grid, width))
    planes = [to_planes(a, width) for a in (core, change, sums)]
    levels.changes(factors, phase, radices, planes[0], planes[1], rank, out)
    np.testing.assert_allclose(from_planes(out, rank), expected, atol=1e-7)
    slopes = levels.slopes(planes[2], factors, phase, radices, planes[0], rank)
    total = (from_planes(slopes, rank) * change).sum()
    np.testing.assert_allclose(total, (sums * from_planes(out, rank)).sum(), rtol=1e-10)
