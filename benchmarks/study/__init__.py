"""The study behind the estimator's defaults: real sets, reference models, cached results."""
