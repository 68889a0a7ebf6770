"""Displays of weights: a column's spectrum, the largest coefficients, the rank-one terms."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..estimators.wording import readable
from .plotting import (
    FAINT,
    FIRST,
    LONGEST_WORDS,
    SECOND,
    Display,
    name_ticks,
    number_ticks,
    plain,
    units,
    written,
)
from .response import find_column, fitted
from .weights import (
    Coefficients,
    RankOneTerms,
    Spectrum,
    largest_coefficients,
    rank_one_terms,
    spectrum,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: frequencies up to which each has a dot of its own
MOST_DOTS = 128
#: magnitudes below this part of the largest are rounding, and not drawn
FAINTEST = 1e-12
#: longest name of a product of basis functions
LONGEST = 72


class SpectrumDisplay(Display):
    """Magnitudes of the weights over the frequencies of a column, on a logarithmic scale.

    The two sides need not mirror each other, and one that is high at the edge does not call for
    a larger M: frequencies f and -f act together, and waves of a period above 1 may cancel each
    other where there are rows. `qtkm.inspection.spectrum` has more on this.

    Parameters
    ----------
    spectrum : Spectrum
    """

    def __init__(self, spectrum: Spectrum):
        self.spectrum = spectrum

    @classmethod
    def from_estimator(
        cls, model: Any, column: Any = 0, *, ax: "Axes | None" = None, output: Any = None
    ) -> "SpectrumDisplay":
        """Compute and draw the spectrum of a column; arguments are those of `spectrum`."""
        return cls(spectrum(model, column, output=output)).plot(ax)

    @property
    def notes(self) -> list[str]:
        return ["the only function, a constant"] if len(self.spectrum.numbers) == 1 else []

    def _draw(self, ax: "Axes") -> None:
        found = self.spectrum
        lines = [(found.magnitudes, FIRST, "network")]
        if found.main is not None:
            lines.append((found.main, SECOND, "main effect"))
        floor = FAINTEST * (max(sizes.max() for sizes, _, _ in lines) or 1.0)
        style, shown = ".-" if len(found.numbers) <= MOST_DOTS else "-", np.empty(0)
        for sizes, colour, label in lines:
            above = np.where(sizes > floor, sizes, np.nan)
            shown = np.append(shown, sizes[sizes > floor])
            ax.plot(found.frequencies, above, style, color=colour, linewidth=1, label=label)
        if len(lines) > 1:
            ax.legend(frameon=False)
        if len(shown):
            ax.set_yscale("log")
            _plain_logarithms(ax.yaxis, shown.min(), shown.max())
        number_ticks(ax.xaxis)
        name = written(found.name, LONGEST_WORDS)
        ax.set(
            title=f"Spectrum of {name}",
            xlabel=f"frequency (periods a unit of {name})",
            ylabel=f"norm of the weights{units(found.response)}",
        )
        plain(ax)


def _plain_logarithms(axis: Any, low: float, high: float) -> None:
    """Write 0.2 and not 2·10⁻¹, between the powers of ten only where there are few of them."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    write = FuncFormatter(lambda value, _: readable(value))
    axis.set_major_formatter(write)
    axis.set_minor_formatter(NullFormatter())
    if high < 200 * low:
        axis.set_minor_locator(LogLocator(subs=(2, 5)))
        axis.set_minor_formatter(write)


class CoefficientsDisplay(Display):
    """Bars of the largest weights; those that are not certain to be the largest are grey.

    Parameters
    ----------
    coefficients : Coefficients
    """

    def __init__(self, coefficients: Coefficients):
        self.coefficients = coefficients
        self.figure_size = (9.0, 1.4 + 0.28 * len(coefficients.values))

    @classmethod
    def from_estimator(
        cls, model: Any, n_coefficients: int = 10, *, ax: "Axes | None" = None, **options: Any
    ) -> "CoefficientsDisplay":
        """Find and draw the largest weights; arguments are those of `largest_coefficients`."""
        return cls(largest_coefficients(model, n_coefficients, **options)).plot(ax)

    @property
    def notes(self) -> list[str]:
        return [] if self.coefficients.is_exact else ["grey: there may be larger ones"]

    def _draw(self, ax: "Axes") -> None:
        found = self.coefficients
        where = np.arange(len(found.values))
        colours = [FIRST if i < found.n_certain else FAINT for i in where]
        ax.barh(where, np.abs(found.values), color=colours)
        ax.set_yticks(where, [written(label, LONGEST) for label in found.labels])
        ax.invert_yaxis()
        ax.set(
            title="Largest weights" if found.is_exact else "Largest weights that were found",
            xlabel=f"magnitude of the weight{units(found.response)}",
            ylabel="basis functions",
        )
        number_ticks(ax.xaxis)
        plain(ax)


class RankOneTermsDisplay(Display):
    """Sizes of the rank-one terms, or their functions of one column.

    Parameters
    ----------
    terms : RankOneTerms
    column : str or None
        Whose functions to draw; None draws the sizes.
    """

    def __init__(self, terms: RankOneTerms, column: str | None = None):
        self.terms = terms
        self.column = column

    @classmethod
    def from_estimator(
        cls, model: Any, column: Any = None, n_terms: int | None = None, *,
        ax: "Axes | None" = None, **options: Any,
    ) -> "RankOneTermsDisplay":  # fmt: skip
        """Compute and draw the rank-one terms of a CPD; arguments are those of `rank_one_terms`."""
        if column is not None:
            names = fitted(model)._reading.inputs.names
            column = names[find_column(names, column)]
            n_terms = n_terms or 5
        return cls(rank_one_terms(model, n_terms, **options), column).plot(ax)

    def _draw(self, ax: "Axes") -> None:
        if self.column is None:
            self._draw_sizes(ax)
        else:
            self._draw_functions(ax, self.terms.names.index(self.column))
        plain(ax)

    def _draw_sizes(self, ax: "Axes") -> None:
        from matplotlib.ticker import MaxNLocator

        sizes = self.terms.sizes
        ax.bar(np.arange(1, len(sizes) + 1), sizes, color=FIRST)
        ax.set(
            title="Rank-one terms, the largest first",
            xlabel="term",
            ylabel=f"norm of the weights{units(self.terms.response)}",
        )
        number_ticks(ax.yaxis)
        ticks = MaxNLocator(12, integer=True).tick_values(1, len(sizes))
        # the first term, and round numbers after it
        ax.set_xticks([1, *(tick for tick in ticks if 1 < tick <= len(sizes))])

    def _draw_functions(self, ax: "Axes", d: int) -> None:
        terms, categorical = self.terms, self.terms.is_categorical[d]
        where = np.arange(len(terms.values[d])) if categorical else terms.values[d]
        ax.axhline(0, color=FAINT, linewidth=1)
        for t, function in enumerate(terms.functions[d]):
            label = f"{t + 1}: size {readable(terms.sizes[t], 3)}"
            style = "o" if categorical or len(where) == 1 else "-"
            ax.plot(where, function.real, style, label=label)
        if categorical:
            name_ticks(ax.xaxis, terms.values[d].tolist())
        else:
            number_ticks(ax.xaxis)
        number_ticks(ax.yaxis)
        ax.set(
            title=f"Rank-one terms in {written(self.column, LONGEST_WORDS)}",
            xlabel=written(self.column, LONGEST_WORDS),
            ylabel="function of the term, real part",
        )
        ax.legend(title="term", frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
