"""Whether the best of what a search has tried stands at an edge, and what to try beyond it."""

from typing import Any

#: options of the command line with lists of what is tried, and how to go on beyond their ends
OPTIONS = {
    "rank": ("--ranks", 2),
    "n_basis": ("--n-basis", 2),
    "period": ("--periods", 2),
    "alpha": ("--alphas", 10),
}


def remark_on_edges(search: Any) -> str | None:
    """What to say of parameters of which the largest or the smallest was the best.

    Parameters
    ----------
    search : QTKMRegressorCV or QTKMClassifierCV
        After its end.

    Returns
    -------
    str or None
        None if every parameter has a better value than both ends, or only one value.
    """
    told: list[str] = []
    options: list[str] = []
    for name, (option, factor) in OPTIONS.items():
        values = sorted(set(search.cv_results_.get(f"param_{name}", ())))
        if len(values) < 2:
            continue
        best = search.best_params_[name]
        if best == values[-1]:
            end, listed = "largest", [best, best * factor]
        elif best == values[0]:
            end, listed = "smallest", [_smaller(best, factor, name), best]
        else:
            continue
        if listed[0] < listed[1]:
            told.append(f"the best {name}, {best:g}, {'is ' * (not told)}the {end}"
                        f"{' that was tried' * (not told)}")  # fmt: skip
            options.append(f"{option} {listed[0]:g},{listed[1]:g}")
    return f"{', '.join(told)}; {' '.join(options)} may be better" if told else None


def _smaller(value: Any, factor: int, name: str) -> Any:
    if name == "alpha":
        return value / factor
    return max(1, value // factor if isinstance(value, int) else value / factor)
