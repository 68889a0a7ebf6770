"""A parameter that makes no sense is refused, in words that say what to do instead."""

import inspect

import numpy as np
import pytest

from qtkm import (
    ALS,
    CPD,
    Categorical,
    Fourier,
    Hinge,
    Logistic,
    Power,
    QTKMClassifier,
    QTKMRegressor,
    Squared,
)
from qtkm.engines import Threads
from qtkm.networks import TensorTrain
from qtkm.solvers import DMRG

CASES = [
    # parameter, what is given, what the message says
    ("basis", "wavelet", r"basis='wavelet' is unknown; use a name \('fourier', 'power'"),
    ("basis", Fourier, r"basis=<class .*Fourier'> is unknown; .* object such as Fourier\(\)"),
    ("basis", ["fourier", "power"], "basis has 2 entries, but X has 3 columns; give one"),
    ("basis", "categorical", "column 0 has the basis Categorical.*with categorical_features"),
    ("basis", Categorical(2), "column 0 has the basis Categorical.*with categorical_features"),
    ("basis", Fourier(n_basis=0), "n_basis=0 must be an integer >= 1"),
    ("basis", Fourier(period=0.1), "period=0.1 of column 0 is shorter.*use period >= 1"),
    ("basis", Power(n_basis="many"), "n_basis='many' must be an integer >= 1"),
    ("n_basis", 0, "n_basis=0 must be an integer >= 1"),
    ("n_basis", [8, 8], "n_basis has 2 entries, but X has 3 columns"),
    ("n_basis", 2**41, r"column 0: n_basis=2199023255552 is too many.* use at most 2\*\*40"),
    ("period", 0.99, "period=0.99 of column 0 is shorter than the input range 1.0.*>= 1"),
    ("period", np.inf, "period=inf of column 0 must be a finite number >= 1"),
    ("period", "long", "period='long' of column 0 must be a number >= 1, or 'auto'"),
    ("period", [2, 2], "period has 2 entries, but X has 3 columns"),
    ("period", [2, 2, 0.5], "period=0.5 of column 2 is shorter"),
    ("quantization", 1, "quantization=1 must be >= 2; use None for no quantization"),
    ("quantization", "binary", "quantization='binary' is unknown; use an integer such as 2"),
    ("quantization", [2, 3], "product is n_basis=8, not 6"),
    ("quantization", 2.5, "quantization=2.5 is unknown"),
    ("network", "mps", r"network='mps' is unknown; use a name \('cpd', 'train'"),
    ("network", CPD(rank=0), "rank=0 must be an integer >= 1"),
    ("rank", 0, "rank=0 must be an integer >= 1"),
    ("rank", 2.0, "rank=2.0 must be an integer >= 1"),
    ("rank", True, "rank=True must be an integer >= 1"),
    ("rank", None, "rank=None must be an integer"),
    ("rank", [3, 3], r"rank=\[3, 3\] must be an integer"),
    ("alpha", -1e-9, "alpha=-1e-09 must be a finite number >= 0, or 'auto'"),
    ("alpha", np.nan, "alpha=nan must be a finite number >= 0, or 'auto'"),
    ("alpha", "small", "alpha='small' must be a finite number >= 0, or 'auto'"),
    ("alpha", np.ones(2), r"alpha=array\(\[1., 1.\]\) must be a finite number"),
    (
        "loss",
        "absolute",
        r"loss='absolute' is unknown; use a name \('squared', 'huber', ",
    ),
    (
        "penalty",
        "smooth",
        r"penalty=.smooth. is unknown; use a name \(.ridge., .matern., .rbf.\)",
    ),
    ("main_effects", "yes", "main_effects=.yes. is unknown; use one of .auto., True, False"),
    ("cyclic", {"x9": 2.0}, "cyclic"),
    ("posterior", "yes", "posterior=.yes. is unknown; use one of .auto., True, False"),
    ("prediction_margin", -1, "prediction_margin=-1 must be a finite number >= 0"),
    ("scaling", "log", "scaling=.log. is unknown; use one of .range., .rank., .half., .auto."),
    ("loss", "hinge", "loss='hinge' is for classification, but QTKMRegressor is a regressor; use"),
    ("loss", Logistic(), r"loss=Logistic\(\) is for classification, .* use QTKMClassifier, or one"),
    ("loss", Squared("imaginary"), "residual='imaginary' is unknown; use 'complex'"),
    ("loss", np.ones(2), r"loss=array\(\[1., 1.\]\) is unknown"),
    ("residual", "imaginary", "residual='imaginary' is unknown; use one of 'complex', 'real'"),
    ("solver", "sgd", r"solver='sgd' is unknown; use a name \('als', 'adam'"),
    ("solver", "dmrg", "solver='dmrg' does not support network='cpd'; use one of 'als', 'adam', "),
    ("solver", DMRG(), r"solver=DMRG\(\) does not support network='cpd'; use one of 'als', "),
    ("solver", ALS(inner_sweeps=0), "inner_sweeps=0 must be an integer >= 1"),
    ("max_iter", 0, "max_iter=0 must be an integer >= 1"),
    ("tol", -1, "tol=-1 must be a finite number >= 0, or 'auto'"),
    ("init", "zeros", "init='zeros' is unknown; use one of 'smooth', 'random'"),
    ("init", None, "cores must be a list of 3 entries, one for each of column 0, .* got None"),
    ("init", [[]], "cores must be a list of 3 entries.* got a list of 1"),
    ("max_bins", 1, "max_bins=1 must be an integer >= 2, or 'auto' or None"),
    ("max_bins", "none", "max_bins='none' must be an integer >= 2, or 'auto' or None"),
    ("categorical_features", "x", "categorical_features='x' must be a mask, a list of indices"),
    ("categorical_features", [3], "contains 3, but .*; give names, indices from 0 to 2"),
    ("categorical_features", [0.0], "contains 0.0, but .*; give names, indices from 0 to 2"),
    ("categorical_features", [True, False], "mask with 2 entries, but X has 3 columns"),
    (
        "categorical_features",
        ["a"],
        "contains 'a', but columns of X have no names; give names, ind",
    ),
    ("bounds", (0, 1, 2), r"bounds=\(0, 1, 2\) must be finite numbers \(low, high\)"),
    ("bounds", "unit", r"bounds='unit' must be finite numbers \(low, high\)"),
    ("bounds", (1, 0), r"bounds of column 0 are \(1, 0\); low must be below high"),
    (
        "bounds",
        [(0, 1), (0, 1), (2, 2)],
        r"bounds of column 2 are \(2, 2\); low must",
    ),
    ("bounds", (0, np.inf), r"bounds=\(0, inf\) must be finite"),
    ("extrapolation", "wrap", "extrapolation='wrap' is unknown; use one of 'clip', 'continue'"),
    ("normalize_y", "yes", "normalize_y='yes' must be True or False"),
    ("checkpoint", 3, "checkpoint=3 must be the path of a folder, or None"),
    ("checkpoint_seconds", -1, "checkpoint_seconds=-1 must be"),
    ("memory_limit", 0, "memory_limit=0 must be a number of bytes > 0, a string such as"),
    ("memory_limit", "1 parsec", "memory_limit=.1 parsec. must be a number of bytes"),
    ("early_stopping", "never", "early_stopping='never' is unknown; use one of 'auto', True"),
    ("validation_fraction", 0, "validation_fraction=0 must be a number between 0 and 1"),
    ("validation_fraction", np.nan, "validation_fraction=nan must be a number between 0 and 1"),
    ("warm_start", "yes", "warm_start='yes' must be True or False"),
    ("dtype", "float16", "dtype='float16' is unknown; use one of 'float64', 'float32'"),
    ("dtype", int, "dtype=<class 'int'> is unknown"),
    ("random_state", -1, "random_state=-1 must be None, an integer"),
    ("n_jobs", 0, "n_jobs=0 must be an integer other than 0, or None for all cores"),
    ("engine", "ray", "engine='ray' is unknown; use one of 'threads', 'dask', or an object with"),
    ("verbose", -1, "verbose=-1 must be an integer >= 0"),
    ("callbacks", [print, 3], "callbacks has the entry 3; use functions that take a Progress"),
]


