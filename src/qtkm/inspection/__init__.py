"""Inspection: what a fitted model has learned, as numbers and as drawings.

Everything is computed from the cores, exactly: a response is a sum of products of one function
a column, so means, variances and norms over exponentially many terms are small products.  Each
function here gives numbers, and the display of the same kind draws them with matplotlib.
Networks: CPD, tensor train and tensor ring.
"""

from .displays import (
    CoefficientsDisplay,
    ExplanationDisplay,
    ImportancesDisplay,
    InteractionDisplay,
    MainEffectDisplay,
    RankOneTermsDisplay,
    SpectrumDisplay,
    share_axis,
)
from .effects import Explanation, Interaction, MainEffect, explain, interaction, main_effects
from .fit_displays import CoverageDisplay, HistoryDisplay, PathDisplay, ResidualsDisplay
from .importance import Importances, importances
from .weights import (
    Coefficients,
    RankOneTerms,
    Spectrum,
    largest_coefficients,
    rank_one_terms,
    spectrum,
)

__all__ = [
    "Coefficients", "CoefficientsDisplay", "CoverageDisplay", "Explanation",
    "ExplanationDisplay", "HistoryDisplay", "Importances", "ImportancesDisplay", "Interaction",
    "InteractionDisplay", "MainEffect",
    "MainEffectDisplay", "PathDisplay", "RankOneTerms", "RankOneTermsDisplay",
    "ResidualsDisplay", "Spectrum", "SpectrumDisplay", "explain", "importances", "interaction",
    "largest_coefficients", "main_effects", "rank_one_terms",
    "share_axis", "spectrum",
]  # fmt: skip
