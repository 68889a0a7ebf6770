"""Packages of the extras, imported when they are needed."""

import importlib
import importlib.util
from typing import Any


def is_installed(package: str) -> bool:
    """Return True if a package is installed, without importing it."""
    return importlib.util.find_spec(package) is not None


def need(module: str, purpose: str, extra: str = "data") -> Any:
    """Import a module, or say what its package is needed for and which extra contains it."""
    package = module.partition(".")[0]
    if not is_installed(package):
        raise ModuleNotFoundError(
            f'{purpose} with {package}, which is not installed; try: pip install "qtkm[{extra}]"',
            name=package,
        )
    return importlib.import_module(module)
