"""Predictions of every row for every value: what the exact formulas must agree with."""

import numpy as np


def decide(model, X):
    """The function that is inspected, one output."""
    return getattr(model, "decision_function", model.predict)(X)


def with_column(X, values):
    """Rows with some columns set."""
    X = X.copy()
    for name, value in values.items():
        X[name] = value
    return X


def dependence(model, X, values, weight=None, respond=decide):
    """Mean response with some columns set."""
    return np.average(respond(model, with_column(X, values)), weights=weight)


def weight_tensor(model, output=0):
    """The whole weight tensor in units of y, one axis a column."""
    radices = [column["basis"].radices for column in model.columns_]
    sizes = [column["basis"].n_features for column in model.columns_]
    whole = model.network_.dense(model.cores_, radices)
    return whole[:, output].reshape(sizes) * model._reading.scale.scale[output]
