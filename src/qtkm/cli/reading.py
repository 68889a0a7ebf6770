"""Tables of the commands: sources of blocks of rows, checked against a model."""

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from ..data import prefetched
from ..data.sources import Block, Source, is_there, take_rows
from ..data.sources.conversion import refuse_missing, shorten
from ..data.sources.files import FileSource, find_files
from ..estimators.memory import available
from ..estimators.predicting import as_X
from ..estimators.working import watched
from ..limits import LIMITS
from .options import TableError
from .output import is_watched, note

#: kinds of columns, not categorical and categorical
KINDS = ("numbers", "categories")
#: memory of a value, in bytes
BYTES_PER_VALUE = 16
#: default for the most rows of a sample in memory
MOST_ROWS = 1_000_000


def name_of(data: Sequence[Path]) -> str:
    """Return a short name of files, folders and patterns for messages."""
    return f"{data[0]}" if len(data) == 1 else f"{data[0]} and {len(data) - 1} more"


def most_rows(wanted: int | None, n_columns: int) -> int:
    """Return the maximum number of rows of a sample: as wanted, or as many as fit in memory."""
    memory = LIMITS.table_share * available("SC_PHYS_PAGES")
    return wanted or min(MOST_ROWS, int(memory / (BYTES_PER_VALUE * n_columns)) + 1)


def find_target(model: Any, target: str | None, model_file: Path) -> str:
    """Return the name of the target column: as given, or that of the fit."""
    known = model.target_names_ or []
    if target is None and len(known) != 1:
        raise ValueError(f"{model_file} has no name of a target column; add --target COLUMN")
    return known[0] if target is None else target


class ModelTable:
    """Table for a model to predict; blocks are checked, and unseen values counted.

    `needed` are required columns other than the features `names`, which are in the order of the
    model. `unseen` has the number of rows with unseen values by column, for both kinds of columns.
    """

    def __init__(
        self, model: Any, data: Sequence[Path] | Source, needed: Sequence[str], name: str = ""
    ):
        # a remark on a fit
        warnings.filterwarnings("ignore", ".* contains numbers stored as text", UserWarning)
        self.model, self.needed = model, list(needed)
        if isinstance(data, Source):
            self.source, self.name = data, name
        else:
            # read as text whatever they look like
            text = [column["name"] for column in model.columns_
                    if any(isinstance(v, str) for v in column["categories"] or ())]  # fmt: skip
            self.source, self.name = FileSource(*find_files(data), text), name_of(data)
        known, names = getattr(model, "feature_names_in_", None), self.source.names
        self.names = [n for n in names if n not in needed] if known is None else list(known)
        refuse_missing(self.name, [*self.names, *needed], names)
        if len(self.names) != model.n_features_in_:
            raise ValueError(
                f"{self.name} has {len(self.names)} feature columns, but the model was fitted to "
                f"{model.n_features_in_} columns without names; the table must have exactly these, "
                "in the same order"
            )
        self.n_rows, self.n_left_out = 0, 0
        self.unseen = {kind: Counter[str]() for kind in KINDS}
        self._n_any = Counter[str]()

    def check(self, block: Block) -> Block:
        """Return the block, or raise a TableError that lists all unreadable columns."""
        own = self.model._reading.inputs
        try:
            columns = [block.columns[name] for name in self.names]
            found = own.read(columns, block.number)
        except (TypeError, ValueError) as error:
            first, *others = str(error).splitlines()
            raise TableError(block.where, [line.strip() for line in others or [first]]) from None
        self.n_rows += block.n_rows
        anywhere = {kind: np.zeros(block.n_rows, dtype=bool) for kind in self.unseen}
        for name, column, values in zip(self.names, own.columns, found, strict=True):
            kind, rows = KINDS[column.is_categorical], column.find_unseen(values)
            self.unseen[kind][name] += int(rows.sum())
            anywhere[kind] |= rows
        self._n_any.update({kind: int(rows.sum()) for kind, rows in anywhere.items()})
        return block

    def blocks(self, what: str, shown: bool) -> Iterator[tuple[Block, Any]]:
        """Yield blocks of rows that have a target (the first needed column), and their X."""
        blocks = prefetched(self.source.blocks(list(dict.fromkeys([*self.names, *self.needed]))))
        for block in watched(blocks, self.source.expected_rows(), what, shown, leave=False):
            if self.needed:
                keep = is_there(block.columns[self.needed[0]])
                self.n_left_out += int((~keep).sum())
                block = take_rows(block, keep)
            if block.n_rows:
                yield self.check(block), as_X(self.model, block, self.names)

    def remarks(self) -> list[str]:
        """Return a sentence for each kind of unseen values."""
        columns = self.model._reading.inputs.columns
        rules = {column.box.extrapolation for column in columns if not column.is_categorical}
        end = ", which are treated as values near its ends" if rules == {"clip"} else ""
        texts = {
            "categories": "unseen categories, which are predicted as an average one",
            "numbers": f"numbers outside the training range{end}",
        }
        found = []
        for kind, text in texts.items():
            count, verb = self._n_any[kind], "has" if self._n_any[kind] == 1 else "have"
            most = [f"{name!r} in {n:,}" for name, n in self.unseen[kind].most_common() if n]
            names = shorten(most, 8, plain=True)
            if most:
                found.append(f"{count:,} of {self.n_rows:,} rows {verb} {text}: {names}")
        return found


def draw_sample(blocks: Iterable[Block], most: int, seed: int) -> tuple[Any, int]:
    """Return up to `most` rows, each with the same chance to be drawn, and the number of all.

    Every row gets a random number, and the rows with the smallest numbers are kept in table order:
    this takes one pass, and depends neither on the number of rows nor on the blocks.
    """
    rng, n_seen, bound = np.random.default_rng(seed), 0, 1.0
    frames: list[Any] = []
    for block in blocks:
        numbers = rng.random(block.n_rows)
        n_seen += block.n_rows
        frame = pandas.DataFrame(block.columns, copy=False).set_axis(numbers)
        frames.append(frame[numbers < bound])
        if sum(map(len, frames)) > 2 * most:  # not after every block: it takes time
            frames = [_smallest(frames, most)]
            bound = frames[0].index.max()
    return _smallest(frames, most).reset_index(drop=True), n_seen


def _smallest(frames: list[Any], most: int) -> Any:
    """Return the rows whose index, a random number, is among the smallest, in their order."""
    rows = pandas.concat(frames) if frames else pandas.DataFrame()
    return rows[rows.index.argsort().argsort() < most]


def read_sample(
    model: Any, data: Sequence[Path], target: str | None, most: int | None, how: str
) -> tuple[Any, Any, int]:
    """Return X, y (None without a target) and the number of all rows.

    Rows without a target are skipped. More than `most` rows are sampled, with a remark on `how`
    they are used.
    """
    shown = is_watched(False)
    table = ModelTable(model, data, [] if target is None else [target])
    blocks = (block for block, _ in table.blocks("read", shown))
    rows, n_rows = draw_sample(blocks, most_rows(most, len(table.names) + 1), seed=0)
    if n_rows == 0:
        raise ValueError(f"{table.name} has no row with a target")
    if len(rows) < n_rows:
        note(f"{len(rows):,} of {n_rows:,} rows are {how}, drawn at random (--max-rows)")
    X, y = rows[table.names], None if target is None else rows[target]
    return X if hasattr(model, "feature_names_in_") else X.to_numpy(), y, n_rows
