"""Fetching an encoding: only when told to, only the published file, and not for ever."""

import hashlib
import socket
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from time import monotonic

import pytest

from promptdsl import OptionError, TokenizerError
from promptdsl.tokens import download
from tests.errors import lines_of, raised
from tests.internals import COMING_ALONG
from tests.internals import downloads_module as downloads

FILE = b"YQ== 0\n"
DIGEST = hashlib.sha256(FILE).hexdigest()


class Answer(BaseHTTPRequestHandler):
    """Serves one file, and some that are none."""

    def do_GET(self) -> None:
        """Answer with the file, too much, or an error."""
        known = {"/file": FILE, "/huge": bytes(100), "/other": b"YQ== 1\n"}
        self.send_response(200 if self.path in known else 404)
        self.end_headers()
        self.wfile.write(known.get(self.path, b""))

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def site() -> Generator[str]:
    """Return the address of a server on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return tiktoken's cache, a folder that is not there yet."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
    return folder


def published(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Let an encoding be published at an address."""
    monkeypatch.setattr(downloads, "FILES", {"house": {address: DIGEST}})


def test_a_file_is_fetched_into_the_cache(
    site: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is fetched is where tiktoken looks for it, and nothing else is left behind."""
    published(monkeypatch, f"{site}/file")
    download("house")
    name = hashlib.sha1(f"{site}/file".encode()).hexdigest()
    assert {name: FILE} == {path.name: path.read_bytes() for path in cache.iterdir()}


def test_what_is_there_is_not_fetched(
    site: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole file in the cache is enough: nobody is asked."""
    published(monkeypatch, f"{site}/missing")
    cache.mkdir()
    downloads.cached_file(f"{site}/missing", cache).write_bytes(FILE)
    download("house")
    assert 1 == len(list(cache.iterdir()))


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/other", "{} is not the published file"),
        ("/huge", "{} is larger than any published file"),
        ("/missing", "HTTP Error 404: Not Found"),
    ],
)
@pytest.mark.usefixtures("cache")
def test_what_is_not_published_is_not_kept(
    site: str, monkeypatch: pytest.MonkeyPatch, path: str, why: str
) -> None:
    """A file that is another one, too large or not there is an error, and nothing is written."""
    published(monkeypatch, f"{site}{path}")
    monkeypatch.setattr(downloads, "LARGEST", 50)
    error = raised(TokenizerError, lambda: download("house"))
    assert f"cannot fetch the encoding 'house': {why.format(f'{site}{path}')}" == error.what
    assert (downloads.cache_folder() or Path()).exists() is False


@pytest.mark.usefixtures("cache")
def test_a_server_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that never answers is waited for as long as told."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        published(monkeypatch, f"http://127.0.0.1:{server.getsockname()[1]}/file")
        began = monotonic()
        raised(TokenizerError, lambda: download("house", timeout=0.2))
    assert monotonic() - began < 5


def test_a_cache_that_is_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where tiktoken keeps no files there is no place to fetch one to."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")

    def fetch() -> None:
        download("p50k_base")

    error = raised(TokenizerError, fetch)
    assert ("tiktoken's cache is turned off" in error.what, lines_of(fetch, 1)) == (True, error.at)


@pytest.mark.parametrize("name", [*COMING_ALONG, "o200k_harmony"])
def test_what_comes_along_is_not_fetched(name: str, cache: Path) -> None:
    """For what comes with promptdsl nothing is asked and nothing written."""
    download(name, timeout=0)
    assert not cache.exists()


def test_an_unknown_encoding_is_not_fetched() -> None:
    """A name that nobody knows is an error with the nearest one."""
    error = raised(OptionError, lambda: download("p50k_bas"))
    assert ("unknown encoding 'p50k_bas'", "did you mean 'p50k_base'?") == (error.what, error.fix)
