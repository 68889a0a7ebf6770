"""The command ``qtkm``: one file a group of commands, errors in one sentence.

The commands import what they need when they run, so that ``--help`` and mistyped options answer
at once.
"""

from .app import main

__all__ = ["main"]
