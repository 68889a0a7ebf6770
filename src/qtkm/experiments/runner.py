"""Run many fits: those that are not recorded yet, several at a time, with the time left.

A *fit* is a name, a function and its arguments; what the function returns is recorded with the
name. The function must be importable, because it may run in another process.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from joblib import Parallel, delayed, parallel_config
from tqdm.auto import tqdm

from .records import Records


@dataclass(frozen=True)
class Fit:
    """One fit of an experiment.

    Attributes
    ----------
    name : mapping
        Values of the record's key columns.
    function : callable
        Called with `name` and `arguments` as keywords; returns the value columns.
    arguments : mapping
        What else the function needs.
    cost : float
        Expected work in any unit, for the time left.
    """

    name: Mapping[str, Any]
    function: Callable[..., Mapping[str, Any]]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    cost: float = 1.0


def run_fits(
    fits: Iterable[Fit],
    records: Records,
    *,
    title: str,
    n_jobs: int = 1,
    progress: bool = True,
) -> None:
    """Run the fits that are not recorded yet.

    Parameters
    ----------
    fits : iterable of Fit
        All fits of the experiment.
    records : Records
        Where finished ones are, and where new ones go.
    title : str
        Beside the progress bar.
    n_jobs : int, default=1
        Number of processes; each uses one thread. With 1 everything runs in this process.
    progress : bool, default=True
        Show a bar.
    """
    every = list(fits)
    done = records.done
    left = [fit for fit in every if records.key(fit.name) not in done]
    total = sum(fit.cost for fit in every)
    finished = total - sum(fit.cost for fit in left)
    form = "{l_bar}{bar}| {elapsed} so far, {remaining} left{postfix}"
    with tqdm(
        total=total, initial=finished, desc=title, disable=not progress, bar_format=form,
        mininterval=0.5,
    ) as bar:  # fmt: skip
        for count, (fit, values) in enumerate(_results(left, n_jobs), start=1):
            records.append({**fit.name, **values})
            done_now = len(every) - len(left) + count
            bar.set_postfix_str(f"{done_now:,} of {len(every):,} fits", refresh=False)
            bar.update(fit.cost)


def _results(fits: Sequence[Fit], n_jobs: int) -> Iterator[tuple[Fit, Mapping[str, Any]]]:
    """Finished fits, in the order in which they finish."""
    if n_jobs == 1 or len(fits) < 2:
        for fit in fits:
            yield fit, fit.function(**fit.name, **fit.arguments)
        return
    with parallel_config("loky", n_jobs=n_jobs, inner_max_num_threads=1):
        parallel = Parallel(return_as="generator_unordered", pre_dispatch="all", batch_size=1)
        tasks = (delayed(_numbered)(i, fit) for i, fit in enumerate(fits))
        for i, values in parallel(tasks):
            yield fits[i], values


def _numbered(i: int, fit: Fit) -> tuple[int, Mapping[str, Any]]:
    return i, fit.function(**fit.name, **fit.arguments)
