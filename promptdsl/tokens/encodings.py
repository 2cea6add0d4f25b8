"""tiktoken's encodings, and the certain cuts of a text: no token crosses such a cut.

Begin with ``encoding``; ``download`` fetches its files. Of the functions about cuts, ``pieces``
divides a long text; ``first_cut``, ``last_cut`` and ``adds_up`` are also for joined texts.
"""

import gzip
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from promptdsl.foundation.errors import OptionError, TokenizerError, is_one_of, nearest, shown
from promptdsl.foundation.source import author

if TYPE_CHECKING:
    from tiktoken import Encoding


# tiktoken's encodings. Each is loaded once, when the first text is counted with it.
#
# Two ship with promptdsl: their vocabularies are in this folder, under tiktoken's licence. The
# files of the others are read from tiktoken's cache. Only :func:`download` fetches a file.
#
# A packed vocabulary is a gzipped file of three parts: the number of tokens (four bytes, the
# highest first), the length of each token (a byte each), and the bytes of all tokens by rank. It
# has 1 MB; the file that OpenAI publishes, in base64 with ranks, has 3.6 MB.

# Parts of the pattern of o200k_base: letters that may be upper case, letters that may be lower
# case, and English contractions.
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"

SHIPPED: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "cl100k_base": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
        r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
        {
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
    ),
    "o200k_base": (
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_CONTRACTION}"
        rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_CONTRACTION}"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        {"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
    ),
}
"""The encodings whose vocabulary ships with promptdsl, as in tiktoken 0.14.

Each value is the pattern that first splits a text, and the special tokens with their ranks.
"""

SERVED_BY = {"o200k_harmony": "o200k_base"}
"""Encodings that differ from a shipped encoding only in special tokens, which no text contains.

Each has the name of the shipped encoding that counts for it.
"""


def packed_file(name: str) -> Path:
    """Return the path of a packed vocabulary."""
    return Path(__file__).with_name(f"{name}.tokens.gz")


def unpack(data: bytes) -> list[bytes]:
    """Return the tokens of a packed vocabulary, by rank."""
    raw = gzip.decompress(data)
    count = int.from_bytes(raw[:4])
    ends = accumulate(raw[4 : 4 + count], initial=4 + count)
    return [raw[start:end] for start, end in pairwise(ends)]


def vocabulary(name: str) -> list[bytes]:
    """Return the tokens of an encoding that ships with promptdsl, by rank."""
    return unpack(packed_file(name).read_bytes())


@cache
def encoding(name: str) -> "Encoding":
    """Return tiktoken's encoding of a name; it is always the same object.

    If tiktoken has already loaded the encoding, that object is returned. Raises
    :class:`TokenizerError` for an unknown encoding, and for an encoding that is not downloaded.
    """
    if name in SERVED_BY:
        return encoding(SERVED_BY[name])
    from tiktoken import Encoding, registry

    if name in registry.ENCODINGS:
        return registry.ENCODINGS[name]
    if name not in SHIPPED:
        return _cached_encoding(name)
    pattern, special_tokens = SHIPPED[name]
    ranks = {token: rank for rank, token in enumerate(vocabulary(name))}
    return Encoding(
        name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=dict(special_tokens)
    )


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
"""The addresses of the files that tiktoken 0.14 fetches for an encoding, each with its SHA-256."""


def cache_folder() -> Path | None:
    """Return the folder where tiktoken keeps files, ``None`` if its cache is turned off."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return Path(os.environ[variable]) if os.environ[variable] else None
    import tempfile

    return Path(tempfile.gettempdir(), "data-gym-cache")


def _cached_encoding(name: str) -> "Encoding":
    """Return an encoding from tiktoken's cache; :class:`TokenizerError` for a missing file."""
    if name not in FILES:
        raise TokenizerError(
            f"unknown encoding {name!r}",
            fix=f"{nearest(name, _encoding_names())}\n"
            "  load the encoding of a plug-in first: tiktoken.get_encoding(...)",
            at=(author(),),
        )
    import hashlib

    import tiktoken

    folder, missing = cache_folder(), list[str]()
    for address, digest in FILES[name].items():
        if folder is None:
            missing.append(f"for {address}: it is turned off")
            continue
        # tiktoken names a file by the SHA-1 of its address. It replaces a file whose SHA-256 is
        # wrong.
        path = folder / hashlib.sha1(address.encode(), usedforsecurity=False).hexdigest()
        try:
            is_published = hashlib.sha256(path.read_bytes()).hexdigest() == digest
        except OSError:
            is_published = False
        if not is_published:
            missing.append(str(path))
    if missing:
        raise TokenizerError(
            f"the encoding {name!r} is missing: tiktoken's cache has no file {', '.join(missing)}",
            fix=f"fetch it once with promptdsl.tokens.download({name!r}), or set "
            "TIKTOKEN_CACHE_DIR to a folder that has it, or pass counter=",
            at=(author(),),
        )
    return tiktoken.get_encoding(name)


