"""``qtkm fit`` on tables that need not fit in memory: scans of a source instead of a frame."""

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from ..data import prefetched
from ..data.sources import Block, Source
from ..data.sources.mapped import take_rows
from .models import describe_fit, make_model, save_model
from .output import note, show, watched
from .reading import (
    as_X,
    check_block,
    check_target,
    find_columns,
    no_feature,
    open_table,
    too_few_rows,
)
from .scoring import LabelSums, NumberSums, start_sums
from .splitting import FEWEST_ROWS, HoldOut, is_there
from .survey import Survey
from .tables import check_names
from .task import remark_on_names


def fit_streamed(
    data: Path,
    target: str,
    out: Path,
    *,
    task: str,
    drop: Sequence[str],
    weight: str | None,
    test_size: float,
    parameters: dict[str, Any],
    quiet: bool,
    category: Sequence[str],
    cache: Path | None,
) -> Any:
    """Fit a model to a table block by block, score it on rows set aside, save it.

    Parameters
    ----------
    data, target, out, task, drop, weight, test_size, parameters, quiet, category
        As of `qtkm.cli.jobs.fit`; data may be a folder or a pattern.
    cache : pathlib.Path or None
        Folder in which coded rows are kept.

    Returns
    -------
    The fitted model.
    """
    check_target(target, weight)
    source, is_shown = open_table(data), bool(parameters["verbose"])
    needed = [target] if weight is None else [target, weight]
    check_names(source.names, [*needed, *drop, *category], data)
    features = [name for name in source.names if name not in {*needed, *drop}]
    if not features:
        raise no_feature(data, target)
    rows = HoldOut(needed, test_size, parameters["random_state"])
    survey = Survey(features, category, rows)
    survey.look(source, is_shown)
    if survey.n_rows < 2:
        raise too_few_rows(data, survey.n_rows)
    rows.share = test_size if survey.n_rows >= FEWEST_ROWS else 0.0
    for name, count in [] if quiet else survey.names_of_rows():
        note(remark_on_names(name, count, survey.n_rows))
    task = survey.task() if task == "auto" else task
    if task == "classification":
        survey.train_on_every_label()
    model = make_model(task, survey.categories, parameters)
    begin = perf_counter()
    _fit(model, rows.training_rows(source), target, features, weight, cache)
    seconds = perf_counter() - begin
    save_model(model, out)
    if not quiet:
        sums = start_sums(model)
        if rows.share:
            sums = score_rows(model, rows.test_rows(source), target, data, weight, is_shown)
        lines = describe_fit(model, task, survey.n_rows - sums.n_rows, seconds)
        show(f"{out}", lines + (sums.lines() if sums.n_rows else []))
    return model


def _fit(
    model: Any, source: Source, target: str, features: list[str], weight: Any, cache: Any
) -> None:
    with warnings.catch_warnings():
        # said by whoever asked for the fit, from the model's status
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit_dataset(source, target=target, features=features, weight=weight, cache=cache)
        except MemoryError as error:  # in the words of the command line
            raise MemoryError(str(error).replace("memory_limit=", "--memory-limit ")) from None


def score_rows(
    model: Any, source: Source, target: str, data: Path, weight: str | None, shown: bool
) -> NumberSums | LabelSums:
    """Sums for the scores of a model, over all rows of a source that have a target.

    Parameters
    ----------
    model : estimator
    source : Source
    target : str
        Column of the truth.
    data : pathlib.Path
        What the source was made of, for messages.
    weight : str or None
        Column of row weights.
    shown : bool
        Whether progress is shown.
    """
    names = find_columns(model, source, [target] if weight is None else [target, weight], data)
    sums = start_sums(model)
    for block in _checked(model, source, names, target, weight, shown):
        truth = block.columns[target]
        if hasattr(truth, "rename"):
            truth = truth.rename(target)
        try:
            weights = None if weight is None else block.columns[weight]
            sums.add(as_X(model, block, names), truth, weights)
        except ValueError as error:
            raise ValueError(f"{block.where}: {error}") from None
    return sums


def _checked(
    model: Any, source: Source, names: list[str], target: str, weight: str | None, shown: bool
) -> Iterator[Block]:
    """Blocks of the rows that have a target, with numbers where the model expects some."""
    columns = list(dict.fromkeys([*names, target, *([] if weight is None else [weight])]))
    blocks = prefetched(source.blocks(columns))
    for block in watched(blocks, source.expected_rows(), "score", shown):
        complete = take_rows(block, is_there(block.columns[target]))
        if complete.n_rows:
            yield check_block(model, names, complete)
