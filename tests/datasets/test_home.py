"""Where the data home is."""

import sys
from pathlib import Path

import pytest

from qtkm.datasets._files import find_data_home


def test_argument_comes_before_the_variable(tmp_path, monkeypatch):
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    monkeypatch.setenv("QTKM_DATA_HOME", str(tmp_path / "second"))
    assert find_data_home(tmp_path / "first") == tmp_path / "first"
    assert find_data_home() == tmp_path / "second"


def test_otherwise_it_is_the_cache(tmp_path):
    assert find_data_home() == tmp_path / "cache" / "qtkm"
    assert not find_data_home().exists()


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="has another cache folder")
def test_relative_cache_variable_is_ignored(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "somewhere")
    assert find_data_home() == Path.home() / ".cache" / "qtkm"


def test_named_folder_must_exist(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"data_home is .*nowhere"):
        find_data_home(tmp_path / "nowhere")
    monkeypatch.setenv("QTKM_DATA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="QTKM_DATA_HOME is"):
        find_data_home()


def test_it_is_made_on_request(tmp_path):
    assert find_data_home(tmp_path / "new" / "home", create=True).is_dir()
    assert find_data_home(create=True).is_dir()
