"""Fetching an encoding: only when told to, and only the published file."""

import hashlib
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from promptdsl import OptionError, TokenizerError
from promptdsl.tokens import download
from tests.errors import lines_of, raised
from tests.internals import SHIPPED
from tests.internals import encodings_module as encodings

FILE = b"YQ== 0\n"
DIGEST = hashlib.sha256(FILE).hexdigest()


class Answer(BaseHTTPRequestHandler):
    """Serves one file, and some that are none."""

    def do_GET(self) -> None:
        """Answer with the file, another one, or an error."""
        known = {"/file": FILE, "/other": b"YQ== 1\n"}
        self.send_response(200 if self.path in known else 404)
        self.end_headers()
        self.wfile.write(known.get(self.path, b""))

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def site() -> Generator[str]:
    """Return the address of a server on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = Thread(target=server.serve_forever, args=(0.01,))
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
    monkeypatch.setattr(encodings, "FILES", {"house": {address: DIGEST}})


def cached_name(address: str) -> str:
    """Return how tiktoken calls the file of an address in its cache."""
    return hashlib.sha1(address.encode()).hexdigest()


def test_a_file_is_fetched_into_the_cache(
    site: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is fetched is where tiktoken looks for it, and nothing else is left behind."""
    published(monkeypatch, f"{site}/file")
    download("house")
    assert {cached_name(f"{site}/file"): FILE} == {
        path.name: path.read_bytes() for path in cache.iterdir()
    }


def test_what_is_there_is_not_fetched(
    site: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole file in the cache is enough: nobody is asked."""
    published(monkeypatch, f"{site}/missing")
    cache.mkdir()
    (cache / cached_name(f"{site}/missing")).write_bytes(FILE)
    download("house")
    assert 1 == len(list(cache.iterdir()))


WRONG = {
    "/other": "Hash mismatch for data downloaded from {}",
    "/missing": "404 Client Error: Not Found for url: {}",
}


@pytest.mark.parametrize("path", WRONG)
def test_what_is_not_published_is_not_kept(
    site: str, cache: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """A file that is another one or not there is an error, and nothing is written."""
    published(monkeypatch, f"{site}{path}")
    error = raised(TokenizerError, lambda: download("house"))
    expected = f"cannot fetch the encoding 'house': {WRONG[path].format(f'{site}{path}')}"
    assert (expected, False) == (error.what[: len(expected)], cache.exists())


def test_a_changed_file_is_fetched_again(
    site: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in the cache that is not the published one is replaced."""
    published(monkeypatch, f"{site}/file")
    cache.mkdir()
    (cache / cached_name(f"{site}/file")).write_bytes(b"YQ== 1\n")
    download("house")
    assert FILE == (cache / cached_name(f"{site}/file")).read_bytes()


def test_a_cache_that_is_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where tiktoken keeps no files there is no place to fetch one to."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")

    def fetch() -> None:
        download("p50k_base")

    error = raised(TokenizerError, fetch)
    assert ("tiktoken's cache is turned off" in error.what, lines_of(fetch, 1)) == (True, error.at)


@pytest.mark.parametrize("name", [*SHIPPED, "o200k_harmony"])
def test_what_comes_along_is_not_fetched(name: str, cache: Path) -> None:
    """For what comes with promptdsl nothing is asked and nothing written."""
    download(name)
    assert not cache.exists()


def test_an_unknown_encoding_is_not_fetched() -> None:
    """A name that nobody knows is an error with the nearest one."""
    error = raised(OptionError, lambda: download("p50k_bas"))
    assert ("unknown encoding 'p50k_bas'", "did you mean 'p50k_base'?") == (error.what, error.fix)
