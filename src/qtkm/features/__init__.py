"""Feature maps: values of one column in, factors of its levels out."""

from .categorical import Categorical
from .feature_map import FeatureMap
from .fourier import Fourier
from .gaps import Joined, WithGaps
from .power import Power

#: shorthand in the estimators -> class; a new map is one file and one line here
REGISTRY: dict[str, type[FeatureMap]] = {
    "fourier": Fourier,
    "power": Power,
    "categorical": Categorical,
}

__all__ = ["REGISTRY", "Categorical", "FeatureMap", "Fourier", "Joined", "Power", "WithGaps"]
