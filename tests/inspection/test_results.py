"""Results print as a few lines, with what matters most first."""

from dataclasses import replace

import pytest

from qtkm.inspection import (
    importances,
    interaction,
    largest_coefficients,
    main_effects,
    rank_one_terms,
    spectrum,
)

RESULTS = {
    "MainEffect": lambda m, X: main_effects(m, X, "a")[0],
    "Interaction": lambda m, X: interaction(m, X, ("a", "kind")),
    "Importances": importances,
    "Coefficients": lambda m, X: largest_coefficients(m, 20),
    "Spectrum": lambda m, X: spectrum(m, "a"),
    "RankOneTerms": lambda m, X: rank_one_terms(m),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_a_short_text(name, cpd, X):
    result = RESULTS[name](cpd, X)
    lines = repr(result).splitlines()
    assert lines[0] == f"{name}, {len(result.to_frame())} rows"
    assert len(lines) <= 18
    assert max(map(len, lines)) <= 90


def test_the_most_important_numbers_come_first(cpd, X):
    shares = importances(cpd, X)
    assert shares.to_frame()["total"].is_monotonic_decreasing
    assert shares.to_frame()["column"][0] == shares.names[shares.total.argmax()]
    found = largest_coefficients(cpd, 5)
    assert found.labels[0] in repr(found)


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_a_frame(name, cpd, X):
    frame = RESULTS[name](cpd, X).to_frame()
    assert len(frame) > 1
    assert frame.notna().all(axis=None)
    if name == "MainEffect":
        assert {"column", "value", "effect", "support"} <= set(frame.columns)


def test_a_column_may_have_the_name_of_a_result(cpd, X):
    both = replace(RESULTS["Interaction"](cpd, X), names=("effect", "kind"))
    frame = both.to_frame()
    assert list(frame)[:3] == ["column effect", "kind", "effect"]
    assert frame["effect"].to_numpy() == pytest.approx(both.effect.ravel())
    assert set(frame["column effect"]) == set(both.values[0])
