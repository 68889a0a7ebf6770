"""The documentation's pages: links, words, and that the site's build runs their code.

Code, examples and figures are executed when the site is built (`./dev docs`), not here.
"""

import importlib
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import qtkm

DOCS = Path(__file__).parent.parent / "docs"
EXTEND = sorted((DOCS / "extend").glob("*.md"))
#: written by hand, as opposed to pages that experiments write
PAGES = sorted([*EXTEND, *DOCS.glob("*.md"), *DOCS.glob("guide/*.md"), *DOCS.glob("design/*.md")])
#: those that introduce words
TEACHING = [*EXTEND, *DOCS.glob("guide/*.md"), DOCS / "start.md", DOCS / "scale.md"]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
#: packages and modules that users and those who extend the library see
PACKAGES = {path.parent.name for path in Path(qtkm.__file__).parent.glob("*/__init__.py")} - {
    "cli", "experiments", "kernels",
} | {"comparison"}  # fmt: skip


def name_of(page):
    return str(page.relative_to(DOCS).with_suffix(""))


def test_there_is_a_page_for_each_kind_of_part():
    names = {page.stem for page in EXTEND if PYTHON.search(page.read_text("utf-8"))}
    assert names == {"engine", "feature-map", "loss", "network", "penalty", "solver"}


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


def test_the_listing_of_folders_is_the_source():
    """Every folder and module in the listing exists, and every folder is in it."""
    text = (DOCS.parent / "CONTRIBUTING.md").read_text("utf-8")
    listing = text.partition("## Where things are")[2].partition("Siblings in one layer")[0]
    root = Path(qtkm.__file__).parent
    top, listed = "", set()
    for indent, name in re.findall(r"^    ( *)(\w+)  +\w", listing, re.MULTILINE):
        top = top if indent else name
        path = f"{top}/{name}" if indent else name
        assert (root / path / "__init__.py").exists() or (root / f"{path}.py").exists(), path
        listed.add(path)
    folders = {str(file.parent.relative_to(root)) for file in root.glob("*/**/__init__.py")}
    assert folders <= listed


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


@pytest.mark.parametrize("page", ["page", "another"])
@pytest.mark.parametrize(
    ("snippet", "reason"),
    [
        ("```python\nraise ValueError('no')\n```\n", r"ValueError\('no'\)"),
        ("```python\nimport warnings\nwarnings.warn('old')\n```\n", r"UserWarning\('old'\)"),
        ("```shell\nqtkm fit no-such-file.csv\n```\n", "ends with status 2"),
        ("```shell\nls\n```\n", "is not a call of qtkm"),
    ],
)
def test_code_that_fails_or_warns_stops_the_build_on_any_page(
    executed, tmp_path, page, snippet, reason
):
    with pytest.raises(executed.ExtensionError, match=f"{page}: a snippet fails: .*{reason}"):
        executed.insert_output(make_site(tmp_path), page, [snippet])


def test_commands_run_and_output_is_shown_only_where_it_is_asked_for(executed, tmp_path):
    source = ["```shell\nqtkm --version\n```\n\n```python\nprint(1)\n```\n"]
    before = list(source)
    executed.insert_output(make_site(tmp_path), "another", source)
    assert source == before


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
