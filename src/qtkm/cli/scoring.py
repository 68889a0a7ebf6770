"""Scores of ``qtkm fit``, ``tune``, ``evaluate`` and ``inspect``, from sums over blocks of rows."""

import math
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray

from ..data.sources import draw_rows
from ..estimators import uncertainty
from ..estimators.targets import read_labels, refuse_unknown
from ..estimators.wording import readable
from ..losses.loss import Loss
from .reading import ModelTable

#: coverage of the intervals that are scored
LEVEL = 0.9
#: about the most rows to score standard deviations and deviances on, drawn at random:
#: a deviation takes five times as long as a prediction, and no score changes in its third digit
MOST_ROWS = 100_000


class Sums:
    """Sums over `n_rows` rows of total `weight` from which scores are computed.

    `add(X, y, weight, offset, some)` adds rows; slow scores are computed from those of the mask
    `some`, by default from all: `n_some` rows, of which `thin()` drops every other one. `scores()`
    returns labels, names in JSON, and values, NaN if undefined.
    """

    n_rows = n_left_out = n_some = 0
    weight = 0.0
    add: Any
    scores: Any
    thin: Any

    def facts(self) -> dict[str, Any]:
        """Return counts and scores by their names in JSON."""
        counts = {"n_rows": self.n_rows, "n_rows_without_target": self.n_left_out}
        return counts | {name: value for _, name, value in (self.scores() if self.weight else [])}

    def lines(self) -> list[tuple[str, str]]:
        """Return the scores as pairs of label and text."""
        lines = [("rows scored", f"{self.n_rows:,}")]
        if self.n_left_out:
            lines.append(("rows without a target", f"{self.n_left_out:,}"))
        errors = ("root", "mean", "negative", "CRPS", "width")
        return lines + [
            (label, readable(value) if label.startswith(errors) else score(value))
            for label, _, value in (self.scores() if self.weight else [])
        ]


def score(value: float) -> str:
    """Format a score with best value 1, with enough digits to distinguish it from 0 and 1."""
    if math.isnan(value):
        return "undefined"
    rest = 1 - value
    if 0 < rest < 1e-3:
        return f"{value:.{1 - math.floor(math.log10(rest))}f}"
    return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 10 else readable(value)


def start_sums(model: Any) -> Sums:
    """Return an empty accumulator for the scores of a model."""
    return LabelSums(model) if hasattr(model, "classes_") else NumberSums(model)


def score_table(
    table: ModelTable, shown: bool, weight: str | None = None, offset: str | None = None
) -> Sums:
    """Accumulate the scores of a model over all rows of a table that have a target."""
    sums, expected = start_sums(table.model), table.source.expected_rows()
    share, target = min(1.0, MOST_ROWS / expected) if expected else 1.0, table.needed[0]
    for block, X in table.blocks("score", shown):
        truth = pandas.Series(block.columns[target], name=target)
        weights, shift = (None if name is None else block.columns[name]
                          for name in (weight, offset))  # fmt: skip
        try:
            sums.add(X, truth, weights, shift, draw_rows(block, share, 0))
        except ValueError as error:
            raise ValueError(f"{block.where}: {error}") from None
        while sums.n_some > 2 * MOST_ROWS:  # their number was not known, as of a packed file
            sums.thin()
            share /= 2
    sums.n_left_out = table.n_left_out
    return sums


