"""What a fitted model gives to others: a report to read, a file that predicts without qtkm.

The work is done by `qtkm.report` and `qtkm.export`, which are layers above this one.
"""

import os
from pathlib import Path
from typing import Any


class Shared:
    """An estimator that writes a report on itself, and exports itself."""

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

        It shows scores with intervals, importances, effects of columns and pairs, the worst rows
        with the contributions of their columns, what was decided, and how to use the model.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)
            Rows to score and to look at; best rows that the fit has not seen.
        y : array of shape (n_rows,) or (n_rows, n_outputs)
        path : path-like
            File to write; one that is there is replaced.
        output : int, str or class, optional
            Which output or class effects are about; by default the first, or the second of two
            classes.
        max_rows : int, default=5000
            Shares, effects and contributions are computed from a sample of this size if there
            are more rows; scores use up to 200,000 rows. The report says so.
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

        Needs the extra `onnx`. The graph has one input of shape (n, 1) for each column: numbers,
        NaN for missing ones; text or whole numbers for categories, an empty text for missing ones.
        Its outputs are ``prediction`` and ``std``, or ``label`` and ``probabilities``.

        Parameters
        ----------
        path : path-like
        dtype : {"float64", "float32"}, default="float64"
            Type of numbers inside of the graph.
        std : bool, optional
            Whether to include the standard deviations of new observations, which make the file
            larger and slower. By default they are included if the model has a posterior.

        Returns
        -------
        pathlib.Path
        """
        from ..export import export

        return export(self, path, "onnx", dtype=dtype, std=std)
