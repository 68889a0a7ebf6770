"""The Python code of the pages on extending runs as it stands."""

import re
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parent.parent / "docs" / "extend").glob("*.md"))
CODE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_there_is_a_page_for_each_kind_of_part():
    names = {page.stem for page in PAGES if CODE.search(page.read_text("utf-8"))}
    assert names == {"engine", "feature-map", "loss", "network", "solver"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_runs(page):
    scope = {"__name__": "page"}
    for snippet in CODE.findall(page.read_text("utf-8")):
        exec(compile(snippet, str(page), "exec"), scope)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []
