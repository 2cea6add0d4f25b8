"""Encodings: those that come along are tiktoken's, others are found or named."""

import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import tiktoken_ext.openai_public
from tiktoken import Encoding

from promptdsl import ModelFacts, TokenizerError
from tests.errors import lines_of, raised
from tests.internals import SHIPPED, tokens_for
from tests.internals import encoding_named as encoding
from tests.internals import encodings_module as encodings
from tests.tokens.packing import PUBLISHED

ROOT = Path(__file__).resolve().parents[2]
OURS = pytest.mark.parametrize("name", SHIPPED)


@OURS
def test_the_rules_are_those_of_tiktoken(name: str, tiktokens: Callable[[str], Encoding]) -> None:
    """The pattern, the special tokens and the ranks are those of the tiktoken installed here."""
    theirs, ours = tiktokens(name), encoding(name)
    assert (theirs._pat_str, theirs._special_tokens, theirs._mergeable_ranks) == (
        ours._pat_str,
        ours._special_tokens,
        ours._mergeable_ranks,
    )


def test_harmony_differs_in_special_tokens_alone(tiktokens: Callable[[str], Encoding]) -> None:
    """o200k_harmony, which o200k_base serves, has its pattern and ranks."""
    theirs, ours = tiktokens("o200k_harmony"), encoding("o200k_harmony")
    assert encoding("o200k_base") is ours
    assert (theirs._pat_str, theirs._mergeable_ranks) == (ours._pat_str, ours._mergeable_ranks)


@OURS
def test_an_encoding_is_loaded_once(name: str) -> None:
    """Asking twice gives the same object."""
    assert encoding(name) is encoding(name)


def test_the_published_hashes_are_those_of_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes along, and what is looked for in the cache, are the files tiktoken asks for."""
    asked: dict[str, str] = {}

    def load(address: str, expected_hash: str) -> dict[bytes, int]:
        asked[address] = expected_hash
        return {}

    def gym(**files: str) -> dict[bytes, int]:
        asked[files["vocab_bpe_file"]] = files["vocab_bpe_hash"]
        asked[files["encoder_json_file"]] = files["encoder_json_hash"]
        return {}

    public: Any = tiktoken_ext.openai_public
    monkeypatch.setattr(public, "load_tiktoken_bpe", load)
    monkeypatch.setattr(public, "data_gym_to_mergeable_bpe_ranks", gym)
    _ = [make() for make in public.ENCODING_CONSTRUCTORS.values()]
    site = "https://openaipublic.blob.core.windows.net/encodings"
    along = {f"{site}/{name}.tiktoken": digest for name, digest in PUBLISHED.items()}
    others = {
        address: digest for files in encodings.FILES.values() for address, digest in files.items()
    }
    assert asked == along | others
    assert {*public.ENCODING_CONSTRUCTORS} == {*SHIPPED, "o200k_harmony", *encodings.FILES}


HELD = """
import hashlib, os, sys
import tiktoken
from tests.internals import encoding_named
held = tiktoken.get_encoding("cl100k_base")
print(encoding_named("cl100k_base") is held)
"""


@pytest.mark.slow
def test_what_tiktoken_holds_is_taken(published: Path) -> None:
    """An encoding that the process has already is not loaded a second time."""
    assert "True\n" == run(HELD, TIKTOKEN_CACHE_DIR=str(published))


CACHED = """
from tests.internals import SHIPPED, encodings_module, encoding_named
site = "https://openaipublic.blob.core.windows.net/encodings"
SHIPPED.pop("cl100k_base")
encodings_module.FILES["cl100k_base"] = {f"{site}/cl100k_base.tiktoken": DIGEST}
print(encoding_named("cl100k_base").encode("Hello, world"))
"""


@pytest.mark.slow
def test_what_the_cache_has_is_loaded(published: Path) -> None:
    """An encoding that does not come along is loaded from tiktoken's cache, where it is whole."""
    code = CACHED.replace("DIGEST", repr(PUBLISHED["cl100k_base"]))
    assert "[9906, 11, 1917]\n" == run(code, TIKTOKEN_CACHE_DIR=str(published))


def run(code: str, **variables: str) -> str:
    """Return what a fresh process without a network prints."""
    blocked = f"from tests.tokens.offline import block\nblock()\n{code}"
    done = subprocess.run(
        [sys.executable, "-B", "-W", "error", "-c", blocked],
        cwd=ROOT,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "" == done.stderr
    return done.stdout


# What is not here.


def missing(name: str) -> Callable[[], object]:
    """Return a function that counts in an encoding."""
    return lambda: tokens_for(ModelFacts(encoding=name)).of("text")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return tiktoken's cache, an empty folder."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    return tmp_path


P50K = hashlib.sha1(
    b"https://openaipublic.blob.core.windows.net/encodings/p50k_base.tiktoken"
).hexdigest()


def test_a_missing_encoding_is_named(cache: Path) -> None:
    """An encoding whose file is not here is named with the file and the ways out, at your line."""
    count = missing("p50k_base")
    error = raised(TokenizerError, count)
    file = cache / P50K
    expected = f"the encoding 'p50k_base' is missing: tiktoken's cache has no file {file}"
    assert (expected, lines_of(count, 0)) == (error.what, error.at)
    assert (
        "fetch it once with promptdsl.tokens.download('p50k_base'), or set TIKTOKEN_CACHE_DIR "
        "to a folder that has it, or pass counter="
    ) == error.fix


@pytest.mark.parametrize("name", ["p50k_base", "p50k_edit", "r50k_base", "gpt2", "o300k_base"])
@pytest.mark.usefixtures("cache")
def test_a_missing_encoding_is_missed_at_once(name: str) -> None:
    """Nobody waits for a network: the error comes within a second."""
    began = monotonic()
    raised(TokenizerError, missing(name))
    assert monotonic() - began < 1


def test_every_missing_file_is_named(cache: Path) -> None:
    """Of an encoding of two files both are named."""
    assert 2 == raised(TokenizerError, missing("gpt2")).what.count(str(cache))


def test_a_broken_file_is_missing(cache: Path) -> None:
    """A file that is not the published one is as good as none, and is left where it is."""
    (cache / P50K).write_bytes(b"YQ== 0\n")
    assert P50K in raised(TokenizerError, missing("p50k_base")).what
    assert b"YQ== 0\n" == (cache / P50K).read_bytes()


def test_a_cache_that_is_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where tiktoken is told to keep no files, the error says so."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    assert "it is turned off" in raised(TokenizerError, missing("r50k_base")).what


def test_the_cache_is_where_tiktoken_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the first variable the second one tells the folder."""
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", "/somewhere")
    assert Path("/somewhere") == encodings.cache_folder()


def test_an_unknown_encoding_is_an_error() -> None:
    """A name that nobody knows is an error with the nearest one."""
    error = raised(TokenizerError, missing("o200k_bas"))
    assert "unknown encoding 'o200k_bas'" == error.what
    assert error.fix.startswith(
        "did you mean 'o200k_base'?\n  load the encoding of a plug-in first"
    )
