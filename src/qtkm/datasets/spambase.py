"""Unwanted mail by the words in it."""

from typing import Any

from ._dataset import Dataset, make_loader
from ._optional import pandas
from ._sources import uci

_WORDS = """
make address all 3d our over remove internet order mail receive will people report addresses
free business email you credit your font 000 money hp hpl george 650 lab labs telnet 857 data
415 85 technology 1999 parts pm direct cs meeting original project re edu table conference
"""

_MEANINGS = (
    [f"the word {word!r}, percent of all words" for word in _WORDS.split()]
    + [f"the character {sign!r}, percent of all characters" for sign in ";([!$#"]
    + [f"{kind} of runs of capital letters" for kind in ("mean length", "greatest length")]
    + ["total length of runs of capital letters"]
)


def _read(stream: Any) -> Any:
    frame = pandas().read_csv(stream, header=None)
    label = frame.columns[-1]
    return frame.assign(**{"y": 2 * frame[label] - 1}).drop(columns=label)


load_spambase = make_loader(
    Dataset(
        name="spambase",
        title="Spambase, 4601 rows",
        text="Every row is an electronic mail. The repository's file has all spam first; other\n"
        "copies have another order.",
        columns={f"f{number}": meaning for number, meaning in enumerate(_MEANINGS, 1)},
        target="y",
        target_text="1 for spam (1813 rows), -1 for other mail (2788 rows).",
        origin="Source: M. Hopkins, E. Reeber, G. Forman and J. Suermondt (1999); UCI Machine\n"
        "Learning Repository, https://archive.ics.uci.edu/dataset/94, CC BY 4.0.",
        home_file="classification/spambase.csv.gz",
        public=uci(94, "spambase", "spambase.data", read=_read),
        labels=True,
    )
)
