"""What can be told of a saved model: by itself, with rows, and with rows and their targets."""

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from .. import inspection
from ..estimators.wording import name_network
from ..inspection.response import Response

#: largest weights that are looked for
COEFFICIENTS = 10
#: to be told with scores and errors, for a file does not say which rows it was fitted to
SEEN = "If the model was fitted to these rows, expect larger errors on new ones."


@dataclass
class Findings:
    """Numbers about a model; what does not apply is None.

    Attributes
    ----------
    model : estimator
    output : class, int or None
        Which class or output the response is, where there are several.
    remark : str or None
        Why weights, shares and effects are not told, if they are not.
    coefficients : Coefficients or None
        Of the model alone, as is the learning curve.
    importances, strengths, effects
        From rows.
    n_rows : int
        How many rows there are.
    rows : frame or None
        Those that these three are computed from.
    has_weights : bool
        Whether weights, spectra and rank-one terms are asked for.
    """

    model: Any
    output: Any = None
    remark: str | None = None
    coefficients: Any = None
    importances: Any = None
    strengths: Any = None
    effects: list[Any] = field(default_factory=list)
    n_rows: int = 0
    rows: Any = None
    has_weights: bool = False

    @property
    def n_used(self) -> int:
        """How many rows shares, interactions and effects are computed from."""
        return 0 if self.rows is None else len(self.rows)

    @property
    def history(self) -> dict[str, Any]:
        """The learning curve; empty if the file has none."""
        return {key: self.model.history_.get(key) or [] for key in
                ("objective", "validation_score", "seconds")}  # fmt: skip

    @property
    def by_importance(self) -> list[int]:
        """Numbers of the columns, the most important first if rows have told that."""
        if self.importances is None:
            return list(range(len(self.model.columns_)))
        return [int(d) for d in np.argsort(-self.importances.total, kind="stable")]

    @property
    def varying(self) -> list[int]:
        """Those of `by_importance` that the response can depend on."""
        return [d for d in self.by_importance if _varies(self.model.columns_[d])]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of columns, those first whose interaction is largest in units of the response."""
        if self.strengths is None:
            return []
        pairs = list(combinations(sorted(self.varying), 2))
        return sorted(pairs, key=lambda pair: -self.strengths.size[pair])


def find(model: Any, output: Any, X: Any, most_rows: int, has_weights: bool = False) -> Findings:
    """Look into a model.

    Parameters
    ----------
    model : estimator
    output : str or None
        The class or the number of an output; None is the first where there are several.
    X : frame or None
        Rows, as a rule those of the fit.
    most_rows : int
        Of more rows than these, so many drawn ones are used.
    has_weights : bool
        Look for the largest weights as well.

    Returns
    -------
    Findings
    """
    found = Findings(model, choose_output(model, output))
    try:
        Response(model, found.output)
    except ValueError as error:  # a network that inspection does not serve
        found.remark = str(error)
        return found
    options = {"output": found.output}
    found.has_weights = has_weights
    if has_weights and model.rank_ != 0:  # main effects alone have no products of basis functions
        found.coefficients = inspection.largest_coefficients(model, COEFFICIENTS, **options)
    if X is None:
        return found
    found.n_rows = len(X)
    found.rows = rows = X if len(X) <= most_rows else X.sample(most_rows, random_state=0)
    found.importances = inspection.importances(model, rows, **options)
    found.effects = inspection.main_effects(model, rows, **options)
    if len(found.varying) > 1:
        found.strengths = inspection.interaction_strengths(model, rows, **options)
    return found


def outputs_of(model: Any) -> list[Any]:
    """Classes, or numbers of outputs; empty if there is only one output."""
    classes = getattr(model, "classes_", None)
    if classes is not None:
        return classes.tolist()
    n_outputs, names = model._reading.n_outputs, model.target_names_
    if n_outputs == 1:
        return []
    return names if names and len(names) == n_outputs else list(range(n_outputs))


def choose_output(model: Any, text: str | None) -> Any:
    """Return the class or output named by `text`; by default the first, or class 1 of 0 and 1.

    Raises
    ------
    ValueError
        If there is none of this name.
    """
    known = outputs_of(model)
    if not known:
        if text is not None:
            raise ValueError(f"--output {text} given, but the model has one response; leave it out")
        return None
    if text is None:
        return known[1] if len(getattr(model, "classes_", ())) == 2 else known[0]
    for number, value in enumerate(known):
        if text in (str(value), *[f"{number}"][: not hasattr(model, "classes_")]):
            return value
    shown = ", ".join(map(str, known[:20])) + ", …" * (len(known) > 20)
    raise ValueError(f"--output {text} is not an output of the model; it has {shown}")


def to_json(found: Findings) -> dict[str, Any]:
    """Convert findings to JSON types: numbers, text, lists and dicts."""
    model = found.model
    facts: dict[str, Any] = {
        "estimator": type(model).__name__,
        "columns": [_column(column) for column in model.columns_],
        "classes": [plain(c) for c in model.classes_] if hasattr(model, "classes_") else None,
        "network": name_network(model.network_),
        "rank": plain(model.rank_),
        "n_parameters": model.n_parameters_,
        "loss": type(model.loss_).__name__,
        "alpha": plain(model.alpha_),
        "n_iter": model.n_iter_,
        "status": model.status_,
        "message": model.message_,
        "history": {key: plain(values) for key, values in found.history.items()},
        "output": plain(found.output),
        "remark": found.remark,
        "coefficients": None, "importances": None, "interactions": None, "effects": None,
        "n_rows": found.n_rows, "n_rows_used": found.n_used,
    }  # fmt: skip
    if found.coefficients is not None:
        weights = found.coefficients
        facts["coefficients"] = [
            {"functions": label, "real": plain(value.real), "imaginary": plain(value.imag),
             "certain": i < weights.n_certain}
            for i, (label, value) in enumerate(zip(weights.labels, weights.values, strict=True))
        ]  # fmt: skip
    if found.importances is not None:
        shares, strengths = found.importances, found.strengths
        facts["importances"] = [
            {"column": shares.names[d], "first_order": plain(shares.first_order[d]),
             "total": plain(shares.total[d])} for d in found.by_importance
        ]  # fmt: skip
        facts["interactions"] = [
            {"columns": [shares.names[d], shares.names[e]], "size": plain(strengths.size[d, e]),
             "h": plain(strengths.h[d, e])} for d, e in found.pairs
        ]  # fmt: skip
        facts["effects"] = [
            {"column": effect.name, "values": plain(effect.values), "effect": plain(effect.effect),
             "mean": plain(effect.mean), "missing": plain(effect.missing)}
            for effect in found.effects
        ]  # fmt: skip
    return facts


def _varies(column: dict[str, Any]) -> bool:
    """Whether a column has more than one basis function, and more than one value."""
    bounds = column["bounds"]
    return column["basis"].n_features > 1 and (bounds is None or bounds[0] < bounds[1])


def _column(column: dict[str, Any]) -> dict[str, Any]:
    basis, categories = column["basis"], column["categories"]
    basis = basis.inner if basis.has_gaps else basis
    return {
        "name": str(column["name"]),
        "basis": type(basis).__name__,
        "n_functions": basis.n_features,
        "period": plain(getattr(basis, "period", None)),
        "bounds": plain(column["bounds"]),
        "categories": None if categories is None else [plain(value) for value in categories],
    }


def plain(value: Any) -> Any:
    """Convert a value to a JSON type; non-finite numbers become null, other objects text."""
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
