"""Displays of fitted models: effects, importances, contributions and weights."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..estimators.wording import readable
from . import effects, importance, plotting, weights
from .plotting import FAINT, FIRST, LONGEST_WORDS, PALE, SECOND, Display, is_numeric, units, written
from .response import fitted, take_rows
from .results import place
from .support import FEW, TAIL, edges, inner_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: room for the guessed part of a curve, as a part of the range of the other
GUESSED = 0.25
#: colour of a map where there are no rows: darker than that of no effect
NO_ROWS = "#c8c8c8"
#: frequencies up to which each has a dot of its own
MOST_DOTS = 128
#: magnitudes below this part of the largest are rounding, and not drawn
FAINTEST = 1e-12
#: longest name of a product of basis functions
LONGEST_PRODUCT = 72
#: bars of importances, and of contributions
MOST_BARS, MOST_PARTS = 20, 12


class MainEffectDisplay(Display):
    """Effect of one column: a curve with the deciles of its numbers, or a dot per category.

    If the model has a posterior, a band shows two standard deviations on either side. The curve
    is dashed and pale where it is not supported by rows, see `MainEffect`; the y axis fits the
    other part of the curve, and so does the x axis if heavy tails take more than two thirds of the
    range. Categories without rows are pale.
    """

    def __init__(self, main_effect: effects.MainEffect):
        self.main_effect = main_effect

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, column: Any, *, ax: "Axes | None" = None, **options: Any
    ) -> Self:
        """Compute and draw the effect of a column; arguments are those of `main_effects`."""
        options.setdefault("std", fitted(model)._has_posterior)
        return cls(effects.main_effects(model, X, [column], **options)[0]).plot(ax)

    def _draw(self, ax: "Axes") -> list[str]:
        main = self.main_effect
        ax.axhline(0, color=FAINT, linewidth=1)
        notes = self._draw_curve(ax) if is_numeric(main.values) else self._draw_categories(ax)
        if effects.is_rounding(np.abs(main.effect).max(), main.partial_dependence):
            ax.set_ylim(-1, 1)
        mean = f"above its mean {readable(main.mean)}"
        ax.set_ylabel(plotting.in_lines(ax.yaxis, main.response, mean))
        ax.set_title(plotting.in_lines(ax.xaxis, "Main effect of", main.name))
        return notes if len(main.values) > 1 else ["the only value"]

    def _draw_curve(self, ax: "Axes") -> list[str]:
        main, supported = self.main_effect, self.main_effect.is_supported
        where, dot = plotting.along(main.values), "." if len(main.values) <= FEW else ""
        ax.plot(where, main.effect, f"{dot}--", color=PALE, linewidth=1)
        if main.missing is not None:
            height = main.missing - main.mean
            ax.axhline(height, color=FIRST, linestyle=":", linewidth=1)
            ax.annotate("missing", (1, height), xycoords=("axes fraction", "data"), ha="right",
                        va="bottom", fontsize="small")  # fmt: skip
        ax.plot(where, np.where(supported, main.effect, np.nan), f"{dot}-", color=FIRST)
        if main.std is not None:
            ends = main.effect - 2 * main.std, main.effect + 2 * main.std
            ax.fill_between(where, *ends, where=supported, color=FIRST, alpha=0.2, linewidth=0)
        if 2 <= supported.sum() < len(supported):
            # zero and the supported part of the curve, with room for some of the rest
            seen, every = np.append(main.effect[supported], 0.0), np.append(main.effect, 0.0)
            room = GUESSED * np.ptp(seen)
            low, high = max(seen.min() - room, every.min()), min(seen.max() + room, every.max())
            margin = 0.05 * (high - low) or 1.0
            ax.set_ylim(low - margin, high + margin)
        if main.deciles is not None:
            below, places = ax.get_xaxis_transform(), plotting.along(main.deciles)
            ax.vlines(places, 0, 0.03, color="black", linewidth=1, transform=below)
        plotting.scale_axis(ax.xaxis, main.name, main.values, main.inner)
        notes = {
            "ticks: deciles": main.deciles is not None,
            "band: 2 standard deviations": main.std is not None,
            f"dashed: outermost {TAIL:.0%} of rows, or none": not supported.all(),
        }
        return [note for note, applies in notes.items() if applies]

    def _draw_categories(self, ax: "Axes") -> list[str]:
        """Draw a dot per category; only the largest effects if not all labels fit."""
        main, count = self.main_effect, len(self.main_effect.values)
        apart, order = plotting.labels_apart(ax.xaxis, count), np.arange(count)
        if apart > 1:  # by effect those of the largest
            known = np.flatnonzero(main.is_supported) if main.is_supported.any() else order
            sizes = np.argsort(-np.abs(main.effect[known]), kind="stable")
            order = known[sizes][: count // apart]
            order = order[np.argsort(main.effect[order], kind="stable")]
        where, effect, supported = np.arange(len(order)), main.effect[order], main.is_supported
        for shown, colour in ((supported[order], FIRST), (~supported[order], PALE)):
            ax.vlines(where[shown], 0, effect[shown], color=colour, linewidth=1)
            ax.plot(where[shown], effect[shown], "o", color=colour)
            if main.std is not None:
                half = 2 * main.std[order][shown]
                ends = effect[shown] - half, effect[shown] + half
                ax.vlines(where[shown], *ends, color=colour, linewidth=6, alpha=0.2)
        ax.margins(x=0.5 / max(len(order), 4))
        plotting.name_ticks(ax.xaxis, main.values[order].tolist())
        ax.set_xlabel(written(main.name, LONGEST_WORDS))
        if apart > 1:
            return [f"{count - len(order)} of {count} with smaller effects not shown"]
        return [] if supported.all() else ["pale: no rows"]


def share_axis(displays: Sequence[MainEffectDisplay]) -> None:
    """Give plotted main effects the same range, so that their sizes can be compared."""
    limits = np.array([display.ax_.get_ylim() for display in displays])
    for display in displays:
        display.ax_.set_ylim(limits[:, 0].min(), limits[:, 1].max())
        plotting.separate_thousands(display.ax_)


class InteractionDisplay(Display):
    """Interaction of two columns as a heat map, grey where no row is near in both columns.

    Colours cover the effect on all but the outermost hundredth of the rows. Heavy tails that take
    more than two thirds of a range are cut off, as in `MainEffectDisplay`.
    """

    has_frame = True

    def __init__(self, interaction: effects.Interaction):
        self.interaction = interaction

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, columns: Sequence[Any], *, ax: "Axes | None" = None, **options: Any
    ) -> Self:
        """Compute and draw the interaction of two columns; arguments are those of `interaction`."""
        return cls(effects.interaction(model, X, columns, **options)).plot(ax)

    def _draw(self, ax: "Axes") -> list[str]:
        from matplotlib import colormaps

        both = self.interaction
        effect, supported = both.effect, both.is_supported
        are_scales = [is_numeric(values) and len(values) > 1 for values in both.values]
        where = [plotting.along(values) if is_scale else np.arange(len(values))
                 for values, is_scale in zip(both.values, are_scales, strict=True)]  # fmt: skip
        sizes, seen = np.abs(both.effect).ravel(), np.abs(effect[supported]).max(initial=0.0)
        largest = sizes.max()  # effect of the darkest colours; 1 in the place of rounding
        if both.support.any():
            inner_size = inner_range(sizes, both.support.ravel())[1]
            largest = min(seen, (1 + GUESSED) * inner_size)
        largest = 1.0 if effects.is_rounding(largest, both.partial_dependence) else float(largest)
        mesh = ax.pcolormesh(
            edges(where[0]), edges(where[1]), np.ma.array(effect.T, mask=~supported.T),
            cmap=colormaps["RdBu_r"].with_extremes(bad=NO_ROWS), vmin=-largest, vmax=largest,
            rasterized=True,
        )  # fmt: skip
        ax.figure.colorbar(
            mesh, ax=ax, label=f"beyond the main effects{units(both.response)}",
            extend="both" if seen > largest else "neither",
        )  # fmt: skip
        for axis, name, values, inner, is_scale in zip(
            (ax.xaxis, ax.yaxis), both.names, both.values, both.inner, are_scales, strict=True
        ):
            if is_scale:
                plotting.scale_axis(axis, name, values, inner)
            else:
                axis.set_label_text(written(name, LONGEST_WORDS))
                plotting.name_ticks(axis, [place(value) for value in values])
        first, second = both.names
        ax.set_title(plotting.in_lines(ax.xaxis, f"Interaction of {first}", f"and {second}"))
        return [] if supported.all() else ["grey: no rows"]


class ImportancesDisplay(Display):
    """Bars of first-order and total shares of at most twenty columns, the most important on top."""

    def __init__(self, importances: importance.Importances):
        self.importances = importances
        self.figure_size = (6.4, 1.4 + 0.32 * min(MOST_BARS, len(importances.names)))

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, *, ax: "Axes | None" = None, **options: Any
    ) -> Self:
        """Compute and draw the importances of all columns; arguments are those of `importances`."""
        return cls(importance.importances(model, X, **options)).plot(ax)

    def _draw(self, ax: "Axes") -> None:
        shares = self.importances
        order = shares.order[:MOST_BARS]
        where = plotting.bars(ax, [written(shares.names[d]) for d in order])
        ax.barh(where, shares.total[order], 0.75, color=SECOND, label="total, with others")
        ax.barh(where, shares.first_order[order], 0.4, color=FIRST, label="first order, alone")
        label = f"share in the variance of {plotting.the(shares.response)}"
        ax.set(title="Importance of the columns", xlabel=label)
        ax.set_xlim(left=0)
        ax.legend(loc="lower right", frameon=False)


class ExplanationDisplay(Display):
    """Contributions to one prediction, starting at the mean response, largest on top.

    Parameters
    ----------
    explanation : Explanation
    row : int, default=0
        Index among the explained rows.
    """

    def __init__(self, explanation: effects.Explanation, row: int = 0):
        self.explanation, self.row = explanation, row
        self.figure_size = (6.4, 1.4 + 0.32 * min(MOST_PARTS + 1, len(explanation.names)))

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, background: Any, *, row: int = 0, ax: "Axes | None" = None,
        **options: Any,
    ) -> Self:  # fmt: skip
        """Explain the prediction of a row and draw it; `options` are those of `explain`."""
        return cls(effects.explain(model, take_rows(X, [row]), background, **options)).plot(ax)

    def _draw(self, ax: "Axes") -> None:
        found, n = self.explanation, self.row
        parts = found.contributions[n]
        order = np.argsort(-np.abs(parts), kind="stable")
        shown = order[:MOST_PARTS] if len(order) > MOST_PARTS + 1 else order
        steps = [parts[d] for d in shown]
        labels = [f"{written(found.names[d])} = {written(place(found.values[d][n]))}"
                  for d in shown]  # fmt: skip
        if len(shown) < len(order):
            steps.append(parts[order[len(shown) :]].sum())
            labels.append(f"{len(order) - len(shown)} others")
        # from the prediction down to the base
        ends = found.prediction[n] - np.cumsum([0.0, *steps])
        where = plotting.bars(ax, labels)
        colours = [SECOND if step > 0 else FIRST for step in steps]
        ax.barh(where, steps, left=ends[1:], color=colours, height=0.7)
        for i, step in enumerate(steps):
            ax.plot([ends[i]] * 2, [i - 1 + 0.35 if i else i - 0.35, i + 0.35], color=FAINT, lw=1)
            side = "left" if step > 0 else "right"
            ax.annotate(readable(step, 3, "+"), (ends[i], i), (3 if step > 0 else -3, 0), ha=side,
                        textcoords="offset points", va="center", fontsize="small")  # fmt: skip
        ax.axvline(found.base, color=FAINT, linewidth=1, zorder=0)
        ax.margins(x=0.15)
        title = f"From the mean {readable(found.base)} to {readable(found.prediction[n])}"
        ax.set(title=title, xlabel=plotting.the(found.response))


class SpectrumDisplay(Display):
    """Magnitudes of the weights over the frequencies of a column, on a logarithmic scale.

    The two sides need not be symmetric, and large weights at an edge do not call for a larger M,
    see `qtkm.inspection.spectrum`.
    """

    def __init__(self, spectrum: weights.Spectrum):
        self.spectrum = spectrum

    @classmethod
    def from_estimator(
        cls, model: Any, column: Any = 0, *, ax: "Axes | None" = None, output: Any = None
    ) -> Self:
        """Compute and draw the spectrum of a column; arguments are those of `spectrum`."""
        return cls(weights.spectrum(model, column, output=output)).plot(ax)

    def _draw(self, ax: "Axes") -> list[str]:
        found, name = self.spectrum, written(self.spectrum.name, LONGEST_WORDS)
        lines = [(found.magnitudes, FIRST, "network")]
        if found.main is not None:
            lines.append((found.main, SECOND, "main effect"))
        every = np.concatenate([sizes for sizes, _, _ in lines])
        floor = FAINTEST * (every.max() or 1.0)
        style = ".-" if len(found.numbers) <= MOST_DOTS else "-"
        for sizes, colour, label in lines:
            above = np.where(sizes > floor, sizes, np.nan)
            ax.plot(found.frequencies, above, style, color=colour, linewidth=1, label=label)
        if len(lines) > 1:
            ax.legend(frameon=False)
        if (every > floor).any():
            ax.set_yscale("log")
        ax.set(title=f"Spectrum of {name}", xlabel=f"frequency (periods per unit of {name})",
               ylabel=f"norm of the weights{units(found.response)}")  # fmt: skip
        return ["the only function, a constant"] if len(found.numbers) == 1 else []


class CoefficientsDisplay(Display):
    """Bars of the largest weights; grey if they are not certain to be the largest."""

    def __init__(self, coefficients: weights.Coefficients):
        self.coefficients = coefficients
        self.figure_size = (9.0, 1.4 + 0.28 * len(coefficients.values))

    @classmethod
    def from_estimator(
        cls, model: Any, n_coefficients: int = 10, *, ax: "Axes | None" = None, **options: Any
    ) -> Self:
        """Find and draw the largest weights; arguments are those of `largest_coefficients`."""
        return cls(weights.largest_coefficients(model, n_coefficients, **options)).plot(ax)

    def _draw(self, ax: "Axes") -> list[str]:
        found = self.coefficients
        where = plotting.bars(ax, [written(label, LONGEST_PRODUCT) for label in found.labels])
        colours = [FIRST if i < found.n_certain else FAINT for i in where]
        ax.barh(where, np.abs(found.values), color=colours)
        title = "Largest weights" if found.is_exact else "Largest weights that were found"
        ax.set(title=title, xlabel=f"magnitude of the weight{units(found.response)}",
               ylabel="basis functions")  # fmt: skip
        return [] if found.is_exact else ["grey: there may be larger ones"]


class RankOneTermsDisplay(Display):
    """Bars of the sizes of the rank-one terms, the largest first."""

    def __init__(self, terms: weights.RankOneTerms):
        self.terms = terms

    @classmethod
    def from_estimator(
        cls, model: Any, n_terms: int | None = None, *, ax: "Axes | None" = None, **options: Any
    ) -> Self:
        """Compute and draw the rank-one terms of a CPD; arguments are those of `rank_one_terms`."""
        return cls(weights.rank_one_terms(model, n_terms, **options)).plot(ax)

    def _draw(self, ax: "Axes") -> None:
        sizes = self.terms.sizes
        ax.bar(np.arange(1, len(sizes) + 1), sizes, color=FIRST)
        ax.set(title="Rank-one terms, the largest first", xlabel="term",
               ylabel=f"norm of the weights{units(self.terms.response)}")  # fmt: skip
        ax.locator_params(axis="x", integer=True)
