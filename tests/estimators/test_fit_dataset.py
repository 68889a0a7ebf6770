"""Fits to data on disk: the model of `fit`, whatever the blocks; nothing lost, nothing left."""

import errno
import logging
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from qtkm import QTKMClassifier, QTKMRegressor
from qtkm.data.sources import DataFileError
from qtkm.estimators import tables
from qtkm.estimators.memory import Need
from qtkm.limits import LIMITS
from qtkm.networks import flatten

pytest.importorskip("pyarrow")

N_ROWS = 3000
SETTINGS = {"penalty": "ridge", "rank": 3, "n_basis": 8, "max_iter": 2, "tol": 0, "random_state": 0}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Shards and merging at sizes at which a test is quick."""
    monkeypatch.setattr(LIMITS, "shard_rows", 1250)
    monkeypatch.setattr(LIMITS, "merge_rows", 500)
    monkeypatch.setattr(LIMITS, "read_rows", 512)


@pytest.fixture
def on_disk(monkeypatch):
    """No rows fit in memory."""
    monkeypatch.setattr(Need, "in_memory", lambda self: 10**18)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 40, N_ROWS), rng.normal(size=N_ROWS)
    kind = rng.choice(["x", "y", "z"], N_ROWS)
    y = np.sin(a / 7) * b + (kind == "x") + 0.1 * rng.normal(size=N_ROWS)
    return pd.DataFrame(
        {
            "a": a,
            "b": b,
            "kind": kind,
            "y": y,
            "z": y**2,
            "label": np.where(y > 1, "high", np.where(y > 0, "middle", "low")),
            "sign": y > 0,
            "weight": rng.integers(0, 3, N_ROWS),
        }
    )


@pytest.fixture
def path(frame, tmp_path):
    file = tmp_path / "rows.parquet"
    frame.to_parquet(file, row_group_size=850)
    return file


FEATURES = ["a", "b", "kind"]


def regressor(**changes):
    return QTKMRegressor(**{**SETTINGS, "categorical_features": ["kind"], **changes})


def classifier(**changes):
    return QTKMClassifier(**{**SETTINGS, "categorical_features": ["kind"], **changes})


def same(a, b):
    """Whether two models have the same bits."""
    pairs = zip(flatten(a.cores_), flatten(b.cores_), strict=True)
    return all(np.array_equal(x, y) for x, y in pairs) and (
        a.history_["objective"] == b.history_["objective"]
        and a.history_["validation_score"] == b.history_["validation_score"]
    )


CASES = {
    "plain": (regressor(), "y", None),
    "weights": (regressor(), "y", "weight"),
    "outputs": (regressor(), ["y", "z"], None),
    "early stopping": (regressor(early_stopping=True), "y", "weight"),
    "train": (regressor(network="train"), "y", None),
    "train of outputs": (regressor(network="train"), ["y", "z"], "weight"),
    "real": (regressor(residual="real"), "y", None),
    "power": (regressor(basis="power", n_basis=4), "y", None),
    "few bins": (regressor(max_bins=64), "y", None),
    "bounds": (regressor(bounds=(-1, 30), categorical_features=None), "y", None),
    "two classes": (classifier(), "sign", None),
    "three classes": (classifier(early_stopping=True), "label", "weight"),
    "balanced": (classifier(class_weight="balanced"), "label", None),
    "hinge": (classifier(loss="squared_hinge"), "sign", None),
}


@pytest.mark.parametrize("case", CASES)
def test_the_model_is_that_of_fit(case, frame, path, request):
    model, target, weight = CASES[case]
    features = FEATURES if model.categorical_features else FEATURES[:2]
    whole = type(model)(**model.get_params())
    whole.fit(frame[features], frame[target], None if weight is None else frame[weight])
    expected = whole.predict(frame[features])
    for where in ("memory", "disk"):
        if where == "disk":
            request.getfixturevalue("on_disk")
        parts = type(model)(**model.get_params())
        parts.fit_dataset(path, target=target, features=features, weight=weight)
        assert same(whole, parts), where
        np.testing.assert_array_equal(expected, parts.predict(frame[features]))
        assert list(parts.feature_names_in_) == features


@pytest.mark.parametrize("network", ["cpd", "train"])
def test_shard_sizes_change_a_column_update_by_rounding_only(network, path, on_disk, monkeypatch):
    start = regressor(network=network, max_iter=1)
    start.fit_dataset(path, target="y", features=FEATURES)
    updates = []
    for rows in (300, 1700, 2500, N_ROWS):
        monkeypatch.setattr(LIMITS, "shard_rows", rows)
        seen = []
        model = regressor(
            network=network, init=start.cores_, max_iter=1,
            callbacks=lambda progress, seen=seen: seen.append(progress.cores),
        )  # fmt: skip
        model.fit_dataset(path, target="y", features=FEATURES)
        updates.append(np.concatenate([np.ravel(core) for core in flatten(seen[0])]))
    before = np.concatenate([np.ravel(core) for core in flatten(start.cores_)])
    assert np.abs(updates[0] - before).max() > 1e-3
    for other in updates[1:]:
        np.testing.assert_allclose(other, updates[0], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("rows", [100, 999, 5000])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_blocks_and_threads_change_nothing(rows, n_jobs, frame, path, on_disk, monkeypatch):
    whole = regressor().fit(frame[FEATURES], frame["y"])
    monkeypatch.setattr(LIMITS, "read_rows", rows)
    assert same(whole, regressor(n_jobs=n_jobs).fit_dataset(path, target="y", features=FEATURES))


def test_files_and_batches_are_one_table(frame, tmp_path):
    columns = [*FEATURES, "y"]
    whole = regressor().fit(frame[FEATURES], frame["y"])
    cuts = [frame[columns][i : i + 1300] for i in range(0, N_ROWS, 1300)]
    for i, part in enumerate(cuts):
        part.to_parquet(tmp_path / f"part-{i}.parquet")
        part.to_csv(tmp_path / f"part-{i}.csv", index=False)
    pattern = str(tmp_path / "*.parquet")
    assert same(whole, regressor().fit_dataset(pattern, target="y"))
    assert same(whole, regressor().fit_dataset(cuts, target="y"))
    csv = sorted(tmp_path.glob("*.csv"))
    assert same(whole, regressor().fit_dataset(csv, target="y"))


def test_few_rows_are_merged_as_in_fit(frame, path, monkeypatch):
    monkeypatch.setattr(LIMITS, "merge_rows", 100_000)
    for weight in (None, "weight"):
        whole = regressor().fit(
            frame[FEATURES], frame["y"], None if weight is None else frame[weight]
        )
        parts = regressor().fit_dataset(path, target="y", features=FEATURES, weight=weight)
        assert same(whole, parts)


def test_a_fit_goes_on(frame, path, on_disk):
    a = regressor(warm_start=True).fit(frame[FEATURES], frame["y"])
    b = regressor(warm_start=True).fit_dataset(path, target="y", features=FEATURES)
    a.fit(frame[FEATURES], frame["y"])
    b.fit_dataset(path, target="y", features=FEATURES)
    assert same(a, b)


@pytest.mark.parametrize("solver", ["lbfgs", "gauss_newton"])
def test_gradients_come_from_disk_as_well(solver, frame, path, on_disk):
    whole = regressor(solver=solver).fit(frame[FEATURES], frame["y"])
    parts = regressor(solver=solver).fit_dataset(path, target="y", features=FEATURES)
    np.testing.assert_allclose(whole.history_["objective"], parts.history_["objective"], rtol=1e-9)


def test_a_solver_that_looks_at_rows_is_refused(path, on_disk):
    with pytest.raises(ValueError, match=r"Adam needs all rows in this process.* 'lbfgs'"):
        regressor(solver="adam").fit_dataset(path, target="y", features=FEATURES)


def test_arrays_within_a_limit(frame, tmp_path):
    X, y = frame[["a", "b"]].to_numpy(), frame["y"].to_numpy()
    mapped = np.memmap(tmp_path / "x.bin", dtype=float, mode="w+", shape=X.shape)
    mapped[:] = X
    whole = regressor(categorical_features=None).fit(X, y)
    limited = regressor(categorical_features=None, memory_limit="1GB")
    assert same(whole, limited.fit(mapped, y))
    assert not hasattr(limited, "feature_names_in_")
    np.testing.assert_array_equal(whole.predict(X), limited.predict(X))


# -- memory ---------------------------------------------------------------------------------------


def test_the_smallest_limit_that_an_error_names_works(path):
    with pytest.raises(MemoryError, match="the smallest that works is") as caught:
        regressor(memory_limit="1MB").fit_dataset(path, target="y", features=FEATURES)
    least = str(caught.value).split("works is '")[1].split("'")[0]
    model = regressor(memory_limit=least).fit_dataset(path, target="y", features=FEATURES)
    assert model.n_iter_ == 2


def test_rows_go_to_disk_where_the_limit_says_so(path, caplog, monkeypatch):
    need = []
    place = Need.place

    def watched(self, limit):
        need.append(self)
        return place(self, limit)

    monkeypatch.setattr(Need, "place", watched)
    with caplog.at_level(logging.INFO, logger="qtkm"):
        regressor().fit_dataset(path, target="y", features=FEATURES)
        assert "kept in memory" in caplog.text
        limit = need[0].in_memory() - 1
        regressor(memory_limit=limit).fit_dataset(path, target="y", features=FEATURES)
    assert "coded rows go to" in caplog.text
    assert "max_iter after 2 epochs" in caplog.text


def test_epochs_are_logged_for_those_who_listen(path, caplog, capfd):
    regressor().fit_dataset(path, target="y", features=FEATURES)
    assert not caplog.records
    with caplog.at_level(logging.DEBUG, logger="qtkm"):
        regressor().fit_dataset(path, target="y", features=FEATURES)
    assert [r.getMessage()[:7] for r in caplog.records if r.levelno == logging.DEBUG] == [
        "epoch 1", "epoch 2"
    ]  # fmt: skip
    assert capfd.readouterr() == ("", "")


# -- the cache ------------------------------------------------------------------------------------


def count_scans(monkeypatch):
    """Rows that the first and the second scan have looked at, as a list of two."""
    seen = [0, 0]
    add, code = tables.Scan.add, tables.Coding.encode

    def added(self, block, run):
        seen[0] += block.n_rows
        return add(self, block, run)

    def coded(self, block, run):
        seen[1] += block.n_rows
        return code(self, block, run)

    monkeypatch.setattr(tables.Scan, "add", added)
    monkeypatch.setattr(tables.Coding, "encode", coded)
    return seen


def test_a_cache_is_used_while_the_source_is_the_same(frame, path, tmp_path, on_disk, monkeypatch):
    seen, cache = count_scans(monkeypatch), tmp_path / "cache"
    arguments = {"target": "y", "features": FEATURES, "cache": cache}
    first = regressor().fit_dataset(path, **arguments)
    assert seen == [N_ROWS, N_ROWS]
    assert same(first, regressor().fit_dataset(path, **arguments))
    regressor(rank=2, alpha=1e-3).fit_dataset(path, **arguments)
    assert seen == [3 * N_ROWS, N_ROWS]  # the scan for ranges is always made
    regressor(max_bins=32).fit_dataset(path, **arguments)  # other codes
    assert seen[1] == 2 * N_ROWS
    changed = frame.assign(y=-frame["y"])
    changed.to_parquet(path, row_group_size=850)
    again = regressor().fit_dataset(path, **arguments)
    assert seen[1] == 3 * N_ROWS
    assert len(list(cache.rglob("index.json"))) == 1  # coded rows of the other file are gone
    assert same(again, regressor().fit(changed[FEATURES], changed["y"]))


def test_a_classifier_takes_coded_rows_from_the_cache(path, tmp_path, on_disk, monkeypatch):
    seen = count_scans(monkeypatch)
    arguments = {"target": "label", "features": FEATURES, "cache": tmp_path / "cache"}
    first = classifier().fit_dataset(path, **arguments)
    second = classifier().fit_dataset(path, **arguments)
    assert seen == [2 * N_ROWS, N_ROWS]
    assert same(first, second)
    assert second.classes_.tolist() == ["high", "low", "middle"]


def test_a_cache_tells_known_categories_and_periods_from_those_of_the_file(
    frame, tmp_path, on_disk
):
    path, arguments = tmp_path / "later.csv", {"target": "y", "features": FEATURES}
    later = frame[frame["kind"] != "x"]
    later.to_csv(path, index=False)

    def fit(cache, **changes):
        settings = {"bounds": (0, 30), "max_bins": 16, **changes}
        model = regressor(warm_start=True, **settings)
        if "cyclic" not in changes:
            model.fit(frame[FEATURES], frame["y"])
        return model.fit_dataset(path, cache=cache, **arguments)

    cache = tmp_path / "cache"
    regressor(bounds=(0, 30), max_bins=16).fit_dataset(path, cache=cache, **arguments)
    for changes in ({}, {"cyclic": {"a": 30}}):
        assert same(fit(cache, **changes), fit(None, **changes))


@pytest.mark.parametrize("harm", ["cut", "remove", "index"])
def test_a_damaged_cache_is_made_again(harm, path, tmp_path, on_disk):
    cache = tmp_path / "cache"
    arguments = {"target": "y", "features": FEATURES, "cache": cache}
    first = regressor().fit_dataset(path, **arguments)
    file = next(cache.rglob("index.json" if harm == "index" else "train-1.bin"))
    if harm == "remove":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-5])
    assert same(first, regressor().fit_dataset(path, **arguments))


def test_without_a_cache_nothing_stays(path, tmp_path, on_disk, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    regressor().fit_dataset(path, target="y", features=FEATURES)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_batches_are_not_taken_from_a_cache(frame, tmp_path, on_disk, monkeypatch):
    seen = count_scans(monkeypatch)
    batches = [frame[[*FEATURES, "y"]]]
    for _ in range(2):
        regressor().fit_dataset(batches, target="y", cache=tmp_path / "cache")
    assert seen == [2 * N_ROWS, 2 * N_ROWS]
    assert list((tmp_path / "cache").iterdir()) == []


def test_what_a_dead_process_left_is_removed(path, tmp_path, on_disk):
    cache = tmp_path / "cache"
    arguments = {"target": "y", "features": FEATURES, "cache": cache}
    regressor().fit_dataset(path, **arguments)
    child = subprocess.Popen(["true"])
    child.wait()
    left = next(cache.iterdir()) / f".making-{child.pid}-abc"
    left.mkdir()
    (left / "train-0.bin").write_bytes(b"half")
    regressor().fit_dataset(path, **arguments)
    assert not left.exists()


# -- what goes wrong ------------------------------------------------------------------------------


def test_a_full_disk_leaves_nothing_and_poisons_nothing(path, tmp_path, on_disk, monkeypatch):
    cache = tmp_path / "cache"
    arguments = {"target": "y", "features": FEATURES, "cache": cache}
    arrays, written = tables.data.shards._arrays, []

    def full(shard):
        if written:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(shard)
        return arrays(shard)

    with monkeypatch.context() as patch:
        patch.setattr(tables.data.shards, "_arrays", full)
        with pytest.raises(OSError, match="No space left for the coded rows: they need") as caught:
            regressor().fit_dataset(path, **arguments)
    assert caught.value.errno == errno.ENOSPC
    assert list(cache.rglob("*.bin")) == []
    assert regressor().fit_dataset(path, **arguments).n_iter_ == 2


def test_a_disk_that_is_too_small_is_seen_before(path, tmp_path, on_disk, monkeypatch):
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("shutil.disk_usage", lambda folder: usage)
    with pytest.raises(OSError, match=r"1 kB are free; use another folder for cache="):
        regressor().fit_dataset(path, target="y", features=FEATURES, cache=tmp_path / "cache")


def test_a_real_full_disk(frame, tmp_path, on_disk):
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount")
    if done.returncode:
        pytest.skip("may not mount a small file system")
    try:
        with pytest.raises(OSError, match="No space left"):
            regressor().fit_dataset([frame[[*FEATURES, "y"]]], target="y", cache=small / "cache")
        assert list(small.rglob("*.bin")) == []
    finally:
        subprocess.run(["umount", str(small)], check=False)


def test_ctrl_c_while_coding_leaves_nothing(path, tmp_path, on_disk, monkeypatch):
    def interrupt(self, block, run):
        raise KeyboardInterrupt

    monkeypatch.setattr(tables.Coding, "encode", interrupt)
    with pytest.raises(KeyboardInterrupt):
        regressor().fit_dataset(path, target="y", features=FEATURES, cache=tmp_path / "cache")
    assert list((tmp_path / "cache").rglob("*.bin")) == []


def test_an_infinite_value_is_found_by_file_and_row(frame, tmp_path):
    for i in range(3):
        part = frame[i * 1000 : (i + 1) * 1000].copy()
        if i == 2:
            part.iloc[377, part.columns.get_loc("b")] = np.inf
        part.to_parquet(tmp_path / f"part-{i}.parquet", row_group_size=250)
    with pytest.raises(
        DataFileError, match=r"part-2\.parquet, row group 2 of 4: .*infinity: 1 of .*'b'.*row 2,377"
    ):
        regressor().fit_dataset(tmp_path, target="y", features=FEATURES)


def test_rows_without_a_target_are_left_out(frame, tmp_path):
    is_missing = (frame.index < 600) | (frame.index == 2500)  # no row of the first block is left
    frame.assign(y=frame["y"].mask(is_missing)).to_parquet(tmp_path / "rows.parquet")
    with pytest.warns(UserWarning, match="Rows without a target are skipped: 601 of them"):
        model = regressor().fit_dataset(tmp_path, target="y", features=FEATURES, weight="weight")
    rest = frame[~is_missing]
    expected = regressor().fit(rest[FEATURES], rest["y"], rest["weight"])
    np.testing.assert_array_equal(model.predict(frame[FEATURES]), expected.predict(frame[FEATURES]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "price"}, r"the source has no column 'price'; it has 'a', 'b'"),
        ({"target": "y", "features": "a"}, r"features='a' must be a list of names"),
        ({"target": "y", "features": ["a", "c"]}, "no column 'c'"),
        (
            {"target": "y", "features": ["a", "y"]},
            "'y' is a feature and also target, weight or",
        ),
        ({"target": "y", "features": []}, "at least one feature"),
        ({"target": "y", "features": ["a", "label"]}, r"column 'label' holds values such as"),
        ({"target": "label", "features": ["a"]}, r"target 'label' holds values such as"),
    ],
)
def test_wrong_columns(arguments, message, path):
    with pytest.raises(ValueError, match=message):
        regressor(categorical_features=None).fit_dataset(path, **arguments)


def test_an_iterator_that_ends_is_refused(frame):
    with pytest.raises(TypeError, match="iterat"):
        regressor().fit_dataset(iter([frame]), target="y")


def test_too_many_values_to_keep_all(path, monkeypatch):
    monkeypatch.setattr(LIMITS, "exact_values", 500)
    with pytest.raises(ValueError, match=r"'b' has more than 500 distinct values.*max_bins=None"):
        regressor(max_bins=None).fit_dataset(path, target="y", features=FEATURES)


def test_one_class_alone(frame, tmp_path):
    frame[["a", "b"]].assign(label="only").to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="needs at least two classes"):
        classifier(categorical_features=None).fit_dataset(tmp_path, target="label")


# -- long work ------------------------------------------------------------------------------------


def test_progress_is_shown_when_asked_for(path, capsys):
    regressor(verbose=1).fit_dataset(path, target="y", features=FEATURES)
    shown = capsys.readouterr().err
    assert all(word in shown for word in ("scan:", "encode:", "fit:"))
    regressor().fit_dataset(path, target="y", features=FEATURES)
    assert capsys.readouterr().err == ""


def test_a_checkpoint_goes_on_to_the_same_bits(path, tmp_path, on_disk):
    arguments = {"target": "y", "features": FEATURES}
    whole = regressor(max_iter=4, checkpoint=tmp_path / "whole").fit_dataset(path, **arguments)

    def stop(progress):
        if progress.event == "epoch" and progress.epoch == 2:
            raise KeyboardInterrupt

    checkpoint = tmp_path / "checkpoint"
    with pytest.warns(ConvergenceWarning):
        regressor(max_iter=4, checkpoint=checkpoint, callbacks=stop).fit_dataset(path, **arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rest = regressor(max_iter=4, checkpoint=checkpoint).fit_dataset(path, **arguments)
    assert same(whole, rest)


@pytest.mark.parametrize("kind", [str, Path])
@pytest.mark.parametrize("model", [regressor(), classifier()], ids=["regressor", "classifier"])
def test_a_path_is_no_X(model, kind, path, frame):
    with pytest.raises(ValueError, match=r"X is a path, .*; use fit_dataset"):
        model.fit(kind(path), "y")
    model.fit(frame[FEATURES], frame["label" if hasattr(model, "class_weight") else "y"])
    with pytest.raises(ValueError, match=r"X is a path, .* predict_dataset"):
        model.predict(kind(path))


def test_labels_of_a_block_are_told_with_their_rows(frame, tmp_path):
    path = tmp_path / "rows.parquet"
    labels = frame["label"].where(np.arange(len(frame)) % 50 != 7)
    frame[["a", "b"]].assign(label=labels).to_parquet(path)
    model = classifier(categorical_features=None)
    with pytest.warns(UserWarning, match="target"):
        model.fit_dataset(path, target="label")
    many = frame["a"].rank(method="first").astype(int) // 2  # for which scikit-learn has a warning
    frame[["a", "b"]].assign(label=many % 30).to_parquet(path)
    assert len(model.set_params(max_iter=1).fit_dataset(path, target="label").classes_) == 30
