"""Folds and hold-outs: which rows train and which test."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold, TimeSeriesSplit

from qtkm.selection.race import GivenRows, split


def rows_of(n_rows=60, weight=None, labels=None):
    X, by_class = np.arange(n_rows, dtype=float)[:, None], labels is not None
    return GivenRows(X, labels if by_class else np.arange(n_rows), weight, by_class)


def pairs_of(cv, rows=None, size=None):
    return split(rows_of() if rows is None else rows, cv, size, np.random.RandomState(0))


def assert_same(found, expected):
    for a, b in zip(found, expected, strict=True):
        for part, other in zip(a, b, strict=True):
            np.testing.assert_array_equal(part, other)


@pytest.mark.parametrize("cv", [4, KFold(2, shuffle=True, random_state=0), TimeSeriesSplit(3)])
def test_folds_are_those_of_scikit_learn(cv):
    splitter = KFold(cv) if isinstance(cv, int) else cv
    assert_same(pairs_of(cv), splitter.split(np.zeros((60, 1))))


def test_none_is_three_folds_and_a_hold_out_of_many_rows():
    assert len(pairs_of(None)) == 3
    ((train, test),) = pairs_of(None, size=40)
    assert len(train) + len(test) == 40
    assert 4 <= len(test) <= 12


@pytest.mark.parametrize(("cv", "n_test"), [("hold-out", 12), (0.5, 30), (0.1, 6)])
def test_a_hold_out_is_drawn_at_random(cv, n_test):
    ((train, test),) = pairs_of(cv)
    assert len(test) == n_test
    assert sorted([*train, *test]) == list(range(60))
    assert test.tolist() != sorted(test.tolist())


def test_classes_are_in_all_folds():
    labels = np.repeat(["a", "b"], [50, 10])
    rows = rows_of(labels=labels)
    assert_same(pairs_of(2, rows), StratifiedKFold(2).split(rows.X, labels))
    ((_, test),) = pairs_of("hold-out", rows)
    assert np.sum(labels[test] == "b") == 2
    alone = rows_of(labels=np.repeat(["a", "b"], [59, 1]))
    assert len(pairs_of("hold-out", alone)[0][1]) == 12


def test_pairs_of_numbers_and_masks():
    mask = np.arange(60) < 40
    numbers = np.flatnonzero(mask), np.flatnonzero(~mask)
    assert_same(pairs_of([(mask, ~mask)]), [numbers])
    assert_same(pairs_of([numbers]), [numbers])


def test_rows_of_weight_zero_are_in_no_fold():
    weight = (np.arange(60) % 2).astype(float)
    for train, test in pairs_of(3, rows_of(weight=weight)):
        assert (np.concatenate([train, test]) % 2 == 1).all()
    weight[:20] = 0
    with pytest.raises(ValueError, match="Fold 0 of cv=3 leaves 20 rows to train and 0 to test"):
        pairs_of(3, rows_of(weight=weight))


def test_a_sample_has_fewer_rows_of_every_fold():
    folds = KFold(3, shuffle=True, random_state=0)
    for (train, test), (some, few) in zip(pairs_of(folds), pairs_of(folds, size=30), strict=True):
        assert set(some) < set(train)
        assert set(few) < set(test)
        assert len(some) + len(few) == 30
    with pytest.raises(ValueError, match="those left out of a sample"):
        pairs_of(3, size=2)


def test_a_sample_keeps_rare_classes():
    labels = np.repeat(["a", "b"], [56, 4])
    pairs = [(np.arange(60), np.arange(60))]
    ((train, _),) = pairs_of(pairs, rows_of(labels=labels), size=15)
    assert np.sum(labels[train] == "b") == 1
    assert len(train) == 15
