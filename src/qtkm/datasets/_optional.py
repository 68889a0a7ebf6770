"""Packages that only the loaders need: imported when used, missed with advice."""

import importlib
import importlib.util
from typing import Any

INSTALL = 'pip install "qtkm[data]"'


def is_installed(module: str) -> bool:
    """Whether a package is there, without importing it."""
    return importlib.util.find_spec(module) is not None


def need(module: str, purpose: str, advice: str = f"try: {INSTALL}") -> Any:
    """Import an optional package.

    Parameters
    ----------
    module : str
    purpose : str
        What it is for, as in "the loaders read tables with pandas".
    advice : str
        What to do if it is missing.

    Raises
    ------
    ModuleNotFoundError
        If it is not installed.
    """
    if not is_installed(module):
        raise ModuleNotFoundError(f"{purpose}, which is not installed; {advice}", name=module)
    return importlib.import_module(module)


def pandas() -> Any:
    """Import pandas."""
    return need("pandas", "the loaders read tables with pandas")


def read_parquet(file: Any) -> Any:
    """Read a table that is stored as parquet."""
    need("pyarrow", f"the file {str(file)!r} is read with pyarrow")
    return pandas().read_parquet(file)
