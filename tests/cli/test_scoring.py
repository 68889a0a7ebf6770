"""Scores from sums over blocks are those of scikit-learn."""

import numpy as np
import pytest
from sklearn import metrics

from qtkm import QTKMRegressor
from qtkm.cli import scoring
from qtkm.cli.reading import ModelTable
from qtkm.cli.scoring import LabelSums, NumberSums, score
from qtkm.limits import LIMITS

pandas = pytest.importorskip("pandas")


class Numbers:
    """Predicts the first column."""

    def predict(self, X):
        return X[:, 0]


class Labels:
    """Predicts the class whose column is the largest."""

    classes_ = np.array(["high", "low", "mid"], dtype=object)

    def predict_proba(self, X):
        return X / X.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[X.argmax(axis=1)]


def add(sums, X, y, weight):
    """Add rows in blocks of different sizes."""
    for rows in np.split(np.arange(len(y)), [1, 10, 700]):
        sums.add(X[rows], y[rows], None if weight is None else weight[rows])
    return sums


def values(sums):
    return {label: value for label, _, value in sums.scores()}


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("weighted", [False, True])
def test_errors_of_numbers(offset, weighted):
    rng = np.random.default_rng(0)
    y = rng.normal(size=1000) + offset
    X = (y + rng.normal(0, 0.3, size=1000))[:, None]
    weight = rng.integers(0, 3, size=1000).astype(float) if weighted else None
    found = values(add(NumberSums(Numbers()), X, y, weight))
    options = {"sample_weight": weight}
    error = metrics.mean_squared_error(y, X[:, 0], **options)
    assert found["R²"] == pytest.approx(metrics.r2_score(y, X[:, 0], **options), rel=1e-9)
    assert found["root mean squared error"] == pytest.approx(np.sqrt(error), rel=1e-12)
    expected = metrics.mean_absolute_error(y, X[:, 0], **options)
    assert found["mean absolute error"] == pytest.approx(expected, rel=1e-12)


def test_numbers_that_do_not_vary():
    y = np.full(1000, 0.25)  # whose mean is not rounded
    for shift, expected in ((0.0, 1.0), (0.5, 0.0)):
        found = values(add(NumberSums(Numbers()), y[:, None] + shift, y, None))
        assert found["R²"] == metrics.r2_score(y, y + shift) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "0.5000"), (-0.25, "-0.2500"), (0.0, "0.0000"), (1.0, "1.0000"),
        # not 0.0000 and not 1.0000
        (0.00001234, "1.234e-5"), (0.99991, "0.999910"), (0.9999887, "0.999989"),
        (1 - 3.2e-12, "0.9999999999968"), (-1234567.8, "-1,235,000"), (np.nan, "undefined"),
    ],
)  # fmt: skip
def test_a_score_is_told_from_0_and_from_1(value, text):
    assert score(value) == text


@pytest.mark.parametrize(
    ("error", "text"), [(0.00001234, "1.234e-5"), (1234567.8, "1,235,000"), (0.99999, "1")]
)
def test_errors_of_any_size_can_be_read(error, text):
    sums = NumberSums(Numbers())
    sums.add(np.array([[error], [1 - error]]), np.array([0.0, 1.0]))
    assert dict(sums.lines())["mean absolute error"] == text


def test_one_row_has_no_r2():
    sums = NumberSums(Numbers())
    sums.add(np.array([[2.0]]), np.array([1.0]))
    assert dict(sums.lines()) == {
        "rows scored": "1", "R²": "undefined", "root mean squared error": "1",
        "mean absolute error": "1",
    }  # fmt: skip


@pytest.mark.parametrize("weighted", [False, True])
def test_accuracies_and_log_loss(weighted):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(1000, 3)), Labels.classes_[rng.integers(0, 3, 1000)]
    X[::9, 1] = 0  # a probability of zero, which scikit-learn clips
    weight = rng.uniform(size=1000) if weighted else None
    found = values(add(LabelSums(Labels()), X, y, weight))
    options = {"sample_weight": weight}
    accuracy = metrics.accuracy_score(y, Labels().predict(X), **options)
    assert found["accuracy"] == pytest.approx(accuracy, rel=1e-12)
    balanced = metrics.balanced_accuracy_score(y, Labels().predict(X), **options)
    assert found["balanced accuracy"] == pytest.approx(balanced, rel=1e-12)
    loss = metrics.log_loss(y, Labels().predict_proba(X), labels=Labels.classes_, **options)
    assert found["log-loss"] == pytest.approx(loss, rel=1e-12)


def test_a_rare_class_that_is_never_predicted_shows():
    y = np.array(["low"] * 97 + ["mid"] * 3, dtype=object)
    sums = add(LabelSums(Labels()), np.tile([0.1, 0.8, 0.1], (100, 1)), y, None)
    loss = -np.log(0.8) * 0.97 - np.log(0.1) * 0.03
    assert dict(sums.lines()) == {
        "rows scored": "100", "accuracy": "0.9700", "  of always 'low'": "0.9700",
        "balanced accuracy": "0.5000", "log-loss": f"{loss:.4f}",
    }  # fmt: skip
    facts = sums.facts()
    assert (facts["most_frequent_class"], facts["balanced_accuracy"]) == ("low", 0.5)
    assert facts["accuracy"] == facts["accuracy_of_most_frequent_class"] == 0.97


def test_a_label_that_is_not_known_is_named():
    said = "unknown to the model: 'none'; the classes of the fit are 'high', 'low', 'mid'. Remove"
    with pytest.raises(ValueError, match=said):
        LabelSums(Labels()).add(np.ones((2, 3)), np.array(["low", "none"], dtype=object))


def test_rows_of_slow_scores_are_few_if_nobody_knows_how_many_there_are(tmp_path, monkeypatch):
    monkeypatch.setattr(scoring, "MOST_ROWS", 50)
    monkeypatch.setattr(LIMITS, "parsed_bytes", 1000)
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.uniform(size=(1000, 2)), columns=["a", "y"])
    frame.to_csv(tmp_path / "rows.csv.gz", index=False)
    model = QTKMRegressor(rank=1, alpha=0.1, n_basis=3, max_iter=2).fit(frame[["a"]], frame["y"])
    sums = scoring.score_table(ModelTable(model, [tmp_path / "rows.csv.gz"], ["y"]), False)
    assert sums.n_rows == 1000
    assert sum(len(part[1]) for part in sums._some) == sums.n_some <= 100
    assert values(sums)["within 90 % intervals"] == pytest.approx(0.9, abs=0.15)
