"""The same again: seeds, threads, the order of rows, pickles and models that go on."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from qtkm import CPD, Fourier, Power, QTKMRegressor
from qtkm.limits import LIMITS
from qtkm.networks import flatten

pd = pytest.importorskip("pandas")


def assert_same_cores(a, b):
    for x, y in zip(flatten(a.cores_), flatten(b.cores_), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("init", ["smooth", "random"])
def test_a_seed_gives_the_same_model_again(make, X, y, init):
    a, b, other = (make(init=init, random_state=s).fit(X, y) for s in (3, 3, 4))
    assert_same_cores(a, b)
    assert not np.array_equal(a.predict(X), other.predict(X))
    same_numbers = make(init=init, random_state=np.random.RandomState(3)).fit(X, y)
    assert_same_cores(a, same_numbers)


def test_without_a_seed_models_differ(make, X, y):
    a, b = make(random_state=None).fit(X, y), make(random_state=None).fit(X, y)
    assert not np.array_equal(a.predict(X), b.predict(X))


def test_fitting_again_forgets_the_first_time(make, X, y):
    again = make().fit(X[:, :2], -y).fit(X, y)
    assert_same_cores(again, make().fit(X, y))
    assert again.n_features_in_ == 3


def test_the_order_of_rows_does_not_change_a_bit(make, X, y):
    order = np.random.default_rng(0).permutation(len(y))
    assert_same_cores(make().fit(X, y), make().fit(X[order], y[order]))


LARGE = {
    "distinct values": {},
    "exact": {"max_bins": None, "max_iter": 1},
    "real part": {"residual": "real"},
    "powers": {"basis": "power"},
    "single precision": {"dtype": "float32"},
    "no penalty": {"alpha": 0},
    "early stopping": {"early_stopping": True},
}


@pytest.fixture(scope="module")
def large():
    """Enough rows and values for many tasks: codes, bins, categories, weights, two outputs."""
    rng = np.random.default_rng(0)
    n_rows = 20_000
    frame = pd.DataFrame({
        "hour": rng.integers(0, 24, size=n_rows),
        "minute": rng.integers(0, 600, size=n_rows) / 7,
        "x": rng.uniform(size=n_rows),
        "place": rng.choice(["here", "there", "elsewhere"], size=n_rows),
    })  # fmt: skip
    y = np.sin(frame["hour"] / 4) * frame["x"] + (frame["place"] == "here")
    return frame, np.column_stack([y, frame["minute"]]), rng.uniform(0.5, 2, size=n_rows)


@pytest.mark.parametrize("what", LARGE)
def test_the_number_of_threads_does_not_change_a_bit(make, large, what):
    frame, y, weight = large
    settings = {"max_iter": 2, "early_stopping": False, **LARGE[what]}
    models = [
        make(n_jobs=n, categorical_features=["place"], **settings).fit(frame, y, weight)
        for n in (1, 3)
    ]
    for model in models[1:]:
        assert_same_cores(models[0], model)
        assert model.history_["objective_updates"] == models[0].history_["objective_updates"]
        np.testing.assert_array_equal(model.predict(frame), models[0].predict(frame))


def test_the_number_of_threads_does_not_change_a_bit_for_one_output(make, large):
    frame, y, _ = large
    numbers = frame[["hour", "minute", "x"]].to_numpy()
    models = [make(n_jobs=n, max_iter=2).fit(numbers, y[:, 0]) for n in (1, 2, 4)]
    for model in models[1:]:
        assert_same_cores(models[0], model)


@pytest.mark.parametrize("n_rows", [100, 3000])
@pytest.mark.parametrize("settings", [{}, {"alpha": 0}, {"residual": "real"}, {"basis": "power"}])
def test_the_number_of_threads_does_not_change_a_bit_for_few_rows(make, n_rows, settings):
    X = np.random.default_rng(0).uniform(size=(n_rows, 3))
    models = [make(n_jobs=n, max_iter=3, **settings).fit(X, X[:, 0] * X[:, 1]) for n in (1, 2, 4)]
    for model in models[1:]:
        assert_same_cores(models[0], model)


def test_blocks_of_predictions_do_not_depend_on_each_other(make, large):
    frame, y, _ = large
    model = make(categorical_features=["place"], max_iter=1).fit(frame, y)
    rows = np.random.default_rng(0).permutation(len(frame))[:50]
    np.testing.assert_allclose(
        model.predict(frame.iloc[rows]), model.predict(frame)[rows], rtol=1e-10
    )


def test_a_pickle_predicts_the_same_and_goes_on_the_same(make, X, y):
    model = make(warm_start=True, basis=[Fourier(), "power", Power()], network=CPD()).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    assert_same_cores(copy.fit(X, y), model.fit(X, y))


def test_a_pickle_holds_no_rows(make, large):
    frame, y, weight = large
    model = make(categorical_features=["place"], max_iter=1, posterior=False).fit(frame, y, weight)
    assert len(pickle.dumps(model)) < 10_000
    assert len(pickle.dumps(clone(model))) < 2_000


# -- going on ---------------------------------------------------------------------------------


def test_a_warm_start_goes_on_where_it_was(make, X, y):
    whole = make(max_iter=8, tol=0).fit(X, y)
    halves = make(max_iter=4, tol=0, warm_start=True).fit(X, y)
    first = halves.history_["objective"]
    second = halves.fit(X, y).history_["objective"]
    np.testing.assert_allclose(first + second, whole.history_["objective"], rtol=1e-6)
    assert halves.n_iter_ == 4


def test_a_first_fit_is_not_changed_by_warm_start(make, X, y):
    assert_same_cores(make(warm_start=True).fit(X, y), make().fit(X, y))


def test_a_warm_start_keeps_the_boxes_and_the_scale_of_y(make, X, y):
    model = make(warm_start=True).fit(X, y)
    before = [column["bounds"] for column in model.columns_]
    start = model.predict(X)
    model.set_params(max_iter=1, callbacks=Stopper()).fit(X[:50] / 2, y[:50] * 3)
    assert [column["bounds"] for column in model.columns_] == before
    np.testing.assert_allclose(model.callbacks.first, model.history_["objective_updates"][0])
    assert np.abs(model.predict(X) - start).max() > 0


class Stopper:
    """Remembers the objective after the first block of cores."""

    def __init__(self):
        self.first = None

    def __call__(self, progress):
        if self.first is None:
            self.first = progress.history.objective_updates[0]


@pytest.mark.filterwarnings("ignore:Constant columns", "ignore:X has one row")
def test_a_warm_start_keeps_a_box_of_one_value(make, X, y):
    constant = np.column_stack([X[:, 0], np.full(len(X), 5.0)])
    model = make(warm_start=True).fit(constant, y).fit(constant, y)
    assert model.columns_[1]["bounds"] == (5.0, 5.0)


def test_a_warm_start_may_change_the_rule_for_values_outside(make, X, y):
    model = make(warm_start=True).fit(X, y)
    model.set_params(extrapolation="error").fit(X, y)
    with pytest.raises(ValueError, match="outside of its range"):
        model.predict(X * 2)


def test_a_warm_start_on_the_same_rows_only_lowers_the_objective(make, X, y):
    model = make(warm_start=True, tol=0).fit(X, y)
    last = model.history_["objective"][-1]
    assert model.fit(X, y).history_["objective_updates"][0] <= last * (1 + 1e-12)


def test_a_warm_start_keeps_what_auto_stood_for(make, large):
    frame, y, _ = large
    auto = dict.fromkeys(["n_basis", "period", "rank", "alpha"], "auto")
    model = make(**auto, warm_start=True, max_iter=1, early_stopping=False)
    few, many = (frame[["hour", "x"]][:n] for n in (100, 20_000))
    model.fit(few, y[:100, 0])
    chosen = model.rank_, model.alpha_, model.columns_[0]["basis"].get_params()
    model.fit(many, y[:, 0])
    assert (model.rank_, model.alpha_, model.columns_[0]["basis"].get_params()) == chosen


def test_a_warm_start_keeps_the_categories(make, large):
    frame, y, _ = large
    model = make(categorical_features=["place"], warm_start=True, max_iter=2)
    model.fit(frame[:500], y[:500])
    there = frame[frame["place"] == "there"][:200]
    model.fit(there, y[there.index])
    assert model.columns_[3]["categories"] == ["elsewhere", "here", "there"]
    with pytest.raises(ValueError, match=r"column 'place' has categories .*\('moon'\); use warm_s"):
        model.fit(frame.assign(place="moon"), y)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rank": 5}, r"cannot continue from the fitted cores. The core of column 0, level 0 has"),
        ({"n_basis": 16}, "cannot continue from the fitted cores. The cores of column 0 must be"),
        (
            {"basis": "power"},
            "cannot continue from the fitted cores.* complex, but all features are",
        ),
        (
            {"categorical_features": [0]},
            "cannot continue: categorical_features differs",
        ),
    ],
)
def test_a_warm_start_into_another_model_is_an_error(make, X, y, changes, message):
    model = make(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.set_params(**changes).fit(X, y)
    model.set_params(warm_start=False).fit(X, y)


def test_a_warm_start_into_other_data_is_an_error(make, X, y):
    model = make(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="X has 2 features, but QTKMRegressor is expecting 3"):
        model.fit(X[:, :2], y)
    with pytest.raises(ValueError, match="y has 2 outputs, but the first fit had 1; use warm"):
        model.fit(X, np.column_stack([y, y]))


def test_threads_predict_many_rows_of_many_terms_as_one_does():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    model = QTKMRegressor(random_state=0).fit(X, np.sin(9 * X[:, 0] * X[:, 1]))
    assert model.rank_ > 128  # more than a block of them
    Z = rng.uniform(size=(70_000, 2))
    expected = model.set_params(n_jobs=1).predict(Z)
    np.testing.assert_array_equal(model.set_params(n_jobs=4).predict(Z), expected)
    few = model.predict(Z[:500])
    np.testing.assert_allclose(few, expected[:500], rtol=0, atol=1e-8)


@pytest.mark.parametrize("library", ["pandas", "polars", "numpy"])
def test_rows_in_memory_give_the_same_model_in_blocks_of_any_size(monkeypatch, library):
    rng = np.random.default_rng(0)
    n = 300
    columns = {
        "x": rng.uniform(size=n),
        "gaps": np.where(rng.uniform(size=n) < 0.2, np.nan, rng.integers(0, 9, n)),
        "kind": np.array(["a", "b", "c"])[rng.integers(0, 3, n)],
        "day": np.datetime64("2026-01-01") + rng.integers(0, 99, n).astype("timedelta64[D]"),
    }
    if library == "numpy":
        X = np.column_stack([columns["x"], columns["gaps"]])
    else:
        frames = pytest.importorskip(library)
        X = frames.DataFrame(columns)
        X = X.set_index(rng.permutation(n)) if library == "pandas" else X
    y = columns["x"] ** 2 + (columns["kind"] == "a") + 0.1 * rng.standard_normal(n)
    models = []
    for rows in (n, 64):
        monkeypatch.setattr(LIMITS, "read_rows", rows)
        given = {"categorical_features": None if library == "numpy" else ["kind"]}
        model = QTKMRegressor(rank=2, alpha=1e-3, random_state=0, **given)
        models.append(model.fit(X, y))
    one, other = (model.predict(X) for model in models)
    np.testing.assert_array_equal(one, other)
