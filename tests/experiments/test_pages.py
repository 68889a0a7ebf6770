import numpy as np

from qtkm.experiments import runs


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
    assert runs.spread([1.0, 3.0], 2) == "2.00 ± 1.41"
    assert runs.spread([1.0], 1) == "1.0 ± 0.0"


def test_durations_are_readable():
    assert [runs.duration(s) for s in (2.345, 300, 7200)] == ["2.35 s", "5 min", "2.0 h"]


def test_the_origin_names_the_command():
    text = runs.origin("qtkm reproduce sound", 61.0)
    assert "`qtkm reproduce sound`" in text
    assert "cores" in text
    assert "61 s" in text


def test_a_page_without_new_fits_keeps_when_and_where_they_were_made(tmp_path):
    page = tmp_path / "page.md"
    before = "Made by `qtkm reproduce sound` on 1999-12-31 with qtkm 0.1.0 on 64 cores"
    page.write_text(f"# Title\n\n{before}; the fits took 2 min. More of it.\n", "utf-8")
    assert runs.origin("other", 61.0, page) == f"{before}; the fits took 61 s."
    assert "1999" not in runs.origin("other", 61.0)
    assert "`other`" in runs.origin("other", 61.0, tmp_path / "missing.md")


def test_a_figure_is_written_in_both_formats_and_the_same_each_time(tmp_path):
    from matplotlib.figure import Figure

    figure = Figure()
    figure.subplots().plot(np.arange(3))
    assert runs.save_figure(figure, tmp_path / "new" / "plot") == "plot.png"
    files = [tmp_path / "new" / f"plot.{kind}" for kind in ("png", "pdf")]
    before = [file.read_bytes() for file in files]
    runs.save_figure(figure, tmp_path / "new" / "plot")
    assert [file.read_bytes() for file in files] == before
