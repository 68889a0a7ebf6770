"""The page of the generalization experiment: errors, and the paper's claims one by one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..options import Options
from ..report import duration, origin, table
from .curves import Curve, Row, compare, curve, descends_twice, turning_point
from .protocol import Protocol

DOUBLE_DESCENT = ("qsar", "qsar_fish", "airfoil")
QUICK_RUN = (
    "**A quick run**: {} sets, {} seeds, few epochs. It shows that everything works; what it finds "
    "of the claims says nothing about them."
)


def page(
    options: Options,
    protocol: Protocol,
    rows: Sequence[Row],
    krr: Sequence[Row],
    kept: Path | None = None,
) -> list[str]:
    """Write the paragraphs of the page; `kept` is the page as it stands if no fit is new."""
    seconds = sum(row["seconds"] for row in [*rows, *krr])
    quick = [QUICK_RUN.format(len(protocol.sets), len(protocol.seeds))] if options.quick else []
    splits = len(protocol.splits)
    return [
        "# Generalization: QTKM, TKM, random features and the full model",
        "Figures 2 and 4 of Wesel and Batselier, *Quantized Fourier and Polynomial Features for "
        "more Expressive Tensor Network Models* (AISTATS 2024).",
        origin(options.command_line, seconds, kept)
        + " These are seconds of a processor core, added up over fits that ran side by side.",
        *quick,
        "TKM is the model that is not quantized, QTKM the quantized one, RFF are random Fourier "
        "features, and KRR is kernel ridge regression with the same features, which has all "
        "weights. P is the number of parameters, N that of training rows, D that of columns. "
        "Errors are means of squares for a target of variance 1, so predicting the mean gives 1.",
        "![Test error against the number of parameters](generalization_test.png)",
        "![Training error against the number of parameters](generalization_train.png)",
        "Test error above, training error below. Lines are means over "
        f"{len(protocol.seeds)} seeds and {splits} split{'s' if splits > 1 else ''}. A panel shows "
        "where TKM and QTKM can be compared; errors that are too large for its scale stand as "
        "numbers in the grey strip. “RFF, same α” have the penalty of the other models, “RFF” one "
        "that means the same to them (claim 5). All errors are in `generalization.csv`.",
        "The paper publishes curves, not numbers, so what can be set side by side are its claims.",
        "## Penalty and period",
        "Chosen by 3-fold cross-validated kernel ridge regression with the same features, and "
        "used for all models.",
        _choices(krr),
        "## Test errors",
        "Mean over seeds; P in parentheses. *Same P* is TKM's largest rank and the QTKM of as "
        "many parameters.",
        _errors(protocol, rows, krr),
        "## What the paper claims",
        *_claims(protocol, rows, krr),
        "## How it was run",
        _method(protocol, rows),
    ]


def _choices(krr: Sequence[Row]) -> str:
    lines = [
        (
            row["set"], row["split"], f"{row['rows']:,}", row["columns"], f"{row['alpha']:.0e}",
            f"{row['period']:g}", f"{row['train_mse']:.4f}", f"{row['test_mse']:.4f}",
            duration(row["seconds"]),
        )
        for row in krr
    ]  # fmt: skip
    headers = ["set", "split", "N", "D", "alpha", "L", "KRR train", "KRR test", "time"]
    return table(headers, lines)


def _errors(protocol: Protocol, rows: Sequence[Row], krr: Sequence[Row]) -> str:
    lines = []
    for name in protocol.sets:
        models = {model: curve(rows, name, model) for model in ("RFF", "TKM", "QTKM")}
        last = models["TKM"].n_parameters[-1]
        pairs = [_at(models[model], int(last)) for model in ("TKM", "QTKM")]
        best = [_best(models[model]) for model in ("RFF", "TKM", "QTKM")]
        full = np.mean([row["test_mse"] for row in krr if row["set"] == name])
        lines.append((name, f"{full:.4f}", *best, *pairs))
    headers = [
        "set", "KRR", "best RFF", "best TKM", "best QTKM", "TKM, same P", "QTKM, same P",
    ]  # fmt: skip
    return table(headers, lines)


def _best(line: Curve) -> str:
    i = int(np.argmin(line.mean))
    return f"{line.mean[i]:.4f} ({line.n_parameters[i]:,})"


def _at(line: Curve, n_parameters: int) -> str:
    (places,) = np.nonzero(line.n_parameters == n_parameters)
    if not len(places):
        return "–"
    i = int(places[0])
    return f"{line.mean[i]:.4f} ± {line.deviation[i]:.4f}"


def _claims(protocol: Protocol, rows: Sequence[Row], krr: Sequence[Row]) -> list[str]:
    return [
        _quantized_ahead(protocol, rows, krr),
        _yacht(protocol, rows, krr),
        _overfitting(protocol, rows),
        _double_descent(protocol, rows),
        _random_features(protocol, rows, krr),
    ]


def _rows_of(krr: Sequence[Row], name: str) -> int:
    return next(row["rows"] for row in krr if row["set"] == name)


def _quantized_ahead(protocol: Protocol, rows: Sequence[Row], krr: Sequence[Row]) -> str:
    parts = ["**1. QTKM's error is at or below TKM's for equal P < N, on all sets.**"]
    lines = []
    for name in protocol.sets:
        entry: list[Any] = [name]
        for error in ("test_mse", "train_mse"):
            found = compare(
                curve(rows, name, "QTKM", error), curve(rows, name, "TKM", error),
                _rows_of(krr, name),
            )  # fmt: skip
            entry += [
                f"{found.n_ahead} of {found.n_compared}", found.n_clearly_behind,
                f"{100 * found.gap:+.1f} %", "yes" if found.holds else "no",
            ]  # fmt: skip
        lines.append(entry)
    tested = [line for line in lines if line[4] == "yes"]
    trained = [line for line in lines if line[8] == "yes"]
    parts.append(
        f"Found for the test error on {len(tested)} of {len(lines)} sets, for the training error "
        f"on {len(trained)}. *Ahead*: numbers of parameters at which the mean is not above "
        "TKM's; *clearly behind*: above it by more than two standard errors; *gap*: mean of "
        "1 − QTKM/TKM."
    )
    headers = ["set"]
    headers += [
        f"{kind}: {what}" for kind in ("test", "train")
        for what in ("ahead", "clearly behind", "gap", "holds")
    ]  # fmt: skip
    return "\n\n".join([*parts, table(headers, lines)])


def _yacht(protocol: Protocol, rows: Sequence[Row], krr: Sequence[Row]) -> str:
    claim = "**2. On yacht QTKM is better than the full model (KRR).**"
    if "yacht" not in protocol.sets:
        return f"{claim} Not run."
    line = curve(rows, "yacht", "QTKM")
    full = np.mean([row["test_mse"] for row in krr if row["set"] == "yacht"])
    i = int(np.argmin(line.mean))
    verdict = "Found" if line.mean[i] < full else "Not found"
    return (
        f"{claim} {verdict}: the least mean test error of QTKM is {line.mean[i]:.5f} "
        f"± {line.standard_error[i]:.5f} (P={line.n_parameters[i]:,}), that of KRR {full:.5f}."
    )


def _overfitting(protocol: Protocol, rows: Sequence[Row]) -> str:
    claim = "**3. QTKM reaches its overfitting point at fewer parameters than TKM.**"
    lines, sooner, later = [], 0, 0
    for name in protocol.sets:
        ours, theirs = (turning_point(curve(rows, name, model)) for model in ("QTKM", "TKM"))
        lines.append((name, *(f"{p:,}" if p else "none" for p in (ours, theirs))))
        sooner += ours is not None and (theirs is None or ours < theirs)
        later += theirs is not None and (ours is None or theirs < ours)
    text = (
        f"Found on {sooner} of {len(lines)} sets, the reverse on {later}. The number of parameters "
        "of the least mean test error, none where more were always better:"
    )
    headers = ["set", "QTKM", "TKM"]
    return "\n\n".join([f"{claim} {text}", table(headers, lines)])


def _double_descent(protocol: Protocol, rows: Sequence[Row]) -> str:
    claim = "**4. Double descent on qsar, qsar_fish and airfoil.**"
    found = {
        name: [m for m in ("QTKM", "TKM") if descends_twice(curve(rows, name, m))]
        for name in protocol.sets
    }
    run = [name for name in DOUBLE_DESCENT if name in found]
    if not run:
        return f"{claim} Not run."
    there = [name for name in run if found[name]]
    also = [name for name in protocol.sets if found[name] and name not in DOUBLE_DESCENT]
    text = f"Found on {', '.join(there)}." if there else f"Not found on {', '.join(run)}."
    if len(run) < len(DOUBLE_DESCENT):
        text += " The others were not run."
    if also:
        text += f" Also on {', '.join(also)}."
    return (
        f"{claim} {text} It counts when the mean test error falls, rises and falls again by more "
        "than two standard errors each."
    )


def _random_features(protocol: Protocol, rows: Sequence[Row], krr: Sequence[Row]) -> str:
    claim = "**5. Random features compete only on the two-dimensional set (banana).**"
    if "banana" not in protocol.sets:
        return f"{claim} Not run."
    ahead: dict[str, list[str]] = {}
    for model in ("RFF", "RFF same alpha"):
        ahead[model] = []
        for name in protocol.sets:
            n_rows = _rows_of(krr, name)
            random, ours = (curve(rows, name, m).below(n_rows) for m in (model, "QTKM"))
            if random.mean.min(initial=np.inf) <= 1.05 * ours.mean.min(initial=np.inf):
                ahead[model].append(name)
    verdicts = {
        model: "Found" if sets == ["banana"] else "Not found" for model, sets in ahead.items()
    }
    listed = {model: ", ".join(sets) if sets else "no set" for model, sets in ahead.items()}
    return (
        f"{claim} They compete on a set if their best test error of P < N is at most 5 % above "
        "QTKM's. With the penalty α/M^D, which means the same to them as α to the other models "
        "because their kernel is smaller by that factor, they compete on "
        f"{listed['RFF']}: {verdicts['RFF'].lower()}. With α itself, which is far too much for "
        f"them on most sets, they compete on {listed['RFF same alpha']}: "
        f"{verdicts['RFF same alpha'].lower()}. Real random features are in the raw results as "
        "`RFF real`."
    )


def _method(protocol: Protocol, rows: Sequence[Row]) -> str:
    epochs = [row["epochs"] for row in rows if row["epochs"] not in ("", None)]
    capped = sum(count >= protocol.max_iter for count in epochs)
    return (
        f"80 % of the rows train, 20 % test; M=16, Q=2; inputs and targets scaled by the training "
        f"rows; TKM starts at the Kronecker product of a quantized start. The paper runs 5000 "
        f"sweeps of alternating least squares; here it has momentum and stops when "
        f"{protocol.window} epochs lower the objective by less than {protocol.tolerance:.1%}, or "
        f"after {protocol.max_iter:,} ({capped:,} of {len(epochs):,} fits; the median took "
        f"{int(np.median(epochs)):,}). Raw results: `generalization.csv`, `generalization_krr.csv`."
    )
