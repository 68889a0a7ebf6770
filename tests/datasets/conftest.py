"""What all tests of the loaders need: no data of this machine unless asked for, and a server."""

import http.server
import importlib.util
import os
import threading
from pathlib import Path

import pytest

REAL_HOME = os.environ.get("QTKM_DATA_HOME")


@pytest.fixture(autouse=True)
def no_data_home(monkeypatch, tmp_path):
    """Neither the variable nor the cache of the user leads to data."""
    monkeypatch.delenv("QTKM_DATA_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def real_home():
    if not REAL_HOME or not Path(REAL_HOME).is_dir():
        pytest.skip("QTKM_DATA_HOME names no folder with the real files")
    return Path(REAL_HOME)


@pytest.fixture
def hide(monkeypatch):
    """Make modules look as if they were not installed."""

    def hide(*hidden):
        find_spec = importlib.util.find_spec
        monkeypatch.setattr(
            importlib.util,
            "find_spec",
            lambda name, package=None: None if name in hidden else find_spec(name, package),
        )

    return hide


class Site:
    """A web site on this machine: contents by path, and the paths asked for."""

    def __init__(self):
        self.files = {}
        self.missing_bytes = 0
        self.asked = []
        self.url = ""


@pytest.fixture
def site():
    """A running site; what it promises but withholds is `missing_bytes`."""
    site = Site()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            name = self.path.lstrip("/")
            site.asked.append(name)
            if name not in site.files:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(site.files[name]) + site.missing_bytes))
            self.end_headers()
            self.wfile.write(site.files[name])

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield site
    server.shutdown()
    thread.join()
    server.server_close()
