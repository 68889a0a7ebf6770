"""Settings of all tests."""

import pytest
from hypothesis import HealthCheck, settings

from tests.problems import use_loops

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


@pytest.fixture(params=["numpy", "compiled"])
def loops(request, monkeypatch):
    """Make passes over rows run in NumPy, as for few rows, or in compiled loops."""
    use_loops(monkeypatch, request.param)
    return request.param
