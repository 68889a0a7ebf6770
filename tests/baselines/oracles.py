"""What a baseline should give, from all features of all columns, written out."""

import numpy as np


def explicit_features(maps, values):
    """All products of the features of the columns: (n, Π M)."""
    result = np.ones((len(values), 1))
    for feature_map, column in zip(maps, values.T, strict=True):
        features = feature_map.features(column)
        result = (result[:, :, None] * features[:, None, :]).reshape(len(values), -1)
    return result


def unit(X, train):
    low, high = train.min(axis=0), train.max(axis=0)
    return (np.clip(X, low, high) - low) / (high - low)


def ridge(features, target, alpha, weight=None):
    """Weights that minimise the weighted mean of |Z w - y|² plus alpha·‖w‖²: (n_features, k)."""
    weight = np.ones(len(target)) if weight is None else weight
    root = np.sqrt(weight / weight.sum())
    n_features, target = features.shape[1], target.reshape(len(target), -1)
    # as least squares, without normal equations
    left = np.vstack([root[:, None] * features, np.sqrt(alpha) * np.eye(n_features)])
    right = np.vstack([root[:, None] * target, np.zeros((n_features, target.shape[1]))])
    return np.linalg.lstsq(left, right, rcond=None)[0]


def ridge_prediction(features, new, y, alpha, weight=None):
    """Real part of the prediction at new features, of a fit to y less its mean."""
    mean = np.average(y, axis=0, weights=weight)
    prediction = mean + (new @ ridge(features, y - mean, alpha, weight)).real
    return prediction.reshape(len(new), *y.shape[1:])
