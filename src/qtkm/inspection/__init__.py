"""Inspection: what a fitted model has learned, as numbers and as drawings.

Everything is computed from the cores, exactly: a response is a sum of products of one function
a column, so means, variances and norms over exponentially many terms are small products.  Each
function here gives numbers, and the display of the same kind draws them with matplotlib.
Networks: CPD, tensor train and tensor ring.
"""

from .coefficients import Coefficients, largest_coefficients
from .effect_displays import InteractionDisplay, MainEffectDisplay
from .effects import Interaction, MainEffect, interaction, main_effects
from .fit_displays import HistoryDisplay, ResidualsDisplay
from .importance_displays import ImportancesDisplay, InteractionStrengthsDisplay
from .rank_one import RankOneTerms, rank_one_terms
from .shares import Importances, importances
from .spectra import Spectrum, spectrum
from .strengths import InteractionStrengths, interaction_strengths
from .weight_displays import CoefficientsDisplay, RankOneTermsDisplay, SpectrumDisplay

__all__ = [
    "Coefficients",
    "CoefficientsDisplay",
    "HistoryDisplay",
    "Importances",
    "ImportancesDisplay",
    "Interaction",
    "InteractionDisplay",
    "InteractionStrengths",
    "InteractionStrengthsDisplay",
    "MainEffect",
    "MainEffectDisplay",
    "RankOneTerms",
    "RankOneTermsDisplay",
    "ResidualsDisplay",
    "Spectrum",
    "SpectrumDisplay",
    "importances",
    "interaction",
    "interaction_strengths",
    "largest_coefficients",
    "main_effects",
    "rank_one_terms",
    "spectrum",
]
