"""What can be wrong with a source, and packages that only sources need."""

import importlib
import importlib.util
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

INSTALL = 'pip install "qtkm[data]"'


class DataFileError(ValueError):
    """A file, or a batch, that cannot be read or does not go with the others."""


def need(module: str, purpose: str) -> Any:
    """Import a package of the extra `qtkm[data]`.

    Parameters
    ----------
    module : str
        With its submodule, as in "pyarrow.parquet".
    purpose : str
        What it is for, as in "Parquet files are read".

    Raises
    ------
    ModuleNotFoundError
        If it is not installed.
    """
    package = module.partition(".")[0]
    if importlib.util.find_spec(package) is None:
        raise ModuleNotFoundError(
            f"{purpose} with {package}, which is not installed; try: {INSTALL}", name=package
        )
    return importlib.import_module(module)


def reading_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that pyarrow raises for damaged files."""
    return OSError, ValueError, EOFError, need("pyarrow", "tables are read").ArrowException


def reason(error: BaseException) -> str:
    """One line of what another library complains about."""
    return " ".join(str(error).split())[:300] or type(error).__name__


def missing_column(where: str, name: str, names: Sequence[str]) -> DataFileError:
    """Error for a column that is not there, with those that look like it first."""
    near = get_close_matches(name, names, 3)
    listed = near + [other for other in names if other not in near]
    more = f", … ({len(names)} in all)" if len(names) > 10 else ""
    return DataFileError(
        f"{where} has no column {name!r}; it has {', '.join(map(repr, listed[:10]))}{more}."
    )
