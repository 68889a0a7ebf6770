"""What a solver returns: cores, status and history."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class History:
    """Course of a fit.

    Attributes
    ----------
    objective_updates : list of float
        Objective after every core update.
    objective : list of float
        Objective after every epoch.
    seconds : list of float
        Seconds from the first epoch's start to every epoch's end.
    validation_score : list of float
        Score on the validation rows after every epoch; empty without them.
    """

    objective_updates: list[float] = field(default_factory=list)
    objective: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    validation_score: list[float] = field(default_factory=list)


@dataclass
class Result:
    """Outcome of a solver.

    Attributes
    ----------
    cores : list
        The best cores: of the last epoch, or of the best validation score.
    n_iter : int
        Number of finished epochs.
    status : {"converged", "stopped early", "max_iter", "interrupted"}
    message : str
        The status in a sentence, with what to try.
    history : History
    """

    cores: Any
    n_iter: int
    status: str
    message: str
    history: History
