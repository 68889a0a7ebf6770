"""Errors of sources, and packages that only sources need."""

import importlib
import importlib.util
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

INSTALL = 'pip install "qtkm[data]"'


class DataFileError(ValueError):
    """A file, or a batch, that cannot be read or does not fit the others."""


def need(module: str, purpose: str) -> Any:
    """Import a package of the extra `qtkm[data]`, or say what it is needed for."""
    package = module.partition(".")[0]
    if importlib.util.find_spec(package) is None:
        raise ModuleNotFoundError(
            f"{purpose} with {package}, which is not installed; try: {INSTALL}", name=package
        )
    return importlib.import_module(module)


def arrow() -> Any:
    """Import pyarrow."""
    return need("pyarrow", "tables are read and written")


def reading_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that pyarrow raises for damaged files."""
    return OSError, ValueError, EOFError, arrow().ArrowException


def reason(error: BaseException) -> str:
    """Return one line of what another library complains about."""
    return " ".join(str(error).split())[:300] or type(error).__name__


def missing_column(where: str, name: str, names: Sequence[str]) -> DataFileError:
    """Return an error for a missing column that lists similar names first."""
    near = get_close_matches(name, names, 3)
    listed = near + [other for other in names if other not in near]
    more = f", … ({len(names)} in all)" if len(names) > 10 else ""
    return DataFileError(
        f"{where} has no column {name!r}; it has {', '.join(map(repr, listed[:10]))}{more}."
    )


def refuse_repeated(where: str, names: Sequence[str]) -> None:
    """Raise a DataFileError if two columns have the same name."""
    if len(set(names)) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        raise DataFileError(f"{where} has several columns of the name {name!r}; rename them.")
