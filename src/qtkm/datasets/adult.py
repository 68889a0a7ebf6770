"""Who earns more than 50,000 dollars, by a census."""

from typing import Any

from ._dataset import Dataset, make_loader
from ._optional import pandas
from ._sources import uci

_NUMBERS = {
    "age": "years",
    "fnlwgt": "number of people the row stands for, by the census",
    "education-num": "education as a number, 1 to 16",
    "capital-gain": "US dollars",
    "capital-loss": "US dollars",
    "hours-per-week": "hours of work",
}
# The levels in the order of their columns. The first of each has none.
_LEVELS = {
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
_RAW = """
    age workclass fnlwgt education education-num marital-status occupation relationship race sex
    capital-gain capital-loss hours-per-week native-country income"""


def _read(train: Any, test: Any) -> Any:
    """Both parts, rows with missing values dropped, categories in columns of 0 and 1."""
    options = {"header": None, "names": _RAW.split(), "skipinitialspace": True, "na_values": "?"}
    parts = [
        pandas().read_csv(train, **options),
        # Its first line is a remark, and its labels end in a full stop.
        pandas().read_csv(test, skiprows=1, **options),
    ]
    table = pandas().concat(parts, ignore_index=True).dropna()
    columns = {name: table[name] for name in _NUMBERS}
    for category, levels in _LEVELS.items():
        _check_levels(category, set(table[category]) - set(levels.split()))
        columns |= {f"{category}_{level}": table[category] == level for level in levels.split()[1:]}
    columns["y"] = 2 * table["income"].str.startswith(">50K").astype(int) - 1
    return pandas().DataFrame(columns).reset_index(drop=True)


def _check_levels(category: str, unknown: set[str]) -> None:
    if unknown:
        raise ValueError(
            f"the public file of adult has {category!r} in {sorted(unknown)}, expected only "
            f"{_LEVELS[category].split()}; it has changed, use a file in the data home"
        )


load_adult = make_loader(
    Dataset(
        name="adult",
        title="Adult (census income), 45,222 rows",
        text="Every row is a person in the census of the USA in 1994: the training and then the\n"
        "test part of the repository, without the rows that lack a value.",
        columns=_NUMBERS
        | {
            f"{category}_{level}": f"1 if {category} is {level}, else 0"
            for category, levels in _LEVELS.items()
            for level in levels.split()[1:]
        },
        target="y",
        target_text="1 for an income of more than 50,000 US dollars (11,208 rows), else -1.",
        origin="Source: B. Becker and R. Kohavi (1996); UCI Machine Learning Repository,\n"
        "https://archive.ics.uci.edu/dataset/2, CC BY 4.0. The first level of each category has\n"
        "no column.",
        home_file="classification/adult_onehot.parquet",
        public=uci(2, "adult", "adult.data", "adult.test", read=_read),
        labels=True,
    )
)
