"""What the soak and fault tests share: how many times, and a count of what was done.

    QTKM_SOAK=20 ./dev test tests/faults

does everything twenty times as often.  What a test was given to record is told at the end.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOAK = float(os.environ.get("QTKM_SOAK", "0.25"))


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.faults)


@pytest.fixture
def times():
    """Multiply a number of repetitions by what is asked for."""
    return lambda count: max(1, round(count * SOAK))


@pytest.fixture
def tally(record_property):
    """Record how often something was done; see the summary at the end of a run."""
    return lambda what, count: record_property("faults", (what, count))


def pytest_terminal_summary(terminalreporter):
    counts = Counter()
    for report in terminalreporter.stats.get("passed", []):
        for name, value in getattr(report, "user_properties", ()):
            if name == "faults":
                counts[value[0]] += value[1]
    if counts:
        terminalreporter.section("faults survived")
        for what, count in counts.items():
            terminalreporter.write_line(f"{count:10,}  {what}")
