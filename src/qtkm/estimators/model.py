"""Base class of both estimators: from X and y to a solved objective, and back to responses."""

import inspect
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .. import networks, solvers
from ..data import ShardList
from ..data.sources import open_source
from ..engines import Dask
from ..interruption import held
from ..objective import Column
from ..parameters import keep_parameters
from . import uncertainty
from .choices import automatic
from .dask import Partitions, is_collection
from .defaults import check_parameters
from .inputs import Reading, refuse_path
from .predicting import PredictsDatasets
from .prepare import Prepared, prepare
from .tables import Table, open_table, read_arrays
from .targets import Target
from .uncertainty import Uncertain
from .values import shorten
from .wording import Shown, summarize
from .working import ended_by_interrupts, engine_of, warn_user


class Model(Uncertain, PredictsDatasets, Shown, BaseEstimator):
    """Tensor-network kernel machine without a task: fits targets and returns responses."""

    @property
    def _goes_on(self) -> bool:
        """Return True if a fit continues from the last one."""
        if not self.warm_start or not hasattr(self, "_reading"):
            return False
        # a search ends with more terms than `rank`: a network of every fold, or one term per row
        path = self.history_.get("path", ())
        is_larger = not isinstance(self.rank, str) and self.rank != self.rank_
        return not any("share" in step or is_larger for step in path)

    @property
    def _known(self) -> Reading | None:
        """How the last fit reads rows, if a fit continues from it."""
        return self._reading if self._goes_on else None

    #: checks y of rows in memory
    _check_target: Callable[[Any], NDArray]

    #: makes the reader of columns of targets, and of an offset, from blocks of rows: from their
    #: names, the offset's name, whether y is a vector, and the type of labels in memory
    _target_reader: Callable[..., Target]

    def _fit(self, X: Any, y: Any, sample_weight: Any, offset: Any = None) -> None:
        with self._prepare(X, y, sample_weight, offset) as prepared:
            self._solve(prepared)

    @ended_by_interrupts()
    def fit_dataset(
        self,
        source: Any,
        *,
        target: Any,
        features: Any = None,
        weight: Any = None,
        offset: Any = None,
        cache: Any = None,
    ) -> Any:
        """Fit to a table on disk, or to batches of rows, that need not fit in memory.

        The source is read at least twice: for ranges, distinct values and categories, then for
        codes of two or four bytes per value. These are kept in memory if `memory_limit` allows,
        else on disk. The model is bit-identical to that of `fit` on the same rows.

        Parameters
        ----------
        source : path-like, sequence of path-like, iterable of batches or Source
            A Parquet or CSV file, a folder of them, a glob pattern, a list of files; or batches
            (frames, Arrow tables, dicts of arrays) that can be iterated over several times.
        target : str or sequence of str
            Column of the target; several for several outputs.
        features : sequence of str, optional
            Columns to predict from, in this order; all others by default.
        weight : str, optional
            Column of row weights.
        offset : str, optional
            Column of offsets, as in `fit` of a regressor.
        cache : path-like, optional
            Folder for coded rows that do not fit in memory, which other fits reuse as long as the
            files are unchanged. By default a temporary one, removed after the fit.

        Returns
        -------
        self

        Raises
        ------
        qtkm.data.sources.DataFileError
            A ValueError with file and rows, if they cannot be read or used.
        """
        check_parameters(self)
        with engine_of(self, reads_blocks=True) as engine:
            table = open_table(self, open_source(source), target, features, weight, offset, cache)
            with prepare(self, table, engine) as prepared:
                self._solve(prepared)
        return self

    @contextmanager
    def _prepare(
        self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None
    ) -> Iterator[Prepared]:
        """Prepare a fit to the given data, for the duration of a with block."""
        check_parameters(self)
        refuse_path(X)
        is_lazy = is_collection(X, y, sample_weight, offset)
        is_matrix = isinstance(X, np.ndarray) and X.ndim == 2 and not np.ma.isMA(X)
        by_blocks = is_matrix and self.memory_limit is not None and not is_lazy
        with engine_of(self, reads_blocks=by_blocks, has_collections=is_lazy) as engine:
            if is_lazy:
                given = {"X": X, "y": y, "sample_weight": sample_weight, "offset": offset}
                table: Table = Partitions(self, given, cast(Dask, engine))
            else:
                table = read_arrays(self, X, y, sample_weight, offset, by_blocks)
            with prepare(self, table, engine) as prepared:
                yield prepared

    def _solve(self, prepared: Prepared) -> None:
        """Solve a prepared fit and store the result."""
        has_validation = prepared.validation is not None
        is_new = prepared.earlier is None
        if is_new and automatic.is_wanted(self, prepared.objective, has_validation):
            result = automatic.solve(self, prepared)
        else:
            result = prepared.solve(self, prepared.start(self.init))
        with held():  # what was learned is not lost to a late Ctrl-C
            self._store(prepared, result)
        if result.status in ("interrupted", "failed"):
            warn_user(result.message, ConvergenceWarning)

    def _store(self, prepared: Prepared, result: solvers.Result) -> None:
        objective = prepared.objective
        network = objective.network.fitted_to(result.cores)
        self.n_iter_ = result.n_iter
        self.status_, self.message_ = result.status, result.message
        history = dict(vars(result.history))
        self.history_ = history | history.pop("records")
        self.alpha_ = objective.alpha
        precisions = objective.precisions if result.precisions is None else result.precisions
        self.penalties_ = objective.learned_penalties(precisions)
        self._place(result.cores, network, cast(Any, objective.loss))
        pairs = zip(prepared.inputs.columns, objective.columns, strict=True)
        self.columns_ = [
            own.describe() | {
                "n_grid": len(column), "binned": getattr(column.grid, "is_binned", False),
                "bin_error": column.bin_error,
            } for own, column in pairs
        ]  # fmt: skip
        self._reading = prepared.reading
        for name, value in prepared.learned.items():
            setattr(self, name, value)
        if isinstance(objective.shards, ShardList):
            objective.shards.forget_groups()
        try:
            self._uncertainty = uncertainty.learn(self, prepared, result, precisions)
        except np.linalg.LinAlgError as error:
            self._uncertainty = f"its matrix has no inverse ({error}); use a larger alpha"
        _warn_of_constants(objective.columns, prepared.inputs.labels)

    def _place(self, cores: list[Any], network: Any, loss: Any) -> None:
        """Set cores, network and loss, and the attributes that follow from them."""
        # in one order of memory, so that a copy of a model has the same bits in its predictions
        flat = [np.asarray(core, order="C") for core in networks.flatten(cores)]
        self.cores_ = networks.unflatten(cores, flat)
        self.network_, self.loss_ = network, loss
        self.rank_ = getattr(network, "rank", None)
        self.n_parameters_ = network.n_parameters(self.cores_)
        self.n_real_parameters_ = sum((1 + np.iscomplexobj(core)) * core.size for core in flat)
        self.vc_bound_ = float(2 * self.n_parameters_ * np.log2(12 * len(flat)))

    @property
    def target_names_(self) -> list[str] | None:
        """Names of the columns of y; None if it has none."""
        check_is_fitted(self)
        return self._reading.target_names

    def summary(self) -> str:
        """Describe columns, network, penalty and the end of the fit in about a screen of text.

        See `qtkm.inspection` for the effects of columns, which need rows.
        """
        check_is_fitted(self)
        return summarize(self)

    def _learned(self) -> str:
        return summarize(self) if hasattr(self, "history_") else ""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted model to a file that `qtkm.load` reads.

        Parameters
        ----------
        path : path-like
            Missing folders are created; an existing file is replaced atomically.

        Raises
        ------
        TypeError
            If a part's class is in no registry, or a value's type cannot be saved.

        Notes
        -----
        The file contains arrays and text, and no code.  `callbacks`, `checkpoint` and `engine`
        are not saved: they belong to the environment of the fit.
        """
        from .saving import save  # knows the estimators, which are made from this class

        save(self, path)

    def report(
        self,
        X: Any,
        y: Any,
        path: str | os.PathLike[str],
        *,
        output: Any = None,
        max_rows: int = 5000,
        title: str | None = None,
    ) -> Path:
        """Write a report on the model: one HTML file that opens in any browser.

        It contains scores with intervals, importances, effects of columns and pairs, the worst rows
        with the contributions of their columns, what was decided, and how to use the model.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)
            Rows to score and to explain; preferably rows that the model was not fitted to.
        y : array of shape (n_rows,) or (n_rows, n_outputs)
        path : path-like
            File to write; an existing one is replaced.
        output : int, str or class, optional
            Output or class to describe; by default the first, or the second of two classes.
        max_rows : int, default=5000
            Maximum number of rows, sampled, for shares, effects and contributions; scores use up
            to 200,000 rows. The report mentions it.
        title : str, optional

        Returns
        -------
        pathlib.Path
        """
        from ..report import write_report

        return write_report(self, X, y, path, output=output, max_rows=max_rows, title=title)

    def to_onnx(
        self, path: str | os.PathLike[str], *, dtype: str = "float64", std: bool | None = None
    ) -> Path:
        """Write the model as an ONNX file, which predicts without qtkm.

        Needs the extra `onnx`. The graph has one input of shape (n, 1) per column: numbers, with
        NaN for missing ones; strings or integers for categories, with an empty string for missing
        ones. Its outputs are ``prediction`` and ``std``, or ``label`` and ``probabilities``.

        Parameters
        ----------
        path : path-like
        dtype : {"float64", "float32"}, default="float64"
            Type of numbers inside the graph.
        std : bool, optional
            Whether to include the standard deviations of new observations, which make the file
            larger and slower. By default, if the model has a posterior.

        Returns
        -------
        pathlib.Path
        """
        from ..export import export

        return export(self, path, "onnx", dtype=dtype, std=std)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = self.categorical_features is not None
        tags.input_tags.string = self.categorical_features is not None
        return tags

    def _is_lazy(self, *given: Any) -> bool:
        """Return True for Dask collections, once the model is fitted."""
        check_is_fitted(self)
        return is_collection(*given)

    def _responses(self, X: Any) -> NDArray:
        """Return predictions (n_rows, n_outputs) in units of y."""
        check_is_fitted(self)
        reading: Reading = self._reading
        evaluator = self.network_.evaluator(self.cores_, reading.inputs.frequencies)

        def respond(maps: Any, values: Any) -> NDArray:
            return reading.scale.undo(self.loss_.prediction(evaluator.responses(maps, values)))

        out = self.loss_.keep_inside(self._by_steps(X, reading.n_outputs, respond))
        finite = np.isfinite(out).all(axis=1)
        if not finite.all():
            raise ValueError(
                f"The response overflows in {np.sum(~finite)} of {len(finite)} rows, the first of "
                f"them row {np.argmin(finite)}; values far outside the training range cause this "
                "with extrapolation='continue'; use 'clip'."
            )
        return out


def _warn_of_constants(columns: Sequence[Column], labels: Sequence[str]) -> None:
    """Warn about columns with the same value in all training rows."""
    constant = [label for column, label in zip(columns, labels, strict=True) if len(column) == 1]
    if len(constant) == len(columns):
        warn_user(
            "X has one row, or all rows are equal, so all predictions are the same; fit to rows "
            "that differ.",
            UserWarning,
        )
    elif constant:
        shown = shorten(constant, 5, plain=True)
        warn_user(f"Constant columns have no effect: {shown}. Remove them.", UserWarning)


def filled_from(source: type, *, without: Sequence[str] = (), **own: Any) -> Any:
    """Return a class decorator that completes a numpydoc docstring from that of another class.

    A class without a constructor also gets the source's, `without` some parameters, and with its
    `own` (names and defaults) first.  Attributes that only the class describes come first as well.
    """

    def fill(cls: type) -> Any:
        if "__init__" not in vars(cls):
            _take_constructor(cls, source, without, own)
        if cls.__doc__ is None or source.__doc__ is None:  # python -OO
            return cls
        texts, other = _sections(cls.__doc__), _sections(source.__doc__)
        for section in ("Parameters", "Attributes"):
            mine, shared = _entries(texts[section]), _entries(other[section])
            order = [*(name for name in mine if name not in shared), *shared]
            if section == "Parameters":
                order = list(inspect.signature(cls).parameters)
            texts[section] = "\n".join((shared | mine)[name] for name in order) + "\n\n"
        headed = (f"{name}\n{'-' * len(name)}\n{body}" for name, body in texts.items() if name)
        cls.__doc__ = texts[""] + "".join(headed)
        return cls

    return fill


def _take_constructor(cls: type, source: type, without: Sequence[str], own: Any) -> None:
    kinds, shared = inspect.Parameter, inspect.signature(source).parameters.values()
    each = [kinds("self", kinds.POSITIONAL_OR_KEYWORD)]
    each += [kinds(name, kinds.KEYWORD_ONLY, default=own[name]) for name in own]
    each += [given for given in shared if given.name not in (*own, *without)]
    signature = inspect.Signature(sorted(each, key=lambda given: given.kind))

    def __init__(self: Any, *arguments: Any, **named: Any) -> None:
        try:
            given = signature.bind(self, *arguments, **named)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}.__init__() {error}") from None
        given.apply_defaults()
        keep_parameters(self, given.arguments)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    cls.__init__ = __init__  # type: ignore[misc]


def _sections(text: str) -> dict[str, str]:
    """Return the sections of a docstring by name; the text before them has an empty name."""
    before, *rest = re.split(r"^(\w.*)\n-+\n", inspect.cleandoc(text), flags=re.MULTILINE)
    return {"": before} | dict(zip(rest[::2], rest[1::2], strict=True))


def _entries(section: str) -> dict[str, str]:
    parts = re.split(r"^(?=\w+ : )", section, flags=re.MULTILINE)
    return {part.split(" : ")[0]: part.strip() for part in parts if part.strip()}
