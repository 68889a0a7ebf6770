"""Settings of all tests."""

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
