"""Guards: they keep text from closing, opening or forging the fences around it."""

import re
from collections.abc import Collection
from functools import lru_cache

from promptdsl.foundation.errors import ConfigError
from promptdsl.foundation.escaping import CHARACTERS, reference
from promptdsl.foundation.unicode import is_whole

_TAG = re.compile(r"<(?=\s*+(/?+)\s*+([A-Za-z_\u0130\u0131\u017f\u212a][\w.\-]*+))")
_ASCII_TWINS = str.maketrans("\u0130\u0131\u017f\u212a", "iisk")
"""Letters that are equal to ASCII letters for a reader that ignores case."""


def guard(text: str, names: Collection[str], *, openings: Collection[str] = ()) -> str:
    """Return author text that neither opens nor closes a fence with one of these ``names``.

    The ``<`` of anything that reads as a delimiter of these fences, in any case, with white space
    or attributes, complete or not, becomes ``&lt;``; the rest stays as written. ``openings`` are
    names of fences that are not around the text: it may not open them, but may name their ends.
    Give the finished text of the place, with its encoded values: they have no ``<``, so they cannot
    complete a delimiter that the author began. Returns the same object when nothing changes.
    """
    closing = _folded(frozenset(names))
    return guard_folded(
        text, closing, closing | _folded(frozenset(openings)) if openings else closing
    )


def guard_folded(text: str, closing: Collection[str], opening: Collection[str]) -> str:
    """Return guarded text, like :func:`guard`, for names already folded by :func:`fold`."""
    text = str.__str__(text)
    if "<" not in text:
        return text

    def escaped(match: re.Match[str]) -> str:
        return "&lt;" if fold(match[2]) in (closing if match[1] else opening) else "<"

    guarded = _TAG.sub(escaped, text)
    return text if len(guarded) == len(text) else guarded


@lru_cache(maxsize=32)
def _folded(names: frozenset[str]) -> frozenset[str]:
    return frozenset(map(fold, names))


@lru_cache(maxsize=256)
def fold(name: str) -> str:
    """Return the name of a tag as a tolerant reader compares it."""
    return name.rstrip(".-").translate(_ASCII_TWINS).lower()


def guard_prefixes(text: str, delimiters: Collection[str]) -> str:
    """Return a text in which none of the literal ``delimiters`` occurs.

    The first character of each occurrence becomes a reference by number. Encoded values go through
    this after ``body``, and ``decode`` still gives them back. Raises :class:`ConfigError` for a
    delimiter that has ``&`` or ``;`` or could be part of a reference (``#``, ``12``, ``lt``):
    writing a reference would write the delimiter. Returns the same object when nothing changes.
    """
    occurrences = _occurrences(frozenset(delimiters))
    return occurrences.sub(reference, text) if occurrences else text


def guard_between(before: str, text: str, after: str, delimiters: Collection[str]) -> str:
    """Return a text that forms no literal delimiter with the texts ``before`` and ``after`` it.

    Neither of the two is changed: only the text may come from data.
    """
    text = guard_prefixes(text, delimiters)
    whole, end = before + text + after, text + after
    if any(name in whole and name not in before and name not in end for name in delimiters):
        text = f"&#{ord(text[0])};{text[1:]}"
    if any(name in text + after and name not in after for name in delimiters):
        text = f"{text[:-1]}&#{ord(text[-1])};"
    return text


_IN_NUMBER = re.compile("#?[0-9]*")


@lru_cache(maxsize=32)
def _occurrences(delimiters: frozenset[str]) -> re.Pattern[str] | None:
    wanted = sorted(filter(None, delimiters))
    for delimiter in wanted:
        check_delimiter(delimiter)
    alternatives = "|".join(map(re.escape, wanted))
    return re.compile(f"(?={alternatives}).", re.DOTALL) if wanted else None


def check_delimiter(delimiter: str, *, tag: bool = False) -> None:
    """Raise :class:`ConfigError` for a delimiter that no guard can keep out of a text."""
    bare = delimiter.strip()
    if not bare or not is_whole(delimiter):
        raise ConfigError(
            f"the delimiter {delimiter!r} is blank, or no valid text",
            fix="choose one that can be seen, such as '[[event'",
        )
    if tag:
        return
    in_name = any(bare in name for name in CHARACTERS)
    if in_name or "&" in bare or ";" in bare or _IN_NUMBER.fullmatch(bare):
        raise ConfigError(
            f"the delimiter {delimiter!r} reads as part of a character reference",
            fix="choose one with other characters, such as '[[event'",
        )


def guard_end(text: str) -> str:
    """Return a text without an open delimiter at its end, which the next text could complete."""
    body = text.rstrip()
    body = body[:-1].rstrip() if body.endswith("/") else body
    if not body.endswith("<"):
        return text
    return f"{body[:-1]}&lt;{text[len(body) :]}"
