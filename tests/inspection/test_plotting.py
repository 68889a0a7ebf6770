"""Ticks and titles can be read, and have room."""

import pickle
from itertools import pairwise

import numpy as np
import pytest

from qtkm.inspection import MainEffectDisplay
from qtkm.inspection.plotting import in_lines, number_ticks, scale_axis, write_ticks
from tests.inspection.conftest import make_effect

plt = pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.usefixtures("close_figures")


@pytest.mark.parametrize(
    ("ticks", "texts"),
    [
        ([0, 2500, 5000], ["0", "2500", "5000"]),
        ([0, 5000, 10_000], ["0", "5,000", "10,000"]),
        ([0.58, 0.6], ["0.58", "0.60"]),
        ([-0.1, 2e-17, 0.1], ["-0.1", "0.0", "0.1"]),
        ([0, 5e-6], ["0", "5e-6"]),
        ([1_500_000_000, 1_500_000_010], ["1,500,000,000", "1,500,000,010"]),
        ([2013.0, 2013.25], ["2013.00", "2013.25"]),
        ([3.0], ["3"]),
        ([], []),
    ],
)
def test_ticks_are_written_out_and_told_apart(ticks, texts):
    assert write_ticks(np.array(ticks, dtype=float)) == texts


@pytest.mark.parametrize("width", [3.0, 6.0])
def test_ticks_do_not_overlap(width):
    figure, ax = plt.subplots(figsize=(width, 2), layout="constrained")
    ax.plot([1_000_000, 3_000_000], [0, 1])
    number_ticks(ax.xaxis)
    figure.canvas.draw()
    low, high = ax.get_xlim()
    boxes = [text.get_window_extent() for text in ax.get_xticklabels()
             if low <= text.get_position()[0] <= high]  # fmt: skip
    assert len(boxes) >= 2
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))


def test_a_drawing_can_be_pickled():
    figure, ax = plt.subplots()
    ax.plot([0, 20_000], [0, 1])
    number_ticks(ax.xaxis)
    copy = pickle.loads(pickle.dumps(figure))
    copy.canvas.draw()
    assert "20,000" in [text.get_text() for text in copy.axes[0].get_xticklabels()]


def test_whole_numbers_have_ticks_between_none_of_them():
    _, ax = plt.subplots()
    ax.plot([0, 1], [0, 1])
    number_ticks(ax.xaxis, np.array([0.0, 1.0]))
    assert set(ax.get_xticks()) <= {-1, 0, 1, 2}


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
