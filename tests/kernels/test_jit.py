"""The first loop that is compiled says so, and what is found on disk says nothing."""

import os
import subprocess
import sys

CODE = """
import numpy as np
from qtkm.kernels import factors

for dtype in (np.int64, np.int32):  # two types are compiled one by one
    print(factors.powers(np.array([0.5]), np.array([2], dtype=dtype)).tolist())
"""


def run(cache):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "[[1.0, 0.5]]\n" * 2
    return done.stderr


def test_only_a_first_run_tells_that_it_compiles(tmp_path):
    first = run(tmp_path)
    assert first.count("qtkm compiles loops that have not been used") == 1
    assert len(first.splitlines()) == 1
    assert run(tmp_path) == ""
