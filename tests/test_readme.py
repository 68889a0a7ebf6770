"""The README's Python snippets run as they stand."""

import re
import textwrap
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
SNIPPETS = re.findall(r"^```python\n(.*?)^```", README.read_text("utf-8"), re.DOTALL | re.MULTILINE)

NUMBER = re.compile(r"\d+(?:\.\d+)?")


def test_there_is_an_example():
    assert SNIPPETS


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_snippet_runs(snippet, capsys):
    exec(compile(snippet, str(README), "exec"), {"__name__": "readme"})
    printed = capsys.readouterr().out
    _, _, below = README.read_text("utf-8").partition(f"{snippet}```\n\n")
    shown = re.match(r"(?:    .*\n)+", below)
    if shown:
        lines = textwrap.dedent(shown[0])
        assert NUMBER.sub("#", lines) == NUMBER.sub("#", printed)
        numbers = [[float(number) for number in NUMBER.findall(text)] for text in (lines, printed)]
        assert numbers[0] == pytest.approx(numbers[1], rel=0.02)


def test_links_to_files_lead_somewhere():
    targets = re.findall(r"\]\(([^)#:]+)\)", README.read_text("utf-8"))
    assert targets
    assert [target for target in targets if not (README.parent / target).exists()] == []
