"""What a solver returns: cores, status and history."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class History:
    """Course of a fit.

    Attributes
    ----------
    objective_updates : list of float
        Objective after every update that a solver reports: of a core (ALS), an iteration
        (L-BFGS), a step (Gauss-Newton) or an epoch (Adam).
    objective : list of float
        Objective after every epoch.
    seconds : list of float
        Seconds from the first epoch's start to every epoch's end.
    validation_score : list of float
        Score on the validation rows after every epoch; empty without them.
    records : dict of lists
        What else a solver notes after every epoch, by name, such as "damping".
    """

    objective_updates: list[float] = field(default_factory=list)
    objective: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    validation_score: list[float] = field(default_factory=list)
    records: dict[str, list[Any]] = field(default_factory=dict)


@dataclass
class Result:
    """Outcome of a solver.

    Attributes
    ----------
    cores : list
        The best cores: those of the best validation score; without validation rows those of
        the lowest objective, which are the last ones where a solver never raises it.
    n_iter : int
        Number of finished epochs.
    status : {"converged", "stopped early", "max_iter", "interrupted", "failed"}
        "failed": the objective became infinite or not a number.
    message : str
        The status in a sentence, with what to try.
    history : History
    precisions : list or None
        What the penalty multiplies squared weights by, as it was learned along with the cores;
        None if there was no epoch.
    """

    cores: Any
    n_iter: int
    status: str
    message: str
    history: History
    precisions: Any = None
