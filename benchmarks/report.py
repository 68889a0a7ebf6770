"""Rows of the result table, and how they are printed and saved."""

import csv
import json
import math

__all__ = ["format_table", "load", "row", "save", "without_bars"]

HEADINGS = ("work", "qtkm", "yardstick", "ratio", "bar", "stretch", "met")
MOMENT = ("date", "load average at start")  # the facts that differ from one benchmark to the next


def row(work, qtkm, yardstick="", *, ratio=None, unit="×", bar=None, stretch=None, note="", **data):
    """One line of the result table.

    Parameters
    ----------
    work : str
        What was done, sizes included.
    qtkm, yardstick : str
        The two measurements, formatted.
    ratio : float or None
        The number the bar speaks of, in ``unit``.
    unit : {"×", "%", "GB", "s", "times", "exponent", "relative"}
        For all but the first two, smaller is better.
    bar, stretch : float or None
        None for a line that only informs.
    note : str
        How it was measured, or what else was seen.
    **data
        Raw numbers, kept in the JSON file only.

    Returns
    -------
    dict
    """
    return {
        "work": work,
        "qtkm": qtkm,
        "yardstick": yardstick,
        "ratio": ratio,
        "unit": unit,
        "bar": bar,
        "stretch": stretch,
        "met": _verdict(ratio, unit, bar, stretch),
        "note": note,
        "data": data,
    }


def _verdict(ratio, unit, bar, stretch):
    if bar is None or ratio is None:
        return ""
    sign = 1 if unit in ("×", "%") else -1
    if stretch is not None and sign * ratio >= sign * stretch:
        return "stretch"
    return "yes" if sign * ratio >= sign * bar else "NO"


def without_bars(rows):
    """The rows with nothing judged, for problems smaller than the bars speak of."""
    return [entry | {"bar": None, "stretch": None, "met": ""} for entry in rows]


def format_table(rows):
    """Rows as a Markdown table, the columns padded so that it reads well as plain text."""
    cells = [HEADINGS] + [_cells(entry) for entry in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(HEADINGS))]
    lines = ["| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def _cells(entry):
    arrow = "≥ " if entry["unit"] in ("×", "%") else "≤ "
    ratio, bar, stretch = (_quantity(entry[k], entry["unit"]) for k in ("ratio", "bar", "stretch"))
    bounds = [arrow + bound if bound else "" for bound in (bar, stretch)]
    return (entry["work"], entry["qtkm"], entry["yardstick"], ratio, *bounds, entry["met"])


def _quantity(value, unit):
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    digits = {"GB": ".2f", "s": ".3g", "exponent": ".2f", "relative": ".1e"}.get(unit, ".3g")
    number = f"{value:{digits}}" if value < 1000 else f"{value:.0f}"
    return number if unit in ("exponent", "relative") else f"{number} {unit}"


def load(folder):
    """Saved results by benchmark name; empty if there are none."""
    path = folder / "results.json"
    return json.loads(path.read_text()) if path.exists() else {}


def save(folder, results):
    """Write results as JSON (all numbers), CSV (the rows) and Markdown (to read).

    Parameters
    ----------
    folder : pathlib.Path
    results : dict
        Benchmark name to ``{"rows", "facts", "command"}``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    with (folder / "results.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["benchmark", "date", *HEADINGS, "unit", "note"])
        for name, result in results.items():
            for entry in result["rows"]:
                fields = [entry[key] for key in (*HEADINGS, "unit", "note")]
                writer.writerow([name, result["facts"]["date"], *fields])
    (folder / "results.md").write_text(_markdown(results))


def _markdown(results):
    rows = [entry for result in results.values() for entry in result["rows"]]
    lines = ["# Benchmark results", "", format_table(rows), ""]
    lines += ["Ratios compare the best of several interleaved repetitions of both sides.", ""]
    lines += [f"- {entry['work'].strip()}: {entry['note']}" for entry in rows if entry["note"]]
    lines += ["", "## Commands and machine", ""]
    machines = {}
    for name, result in results.items():
        about = dict(result["facts"])
        when = ", ".join(f"{key} {about.pop(key)}" for key in MOMENT)
        lines.append(f"- {name}: `{result['command']}`, {when}")
        machines.setdefault(tuple(about.items()), []).append(name)
    for about, names in machines.items():
        lines += ["", ", ".join(names) + ":", ""]
        lines += [f"- {key}: {value}" for key, value in about]
    return "\n".join(lines) + "\n"
