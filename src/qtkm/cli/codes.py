"""Exit codes of the command; 2 is typer's, for what was mistyped."""

#: it cannot be done, it was interrupted, whoever read the output closed it
FAILED, INTERRUPTED, CLOSED = 1, 130, 141
