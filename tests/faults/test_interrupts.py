"""No model is lost to Ctrl-C, whenever it comes."""

import json
import subprocess
import sys

import pytest

KINDS = ["memory", "disk", "dask", "search", "fit command", "tune command"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to one process")
def test_no_interrupt_loses_a_model(request, times, tally):
    words = [sys.executable, "-m", "tests.faults.interrupting", "all", str(times(4)), "0"]
    done = subprocess.run(
        words, cwd=request.config.rootpath, stdout=subprocess.PIPE, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert list(found) == KINDS
    assert [loss for result in found.values() for loss in result["losses"]] == []
    for kind, result in found.items():
        tally(f"Ctrl-C, {kind}", sum(result["outcomes"].values()))
