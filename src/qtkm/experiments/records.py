"""Raw results on disk: one line for each finished fit, so that nothing finished is lost."""

import csv
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

Key = tuple[str, ...]


class Records:
    """Rows of a CSV file that only grows; a row is safe on disk before the next one begins.

    Parameters
    ----------
    path : path-like
        The file; made with its folder when the first row comes.
    keys : sequence of str
        Columns that name a fit.
    values : sequence of str
        Columns that hold what came out.
    settings : mapping, optional
        What all rows have in common. Kept beside the file; rows of other settings are not
        continued.

    Attributes
    ----------
    rows : list of dict
        All rows, those of the file first.
    n_new : int
        How many of them were added here.

    Raises
    ------
    ValueError
        If the file holds rows of other columns or other settings.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        keys: Iterable[str],
        values: Iterable[str],
        settings: Mapping[str, Any] | None = None,
    ):
        self.path = Path(path)
        self.keys, self.values = list(keys), list(values)
        self.rows: list[dict[str, Any]] = []
        self.n_new = 0
        self._check_settings(dict(settings or {}))
        if self.path.exists():
            self._read()

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return self.keys + self.values

    def key(self, row: Mapping[str, Any]) -> Key:
        """Return the key of a row's fit."""
        return tuple(_text(row[name]) for name in self.keys)

    @property
    def done(self) -> set[Key]:
        """Names of the fits that are finished."""
        return {self.key(row) for row in self.rows}

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a finished fit and put it safely on disk."""
        is_new = not self.path.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            if is_new:
                writer.writerow(self.columns)
            writer.writerow([_text(row[name]) for name in self.columns])
            file.flush()
            os.fsync(file.fileno())
        self.rows.append({name: _number(_text(row[name])) for name in self.columns})
        self.n_new += 1

    def _read(self) -> None:
        """Take over the rows of the file; a last line that was cut off is dropped."""
        text = self.path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        lines = list(csv.reader(whole.splitlines()))
        if lines and lines[0] != self.columns:
            raise ValueError(
                f"{self.path} has columns {', '.join(lines[0])} where {', '.join(self.columns)} "
                "were expected; it comes from another version: choose another output folder"
            )
        if whole != text:
            partial = self.path.with_suffix(".partial")
            partial.write_text(whole, encoding="utf-8")
            os.replace(partial, self.path)
        if not lines:
            self.path.unlink()
        for line in lines[1:]:
            self.rows.append(dict(zip(self.columns, map(_number, line), strict=True)))

    def _check_settings(self, settings: dict[str, Any]) -> None:
        file = self.path.with_suffix(".settings.json")
        settings = json.loads(json.dumps(settings))
        if self.path.exists() and file.exists():
            found = json.loads(file.read_text(encoding="utf-8"))
            if found != settings:
                differ = [
                    f"{name} (there {found.get(name)!r}, here {settings.get(name)!r})"
                    for name in sorted(found.keys() | settings.keys())
                    if found.get(name) != settings.get(name)
                ]
                raise ValueError(
                    f"{self.path} holds results of other settings: {', '.join(differ)}; choose "
                    "another output folder, or remove that file to begin anew"
                )
        elif settings:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def _text(value: Any) -> str:
    if value is None:
        return ""
    return repr(float(value)) if isinstance(value, float) else str(value)


def _number(text: str) -> Any:
    """Convert a text to a number if it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
