"""The code of the documentation's pages runs as it stands, and their links lead somewhere.

Examples and figures are executed when the site is built (`./dev docs`), not here.
"""

import importlib
import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import matplotlib.pyplot as plt
import pytest

import qtkm
from qtkm.cli import main

matplotlib.use("Agg")

DOCS = Path(__file__).parent.parent / "docs"
EXTEND = sorted((DOCS / "extend").glob("*.md"))
#: written by hand, as opposed to pages that experiments write
PAGES = sorted([*EXTEND, *DOCS.glob("*.md"), *DOCS.glob("guide/*.md"), *DOCS.glob("design/*.md")])
#: those that introduce words
TEACHING = [*EXTEND, *DOCS.glob("guide/*.md"), DOCS / "start.md", DOCS / "scale.md"]
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
    monkeypatch.setattr(plt, "show", lambda: None)  # and some draw
    scope = {"__name__": "page"}
    for language, snippet in snippets:
        if language == "python":
            exec(compile(snippet, str(page), "exec"), scope)
        else:
            for line in snippet.splitlines():
                run_command(line)
    plt.close("all")


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


@pytest.mark.parametrize("page", TEACHING, ids=name_of)
def test_words_that_a_page_introduces_are_in_the_vocabulary(page):
    vocabulary = (DOCS / "notation.md").read_text("utf-8").lower()
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    words = re.findall(r"(?<![*\w])\*([A-Za-z][a-z-]+(?: [a-z-]+)?)\*(?!\*)", text)
    assert [word for word in words if word.lower().rstrip("s") not in vocabulary] == []


@pytest.fixture
def executed(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    return importlib.import_module("executed")


def make_site(folder):
    config = SimpleNamespace(executed_pages=["page"])
    return SimpleNamespace(config=config, srcdir=str(folder))


def test_what_a_snippet_prints_and_draws_stands_below_it(executed, tmp_path):
    page = (
        "Before.\n\n```python\na = 2\n```\n\n```python\nimport matplotlib.pyplot as plt\n"
        "print(a + 1)\nplt.plot([1, 2])\nplt.title('Two')\nplt.show()\n```\n\nAfter.\n"
    )
    source = [page]
    executed.insert_output(make_site(tmp_path), "page", source)
    printed = "```{code-block} text\n:class: output\n\n3\n```\n"
    drawn = "![Two](/_build/executed/page-1-1.png)\n"
    assert source[0] == page.replace("\nAfter.", f"\n{printed}\n{drawn}\nAfter.")
    assert (tmp_path / "_build/executed/page-1-1.png").stat().st_size > 0


def test_a_snippet_that_fails_stops_the_build_and_other_pages_are_left_alone(executed, tmp_path):
    source = ["```python\nraise ValueError('no')\n```\n"]
    executed.insert_output(make_site(tmp_path), "another", source)
    with pytest.raises(executed.ExtensionError, match="page: a snippet fails: ValueError"):
        executed.insert_output(make_site(tmp_path), "page", source)


def test_without_a_package_a_page_is_shown_without_output(executed, tmp_path):
    page = "```python\nprint(1)\n```\n\n```python\nimport no_such_package\n```\n\nEnd.\n"
    source = [page]
    executed.insert_output(make_site(tmp_path), "page", source)
    assert source[0].count("```{code-block} text") == 1
    assert source[0].endswith("```python\nimport no_such_package\n```\n\nEnd.\n")


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
