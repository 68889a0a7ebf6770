"""Spectra, largest coefficients and rank-one terms agree with the whole weight tensor."""

import numpy as np
import pytest

from qtkm.inspection import largest_coefficients, rank_one_terms, spectrum
from tests.inspection.conftest import fit, fit_kind
from tests.inspection.oracles import weight_tensor


def test_a_spectrum_is_the_norm_of_slices_of_the_weights(model):
    whole = weight_tensor(model)
    for d, name in enumerate(["a", "b"]):
        found = spectrum(model, name)
        others = tuple(axis for axis in range(3) if axis != d)
        expected = np.sqrt(np.sum(np.abs(whole) ** 2, axis=others))
        np.testing.assert_allclose(found.magnitudes, expected, rtol=1e-9)
        n = len(expected)
        assert found.numbers.tolist() == list(range(-(n // 2), n - n // 2))


def test_frequencies_are_in_units_of_the_column(model, X):
    found = spectrum(model, "a")
    np.testing.assert_allclose(found.frequencies, found.numbers / (2.0 * np.ptp(X["a"])))


@pytest.mark.parametrize("network", ["cpd", "train", "ring"])
def test_one_column_has_its_weights_as_spectrum(network, X, y):
    one = X[["a"]]
    model = fit(one, y, network, n_basis=16)
    found, weights = spectrum(model), weight_tensor(model)
    np.testing.assert_allclose(found.magnitudes, np.abs(weights), rtol=1e-9)
    scaled = 2j * np.pi * np.outer(one["a"] - one["a"].min(), found.frequencies)
    response = (np.exp(scaled) @ weights).real + y.mean()
    np.testing.assert_allclose(response, model.predict(one), rtol=1e-8)


def test_a_spectrum_of_one_output(outputs):
    if outputs.network_.rank == 0:
        assert not spectrum(outputs, "b", output=1).magnitudes.any()
        return
    whole = weight_tensor(outputs, output=1)
    found = spectrum(outputs, "b", output=1)
    np.testing.assert_allclose(
        found.magnitudes, np.sqrt(np.sum(np.abs(whole) ** 2, axis=(0, 2))), rtol=1e-9
    )


def test_main_effects_alone_have_a_spectrum_of_a_column_with_gaps(X, y):
    gaps = X.assign(b=X["b"].where(X.index % 4 > 0))
    found = spectrum(fit_kind(gaps, y, "gam"), "b")
    assert not found.magnitudes.any()
    assert found.main.any()


def test_other_bases_have_no_spectrum(power):
    with pytest.raises(ValueError, match="'a' has the basis Power, but a spectrum needs Fourier"):
        spectrum(power, "a")
    with pytest.raises(ValueError, match="'kind' has the basis Categorical"):
        spectrum(power, "kind")


# -- largest coefficients ---------------------------------------------------------------------


def entries(model, found):
    """The weights at the indices found, from the whole tensor."""
    shift = [c["basis"].n_features // 2 if c["basis"].is_complex else 0 for c in model.columns_]
    return weight_tensor(model)[tuple((found.indices + shift).T)]


def test_largest_coefficients_are_those_of_a_full_sort(model):
    found = largest_coefficients(model, 12)
    expected = np.sort(np.abs(weight_tensor(model)).ravel())[::-1][:12]
    np.testing.assert_allclose(np.abs(found.values), expected, rtol=1e-9)
    np.testing.assert_allclose(entries(model, found), found.values, rtol=1e-9)
    assert found.is_exact
    assert found.bound == 0


def test_a_narrow_search_says_what_is_certain(model):
    whole = np.sort(np.abs(weight_tensor(model)).ravel())[::-1]
    claims = 0
    for max_slices in (4, 8, 16, 32):
        found = largest_coefficients(model, 4, max_slices=max_slices)
        np.testing.assert_allclose(entries(model, found), found.values, rtol=1e-9)
        n = found.n_certain
        np.testing.assert_allclose(np.abs(found.values[:n]), whole[:n], rtol=1e-9)
        missed = whole[~np.isin(np.round(whole, 9), np.round(np.abs(found.values), 9))]
        assert missed.max() <= max(found.bound, np.abs(found.values[-1])) * (1 + 1e-9)
        claims += n
    assert claims > 0


WAVES = {(3, -5, 0, 0, 1, 0, -32, 31): 2.0, (0,) * 8: -1.5j, (0, 0, 7, 0, 0, -9, 0, 0): 1.0}


def test_a_few_waves_are_found_among_ten_to_the_fourteen(X):
    many = np.random.default_rng(0).uniform(size=(50, 8))
    model = fit(X.__class__(many).rename(columns=str), many[:, 0], n_basis=64, max_iter=1)
    noise = np.random.default_rng(1)
    for d, levels in enumerate(model.cores_):
        for r, (wave, weight) in enumerate(WAVES.items()):
            index = wave[d] + 32
            for core in levels:  # the lowest digit first
                index, digit = divmod(index, len(core))
                core[:, r] = np.eye(len(core))[digit] + 1e-3 * noise.standard_normal(len(core))
            levels[0][:, r] *= weight if d == 0 else 1.0
    found = largest_coefficients(model, 3, max_slices=512)
    assert [tuple(index) for index in found.indices.tolist()] == list(WAVES)
    scale = model._reading.scale.scale[0]
    np.testing.assert_allclose(found.values / scale, list(WAVES.values()), rtol=0.1)
    assert found.labels[1:] == ["constant", "2:+7 · 5:-9"]
    assert found.is_exact


def test_labels_name_powers_and_categories(power):
    found = largest_coefficients(power, 40)
    words = " ".join(found.labels)
    assert "a^2" in words
    assert "kind=long" in words


def test_too_few_slices_are_refused(cpd):
    with pytest.raises(ValueError, match="use a larger max_slices"):
        largest_coefficients(cpd, 10, max_slices=5)


# -- rank-one terms ---------------------------------------------------------------------------


def test_terms_add_up_to_the_prediction(cpd, power, X):
    for model in (cpd, power):
        terms = rank_one_terms(model, n_grid=3)
        rows = X.__class__(dict(zip(terms.names, terms.values, strict=True)))
        product = np.prod(terms.functions, axis=0)  # (n_terms, 3): as many values as categories
        response = terms.offset + (terms.coefficients @ product).real
        np.testing.assert_allclose(response, model.predict(rows), rtol=1e-8)


def test_sizes_are_norms_of_the_terms_and_fall(cpd):
    terms = rank_one_terms(cpd)
    sizes = []
    for r in range(3):
        alone = [[core[:, r : r + 1] for core in levels] for levels in cpd.cores_]
        radices = [column["basis"].radices for column in cpd.columns_]
        sizes.append(np.linalg.norm(cpd.network_.dense(alone, radices)))
    scale = cpd._reading.scale.scale[0]
    np.testing.assert_allclose(terms.sizes, scale * np.sort(sizes)[::-1], rtol=1e-9)
    np.testing.assert_allclose(np.abs(terms.coefficients), terms.sizes, rtol=1e-9)
    assert len(rank_one_terms(cpd, 2).sizes) == 2


def test_only_a_cpd_has_rank_one_terms(X, y):
    with pytest.raises(ValueError, match="train or ring, but only a CPD"):
        rank_one_terms(fit(X, y, "train"))
