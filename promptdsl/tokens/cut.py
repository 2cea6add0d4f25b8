"""Where a text may be cut: behind a paragraph, a sentence or a word, else between characters."""

import re
import unicodedata
from collections.abc import Callable
from typing import TypeAlias

from promptdsl.tokens.count import Tokens

PARAGRAPH, SENTENCE, WORD = 3, 2, 1

# Ideographic, fullwidth and halfwidth stops need no space behind them.
_PLACES = re.compile("\\s+|[\u3002\uff01\uff1f\uff0e\uff61][\u300d\u300f\uff09\u201d\u2019]*")
_ENDS = frozenset(".!?\u2026")
_CLOSERS = "\"'\u201d\u2019\u00bb)]*_"
_LOOK_BACK = 4
"""How many characters are looked at for the end of a sentence: its mark, and what closes after."""


_AROUND = 64
"""How many characters around two places are looked at, for white space that goes on there."""


def best_boundary(text: str, start: int, end: int, *, last: bool) -> int | None:
    """Return the first or last place between two positions where most ends, if anything does.

    A paragraph is more than a sentence, that is more than a word, and a line ends as a sentence
    does. The place is behind the white space; where that goes on too far, in the middle of it.
    """
    best, level = None, 0
    for found in _PLACES.finditer(text, max(0, start - _AROUND), end + _AROUND):
        if found.end() < start:
            continue
        if found.start() > end:
            break
        place, ending = found.end(), _ending(text, found)
        if place > end:
            if not found[0].isspace():
                break
            place = end if last else start
        if ending > level or (last and ending == level):
            best, level = place, ending
    return best


def _ending(text: str, found: re.Match[str]) -> int:
    space = found[0]
    if not space.isspace():
        return SENTENCE
    lines = max(space.count("\n"), space.count("\r"))
    if lines:
        return PARAGRAPH if lines > 1 else SENTENCE
    before = text[max(0, found.start() - _LOOK_BACK) : found.start()].rstrip(_CLOSERS)
    return SENTENCE if before[-1:] in _ENDS and before else WORD


def whole_character(text: str, place: int, *, forwards: bool = False) -> int:
    """Return the nearest place, backwards unless told, that parts nothing seen as one character.

    CR LF, a surrogate pair, and a letter with its marks and joiners are one. Of more marks than
    anybody writes some are parted.
    """
    step = 1 if forwards else -1
    for near in range(place, place + step * _MOST_MARKS, step):
        if not 0 < near < len(text) or not _is_inside(text[near - 1], text[near]):
            return min(max(near, 0), len(text))
    return place


_MOST_MARKS = 32
_JOINER = "\u200d"


def _is_inside(before: str, after: str) -> bool:
    """Return whether two characters are seen as one."""
    if after < "\u0300":
        return before == "\r" and after == "\n"
    is_joined = _JOINER in (before, after) or unicodedata.category(after)[0] == "M"
    is_pair = "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"
    return is_joined or is_pair or "\U0001f3fb" <= after <= "\U0001f3ff"


Part: TypeAlias = Callable[[int], str]
"""What is left of a text when so many characters are kept."""

_GUESS = 4
"""How many characters a token is taken to be at first."""

_LINEAR = 6
"""How often the place is guessed from the counts around it, before what is left is halved."""


def fitting_prefix(text: str, limit: int, tokens: Tokens, *, end: bool = False) -> str:
    """Return the longest head of a text that is at most ``limit`` tokens; with ``end``, the tail.

    It ends where a paragraph does, else a sentence, else a word, as long as that gives away no more
    than half of what fits, else between two characters. White space around the cut stands in the
    head. What fits whole is returned whole, and where no character fits, nothing.
    """
    # A part of a text may be more tokens than all of it.
    if tokens.measured(text) <= limit:
        return text
    if end:
        return text[len(text) - _fitting_tail(text, limit, tokens) :]
    return text[: fitting_end(text, 0, limit, tokens)]


def fitting_end(text: str, start: int, limit: int, tokens: Tokens) -> int:
    """Return where the longest part of a text ends that begins at ``start`` and fits a limit."""
    most = _longest(lambda size: text[start : start + size], len(text) - start, limit, tokens)
    end = start + most
    if end == len(text):
        return end
    place = best_boundary(text, start + (most + 1) // 2, end, last=True)
    for cut in (place or end, end):
        whole = max(start, whole_character(text, cut))
        # A shorter text may be more tokens.
        if tokens.measured(text[start:whole]) <= limit:
            return whole
    return end


def _fitting_tail(text: str, limit: int, tokens: Tokens) -> int:
    length = len(text)
    most = _longest(lambda size: text[length - size :], length, limit, tokens)
    if most == length:
        return length
    begin = length - most
    place = best_boundary(text, begin, length - (most + 1) // 2, last=False)
    for cut in (place or begin, begin):
        whole = whole_character(text, cut, forwards=True)
        if tokens.measured(text[whole:]) <= limit:
            return length - whole
    return most


def _longest(part: Part, length: int, limit: int, tokens: Tokens) -> int:
    """Return the most characters that are found to fit.

    Tokens are about as long everywhere, so the counts around a place tell where to look next.
    """
    fits, low, size = 0, 0, min(length, max(1, limit) * _GUESS)
    while (count := tokens.measured(part(size))) <= limit:
        if size == length:
            return length
        fits, low, size = size, count, min(length, size * 2)
    over, high, guesses = size, count, 0
    while over - fits > 1:
        guesses += 1
        # One token more or less: so the place is soon closed in from both sides.
        wanted = limit - low + guesses % 2
        share = wanted / (high - low) if guesses <= _LINEAR else 0.5
        size = min(max(fits + int((over - fits) * share), fits + 1), over - 1)
        count = tokens.measured(part(size))
        if count <= limit:
            fits, low = size, count
        else:
            over, high = size, count
    return fits
