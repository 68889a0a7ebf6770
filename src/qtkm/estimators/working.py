"""Engines and threads of an estimator, with BLAS limited to one thread, and its warnings."""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from ..engines import REGISTRY, Dask, Engine, Threads, is_elsewhere, one_blas_thread
from ..interruption import deferred
from ..limits import LIMITS

#: rows that take less time than to start threads
FEW_ROWS = 32


@contextmanager
def ended_by_interrupts() -> Iterator[None]:
    """Let Ctrl-C end a fit with the model so far, for the length of a with block or a method."""
    late = "Interrupted at the end of the fit, which is complete."
    with deferred(lambda: warn_user(late, ConvergenceWarning)):
        yield


@contextmanager
def threads(n_jobs: int | None) -> Iterator[Threads]:
    """Open threads for the length of a with block, and limit BLAS to one thread."""
    with deferred(), one_blas_thread(), closing(Threads(n_jobs)) as engine:
        yield engine


@contextmanager
def engine_of(
    model: Any, *, reads_blocks: bool = False, has_collections: bool = False
) -> Iterator[Engine]:
    """Open the engine of a model for the length of a with block; one that was given stays open."""
    engine = model.engine
    if has_collections and not isinstance(engine, str | Dask):
        said = f"X is a collection of Dask, which engine={engine!r} does not know"
        raise ValueError(f"{said}; use engine='dask'.")
    if isinstance(engine, str):
        engine = REGISTRY["dask" if has_collections else engine](n_jobs=model.n_jobs)
    with one_blas_thread(), closing(engine) if engine is not model.engine else nullcontext():
        if isinstance(engine, Dask) and not has_collections:
            engine.client  # noqa: B018  a missing client is an error, even if the rows are too few to need it
        if reads_blocks and is_elsewhere(engine):
            raise ValueError(
                f"engine={model.engine!r} keeps rows on a cluster, while fit_dataset and "
                "memory_limit are for rows that this process reads; pass a collection of Dask, "
                "such as dask.dataframe.read_parquet(…), to fit, or use engine='threads'."
            )
        yield engine


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn as if from the line outside of this package that called into it."""
    level, frame = 2, sys._getframe(1)
    own = ("qtkm.", "contextlib")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(own):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def watched(
    blocks: Iterable[Any], n_rows: int | None, what: str, shown: Any, leave: bool = True
) -> Iterator[Any]:
    """Yield blocks of rows, `n_rows` in total, with a progress bar if `shown`."""
    bar = tqdm(
        total=n_rows, desc=what, unit=" rows", unit_scale=True, leave=leave, disable=not shown
    )
    with bar:
        for block in blocks:
            yield block
            bar.update(block.n_rows)


def run_by_steps(function: Callable[[tuple[int, int]], None], n_rows: int, n_jobs: Any) -> None:
    """Call a function for ranges of rows, on threads where there are enough of them.

    All ranges but the last have the same length, because the rounding of a row depends on how many
    there are: so the first rows of a table have the same bits however long the table is.
    """
    if n_rows <= FEW_ROWS:
        function((0, n_rows))
        return
    step = LIMITS.predict_rows
    steps = [(begin, min(begin + step, n_rows)) for begin in range(0, n_rows, step)]
    with threads(n_jobs) as engine:
        engine.run(function, steps)
