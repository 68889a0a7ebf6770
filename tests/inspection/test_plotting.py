"""Ticks and titles can be read, and have room."""

import numpy as np
import pytest

from qtkm.inspection import MainEffectDisplay
from qtkm.inspection.plotting import in_lines, scale_axis
from tests.inspection.conftest import make_effect

plt = pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.usefixtures("close_figures")


def test_a_title_without_room_has_two_lines():
    _, axes = plt.subplots(1, 2, figsize=(12, 2), width_ratios=[1, 8])
    for ax, lines in zip(axes, (2, 1), strict=True):
        title = in_lines(ax.xaxis, "Interaction of one column", "and another")
        assert title.count("\n") == lines - 1


@pytest.mark.parametrize(("width", "lines"), [(9, 2), (2.5, 3)])
def test_notes_without_room_in_one_line_have_two(width, lines):
    values = np.arange(20.0)
    effect = make_effect("a", values, values, deciles=values[:9], inner=(0.0, 15.0))
    _, ax = plt.subplots(figsize=(width, 2))
    label = MainEffectDisplay(effect).plot(ax).ax_.get_xlabel()
    assert len(label.splitlines()) == lines
    assert "dashed: outermost 1% of rows, or none" in label


def test_only_heavy_tails_are_cut():
    _, ax = plt.subplots()
    values = np.array([0.0, 5.0, 10.0])
    ax.plot(values, values)
    before = ax.get_xlim()
    scale_axis(ax.xaxis, "a", values, (0.0, 9.0))
    assert (ax.get_xlabel(), ax.get_xlim()) == ("a", before)
    scale_axis(ax.xaxis, "a", values, (0.0, 1.0))
    assert ax.get_xlabel() == "a (all rows: 0 to 10)"
    assert ax.get_xlim()[1] < 2


def test_letters_of_any_script_are_drawn_or_written_as_codes():
    names = np.array(["北京", "Αθήνα", "القاهرة", "Kraków"], dtype=object)
    effect = make_effect("город", names, np.arange(4.0), response="温度")
    display = MainEffectDisplay(effect).plot()
    display.figure_.canvas.draw()  # a letter without a glyph would warn, which is an error here
    assert "город" in display.ax_.get_title()
    ticks = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert ticks[0] in ("北京", r"\u5317\u4eac")
    assert ticks[1] == "Αθήνα"
