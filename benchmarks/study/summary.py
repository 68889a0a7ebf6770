"""Tables of the study: test error and seconds per model and set, and how models compare."""

import numpy as np

__all__ = ["format_errors", "format_seconds", "summarise"]


def summarise(records, sets, models, quantity="test_mse"):
    """Mean of a quantity over the seeds.

    Parameters
    ----------
    records : iterable of dict
    sets, models : list of str
    quantity : str

    Returns
    -------
    ndarray of shape (n_models, n_sets)
        NaN where nothing was measured or a seed failed.
    """
    values = np.full((len(models), len(sets)), np.nan)
    for i, model in enumerate(models):
        for j, name in enumerate(sets):
            found = [r[quantity] for r in records if (r["model"], r["set"]) == (model, name)]
            if found:
                values[i, j] = np.mean(found)
    return values


def format_errors(records, sets, models, own):
    """Markdown table of test errors, the best model first.

    Parameters
    ----------
    records : list of dict
    sets, models : list of str
    own : set of str
        The models that are qtkm settings; the others are references.

    Returns
    -------
    str
        ``error`` is the mean over the sets (1 is what a constant gets), ``ratio`` the
        geometric mean of the error divided by the best error of any model on that set,
        ``among own`` the same divided by the best qtkm setting's error, ``worst`` the
        largest ratio to any model's best, ``rank`` the mean rank, ``seconds`` the time of
        one fit of each set.
    """
    errors = summarise(records, sets, models)
    seconds = summarise(records, sets, models, "fit_seconds")
    ratios = errors / _best(errors)
    mine = np.array([model in own for model in models])
    own_ratios = errors / _best(errors[mine]) if mine.any() else np.full_like(errors, np.nan)
    ranks = _ranks(errors)
    order = sorted(range(len(models)), key=lambda i: (_sets_missing(errors[i]), _mean(ratios[i])))
    lines = [["model", "error", "ratio", "among own", "worst", "rank", "seconds", *sets]]
    for i in order:
        own_mean = f"{_mean(own_ratios[i]):.3f}" if mine[i] else ""
        missing = _sets_missing(errors[i])
        label = models[i] + (f" ({missing} missing)" if missing else "")
        error = _nan(np.nanmean, errors[i])
        scores = [
            _cell(error),
            f"{_mean(ratios[i]):.3f}",
            own_mean,
            f"{_nan(np.nanmax, ratios[i]):.2f}",
        ]
        scores += [f"{_nan(np.nanmean, ranks[i]):.1f}", f"{np.nansum(seconds[i]):.4g}"]
        lines.append([label, *scores, *(_cell(error) for error in errors[i])])
    return _table(lines)


def format_seconds(records, sets, models):
    """Markdown table of the seconds of one fit."""
    seconds = summarise(records, sets, models, "fit_seconds")
    lines = [["fit seconds", *sets]]
    lines += [[m, *(_cell(v) for v in row)] for m, row in zip(models, seconds, strict=True)]
    return _table(lines)


def _best(errors):
    filled = np.where(np.isnan(errors), np.inf, errors)
    return np.maximum(filled.min(axis=0), 1e-12)


def _ranks(errors):
    filled = np.where(np.isnan(errors), np.inf, errors)
    return 1.0 + (filled[None, :, :] < filled[:, None, :]).sum(axis=1)


def _sets_missing(errors):
    return int(np.isnan(errors).sum())


def _mean(ratios):
    return _nan(lambda values: np.exp(np.nanmean(np.log(values))), ratios)


def _nan(function, values):
    return float(function(values)) if not np.isnan(values).all() else float("nan")


def _cell(value):
    if np.isnan(value):
        return "-"
    return f"{value:.4f}" if value < 10 else f"{value:.3g}"


def _table(lines):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    texts = []
    for line in lines:
        cells = [line[0].ljust(widths[0]), *(map(str.rjust, line[1:], widths[1:]))]
        texts.append("| " + " | ".join(cells) + " |")
    rule = ["-" * (widths[0] + 2)] + ["-" * (width + 1) + ":" for width in widths[1:]]
    texts.insert(1, "|" + "|".join(rule) + "|")
    return "\n".join(texts)
