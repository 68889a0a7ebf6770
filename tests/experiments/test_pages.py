import numpy as np

from qtkm.experiments import runs
from qtkm.inspection.plotting import new_figure


def test_a_line_that_names_a_list_is_repeated_for_its_entries(tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "__file__", str(tmp_path / "runs.py"))
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "a.md").write_text(
        "# {title}\n\n| set | error |\n|---|---:|\n| {sets[set]} | {sets[error]:.1f} |\n\n"
        "{if_more}Left out: {more}\n\n{if_title}Last\n"
    )
    sets = [{"set": "yacht", "error": 0.1}, {"set": "wine", "error": 0.2}]
    text = runs.fill("a.md", {"title": "Errors", "sets": sets, "more": None})
    table = "| set | error |\n|---|---:|\n| yacht | 0.1 |\n| wine | 0.2 |"
    assert text == f"# Errors\n\n{table}\n\nLast"


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
