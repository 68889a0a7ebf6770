"""Fits to data on disk."""

from typing import Any

from numpy.typing import NDArray

from ..data.sources import open_source
from .checks import check_parameters
from .dataset_targets import DatasetTarget, NumberTarget
from .streaming import Table, fit_table, from_arrays, make_table
from .targets import refuse_unequal
from .working import engine_here


class FitsDatasets:
    """An estimator that fits to tables that do not fit in memory."""

    def fit_dataset(
        self,
        source: Any,
        *,
        target: Any,
        features: Any = None,
        weight: Any = None,
        cache: Any = None,
    ) -> Any:
        """Fit to a table on disk, or to batches of rows, that need not fit in memory.

        The source is read twice: for ranges, distinct values and categories, then for codes of
        two or four bytes a value. These are kept in memory where `memory_limit` allows, else on
        disk. The model is the same, bit for bit, as that of `fit` on the same rows.

        Parameters
        ----------
        source : path-like, sequence of path-like, iterable of batches or Source
            A Parquet or CSV file, a folder of them, a glob pattern, a list of files; or batches
            (frames, Arrow tables, dicts of arrays) that can be iterated over again and again.
        target : str or sequence of str
            Column of the target; several for several outputs.
        features : sequence of str, optional
            Columns to predict from, in this order; all others by default.
        weight : str, optional
            Column of row weights.
        cache : path-like, optional
            Folder in which scan and coded rows are kept, and from which another fit takes them as
            long as the files are the same. By default a temporary one that is removed after the
            fit, and is only made if the rows do not fit in memory.

        Returns
        -------
        self

        Raises
        ------
        qtkm.data.sources.DataFileError
            A ValueError that names file and rows, for what cannot be read or fitted to.
        MemoryError
            If `memory_limit` is too small; says the smallest that works.
        OSError
            If the disk is full.
        """
        check_parameters(self)
        table = make_table(open_source(source), target, features, weight)
        self._fit_table(table, isinstance(target, str), cache)
        return self

    def _fit_table(self, table: Table, is_vector: bool, cache: Any = None) -> None:
        reader = self._dataset_target(table.target)
        with engine_here(self) as engine:
            fit_table(self, table, reader, engine, cache)
        self._take_target(reader, is_vector)

    def _fit_within_limit(
        self, X: NDArray, target: NDArray, weight: NDArray | None, loss: Any
    ) -> None:
        """Fit to an array block by block, so that no column of it is copied as a whole."""
        refuse_unequal(len(X), len(target))
        table = from_arrays(X, target, weight)
        with engine_here(self) as engine:
            fit_table(self, table, NumberTarget(table.target), engine, loss=loss)

    def _dataset_target(self, names: list[str]) -> DatasetTarget:
        """Read the target of a dataset."""
        raise NotImplementedError

    def _dataset_loss(self, target: Any) -> Any:
        """Loss for the target of a dataset, which has been looked at."""
        raise NotImplementedError

    def _take_target(self, target: Any, is_vector: bool) -> None:
        """Set what a fit learns of the target."""
        raise NotImplementedError
