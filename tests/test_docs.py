"""The code of the documentation's pages runs as it stands, and their links lead somewhere.

Examples and figures are executed when the site is built (`./dev docs`), not here.
"""

import importlib
import re
import shlex
from pathlib import Path

import pytest

import qtkm
from qtkm.cli import main

DOCS = Path(__file__).parent.parent / "docs"
EXTEND = sorted((DOCS / "extend").glob("*.md"))
#: written by hand, as opposed to pages that experiments write
PAGES = sorted([*EXTEND, *DOCS.glob("*.md"), *DOCS.glob("guide/*.md"), *DOCS.glob("design/*.md")])
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
SNIPPET = re.compile(r"^```(python|shell)\n(.*?)^```", re.DOTALL | re.MULTILINE)
#: packages that users and those who extend the library see
PACKAGES = {path.parent.name for path in Path(qtkm.__file__).parent.glob("*/__init__.py")} - {
    "cli", "experiments", "kernels",
}  # fmt: skip


def name_of(page):
    return str(page.relative_to(DOCS).with_suffix(""))


def test_there_is_a_page_for_each_kind_of_part():
    names = {page.stem for page in EXTEND if PYTHON.search(page.read_text("utf-8"))}
    assert names == {"engine", "feature-map", "loss", "network", "solver"}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_runs(page, tmp_path, monkeypatch):
    snippets = SNIPPET.findall(page.read_text("utf-8"))
    monkeypatch.chdir(tmp_path)  # some of them write files
    scope = {"__name__": "page"}
    for language, snippet in snippets:
        if language == "python":
            exec(compile(snippet, str(page), "exec"), scope)
        else:
            for line in snippet.splitlines():
                run_command(line)


def run_command(line):
    name, *words = shlex.split(line)
    assert name == "qtkm"
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code in (0, None)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    assert [target for target in targets if not is_there(page, target)] == []


def is_there(page, target):
    # pages of examples are made from the examples, when the site is built
    example = re.sub(r"gallery/(.*)\.rst$", r"examples/\1.py", target)
    example = example.replace("examples/index.py", "examples/README.rst")
    return (page.parent / example).exists()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_figures_are_there(page):
    scripts = re.findall(r"^\.\. plot:: (.+)$", page.read_text("utf-8"), re.MULTILINE)
    assert [script for script in scripts if not (DOCS / script).exists()] == []


def test_every_package_is_in_the_reference():
    # autosummary lists the names of a package by itself; estimators stand there one by one
    page = (DOCS / "api" / "index.md").read_text("utf-8")
    entries = set(re.findall(r"^   (\w+)$", page, re.MULTILINE))
    assert PACKAGES - {"estimators"} <= entries
    assert set(importlib.import_module("qtkm.estimators").__all__) <= entries


def test_every_name_of_the_library_has_a_package_in_the_reference():
    listed = {
        name
        for package in PACKAGES
        for name in getattr(importlib.import_module(f"qtkm.{package}"), "__all__", ())
    }
    assert set(qtkm.__all__) <= listed
