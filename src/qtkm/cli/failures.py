"""How a command fails: exit codes, and all that is wrong with a table in one error."""

from collections.abc import Sequence

#: problems that are told one by one
MOST_LINES = 10


class TableError(ValueError):
    """A table that cannot be used, for one reason or for several.

    Parameters
    ----------
    where : str
        The table, or some rows of it.
    problems : sequence of str
        One sentence each.
    hints : sequence of str
        What else is to be known, such as what helps against several of them at once.
    """

    def __init__(self, where: str, problems: Sequence[str], hints: Sequence[str] = ()):
        if len(problems) == 1:
            lines = [f"{where}: {problems[0]}"]
        else:
            lines = [f"{where}: {len(problems)} problems", *problems[:MOST_LINES]]
        if len(problems) > MOST_LINES:
            lines.append(f"… and {len(problems) - MOST_LINES} more")
        super().__init__("\n  ".join([*lines, *hints]))


#: it cannot be done, it was interrupted, whoever read the output closed it
FAILED, INTERRUPTED, CLOSED = 1, 130, 141
