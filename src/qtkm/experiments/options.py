"""What every experiment of the paper is told."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from joblib import cpu_count


@dataclass(frozen=True)
class Options:
    """How to run an experiment.

    Attributes
    ----------
    output : pathlib.Path
        Folder for raw results, figures and page; raw results that are there are continued.
    quick : bool
        A run of minutes with the same outputs: fewer sets, ranks, seeds and rows.
    data_home : str or None
        Folder of the data files; None as in `qtkm.datasets`.
    n_jobs : int
        Processes or threads, whichever an experiment uses; -1 means all cores.
    progress : bool
        Show progress bars.
    command : tuple of str
        Words of the command that makes this run, for the page.
    """

    output: Path
    quick: bool = False
    data_home: str | None = None
    n_jobs: int = -1
    progress: bool = True
    command: tuple[str, ...] = ()

    @property
    def cores(self) -> int:
        """Number of processes or threads."""
        return self.n_jobs if self.n_jobs > 0 else max(1, cpu_count() + 1 + self.n_jobs)

    @property
    def command_line(self) -> str:
        """The command as one types it."""
        return shlex.join(self.command)
