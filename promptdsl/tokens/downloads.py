"""The files of encodings that do not come along: where tiktoken keeps them, and fetching them."""

import hashlib
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from promptdsl.foundation.errors import OptionError, TokenizerError, nearest
from promptdsl.foundation.source import author
from promptdsl.tokens.published_files import PUBLISHED

_SITE = "https://openaipublic.blob.core.windows.net"
_P50K = {
    f"{_SITE}/encodings/p50k_base.tiktoken": (
        "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069"
    )
}
FILES: Mapping[str, Mapping[str, str]] = {
    "gpt2": {
        f"{_SITE}/gpt-2/encodings/main/vocab.bpe": (
            "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"
        ),
        f"{_SITE}/gpt-2/encodings/main/encoder.json": (
            "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"
        ),
    },
    "p50k_base": _P50K,
    "p50k_edit": _P50K,
    "r50k_base": {
        f"{_SITE}/encodings/r50k_base.tiktoken": (
            "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"
        )
    },
}
"""The addresses of the files of an encoding, each with its SHA-256, as tiktoken 0.14 has them."""

LARGEST = 16 * 1024 * 1024
"""No file of an encoding is larger, in bytes; the largest is 3.6 MB."""

_CHUNK = 64 * 1024


def missing_files(name: str) -> list[str]:
    """Return the files of an encoding that tiktoken's cache does not have, whole and unchanged."""
    folder = cache_folder()
    return [
        str(cached_file(address, folder)) if folder else f"for {address}: it is turned off"
        for address, digest in FILES[name].items()
        if folder is None or not _is_whole(cached_file(address, folder), digest)
    ]


def cache_folder() -> Path | None:
    """Return the folder in which tiktoken keeps files, ``None`` where it is told to keep none."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return Path(os.environ[variable]) if os.environ[variable] else None
    return Path(tempfile.gettempdir(), "data-gym-cache")


def cached_file(address: str, folder: Path) -> Path:
    """Return where tiktoken keeps the file of an address: its name is the address's SHA-1."""
    return folder / hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()


def _is_whole(path: Path, digest: str) -> bool:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == digest
    except OSError:
        return False


def download(encoding: str, *, timeout: float = 30) -> None:
    """Fetch what an encoding needs into tiktoken's cache, if it is not there.

    What comes with promptdsl needs nothing. ``timeout`` is in seconds, for all of it. A file that
    is not the published one (by SHA-256) is not kept. Raises :class:`TokenizerError` when it cannot
    be had, :class:`OptionError` for an encoding that is unknown.
    """
    known = (*PUBLISHED, "o200k_harmony", *FILES)
    if encoding not in known:
        raise OptionError(
            f"unknown encoding {encoding!r}", fix=nearest(str(encoding), known), at=(author(),)
        )
    deadline = time.monotonic() + timeout
    try:
        for address, digest in FILES.get(encoding, {}).items():
            _keep(address, digest, deadline)
    except (OSError, ValueError) as error:
        raise TokenizerError(
            f"cannot fetch the encoding {encoding!r}: {error}",
            fix="try again, or copy tiktoken's cache from another machine",
            at=(author(),),
        ) from error


def _keep(address: str, digest: str, deadline: float) -> None:
    folder = cache_folder()
    if folder is None:
        raise ValueError("tiktoken's cache is turned off: TIKTOKEN_CACHE_DIR is empty")
    path = cached_file(address, folder)
    if _is_whole(path, digest):
        return
    data = _fetched(address, deadline)
    if hashlib.sha256(data).hexdigest() != digest:
        raise ValueError(f"{address} is not the published file")
    folder.mkdir(parents=True, exist_ok=True)
    # Whoever reads it meanwhile finds it whole or not at all.
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".tmp", delete=False) as file:
        file.write(data)
    Path(file.name).replace(path)


def _fetched(address: str, deadline: float) -> bytes:
    # It brings SSL along, and hardly anybody downloads.
    from urllib.error import HTTPError
    from urllib.request import urlopen

    data = bytearray()
    try:
        answer = urlopen(address, timeout=_left(deadline))
    except HTTPError as error:
        error.close()
        raise
    with answer:
        while chunk := answer.read1(_CHUNK):
            data += chunk
            if len(data) > LARGEST:
                raise ValueError(f"{address} is larger than any published file")
            _left(deadline)
    return bytes(data)


def _left(deadline: float) -> float:
    """Return the seconds that are left: one read waits no longer, all of them neither."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("it took too long")
    return left
