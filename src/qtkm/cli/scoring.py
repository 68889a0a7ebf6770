"""Scores accumulated over blocks of rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.sources import draw_rows
from ..estimators import uncertainty
from ..estimators.columns import factorize
from ..estimators.wording import readable
from ..losses.loss import Loss
from .output import score
from .reading import ModelTable

#: coverage of the intervals that are scored
LEVEL = 0.9
#: about the most rows to score standard deviations and deviances on, drawn at random:
#: a deviation takes five times as long as a prediction, and no score changes in its third digit
MOST_ROWS = 100_000


class Sums:
    """Number of rows, and the sums over them that scores are computed from.

    `add(X, y, weight, offset, mask)` adds rows; slow scores use only those of `mask`, or all if it
    is None. `scores()` returns labels, names in JSON, and values, NaN if undefined.
    """

    n_rows = n_left_out = 0
    weight = 0.0
    add: Any
    scores: Any

    def facts(self) -> dict[str, Any]:
        """Return counts and scores by their names in JSON."""
        found: dict[str, Any] = {"n_rows": self.n_rows, "n_rows_without_target": self.n_left_out}
        scores = self.scores() if self.weight else []
        return found | {name: value for _, name, value in scores}

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


def start_sums(model: Any) -> Sums:
    """Return an empty accumulator for the scores of a model."""
    return LabelSums(model) if hasattr(model, "classes_") else NumberSums(model)


def score_table(
    table: ModelTable, shown: bool, weight: str | None = None, offset: str | None = None
) -> Sums:
    """Accumulate the scores of a model over all rows of a table that have a target."""
    sums, target = start_sums(table.model), table.needed[0]
    expected = table.source.expected_rows()
    share = min(1.0, MOST_ROWS / expected) if expected else 1.0
    for block, X in table.blocks("score", shown):
        truth = block.columns[target]
        if hasattr(truth, "rename"):
            truth = truth.rename(target)
        weights, shift = (None if name is None else block.columns[name]
                          for name in (weight, offset))  # fmt: skip
        try:
            sums.add(X, truth, weights, shift, None if share == 1 else draw_rows(block, share, 0))
        except ValueError as error:
            raise ValueError(f"{block.where}: {error}") from None
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
        is_sure = hasattr(model, "noise_") and model._y_ndim == 1
        self._known: Any = model._uncertainty if is_sure else None
        self._sure, self._sure_weight = np.zeros(4), 0.0
        # deviances around the best constant need all targets at once
        loss = getattr(model, "loss_", None)
        self._has_deviance = loss is not None and type(loss).score is not Loss.score
        self._held: list[Any] = []

    def add(self, X: Any, y: Any, weight: Any = None, offset: Any = None, mask: Any = None) -> None:
        truth = _numbers(y)
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
        parts = (weights * part for part in (1.0, moved, moved**2, error**2, np.abs(error)))
        self.sums += [part.sum() for part in parts]
        self.n_rows, self.weight = self.n_rows + len(truth), float(self.sums[0])
        rows = slice(None) if mask is None else mask
        part = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
        truth, predicted, error, weights = (v[rows] for v in (truth, predicted, error, weights))
        if self._known is not None and not shift and len(part):
            deviation = self.model.predict(part, return_std=True)[1]
            self._sure += weights @ self._scores(error, deviation)
            self._sure_weight += float(weights.sum())
        if self._has_deviance and len(part):
            if shift:  # taken out of targets and weights, as in a fit
                column, weights = self.model.loss_.take_offset(
                    truth[:, None], weights, shift["offset"][rows][:, None]
                )
                truth, predicted = column[:, 0], self.model.predict(part)
            self._held.append((truth, predicted, weights))

    def _scores(self, error: NDArray, deviation: NDArray) -> NDArray[np.float64]:
        """Return scores of the predictive distributions, (n, 4)."""
        known = self._known
        tail, (width,) = float(known.tails[0]), uncertainty.half_widths(known, LEVEL, "auto")
        square = deviation**2 * (1.0 if np.isinf(tail) else (tail - 2) / tail)
        least = np.finfo(float).tiny  # a constant target has no deviation
        square, positive = np.maximum(square, least), np.maximum(deviation, least)
        parts = [
            -uncertainty.log_density(error, square, tail), uncertainty.crps(error, positive, tail),
            np.abs(error) <= width * deviation, 2 * width * deviation,
        ]  # fmt: skip
        return np.stack(parts, axis=1)

    def scores(self) -> list[tuple[str, str, Any]]:
        weight, total, squares, errors, sizes = self.sums
        scatter = squares - total**2 / weight
        r2 = 1 - errors / scatter if scatter > 0 else float(errors == 0)
        found = [
            ("R²", "r2", r2 if self.n_rows > 1 else np.nan),
            ("root mean squared error", "rmse", np.sqrt(errors / weight)),
            ("mean absolute error", "mae", sizes / weight),
        ]
        if self._held:
            truth, predicted, weights = map(np.concatenate, zip(*self._held, strict=True))
            unit = float(self.model._reading.scale.scale[0])
            deviance = self.model.loss_.score(truth / unit, predicted / unit, weights)
            found.append(("D²", "d2", deviance))
        if self._sure_weight:
            likelihood, crps, share, width = self._sure / self._sure_weight
            found += [
                ("negative log-likelihood", "nll", likelihood), ("CRPS", "crps", crps),
                ("within 90 % intervals", "coverage_90", share),
                ("width of 90 % intervals", "width_90", width),
            ]  # fmt: skip
        return found


class LabelSums(Sums):
    """Accuracies, and log-loss if the classifier predicts probabilities."""

    def __init__(self, model: Any):
        self.model, self.has_proba = model, hasattr(model, "predict_proba")
        self.positions = {label: k for k, label in enumerate(model.classes_.tolist())}
        self.loss = 0.0
        self.by_class, self.right = np.zeros((2, len(self.positions)))  # weights of rows

    def add(self, X: Any, y: Any, weight: Any = None, offset: Any = None, mask: Any = None) -> None:
        codes, n_classes = self._codes(y), len(self.positions)
        weights = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=float)
        if self.has_proba:  # predicted labels are the most probable ones
            proba = self.model.predict_proba(X)
            is_right = proba.argmax(axis=1) == codes
            least = np.finfo(proba.dtype).eps
            own = np.clip(proba[np.arange(len(codes)), codes], least, 1 - least)
            self.loss -= float(np.sum(weights * np.log(own)))
        else:
            is_right = np.asarray(self.model.predict(X)) == self.model.classes_[codes]
        self.n_rows += len(codes)
        self.weight += float(weights.sum())
        self.by_class += np.bincount(codes, weights, n_classes)
        self.right += np.bincount(codes[is_right], weights[is_right], n_classes)

    def _codes(self, y: Any) -> NDArray[np.int64]:
        distinct, inverse = factorize(y, "the target")
        unknown = sorted(str(label) for label in distinct if label not in self.positions)
        if unknown:
            raise ValueError(
                f"the target has labels that are unknown to the model: {unknown[0]!r:.60}; remove "
                "these rows, or fit a model to rows that contain them"
            )
        return np.array([self.positions[label] for label in distinct], dtype=np.int64)[inverse]

    def scores(self) -> list[tuple[str, str, Any]]:
        some, most = self.by_class > 0, int(np.argmax(self.by_class))
        label, share = list(self.positions)[most], self.by_class[most] / self.weight
        found = [
            ("accuracy", "accuracy", self.right.sum() / self.weight),
            (f"  of always {label!r:.30}", "accuracy_of_most_frequent_class", share),
            ("balanced accuracy", "balanced_accuracy",
             np.mean(self.right[some] / self.by_class[some])),
        ]  # fmt: skip
        if self.has_proba:
            found.append(("log-loss", "log_loss", self.loss / self.weight))
        return found

    def facts(self) -> dict[str, Any]:
        found = super().facts()
        if self.weight:
            found["most_frequent_class"] = list(self.positions)[int(np.argmax(self.by_class))]
        return found


def _numbers(y: Any) -> NDArray[np.float64]:
    try:
        return np.asarray(y, dtype=np.float64)
    except (ValueError, TypeError) as error:
        name = f" {y.name!r}" if getattr(y, "name", None) is not None else ""
        raise ValueError(
            f"the target{name} must be numeric, as the model is a regressor ({error})"
        ) from None
