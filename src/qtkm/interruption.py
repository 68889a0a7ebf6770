"""Ctrl-C, taken between compiled calls.

Python raises KeyboardInterrupt wherever the main thread happens to be.  Inside of a compiled call
it comes out as a SystemError, and inside of a lock or a file it leaves half of a job behind.  So a
fit installs a handler of its own that only makes a note, and looks at the note where it is safe:

    with deferred():            # the handler is installed, in the main thread alone
        for shard in shards:
            check()             # raises KeyboardInterrupt if there was a Ctrl-C
            compiled(shard)

An engine passes the context of a fit on to its threads, so that `check` works in them, too.
Threads of the user's own, and programs with a handler of their own, are left alone.
"""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

#: seconds after which one more Ctrl-C ends what does not get to a check; earlier ones count as
#: one, because some programs pass on to their children what the terminal has sent to all
PATIENCE = 1.0


#: when Ctrl-C was pressed and not taken yet; None outside of `deferred`
_current: ContextVar[list[float] | None] = ContextVar("interrupts", default=None)


def take() -> bool:
    """Return whether Ctrl-C was pressed, and forget it; False outside of `deferred`."""
    noted = _current.get()
    was_pressed = bool(noted)
    if noted:
        noted.clear()
    return was_pressed


def check() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed; does nothing outside of `deferred`."""
    if take():
        raise KeyboardInterrupt


def stop() -> None:
    """Raise KeyboardInterrupt."""
    raise KeyboardInterrupt


@contextmanager
def deferred(at_end: Callable[[], None] = stop) -> Iterator[None]:
    """Take Ctrl-C only where it is safe, for the length of a with block.

    `at_end` is called at its end if a Ctrl-C came after the last `check`. Inside of another such
    block this does nothing: the outer one decides.
    """
    noted: list[float] = []

    def note(*_: Any) -> None:
        now = time.monotonic()
        if now - [*noted, now][0] > PATIENCE:  # another thread may take the notes meanwhile
            raise KeyboardInterrupt
        noted.append(now)

    if _current.get() is not None or not _installed(note):
        yield
        return
    token = _current.set(noted)
    try:
        yield
    except SystemError as error:  # a second Ctrl-C, inside of a compiled call
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise
    finally:
        _current.reset(token)  # while nothing can come between
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    if noted:
        at_end()


def _installed(handler: Callable[..., None]) -> bool:
    """Install a handler of Ctrl-C in the place of Python's own; return whether that was there."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return False
    with suppress(ValueError):  # in other threads, and in an interpreter inside of a program
        signal.signal(signal.SIGINT, handler)
    return signal.getsignal(signal.SIGINT) is handler


@contextmanager
def held() -> Iterator[None]:
    """Let `check` do nothing for the length of a with block; what is noted stays noted."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)