@pytest.mark.parametrize(("name", "value", "message"), CASES)
def test_values_that_make_no_sense_are_refused(make, X, y, name, value, message):
    shorthands = {"basis": ["n_basis", "period"], "network": ["rank"]}.get(name, [])
    left_open = dict.fromkeys(shorthands, "auto") if not isinstance(value, str) else {}
    with pytest.raises(ValueError, match=message):
        make(**{name: value}, **left_open).fit(X, y)


OF_CLASSIFIERS = [
    ("loss", "poisson", r"loss='poisson' is unknown; use a name \('squared', 'logistic', 'soft"),
    ("loss", Hinge, "loss=<class .*Hinge'> is unknown"),
    ("loss", Hinge(smoothing=-1), "smoothing=-1 must be a finite number >= 0"),
    ("class_weight", "even", "class_weight='even' is unknown; use one of 'balanced', a dict"),
    ("class_weight", [1, 2], r"class_weight=\[1, 2\] is unknown"),
    ("class_weight", {0: 1, 7: 2}, "class_weight contains 7; the classes of the fit are 0, 1"),
    ("class_weight", {0: 0}, "class_weight of 0 is 0, but must be a finite number > 0; to ig"),
    ("class_weight", {1: np.inf}, "class_weight of 1 is inf, but must be a finite number > 0"),
    ("class_weight", {1: "2"}, "class_weight of 1 is '2', but must be a finite number > 0"),
    ("alpha", -1, "alpha=-1 must be a finite number >= 0, or 'auto'"),
    ("rank", -1, "rank=-1 must be an integer >= 1"),
    (
        "solver",
        "riemannian",
        "solver='riemannian' does not support network='cpd'; use one of",
    ),
]