class NumberSums(Sums):
    """R², errors, D², and scores of standard deviations and intervals of a regressor."""

    def __init__(self, model: Any):
        self.model = model
        #: of weights, targets, their squares, squares of errors and their sizes; targets relative
        #: to the first one, so that little is lost where numbers are large and differ little
        self.sums = np.zeros(5)
        self._origin: float | None = None
        self._has_std = hasattr(model, "noise_") and model._y_ndim == 1
        loss = getattr(model, "loss_", None)
        self._has_deviance = loss is not None and type(loss).score is not Loss.score
        #: rows of slow scores: X, y, weights and offsets
        self._some: list[tuple[Any, ...]] = []

    def add(self, X: Any, y: Any, weight: Any = None, offset: Any = None, some: Any = None) -> None:
        try:
            truth = np.asarray(y, dtype=np.float64)
        except (ValueError, TypeError) as reason:
            raise ValueError(
                f"the target {getattr(y, 'name', 'y')!r} must be numeric, as the model is a "
                f"regressor ({reason})"
            ) from None
        shift = {} if offset is None else {"offset": np.asarray(offset, dtype=float)}
        predicted = self.model.predict(X, **shift)
        if predicted.ndim > 1:
            raise ValueError(
                f"the model has {predicted.shape[1]} targets, and only models with one can be "
                "scored here; use model.score in Python"
            )
        weights = np.ones(len(truth)) if weight is None else np.asarray(weight, dtype=float)
        if self._origin is None and len(truth):
            self._origin = float(truth[0])
        error, moved = predicted - truth, truth - (self._origin or 0.0)
        parts = (np.ones(len(truth)), moved, moved**2, error**2, np.abs(error))
        self.sums += [weights @ part for part in parts]
        self.n_rows, self.weight = self.n_rows + len(truth), float(self.sums[0])
        if self._has_std or self._has_deviance:
            rows = slice(None) if some is None else some
            self._some.append((pandas.DataFrame(X)[rows], truth[rows], weights[rows],
                               *(each[rows] for each in shift.values())))  # fmt: skip
            self.n_some += len(truth[rows])

    def thin(self) -> None:
        self._some = [tuple(part[::2] for part in own) for own in self._some]
        self.n_some = sum(len(own[1]) for own in self._some)

    def scores(self) -> list[tuple[str, str, Any]]:
        weight, total, squares, errors, sizes = self.sums
        scatter = squares - total**2 / weight
        r2 = 1 - errors / scatter if scatter > 0 else float(errors == 0)
        found = [
            ("R²", "r2", r2 if self.n_rows > 1 else np.nan),
            ("root mean squared error", "rmse", np.sqrt(errors / weight)),
            ("mean absolute error", "mae", sizes / weight),
        ]
        if not sum(part[2].sum() for part in self._some):
            return found
        frames, *columns = zip(*self._some, strict=True)
        X, known = pandas.concat(frames), getattr(self.model, "feature_names_in_", None)
        y, weights, *shift = map(np.concatenate, columns)
        X = X.to_numpy() if known is None else X
        if self._has_deviance:
            found.append(("D²", "d2", self.model.score(X, y, weights, *shift)))
        if self._has_std and not shift:
            names = [("negative log-likelihood", "nll"), ("CRPS", "crps"),
                     ("within 90 % intervals", "coverage_90"),
                     ("width of 90 % intervals", "width_90")]  # fmt: skip
            values = np.average(self._of_distributions(X, y), axis=1, weights=weights)
            found += [(*name, value) for name, value in zip(names, values, strict=True)]
        return found

    def _of_distributions(self, X: Any, y: NDArray) -> NDArray[np.float64]:
        """Return scores of the predictive distributions, (4, n)."""
        predicted, deviation = self.model.predict(X, return_std=True)
        known, error = self.model._uncertainty, predicted - y
        tail, (width,) = float(known.tails[0]), uncertainty.half_widths(known, LEVEL, "auto")
        square = deviation**2 * (1.0 if np.isinf(tail) else (tail - 2) / tail)
        least = np.finfo(float).tiny  # a constant target has no deviation
        square, positive = np.maximum(square, least), np.maximum(deviation, least)
        return np.array([
            -uncertainty.log_density(error, square, tail), uncertainty.crps(error, positive, tail),
            np.abs(error) <= width * deviation, 2 * width * deviation,
        ])  # fmt: skip


class LabelSums(Sums):
    """Accuracies, and log-loss if the classifier predicts probabilities."""

    def __init__(self, model: Any):
        self.model, self.loss = model, 0.0
        #: weights of the rows of each class, and of those that are predicted right
        self.by_class, self.right = np.zeros((2, len(model.classes_)))

    def add(self, X: Any, y: Any, weight: Any = None, offset: Any = None, some: Any = None) -> None:
        classes = self.model.classes_
        distinct, inverse = read_labels(y, "the target")
        refuse_unknown(distinct, classes, "the target has labels that are unknown to the model: ",
                       " Remove these rows, or fit a model to rows that contain them.")  # fmt: skip
        codes = np.searchsorted(classes, distinct)[inverse]
        weights = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=float)
        if hasattr(self.model, "predict_proba"):  # predicted labels are the most probable ones
            proba = self.model.predict_proba(X)
            is_right, least = proba.argmax(axis=1) == codes, np.finfo(proba.dtype).eps
            own = np.clip(proba[np.arange(len(codes)), codes], least, 1 - least)
            self.loss -= float(weights @ np.log(own))
        else:
            is_right = np.asarray(self.model.predict(X)) == classes[codes]
        self.n_rows, self.weight = self.n_rows + len(codes), self.weight + float(weights.sum())
        self.by_class += np.bincount(codes, weights, len(classes))
        self.right += np.bincount(codes, weights * is_right, len(classes))

    def scores(self) -> list[tuple[str, str, Any]]:
        some, most = self.by_class > 0, int(np.argmax(self.by_class))
        label = self.model.classes_.tolist()[most]
        found = [
            ("accuracy", "accuracy", self.right.sum() / self.weight),
            (f"  of always {label!r:.30}", "accuracy_of_most_frequent_class",
             self.by_class[most] / self.weight),
            ("balanced accuracy", "balanced_accuracy",
             np.mean(self.right[some] / self.by_class[some])),
        ]  # fmt: skip
        if hasattr(self.model, "predict_proba"):
            found.append(("log-loss", "log_loss", self.loss / self.weight))
        return found

    def facts(self) -> dict[str, Any]:
        most = self.model.classes_.tolist()[int(np.argmax(self.by_class))]
        return super().facts() | ({"most_frequent_class": most} if self.weight else {})
