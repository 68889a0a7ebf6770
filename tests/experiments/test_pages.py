import numpy as np

from qtkm.experiments import runs
from qtkm.inspection.plotting import new_figure


def test_a_table_has_a_line_for_each_row():
    rows = [{"set": "yacht", "error": 0.1}, {"set": "wine", "error": 0.2}]
    text = runs.table("set | error", "{set} | {error:.1f}", rows)
    assert text.splitlines() == [
        "| set | error |",
        "|---|---:|",
        "| yacht | 0.1 |",
        "| wine | 0.2 |",
    ]


def test_spread_is_mean_and_sample_deviation():
    assert runs.spread([1.0, 3.0]) == "2.0000 ± 1.4142"
    assert runs.spread([1.0]) == "1.0000"


def test_durations_are_readable():
    assert [runs.duration(s) for s in (2.345, 300, 7200)] == ["2.35 s", "5 min", "2.0 h"]


def test_the_origin_names_the_command():
    text = runs.origin("qtkm reproduce sound")
    assert "`qtkm reproduce sound`" in text
    assert "cores" in text


def test_a_figure_is_written_in_both_formats_and_the_same_each_time(tmp_path):
    def draw():
        figure = new_figure(4, 3)
        figure.subplots().plot(np.arange(3))
        return figure

    assert runs.save_figures(tmp_path / "new", {"plot": draw}) == {"plot": "plot.png"}
    files = [tmp_path / "new" / f"plot.{kind}" for kind in ("png", "pdf")]
    before = [file.read_bytes() for file in files]
    runs.save_figures(tmp_path / "new", {"plot": draw})
    assert [file.read_bytes() for file in files] == before