@pytest.mark.parametrize(("name", "value", "message"), OF_CLASSIFIERS)
def test_a_classifier_refuses_what_makes_no_sense(X, y, name, value, message):
    with pytest.raises(ValueError, match=message):
        QTKMClassifier(**{name: value}).fit(X, (y > 0).astype(int))


def test_every_parameter_is_among_these_cases():
    for estimator, cases in ((QTKMRegressor, CASES), (QTKMClassifier, CASES + OF_CLASSIFIERS)):
        parameters = set(inspect.signature(estimator.__init__).parameters) - {"self"}
        assert parameters <= {name for name, _, _ in cases}


def test_ranks_that_do_not_fit_the_sites_are_refused_before_the_data_are_coded(
    make, X, y, monkeypatch
):
    monkeypatch.setattr("qtkm.estimators.prepare.Coding", None)
    with pytest.raises(ValueError, match="rank"):
        make(network=TensorTrain(rank=[2, 2]), rank="auto").fit(X, y)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_basis", np.int64(4)),
        ("n_basis", (4, "auto", 6)),
        ("period", np.float32(2)),
        ("period", [1, 2.5, "auto"]),
        ("quantization", (2, 4)),
        ("rank", np.int32(2)),
        ("alpha", np.float64(0.1)),
        ("alpha", 0),
        ("tol", 0),
        ("categorical_features", []),
        ("categorical_features", np.zeros(3, dtype=bool)),
        ("bounds", np.array([[-1, 2]] * 3)),
        ("early_stopping", True),
        ("early_stopping", np.bool_(False)),
        ("dtype", np.float32),
        ("dtype", np.dtype("float64")),
        ("random_state", np.random.RandomState(0)),
        ("n_jobs", -2),
        ("engine", Threads(2)),
        ("callbacks", []),
        ("solver", ALS(2)),
    ],
)
def test_values_of_any_reasonable_type_are_taken(make, X, y, name, value):
    assert make(**{name: value}).fit(X, y).score(X, y) > 0.3


def test_a_failed_fit_leaves_the_fitted_model_as_it_was(model, X, y):
    before = model.fit(X, y).predict(X)
    with pytest.raises(ValueError, match="alpha=-1"):
        model.set_params(alpha=-1).fit(X, -y)
    np.testing.assert_array_equal(model.predict(X), before)
