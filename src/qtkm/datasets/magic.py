"""Gamma rays among showers seen by a telescope."""

from typing import Any

from ._dataset import Dataset, make_loader
from ._optional import pandas
from ._sources import uci


def _read(stream: Any) -> Any:
    frame = pandas().read_csv(stream, header=None)
    label = frame.columns[-1]
    return frame.assign(**{"y": frame[label].map({"g": 1, "h": -1})}).drop(columns=label)


load_magic = make_loader(
    Dataset(
        name="magic",
        title="MAGIC gamma telescope, 19,020 rows",
        text="Every row is the image of a simulated shower of particles, as the telescope sees\n"
        "it: an ellipse. All gamma rays stand before all hadrons: shuffle before splitting.",
        columns={
            "f1": "length of the major axis, mm",
            "f2": "length of the minor axis, mm",
            "f3": "size: logarithm to base 10 of the sum of all pixels, in photons",
            "f4": "the two brightest pixels over the size",
            "f5": "the brightest pixel over the size",
            "f6": "distance of the brightest pixel from the centre, along the major axis, mm",
            "f7": "cube root of the third moment along the major axis, mm",
            "f8": "cube root of the third moment along the minor axis, mm",
            "f9": "angle of the major axis with the direction to the origin, degrees",
            "f10": "distance of the centre from the origin, mm",
        },
        target="y",
        target_text="1 for gamma rays (12,332 rows), -1 for hadrons (6688 rows).",
        origin="Source: R. Bock (2004); UCI Machine Learning Repository,\n"
        "https://archive.ics.uci.edu/dataset/159, CC BY 4.0.",
        home_file="classification/magic.csv.gz",
        public=uci(159, "magic+gamma+telescope", "magic04.data", read=_read),
        labels=True,
    )
)
