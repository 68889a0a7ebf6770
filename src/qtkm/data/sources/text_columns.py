"""Files whose columns have the kinds and names that pandas would give them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from .errors import need
from .files import FileSource
from .kinds import SPANS, TIMES, kind_of
from .source import Chunk


class TextSource(FileSource):
    """Rows of files, of which some columns of CSV files are text whatever they look like.

    So are all columns that look like times, and a column without a name has the one that pandas
    gives it: a model that was fitted to a frame finds its columns and its categories again.

    Parameters
    ----------
    paths : sequence of pathlib.Path
    kind : {"Parquet", "CSV"}
    text : sequence of str
        Columns of CSV files that hold text; of Parquet files, the files say what they hold.
    """

    def __init__(self, paths: Sequence[Path], kind: str, text: Sequence[str] = ()):
        super().__init__(paths, kind)
        self._unnamed: str | None = None
        if kind != "CSV":
            return
        string = need("pyarrow", "CSV files are read").string()
        for part in self._parts:
            for name, found in part.types.items():
                if name in text or kind_of(found) in (TIMES, SPANS):
                    part.types[name] = string
        if "" in self.names:
            position = self.names.index("")
            self._unnamed = self.names[position] = f"Unnamed: {position}"

    def _in_file(self, names: Sequence[str]) -> list[str]:
        return ["" if name == self._unnamed else name for name in names]

    def _check(self, wanted: Sequence[str]) -> None:
        super()._check(self._in_file(wanted))

    def _chunks(self, wanted: Sequence[str], coded: set[str], rows: int) -> Iterator[Chunk]:
        inner = self._in_file(wanted)
        for values, n_rows, where in super()._chunks(inner, set(self._in_file([*coded])), rows):
            columns = {name: values[key] for name, key in zip(wanted, inner, strict=True)}
            yield columns, n_rows, where
