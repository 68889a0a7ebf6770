"""Settings of all tests."""

import gc
import os
from pathlib import Path

import pytest


def pytest_configure(config):
    """Say how examples are drawn, where tests are run: who hands them out imports nothing."""
    if config.getoption("numprocesses", None) and "PYTEST_XDIST_WORKER" not in os.environ:
        return
    from hypothesis import HealthCheck, settings

    # The first call of a compiled loop takes seconds, so no test has a deadline; and the same
    # examples are drawn every time, so that a change passes or fails for what it is.
    settings.register_profile(
        "qtkm",
        deadline=None,
        max_examples=30,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("qtkm")


def pytest_collection_finish():
    """Never look again at what was imported and collected when memory is searched for waste."""
    gc.freeze()


def pytest_collection_modifyitems(items):
    """Begin with the files beside this one, whose tests take longest: nobody waits at the end."""
    items.sort(key=lambda item: item.path.parent != Path(__file__).parent)


@pytest.fixture(scope="session", autouse=True)
def compile_once(tmp_path_factory):
    """Let one process compile a loop while the others that need it wait, and load it then."""
    fcntl = pytest.importorskip("fcntl") if os.name == "posix" else None
    if fcntl is None or "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    from qtkm.kernels import _jit

    folder = tmp_path_factory.getbasetemp().parent
    load, save, locks = _jit.CompiledCache.load_overload, _jit.CompiledCache.save_overload, {}

    def load_or_wait(self, *arguments):
        found = load(self, *arguments)
        if found is None:  # a loop calls others, never itself: nobody waits in a circle
            locks[self] = (folder / f"{self._py_func.__qualname__}.lock").open("w")
            fcntl.flock(locks[self], fcntl.LOCK_EX)
            found = load(self, *arguments)
            if found is not None:
                locks.pop(self).close()
        return found

    def save_and_open(self, *arguments):
        save(self, *arguments)
        locks.pop(self).close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_jit.CompiledCache, "load_overload", load_or_wait)
        patch.setattr(_jit.CompiledCache, "save_overload", save_and_open)
        yield


@pytest.fixture(params=["numpy", "compiled"])
def loops(request, monkeypatch):
    """Make passes over rows run in NumPy, as for few rows, or in compiled loops."""
    from tests.problems import use_loops

    use_loops(monkeypatch, request.param)
    return request.param
