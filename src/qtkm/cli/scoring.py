"""Scores of a model from sums over blocks of rows, so that no table needs to be in memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators import uncertainty
from ..estimators.columns import factorize
from ..estimators.wording import readable
from .findings import plain
from .output import score


def start_sums(model: Any) -> "NumberSums | LabelSums":
    """Return an empty accumulator for the scores of a model."""
    return LabelSums(model) if hasattr(model, "classes_") else NumberSums(model)


#: scores as they are told, and as JSON calls them
KEYS = {
    "R²": "r2",
    "root mean squared error": "rmse",
    "mean absolute error": "mae",
    "accuracy": "accuracy",
    "balanced accuracy": "balanced_accuracy",
    "log-loss": "log_loss",
    "negative log-likelihood": "nll",
    "CRPS": "crps",
    "within 90 % intervals": "coverage_90",
    "width of 90 % intervals": "width_90",
}
#: coverage of the intervals that are scored
LEVEL = 0.9


class _Sums:
    """What the sums have in common: how many rows they are over, and their scores by name."""

    n_rows = n_left_out = 0
    weight = 0.0

    def values(self) -> dict[str, float]:
        """Return the scores by name."""
        raise NotImplementedError

    def facts(self) -> dict[str, Any]:
        """Return counts and scores as JSON types; undefined scores are None."""
        found: dict[str, Any] = {"n_rows": self.n_rows, "n_rows_without_target": self.n_left_out}
        scores = self.values() if self.weight else {}
        return found | {KEYS[name]: plain(float(value)) for name, value in scores.items()}


class NumberSums(_Sums):
    """R², root mean squared and mean absolute error of predicted numbers, and of how sure they are.

    Parameters
    ----------
    model : estimator

    Notes
    -----
    Mean and sum of squares around it are merged from block to block (Chan, Golub and LeVeque),
    relative to the first number: nothing is lost where numbers are large and differ little.
    """

    def __init__(self, model: Any):
        self.model = model
        self.mean = self.scatter = self.squares = self.absolute = 0.0
        self._origin: float | None = None
        self._sure = np.zeros(4)
        self._known: Any = model._uncertainty if hasattr(model, "noise_") else None

    def add(self, X: Any, y: Any, weight: Any = None, offset: Any = None) -> None:
        """Add rows: what the model predicts from, the truth, weights and offsets."""
        truth = _numbers(y)
        shift = {} if offset is None else {"offset": np.asarray(offset, dtype=float)}
        is_sure = self._known is not None and self.model._y_ndim == 1 and not shift
        predicted, deviation = (
            self.model.predict(X, return_std=True)
            if is_sure
            else (self.model.predict(X, **shift), None)
        )
        if predicted.ndim > 1:
            raise ValueError(
                f"the model predicts {predicted.shape[1]} numbers for each row, and only models of "
                "one are scored here; score it in Python, with model.score"
            )
        weights = np.ones(len(truth)) if weight is None else np.asarray(weight, dtype=float)
        error = predicted - truth
        self.n_rows += len(truth)
        self.squares += float(np.sum(weights * error**2))
        self.absolute += float(np.sum(weights * np.abs(error)))
        if deviation is not None:
            self._sure += weights @ self._scores(error, deviation)
        if self._origin is None and len(truth):
            self._origin = float(truth[0])
        self._merge(truth - (self._origin or 0.0), weights)

    def _scores(self, error: NDArray, deviation: NDArray) -> NDArray[np.float64]:
        """Score the distributions of rows, (n, 4)."""
        known = self._known
        tail, (width,) = float(known.tails[0]), uncertainty.half_widths(known, LEVEL, "auto")
        square = deviation**2 * (1.0 if np.isinf(tail) else (tail - 2) / tail)
        least = np.finfo(float).tiny  # a constant target has no deviation
        square, positive = np.maximum(square, least), np.maximum(deviation, least)
        inside = np.abs(error) <= width * deviation
        parts = [
            -uncertainty.log_density(error, square, tail), uncertainty.crps(error, positive, tail),
            inside, 2 * width * deviation,
        ]  # fmt: skip
        return np.stack(parts, axis=1)

    def _merge(self, shifted: NDArray, weights: NDArray) -> None:
        added = float(weights.sum())
        if added == 0:
            return
        mean = float(np.sum(weights * shifted)) / added
        total, step = self.weight + added, mean - self.mean
        self.scatter += float(np.sum(weights * (shifted - mean) ** 2))
        self.scatter += step**2 * self.weight * added / total
        self.mean += step * added / total
        self.weight = total

    def values(self) -> dict[str, float]:
        """Return the scores by name; R² is NaN for fewer than two rows."""
        if self.scatter > 0:
            r2 = 1 - self.squares / self.scatter
        else:
            r2 = float(self.squares == 0)
        found = {
            "R²": r2 if self.n_rows > 1 else np.nan,
            "root mean squared error": np.sqrt(self.squares / self.weight),
            "mean absolute error": self.absolute / self.weight,
        }
        if self._known is None:
            return found
        return found | dict(zip(list(KEYS)[-4:], self._sure / self.weight, strict=True))

    def lines(self) -> list[tuple[str, str]]:
        """Return the scores as pairs of label and text."""
        lines = _counts(self.n_rows, self.n_left_out)
        if self.weight == 0:
            return lines
        parts = ("R²", "within 90 % intervals")
        told = {name: score(value) if name in parts else readable(value)
                for name, value in self.values().items()}  # fmt: skip
        return [*lines, *told.items()]


class LabelSums(_Sums):
    """Accuracies, and log-loss where there are probabilities.

    Parameters
    ----------
    model : estimator

    Notes
    -----
    The balanced accuracy is the mean, over the classes that some row is of, of the part of their
    rows that is predicted right: a rare class counts as much as a frequent one.
    """

    def __init__(self, model: Any):
        self.model, self.has_proba = model, hasattr(model, "predict_proba")
        self.positions = {label: k for k, label in enumerate(model.classes_.tolist())}
        self.loss = 0.0
        self.by_class, self.right = np.zeros((2, len(self.positions)))  # weights of rows

    def add(self, X: Any, y: Any, weight: Any = None) -> None:
        """Add rows: what the model predicts from, the truth, and weights."""
        codes = self._codes(y)
        weights = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=float)
        is_right = np.asarray(self.model.predict(X)) == self.model.classes_[codes]
        self.n_rows += len(codes)
        self.weight += float(weights.sum())
        count = len(self.by_class)
        self.by_class += np.bincount(codes, weights, count)
        self.right += np.bincount(codes[is_right], weights[is_right], count)
        if self.has_proba:
            proba = self.model.predict_proba(X)
            least = np.finfo(proba.dtype).eps
            own = np.clip(proba[np.arange(len(codes)), codes], least, 1 - least)
            self.loss -= float(np.sum(weights * np.log(own)))

    def _codes(self, y: Any) -> NDArray[np.int64]:
        distinct, inverse = factorize(y, "the target")
        unknown = sorted(str(label) for label in distinct if label not in self.positions)
        if unknown:
            raise ValueError(
                f"the target has labels that the model does not know: {unknown[0]!r:.60}; leave "
                "out these rows, or fit a model to rows that have them"
            )
        return np.array([self.positions[label] for label in distinct], dtype=np.int64)[inverse]

    def values(self) -> dict[str, float]:
        """Return the scores by name."""
        some = self.by_class > 0
        found = {
            "accuracy": float(self.right.sum()) / self.weight,
            "balanced accuracy": float(np.mean(self.right[some] / self.by_class[some])),
        }
        return found | ({"log-loss": self.loss / self.weight} if self.has_proba else {})

    def lines(self) -> list[tuple[str, str]]:
        """Return the scores as pairs of label and text."""
        lines = _counts(self.n_rows, self.n_left_out)
        if self.weight == 0:
            return lines
        lines += [(name, score(value)) for name, value in self.values().items()]
        label, share = self.guess()
        # right below the accuracy, which is to be compared with it
        at = 1 + [name for name, _ in lines].index("accuracy")
        return [*lines[:at], (f"  of always {label!r:.30}", score(share)), *lines[at:]]

    def guess(self) -> tuple[Any, float]:
        """Return the most frequent class and the accuracy of always predicting it."""
        most = int(np.argmax(self.by_class))
        return list(self.positions)[most], float(self.by_class[most]) / self.weight

    def facts(self) -> dict[str, Any]:
        """Return counts and scores as JSON types."""
        if not self.weight:
            return super().facts()
        label, share = self.guess()
        return super().facts() | {
            "most_frequent_class": plain(label), "accuracy_of_most_frequent_class": share
        }  # fmt: skip


def _counts(n_rows: int, n_left_out: int) -> list[tuple[str, str]]:
    lines = [("rows scored", f"{n_rows:,}")]
    return [*lines, ("rows without a target", f"{n_left_out:,}")] if n_left_out else lines


def _numbers(y: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(y, dtype=np.float64)
    except (ValueError, TypeError) as error:
        name = getattr(y, "name", None)
        raise ValueError(
            f"the target{'' if name is None else f' {name!r}'} must hold numbers, for the model "
            f"predicts some ({error})"
        ) from None
