"""Contents of a report, as numbers and text for JSON."""

from datetime import date
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from .. import inspection
from ..escaping import as_json, shorten, visible
from ..estimators.values import TIMES
from ..estimators.wording import learned_priors, name_network, name_score, readable
from ..inspection.effects import effect_std
from ..inspection.fit_displays import cover
from ..inspection.plotting import is_numeric
from ..inspection.response import Response, default_output, output_number, take_rows
from ..inspection.results import place
from ..inspection.support import Rows
from .scores import reliability, score_classes, score_numbers

#: steps of curves and of maps, bins of histograms, dots of a scatter plot
GRID, MAP, BINS, DOTS = 80, 24, 30, 1500
#: pairs shown as maps, rows explained, categories of a column, spectra, points of a history
PAIRS, ROWS, CATEGORIES, SPECTRA, EPOCHS = 8, 15, 40, 12, 400
#: rows that are predicted and scored, and whose intervals are looked at; of more, a sample
MOST_SCORED, MOST_COVERED = 200_000, 5000
#: share in the variance below which a pair is not shown: each map has a scale of its own
LEAST_SHARE = 1e-4
#: columns whose effects have a band
BANDS = 12
#: classes of a table of confusions
MOST_CLASSES = 12
#: digits of numbers, and letters of names
DIGITS, LETTERS = 6, 60
#: parts of new observations that intervals should contain
COVERAGES = (0.5, 0.8, 0.9, 0.95)


def collect(
    model: Any, X: Any, y: Any, output: Any, max_rows: int, file: str | None
) -> dict[str, Any]:
    """Return the contents of a report; see `write_report` for the parameters."""
    n_rows = len(X)
    truth = np.asarray(y)
    if len(truth) != n_rows:
        raise ValueError(f"X has {n_rows:,} rows, but y {len(truth):,}; give one target per row.")
    rng = np.random.default_rng(0)
    numbers = _draw(n_rows, MOST_SCORED, rng)
    chosen = _draw(len(numbers), max_rows, rng)
    scored, truth = take_rows(X, numbers), truth[numbers]
    findings = SampleFindings(model, take_rows(scored, chosen), output)
    name = ", ".join(model.target_names_ or []) or str(getattr(y, "name", None) or "target")
    path = [[step.get(key) for key in ("rank", "alpha", "error", "seconds", "share")]
            for step in model.history_.get("path") or []]  # fmt: skip
    facts: dict[str, Any] = {
        "task": "classification" if is_classifier(model) else "regression",
        "target": _text(name), "response": _text(findings.response.label),
        "created": date.today().isoformat(), "version": version("qtkm"),
        "n_rows": n_rows, "n_scored": len(numbers), "n_used": len(chosen),
        "columns": findings.columns(X), "effects": findings.effects(), "pairs": findings.pairs(),
        "history": _history(model), "spectra": findings.spectra(),
        "decisions": _decisions(model), "path": path, "code": _code(model, file),
    }  # fmt: skip
    facts |= _errors(findings, scored, truth, rng)
    for row in facts["rows"]:
        row["n"] = int(numbers[row["n"]])
    facts["cards"] = _cards(model, facts)
    return as_json(facts, DIGITS)


def _text(value: Any) -> str:
    return shorten(value, LETTERS)


