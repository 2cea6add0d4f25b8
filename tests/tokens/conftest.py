"""tiktoken's own encodings, made by tiktoken from the published files, to compare with."""

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pytest
import tiktoken_ext.openai_public
from tiktoken import Encoding

from tests.internals import vocabulary
from tests.tokens.packing import publish

ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the published files of what comes along, as tiktoken's cache."""
    folder = tmp_path_factory.mktemp("cache")
    for name in ("cl100k_base", "o200k_base"):
        key = hashlib.sha1(ADDRESS.format(name).encode()).hexdigest()
        (folder / key).write_bytes(publish(vocabulary(name)))
    return folder


@pytest.fixture(scope="session")
def tiktokens(published: Path) -> Callable[[str], Encoding]:
    """Return a function from a name to the encoding that tiktoken makes: it checks the files."""

    @cache
    def made(name: str) -> Encoding:
        with patch.dict(os.environ, {"TIKTOKEN_CACHE_DIR": str(published)}):
            return Encoding(**tiktoken_ext.openai_public.ENCODING_CONSTRUCTORS[name]())

    return made
