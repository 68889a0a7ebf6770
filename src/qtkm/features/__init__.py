"""Feature maps: values of one column in, factors of its levels out."""

from .feature_map import FeatureMap
from .maps import Categorical, Fourier, Joined, Power, WithGaps

#: shorthand in the estimators -> class; a new map is one class and one line here
REGISTRY: dict[str, type[FeatureMap]] = {
    "fourier": Fourier,
    "power": Power,
    "categorical": Categorical,
}

__all__ = ["REGISTRY", "Categorical", "FeatureMap", "Fourier", "Joined", "Power", "WithGaps"]
