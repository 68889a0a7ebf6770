"""The first loop that is compiled says so, and what is found on disk says nothing."""

import os
import subprocess
import sys

import qtkm

#: the loops alone: the rest of the package takes seconds to import
CODE = f"""
import sys, types
package = sys.modules["qtkm"] = types.ModuleType("qtkm")
package.__path__ = {list(qtkm.__path__)!r}
import numpy as np
from qtkm.kernels import _jit, lines

padded = _jit.jit(lines.padded)
for dtype in (np.int64, np.int32):  # two types are compiled one by one
    print(padded(dtype(3)))
"""


#: the same with less to compile
ONE_TYPE = "(np.int64, np.int32)", "2 * (np.int64,)"
COMPILES = "qtkm compiles loops that have not been used"


def run(cache, code=CODE, **variables):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)} | variables
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "4\n" * 2
    return done.stderr


def test_only_a_first_run_tells_that_it_compiles(tmp_path):
    first = run(tmp_path)
    assert first.count(COMPILES) == 1
    assert len(first.splitlines()) == 1
    assert run(tmp_path) == ""

    # loops belong to the files that they were compiled from
    others = CODE.replace("padded =", "_jit.SOURCES = 'others'\npadded =")
    assert COMPILES in run(tmp_path, others.replace(*ONE_TYPE))

    # a cache that is damaged is none
    files = sorted(tmp_path.rglob("*.nb?"))
    assert {file.suffix for file in files} == {".nbi", ".nbc"}
    for number, file in enumerate(files):
        file.write_bytes(file.read_bytes()[: 100 * (number % 2)])
    assert COMPILES in run(tmp_path, CODE.replace(*ONE_TYPE))


def test_without_a_place_for_a_cache_loops_are_compiled_with_one_remark(tmp_path):
    file = tmp_path / "file"
    file.touch()
    # neither beside the source, nor in a home, nor where the variable says
    nowhere = {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator", "NUMBA_CACHE_DIR": ""}
    told = run(file, CODE.replace(*ONE_TYPE), **nowhere)
    assert told.count("qtkm compiles its loops in every process anew") == 1
    assert "set NUMBA_CACHE_DIR" in told
    assert len(told.splitlines()) == 1
