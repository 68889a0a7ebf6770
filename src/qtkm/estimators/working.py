"""Where an estimator computes: on threads of its own or by an engine, BLAS held to one thread."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from ..engines import REGISTRY, Dask, Engine, Threads, is_elsewhere, one_blas_thread
from ..interruption import deferred
from ..limits import LIMITS

#: rows that take less time than to start threads
FEW_ROWS = 32


@contextmanager
def ended_by_interrupts() -> Iterator[None]:
    """Let Ctrl-C end a fit with the model so far, for the length of a with block or a method."""
    with deferred(_tell_of_late_interrupt):
        yield


def _tell_of_late_interrupt() -> None:
    warn_user("Interrupted when the fit had come to its end: it is complete.", ConvergenceWarning)


@contextmanager
def threads(n_jobs: int | None) -> Iterator[Threads]:
    """Threads of our own for the length of a with block, BLAS held to one thread."""
    with deferred(), one_blas_thread():
        engine = Threads(n_jobs)
        try:
            yield engine
        finally:
            engine.close()


@contextmanager
def engine_of(model: Any) -> Iterator[Engine]:
    """Engine of a model for the length of a with block; one that was given stays open."""
    with one_blas_thread():
        if not isinstance(model.engine, str):
            yield model.engine
            return
        engine = REGISTRY[model.engine](n_jobs=model.n_jobs)
        if isinstance(engine, Dask):
            engine.client  # noqa: B018  no client is an error, also where so few rows need none
        try:
            yield engine
        finally:
            engine.close()


@contextmanager
def engine_here(model: Any) -> Iterator[Engine]:
    """Provide the engine for rows that this process reads block by block."""
    with engine_of(model) as engine:
        if is_elsewhere(engine):
            raise ValueError(
                f"engine={model.engine!r} keeps rows on a cluster, while fit_dataset and "
                "memory_limit are for rows that this process reads; pass a collection of Dask, "
                "such as dask.dataframe.read_parquet(…), to fit, or use engine='threads'."
            )
        yield engine


@contextmanager
def cluster_of(model: Any) -> Iterator[Dask]:
    """Engine for collections of Dask: the one of a model, or that of the running client."""
    if isinstance(model.engine, Dask):
        engine = model.engine
    elif isinstance(model.engine, str):
        engine = Dask(n_jobs=model.n_jobs)
    else:
        raise ValueError(
            f"X is a collection of Dask, which engine={model.engine!r} does not know; use "
            "engine='dask'."
        )
    with one_blas_thread():
        try:
            yield engine
        finally:
            if engine is not model.engine:
                engine.close()


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn as if from the line outside of this package that called into it."""
    level, frame = 2, sys._getframe(1)
    own = ("qtkm.", "contextlib")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(own):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def steps(n_rows: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows that are evaluated at a time.

    All but the last have the same length, because the rounding of a row depends on how many
    there are: so the first rows of a table have the same bits however long the table is.
    """
    for begin in range(0, n_rows, LIMITS.predict_rows):
        yield begin, min(begin + LIMITS.predict_rows, n_rows)


def run_by_steps(function: Callable[[tuple[int, int]], None], n_rows: int, n_jobs: Any) -> None:
    """Call a function for ranges of rows, on threads where there are enough of them."""
    if n_rows <= FEW_ROWS:
        function((0, n_rows))
        return
    with threads(n_jobs) as engine:
        engine.run(function, steps(n_rows))