def _encoding_names() -> tuple[str, ...]:
    return (*SHIPPED, *SERVED_BY, *FILES)


def download(encoding: str) -> None:
    """Fetch the files of an encoding into tiktoken's cache, unless they are already in it.

    tiktoken fetches them, and keeps only files with the published SHA-256. An encoding that ships
    with promptdsl needs no file:

    >>> from promptdsl.tokens import download
    >>> download("o200k_base")

    Raises :class:`TokenizerError` if a file cannot be fetched or stored, and :class:`OptionError`
    for an unknown encoding.
    """
    if not is_one_of(encoding, _encoding_names()):
        raise OptionError(
            f"unknown encoding {shown(encoding)}",
            fix=nearest(encoding, _encoding_names()),
            at=(author(),),
        )
    try:
        if encoding in FILES and cache_folder() is None:
            raise ValueError("tiktoken's cache is turned off: TIKTOKEN_CACHE_DIR is empty")
        for address, digest in FILES.get(encoding, {}).items():
            from tiktoken.load import read_file_cached

            read_file_cached(address, digest)
    except (OSError, ValueError) as error:
        raise TokenizerError(
            f"cannot fetch the encoding {encoding!r}: {error}",
            fix="try again, or copy tiktoken's cache from another machine",
            at=(author(),),
        ) from error


# Certain cuts of a text: the tokens of both sides add up to those of the complete text.
#
# o200k_base and cl100k_base first split a text by a pattern, then search for tokens in each match.
# A cut is certain if no match contains text from both its sides, and no match before it depends on
# the text after it. There are two kinds:
#
# - between a character that is not white space and a space or tab after it, because these can only
#   begin a match,
# - between a line end and a character that is neither white space nor ``/``, because a line end can
#   only end a match (after punctuation, o200k also matches slashes, as in ``//\n/``).
#
# Two characters decide whether a cut is certain, so it stays certain when other text is joined. For
# Python, U+001C to U+001F are white space; for the patterns they are not. That only gives fewer
# cuts.

_CUT = re.compile(r"\S(?=[ \t])|[\r\n](?=[^\s/])")
_LINE_ENDS = {"\r", "\n"}

MAXIMUM_AT_ONCE = 200_000
"""The maximum number of characters that are counted at once: a longer text is counted in pieces."""

FORCED_CUT = 900_000
"""The number of characters after which a piece ends without a certain cut.

The pattern fails on more than a million characters of white space.
"""


def first_cut(text: str, start: int = 0) -> int | None:
    """Return the first certain cut after ``start``, or ``None``."""
    match = _CUT.search(text, start)
    return match and match.end()


def last_cut(text: str, start: int = 0, end: int | None = None) -> int | None:
    """Return the last certain cut after ``start`` and not after ``end``, or ``None``."""
    end = len(text) if end is None else end
    size = 64
    while True:
        begin = max(start, end - size)
        # Search one more character, for a cut exactly at the end.
        cuts = [match.end() for match in _CUT.finditer(text, begin, end + 1)]
        cuts = [cut for cut in cuts if cut <= end]
        if cuts or begin == start:
            return cuts[-1] if cuts else None
        size *= 8


def adds_up(before: str, after: str) -> bool:
    """Return whether the tokens of two texts certainly add up to the tokens of the joined text.

    They do if three things are true: the first text ends with a line end, the second does not begin
    with ``/``, and the first line of the second is not blank.
    """
    if before[-1:] not in _LINE_ENDS or not before or after[:1] == "/":
        return False
    space = after[: len(after) - len(after.lstrip())]
    return len(space) < len(after) and not _LINE_ENDS & {*space}


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a long text, each with whether it ends at a certain cut.

    The end of the text counts as a certain cut.
    """
    start = 0
    while len(text) - start > MAXIMUM_AT_ONCE:
        cut = last_cut(text, start, start + MAXIMUM_AT_ONCE)
        if cut is None:
            match = _CUT.search(text, start + MAXIMUM_AT_ONCE - 1, start + FORCED_CUT + 1)
            cut = match and match.end()
        if cut is None and len(text) - start <= FORCED_CUT:
            break
        end = cut or start + FORCED_CUT
        yield text[start:end], cut is not None
        start = end
    yield text[start:], True
