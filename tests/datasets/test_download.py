"""Downloads are whole or not at all, and their checksums are remembered."""

import hashlib
import socket

import pytest

from qtkm.datasets import _files
from qtkm.datasets._files import checksum_file, fetch, verify

CONTENT = bytes(range(256)) * 1000
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def file(tmp_path):
    return tmp_path / "downloads" / "data.bin"


@pytest.fixture
def address(site):
    site.files["data.bin"] = CONTENT
    return f"{site.url}/data.bin"


def assert_nothing_left(file):
    assert list(file.parent.iterdir()) == []


def test_file_and_checksum_are_stored(address, file):
    fetch(address, file)
    assert file.read_bytes() == CONTENT
    assert checksum_file(file).read_text().split() == [CHECKSUM, "data.bin"]
    assert len(list(file.parent.iterdir())) == 2


def test_short_transfer_leaves_nothing(site, address, file):
    site.missing_bytes = 7
    with pytest.raises(OSError, match=r"ended after 256000 of 256007 bytes.*data\.bin"):
        fetch(address, file)
    assert_nothing_left(file)


def test_absent_file_is_said(site, file):
    with pytest.raises(OSError, match=r"other\.bin failed: HTTP Error 404.*yourself"):
        fetch(f"{site.url}/other.bin", file)
    assert_nothing_left(file)


def test_no_server_is_said(file):
    with socket.socket() as unused:  # bound but not listening: nobody answers
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(OSError, match=r"failed.*try again"):
            fetch(f"http://127.0.0.1:{unused.getsockname()[1]}/data.bin", file)
    assert_nothing_left(file)


def test_interrupted_download_leaves_nothing(address, file, monkeypatch):
    class Interrupted(_files.tqdm):
        def update(self, n=1):
            assert len(list(file.parent.iterdir())) == 1  # the part that is there so far
            raise KeyboardInterrupt

    monkeypatch.setattr(_files, "tqdm", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch(address, file)
    assert_nothing_left(file)


def test_a_changed_file_is_noticed(address, file):
    fetch(address, file)
    verify(file)
    file.write_bytes(CONTENT[:-1])
    with pytest.raises(OSError, match=f"but had {CHECKSUM} when it was downloaded.*download=True"):
        verify(file)


def test_a_file_without_checksum_is_taken_as_it_is(tmp_path):
    (tmp_path / "own.bin").write_bytes(CONTENT)
    verify(tmp_path / "own.bin")
