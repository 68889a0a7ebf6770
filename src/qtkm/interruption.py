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
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

#: seconds after which one more Ctrl-C ends what does not get to a check; earlier ones count as
#: one, because some programs pass on to their children what the terminal has sent to all
PATIENCE = 1.0


class Interrupts:
    """Whether Ctrl-C was pressed and has not been taken yet."""

    def __init__(self) -> None:
        self._since: float | None = None

    def note(self, *_: Any) -> None:
        """Note a Ctrl-C: the handler."""
        now = time.monotonic()
        if self._since is None:
            self._since = now
        elif now - self._since > PATIENCE:
            raise KeyboardInterrupt

    def take(self) -> bool:
        """Return whether there was a Ctrl-C, and forget it."""
        was_noted, self._since = self._since is not None, None
        return was_noted


_current: ContextVar[Interrupts | None] = ContextVar("interrupts", default=None)


def take() -> bool:
    """Return whether Ctrl-C was pressed, and forget it; False outside of `deferred`."""
    interrupts = _current.get()
    return interrupts is not None and interrupts.take()


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
    interrupts = Interrupts()
    if _current.get() is not None or not _install(interrupts.note):
        yield
        return
    token = _current.set(interrupts)
    try:
        yield
    except SystemError as error:  # a second Ctrl-C, inside of a compiled call
        if isinstance(error.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise
    finally:
        _current.reset(token)  # while nothing can come between
        if signal.getsignal(signal.SIGINT) == interrupts.note:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    if interrupts.take():
        at_end()


def _install(handler: Callable[..., None]) -> bool:
    """Install a handler of Ctrl-C where Python's own is in place; return whether it is."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return False
    try:
        signal.signal(signal.SIGINT, handler)
    except ValueError:  # an interpreter inside of another program
        return False
    return True


@contextmanager
def held() -> Iterator[None]:
    """Let `check` do nothing for the length of a with block; what is noted stays noted."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)
