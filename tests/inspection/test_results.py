"""Results print as a few lines, with what matters most first."""

import numpy as np
import pytest

from qtkm.inspection import (
    importances,
    interaction,
    largest_coefficients,
    main_effects,
    rank_one_terms,
    spectrum,
)
from tests.inspection.conftest import make_effect

RESULTS = {
    "MainEffect": lambda m, X: main_effects(m, X, "a")[0],
    "Interaction": lambda m, X: interaction(m, X, ("a", "kind")),
    "Importances": importances,
    "Coefficients": lambda m, X: largest_coefficients(m, 20),
    "Spectrum": lambda m, X: spectrum(m, "a"),
    "RankOneTerms": lambda m, X: rank_one_terms(m),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_a_short_text_that_names_its_arrays(name, cpd, X):
    result = RESULTS[name](cpd, X)
    text = repr(result)
    assert text.startswith(f"{name}(")
    assert len(text.splitlines()) <= 7
    assert max(map(len, text.splitlines())) <= 90
    for attribute, value in vars(result).items():
        if isinstance(value, np.ndarray):
            assert f"{attribute} {value.shape}" in " ".join(text.split())


def test_the_most_important_numbers_come_first(cpd, X):
    shares = importances(cpd, X)
    first = int(shares.total.argmax())
    assert f"total shares: {shares.names[first]} = {shares.total[first]:.3g}," in repr(shares)
    found = largest_coefficients(cpd, 5)
    assert f"magnitudes: {found.labels[0]} = {abs(found.values[0]):.3g}," in repr(found)
    assert "2 more" in repr(found)


def test_an_effect_tells_its_ends_where_there_are_rows():
    values = np.array([1.0, 20_000.0, 3.0])
    support = np.array([5.0, 0.0, 5.0])
    effect = make_effect("a", values, np.array([1.0, 9.0, 4.0]), 2.0, support=support)
    assert "a: -1 at 1 to +2 at 3)" in repr(effect)
    kinds = make_effect("kind", np.array(["x", None], dtype=object), np.array([1.0, 9.0]), 2.0)
    assert "kind: -1 at x to +7 at missing)" in repr(kinds)
    flat = make_effect("a", values, np.array([7.0, 7.0 + 1e-15, 7.0]), 7.0)
    assert "a: no effect)" in repr(flat)


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_a_frame(name, cpd, X):
    frame = RESULTS[name](cpd, X).to_frame()
    assert len(frame) > 1
    assert frame.notna().all(axis=None)
    if name == "MainEffect":
        assert {"column", "value", "effect", "support"} <= set(frame.columns)