def _draw(n_rows: int, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the indices of all rows, or of a random sample of them."""
    return np.arange(n_rows) if n_rows <= most else np.sort(rng.choice(n_rows, most, replace=False))


def _axis(values: Any) -> list[Any]:
    """Return numbers, times in seconds, or categories as text."""
    values = np.asarray(values)
    if values.dtype.kind == "M":
        return list(values.astype("M8[ms]").astype(np.int64) / 1000)
    return list(values) if is_numeric(values) else [_text(value) for value in values]


class SampleFindings:
    """Results of inspecting a model on a sample of rows, most important columns first."""

    def __init__(self, model: Any, sample: Any, output: Any):
        self.model, self.sample = model, sample
        self.output = default_output(model) if output is None else output
        self.response = Response(model, self.output)
        self.shares = inspection.importances(model, sample, output=self.output)
        self.order = self.shares.order.tolist()

    def columns(self, X: Any) -> list[dict[str, Any]]:
        gaps, priors, lines = None, learned_priors(self.model), []
        if hasattr(X, "isna"):
            gaps = X.isna().mean().tolist()
        elif np.asarray(X).dtype.kind == "f":
            gaps = np.isnan(np.asarray(X)).mean(axis=0)
        for rank, d in enumerate(self.order, start=1):
            column, own = self.model.columns_[d], priors[d]
            categories, bounds = column["categories"], column["bounds"]
            scale = None if own is None or categories is not None else round(float(own[0]), 3)
            ends = [place(end) for end in self.response.raw(d, np.array(bounds))] if bounds else []
            lines.append({
                "name": _text(self.shares.names[d]), "rank": rank, "kind": column["holds"],
                "range": " to ".join(ends) or f"{len(categories)} categories",
                "distinct": column["n_grid"], "gaps": None if gaps is None else gaps[d],
                "functions": column["basis"].n_features, "scale": scale,
                "first": self.shares.first_order[d], "total": self.shares.total[d],
            })  # fmt: skip
        return lines

    def effects(self) -> list[dict[str, Any]]:
        rows, found = Rows(self.response, self.sample), []
        effects = inspection.main_effects(
            self.model, self.sample, self.order, n_grid=GRID, output=self.output
        )
        for rank, (d, effect) in enumerate(zip(self.order, effects, strict=True)):
            values, shown = effect.values, np.arange(len(effect.values))
            fact: dict[str, Any] = {"name": _text(effect.name), "mean": effect.mean}
            if self.response.is_categorical[d]:
                shown = np.argsort(-np.abs(effect.effect), kind="stable")[:CATEGORIES]
                shown = shown[np.argsort(-effect.effect[shown], kind="stable")]
                fact |= {"counts": effect.support[shown], "left": len(values) - len(shown)}
            else:
                low, high = _axis(effect.inner or (values.min(), values.max()))
                ends = low, high if high > low else low + 1
                counts, edges = np.histogram(rows.known(d)[0], BINS, ends)
                fact |= {"counts": counts, "edges": edges, "time": values.dtype.kind == "M"}
            band = None
            if rank < BANDS and self.model._has_posterior:  # of what is shown of many categories
                band = effect_std(rows, [d], [self.response.values(d, values[shown])])
            found.append(fact | {"x": _axis(values[shown]), "y": effect.effect[shown],
                                 "sure": effect.is_supported[shown], "band": band})  # fmt: skip
        return found

    def pairs(self) -> list[dict[str, Any]]:
        strength, maps = self.shares.second_order, []
        strong = [pair for pair in self.shares.pairs if strength[pair] > LEAST_SHARE]
        for pair in strong[:PAIRS]:
            both = inspection.interaction(
                self.model, self.sample, pair, n_grid=MAP, output=self.output
            )
            # all numbers, or the categories with the largest effects, in order
            sizes = (np.abs(both.effect).max(axis=1 - number) for number in (0, 1))
            keep = [np.sort(np.argsort(-size, kind="stable")[:MAP]) for size in sizes]
            maps.append({
                "names": [_text(name) for name in both.names], "share": strength[pair],
                "x": _axis(both.values[0][keep[0]]), "y": _axis(both.values[1][keep[1]]),
                "z": np.where(both.is_supported, both.effect, np.nan)[np.ix_(*keep)],
                "times": [values.dtype.kind == "M" for values in both.values],
            })  # fmt: skip
        return maps

    def spectra(self) -> list[dict[str, Any]]:
        bases = [column["basis"] for column in self.model.columns_]
        fourier = [d for d in self.order if bases[d].is_complex][:SPECTRA]
        found = [inspection.spectrum(self.model, d, output=self.output) for d in fourier]
        return [{"name": _text(s.name), "x": s.frequencies, "network": s.magnitudes, "main": s.main}
                for s in found if len(s.numbers) > 1]  # fmt: skip


def _decisions(model: Any) -> list[list[str]]:
    """Return the choices of the fit, their values, and the reasons."""
    path = model.history_.get("path") or []
    automatic = [name for name in ("rank", "alpha") if path and model.get_params()[name] == "auto"]
    why = {name: "chosen on held-out rows, see the table below" for name in automatic}
    given = "as given, or the default"
    is_beside = model.network_.has_main_effects
    terms = "interactions beside" if is_beside else "products of"
    lines = [["model", name_network(model.network_), f"{terms} one function per column"]]
    last = path[-1] if path else {}
    if "share" in last:
        beside = f" and a network ({last['kept']:.0%})" if last["kept"] else ""
        lines.append(["full rank", f"{last['share']:.0%}{beside}", "exact solution under the "
                      "learned prior, one term per row, chosen on held-out rows"])  # fmt: skip
    if last.get("simpler"):
        lines.append(["main effects alone", f"{last['simpler']:.0%}", "weight of a kernel without "
                      "interactions in the mean, by its evidence"])  # fmt: skip
    if (factor := last.get("factor")) is not None and factor < 1:
        lines.append(["shrinkage", f"times {readable(factor, 3)}", "slope of held-out "
                      "targets over predictions: less is noisier"])  # fmt: skip
    lines += [
        ["rank", str(model.rank_), why.get("rank", given)],
        ["penalty α", readable(model.alpha_, 3), why.get("alpha", given)],
        ["loss", model.loss_.describe(), given],
        ["parameters", f"{model.n_parameters_:,}", "weights of all cores"],
        ["fit", f"{_epochs(model)}, {model.status_}", model.message_],
    ]
    noise = getattr(model, "noise_", None)
    if noise is not None:
        shown = ", ".join(readable(each, 3) for each in np.atleast_1d(noise))
        lines.append(["noise", shown, "standard deviation of targets around the true response"])
    scales = [own[0] for own in learned_priors(model) if own is not None]
    if scales:
        shown = f"{readable(min(scales), 3)} to {readable(max(scales), 3)}"
        lines.append(["length scales", shown, "learned for each column, as fractions of its range"])
    return [[shorten(word, 200) for word in line] for line in lines]


def _history(model: Any) -> dict[str, Any]:
    history = {}
    for key in ("objective", "validation_score"):
        values = list(model.history_.get(key) or [])
        where = np.linspace(0, len(values) - 1, min(len(values), EPOCHS)).astype(int)
        history[key] = [[int(i) + 1, values[i]] for i in where] if values else []
    return history | {"score": name_score(model)}


def _errors(
    findings: SampleFindings, X: Any, truth: NDArray, rng: np.random.Generator
) -> dict[str, Any]:
    """Return scores and errors, and the contributions to the worst predictions."""
    model, output = findings.model, findings.output
    predicted = model.predict(X)
    if is_classifier(model):
        facts, error = _class_errors(model, X, truth, predicted)
        order, outputs = np.argsort(error, kind="stable"), predicted
        show: Any = _text
    else:
        number = output_number(model, output)
        if predicted.ndim == 2:
            predicted, truth = predicted[:, number], truth[:, number]
        truth = truth.astype(np.float64)
        dots = rng.permutation(len(truth))[:DOTS]
        facts = {
            "scores": score_numbers(truth, predicted),
            "scatter": {"x": predicted[dots], "y": truth[dots]},
            "coverage": [],
        }
        if model._has_posterior:
            some = np.sort(rng.permutation(len(truth))[:MOST_COVERED])
            measured = cover(model, take_rows(X, some), truth[some], COVERAGES, output=number)
            facts["coverage"] = np.column_stack([COVERAGES, *measured])
        error, show = truth - predicted, float
        order, outputs = np.argsort(-np.abs(error), kind="stable"), [output] * len(truth)
    worst, rows, names = order[:ROWS].tolist(), {}, []
    for each in {outputs[n] for n in worst}:
        own = [n for n in worst if outputs[n] == each]
        found = inspection.explain(model, take_rows(X, own), findings.sample, output=each)
        names = [_text(name) for name in found.names]
        for i, n in enumerate(own):
            values = [column[i] for column in found.values]
            rows[n] = {
                "n": n, "observed": show(truth[n]), "predicted": show(predicted[n]),
                "error": error[n], "base": found.base, "response": found.response,
                "value": found.prediction[i], "parts": found.contributions[i],
                "values": [v if isinstance(v, int | float | np.number) else _text(place(v))
                           for v in values],
            }  # fmt: skip
    return facts | {"rows": [rows[n] for n in worst], "names": names}


def _class_errors(
    model: Any, X: Any, truth: NDArray, predicted: NDArray
) -> tuple[dict[str, Any], NDArray]:
    """Return scores, confusion and calibration, and one minus each true class's probability."""
    classes = model.classes_
    truth = truth.astype(classes.dtype) if classes.dtype.kind != "O" else truth
    proba = model.predict_proba(X) if hasattr(model, "predict_proba") else None
    some = classes[:MOST_CLASSES]
    facts: dict[str, Any] = {
        "scores": score_classes(truth, predicted, proba, classes),
        "confusion": {"labels": [_text(label) for label in some], "counts": [
            [np.sum((truth == a) & (predicted == b)) for b in some] for a in some]},
    }  # fmt: skip
    own = np.arange(len(truth)), np.clip(np.searchsorted(classes, truth), 0, len(classes) - 1)
    if proba is None:
        decisions = model.decision_function(X)
        if decisions.ndim == 1:
            return facts, np.where(own[1] == 1, 1, -1) * decisions
        return facts, decisions[own] - decisions.max(axis=1)
    if len(classes) == 2:
        shown, is_true, what = proba[:, 1], truth == classes[1], _text(classes[1])
    else:
        shown, is_true, what = proba.max(axis=1), truth == predicted, "the predicted class"
    facts["calibration"] = {"bins": reliability(shown, is_true), "what": f"probability of {what}"}
    return facts, proba[own]


def _cards(model: Any, facts: dict[str, Any]) -> list[list[str]]:
    best = facts["scores"][0]
    top = ", ".join(column["name"] for column in facts["columns"][:3])
    margin = readable((best["high"] - best["low"]) / 2, 2)
    cards = [
        [best["name"], readable(best["value"]), f"± {margin} (95 %)"],
        ["rows scored", f"{facts['n_scored']:,}", f"{len(facts['columns'])} columns"],
        ["parameters", f"{model.n_parameters_:,}", name_network(model.network_)],
        ["most important", facts["columns"][0]["name"], top],
    ]
    if seconds := model.history_.get("seconds"):
        search = (model.history_.get("path") or [{}])[-1].get("seconds") or 0.0
        cards.append(["time to fit", f"{readable(search + seconds[-1], 3)} s", _epochs(model)])
    return cards


def _epochs(model: Any) -> str:
    return f"{model.n_iter_} epoch{'' if model.n_iter_ == 1 else 's'}"


def _code(model: Any, file: str | None) -> dict[str, str]:
    name = visible(file or "model.qtkm")
    call = "model.predict(X)"
    if hasattr(model, "predict_proba"):
        call += "\nmodel.predict_proba(X)"
    elif model._has_posterior:
        call += "\nmodel.predict_interval(X, 0.9)"
    columns = "[model.feature_names_in_]" if hasattr(model, "feature_names_in_") else ""
    times = [each["name"] for each in model.columns_ if each["holds"] == TIMES]
    dates = f", parse_dates={times!r}" if times else ""
    return {
        "python": f"import pandas, qtkm\n\nmodel = qtkm.load({name!r})\n"
        f"X = pandas.read_csv('rows.csv'{dates}){columns}\n{call}",
        "shell": f"qtkm predict {name} rows.csv --out predicted.csv",
    }
