"""The README's Python snippets run as they stand."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
SNIPPETS = re.findall(r"^```python\n(.*?)^```", README.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def test_there_is_an_example():
    assert SNIPPETS


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_snippet_runs(snippet):
    exec(compile(snippet, str(README), "exec"), {"__name__": "readme"})


def test_links_to_files_lead_somewhere():
    targets = re.findall(r"\]\(([^)#:]+)\)", README.read_text("utf-8"))
    assert targets
    assert [target for target in targets if not (README.parent / target).exists()] == []
