"""Heating load of buildings by their shape."""

from ._dataset import Dataset, make_loader
from ._readers import excel
from ._sources import uci

load_energy = make_loader(
    Dataset(
        name="energy",
        title="Energy efficiency of buildings, heating load, 768 rows",
        text="Every row is a simulated building of one of 12 shapes, all of the same volume. The\n"
        "cooling load, which the repository's file has as well, is left out.",
        columns={
            "rel_compactness": "compactness relative to a cube",
            "surface_area": "m²",
            "wall_area": "m²",
            "roof_area": "m²",
            "height": "m",
            "orientation": "2 to 5, one number for each direction",
            "glazing_area": "fraction of the floor area",
            "glazing_dist": "0 (no glazing) to 5, how it is spread over the walls",
        },
        target="heating_load",
        target_text="in kWh/m².",
        origin="Source: A. Tsanas and A. Xifara (2012); UCI Machine Learning Repository,\n"
        "https://archive.ics.uci.edu/dataset/242, CC BY 4.0.",
        home_file="uci/energy.csv",
        public=uci(242, "energy+efficiency", "ENB2012_data.xlsx", read=excel(9)),
    )
)
