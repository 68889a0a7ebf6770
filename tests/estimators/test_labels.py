"""Labels of a classifier: of any type, and refused where they make no sense."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score


@pytest.mark.parametrize(
    "names",
    [
        ["no", "yes"],
        [False, True],
        [-1, 1],
        [3.0, 7.0],
        np.array(["no", "yes"], dtype=object),
        np.array([0, 1], dtype=object),
    ],
)
def test_labels_are_of_any_type_and_come_back_as_they_were(classify, X, two, names):
    names = np.asarray(names)
    model = classify().fit(X, names[two])
    np.testing.assert_array_equal(model.classes_, names)
    predicted = model.predict(X)
    assert set(predicted.tolist()) == set(names.tolist())
    assert model.score(X, names[two]) == accuracy_score(two, classify().fit(X, two).predict(X))


def test_labels_may_be_a_list_or_a_series(classify, X, two):
    pd = pytest.importorskip("pandas")
    expected = classify().fit(X, np.where(two, "b", "a")).predict(X)
    names = ["b" if label else "a" for label in two]
    series = (pd.Series(names, dtype=kind) for kind in ("str", "category", object))
    for labels in (names, *series):
        np.testing.assert_array_equal(classify().fit(X, labels).predict(X), expected)
    numbers = classify().fit(X, pd.Series(two, dtype="Int64"))
    assert numbers.classes_.dtype.kind == "i"


def test_names_of_the_classes_do_not_change_the_model(classify, X, two):
    plain, named = classify().fit(X, two), classify().fit(X, np.where(two, 70, -5))
    np.testing.assert_array_equal(plain.decision_function(X), named.decision_function(X))


# -- errors -----------------------------------------------------------------------------------

A = np.arange(12.0)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        (["a"] * 12, "y has one class, 'a', but QTKMClassifier needs at least two classes"),
        (A / 7, "Unknown label type: continuous"),
        (np.where(A > 5, np.nan, A), r"labels are missing, the first in row 6 \(from 0\); remove"),
        ([None, "b"] * 6, "Input y contains NaN: 6 of 12 labels are missing, the first in row 0"),
        (np.where(A > 5, np.inf, 1), "Input y contains infinity"),
        ([1, "b"] * 6, "y contains int and str; make all labels text or all numbers"),
        (
            np.column_stack([A > 5, A > 6]),
            r"y has shape \(12, 2\), but QTKMClassifier needs one",
        ),
        (
            np.column_stack([A, A]),
            "one label per row; for several labels per row, fit one model per",
        ),
        ([["a", "b"]] * 12, "sklearn.multioutput.MultiOutputClassifier"),
        (A[:5] > 2, "X and y have inconsistent numbers of rows: 12 and 5"),
        (np.zeros((12, 1, 1)), "Found array with dim 3"),
    ],
)
def test_labels_that_make_no_sense_are_refused(classify, y, message):
    with pytest.raises(ValueError, match=message):
        classify().fit(A[:, None], y)


def test_sparse_labels_are_refused(classify):
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(ValueError, match="needs one label per row"):
        classify().fit(A[:, None], sparse.csr_array(np.eye(12)))


def test_weights_that_leave_one_class_are_refused(classify, X, two):
    with pytest.raises(
        ValueError, match=r"y has one class, 1, but QTKMClassifier .* in rows of positive weight"
    ):
        classify().fit(X, two, two)


def test_labels_that_the_fit_has_not_seen_have_no_score(classify, X, three):
    model = classify().fit(X, three)
    with pytest.raises(ValueError, match="y has the labels 'z'; the classes of the fit are 'a'"):
        model.score(X, np.where(three == "a", "z", three))
    with pytest.raises(ValueError, match="y has the labels 1; the classes of the fit are 'a', "):
        model.score(X, np.ones(len(X), dtype=int))
