"""tiktoken's encodings, each loaded once, when the first text is counted with it.

Two of them come with promptdsl and need no file from elsewhere. Of the others tiktoken keeps the
file where it has been loaded before; nothing is ever fetched because a text is counted.
"""

import sys
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING

import attrs

from promptdsl.foundation.errors import TokenizerError, nearest
from promptdsl.foundation.frozen import EMPTY
from promptdsl.foundation.source import author
from promptdsl.tokens.downloads import FILES, missing_files
from promptdsl.tokens.published_files import vocabulary

if TYPE_CHECKING:
    from tiktoken import Encoding


@attrs.frozen(eq=False)
class Rules:
    """How an encoding splits a text before it looks for tokens, and which tokens are no text."""

    pattern: str
    special_tokens: Mapping[str, int] = EMPTY


_LETTERS = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_SMALL = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"

COMING_ALONG = {
    "cl100k_base": Rules(
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
    "o200k_base": Rules(
        rf"[^\r\n\p{{L}}\p{{N}}]?{_LETTERS}*{_SMALL}+{_ENDING}"
        rf"|[^\r\n\p{{L}}\p{{N}}]?{_LETTERS}+{_SMALL}*{_ENDING}"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        {"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
    ),
}
"""The rules of the encodings whose vocabulary comes along, as tiktoken 0.14 has them."""

_SERVED_BY = {"o200k_harmony": "o200k_base"}
"""Encodings that differ in special tokens alone, which no text is read as."""


def served_by(name: str) -> str:
    """Return the encoding that a text is counted with where ``name`` is asked for."""
    return _SERVED_BY.get(name, name)


def encoding(name: str) -> "Encoding":
    """Return tiktoken's encoding of a name, the same one every time.

    One that tiktoken holds already is taken. Raises :class:`TokenizerError` for a name that is
    unknown, or whose file is not here.
    """
    name = served_by(name)
    return _loaded.get(name) or _load(name)


_loaded: "dict[str, Encoding]" = {}
_LOADING = Lock()


def _load(name: str) -> "Encoding":
    with _LOADING:
        if name not in _loaded:
            _loaded[name] = _held(name) or _made(name)
        return _loaded[name]


def _held(name: str) -> "Encoding | None":
    """Return the encoding that tiktoken has loaded in this process, if it has."""
    registry = sys.modules.get("tiktoken.registry")
    return registry.ENCODINGS.get(name) if registry else None


def _made(name: str) -> "Encoding":
    rules = COMING_ALONG.get(name)
    if rules is None:
        return _cached(name)
    from tiktoken import Encoding

    return Encoding(
        name,
        pat_str=rules.pattern,
        mergeable_ranks={token: rank for rank, token in enumerate(vocabulary(name))},
        special_tokens=dict(rules.special_tokens),
    )


def _cached(name: str) -> "Encoding":
    """Return an encoding that tiktoken has everything for; it would fetch what is missing."""
    if name not in FILES:
        known = (*COMING_ALONG, *_SERVED_BY, *FILES)
        raise TokenizerError(
            f"unknown encoding {name!r}",
            fix=f"{nearest(name, known)}\n"
            "  that of a plug-in is found once tiktoken.get_encoding() has loaded it",
            at=(author(),),
        )
    missing = missing_files(name)
    if missing:
        files = ", ".join(missing)
        raise TokenizerError(
            f"the encoding {name!r} is not here: tiktoken's cache has no file {files}",
            fix=f"fetch it once with promptdsl.tokens.download({name!r}), or set "
            "TIKTOKEN_CACHE_DIR to a folder that has it, or give counter=",
            at=(author(),),
        )
    import tiktoken

    return tiktoken.get_encoding(name)
