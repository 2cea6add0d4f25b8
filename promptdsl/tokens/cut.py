"""Cutting a text to a number of tokens: after a paragraph, a sentence or a word if possible."""

import re
import unicodedata
from collections.abc import Callable

from promptdsl.tokens.count import Tokens

PARAGRAPH, SENTENCE, WORD = 3, 2, 1

# Ideographic, fullwidth and halfwidth stops need no space after them.
_BOUNDARY = re.compile("\\s+|[\u3002\uff01\uff1f\uff0e\uff61][\u300d\u300f\uff09\u201d\u2019]*")
_STOPS = frozenset(".!?\u2026")
_CLOSERS = "\"'\u201d\u2019\u00bb)]*_"
_AROUND = 64
"""The characters searched before and after a range, for white space that crosses its ends."""


def best_boundary(text: str, start: int, end: int, *, last: bool) -> int | None:
    """Return the first or last of the best positions to cut between two, ``None`` without any.

    The end of a paragraph is better than that of a sentence or a line, and this is better than that
    of a word. The position is after the white space, or inside it where it crosses an end.
    """
    best, best_level = None, 0
    for match in _BOUNDARY.finditer(text, max(0, start - _AROUND), end + _AROUND):
        if match.end() < start:
            continue
        if match.start() > end:
            break
        # A sentence ends with a stop, and up to three characters that close after it.
        space, position = match[0], match.end()
        lines = max(space.count("\n"), space.count("\r"))
        before = text[max(0, match.start() - 4) : match.start()].rstrip(_CLOSERS)
        level = WORD
        if lines > 1:
            level = PARAGRAPH
        elif lines or not space.isspace() or before[-1:] in _STOPS:
            level = SENTENCE
        # White space that crosses the end is cut; a stop and its closers are not.
        if position > end:
            if not space.isspace():
                break
            position = end if last else start
        if level > best_level or (last and level == best_level):
            best, best_level = position, level
    return best


def whole_character(text: str, position: int, *, forwards: bool = False) -> int:
    """Return the nearest position, backwards by default, that parts no visible character.

    CR LF, a surrogate pair, and a letter with its marks and joiners are one character. More than 32
    marks are parted.
    """
    step = 1 if forwards else -1
    for near in range(position, position + step * 32, step):
        if not 0 < near < len(text):
            return min(max(near, 0), len(text))
        before, after = text[near - 1], text[near]
        if after < "\u0300":
            is_inside = before == "\r" and after == "\n"
        else:
            is_joined = "\u200d" in (before, after) or unicodedata.category(after)[0] == "M"
            is_pair = "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"
            is_inside = is_joined or is_pair or "\U0001f3fb" <= after <= "\U0001f3ff"
        if not is_inside:
            return near
    return position


def fitting_prefix(text: str, limit: int, tokens: Tokens, *, end: bool = False) -> str:
    """Return the longest head of a text that is at most ``limit`` tokens; with ``end``, the tail.

    It ends after a paragraph, else a sentence, else a word, if it keeps at least half of the text
    that fits; else between two characters. White space around the cut belongs to the head. A text
    that fits is returned whole; where no character fits, the result is empty.

    >>> from promptdsl.tokens import counter, fitting_prefix
    >>> fitting_prefix("One sentence. And another one.", 5, counter("gpt-4o"))
    'One sentence. '
    """
    # A part of a text may be more tokens than all of it.
    if tokens.measured(text) <= limit:
        return text
    if not end:
        return text[: fitting_end(text, 0, limit, tokens)]
    length = len(text)
    most = _most_characters(lambda size: text[length - size :], length, limit, tokens)
    begin = length - most
    boundary = best_boundary(text, begin, length - (most + 1) // 2, last=False)
    for cut in (boundary or begin, begin):
        tail = text[whole_character(text, cut, forwards=True) :]
        if tokens.measured(tail) <= limit:
            return tail
    return text[begin:]


def fitting_end(text: str, start: int, limit: int, tokens: Tokens) -> int:
    """Return the end of the longest part of a text that begins at ``start`` and fits a limit."""
    length = len(text) - start
    most = _most_characters(lambda size: text[start : start + size], length, limit, tokens)
    end = start + most
    if end == len(text):
        return end
    boundary = best_boundary(text, start + (most + 1) // 2, end, last=True)
    for cut in (boundary or end, end):
        whole = max(start, whole_character(text, cut))
        # A shorter text may be more tokens.
        if tokens.measured(text[start:whole]) <= limit:
            return whole
    return end


def _most_characters(part: Callable[[int], str], length: int, limit: int, tokens: Tokens) -> int:
    """Return a number of characters that fits a limit, while one more does not.

    ``part`` returns the part of a text that has a number of characters. Tokens are about equally
    long everywhere, so the counts of two sizes tell where to search between them.
    """
    # The first guess is four characters a token.
    fits, low, size = 0, 0, min(length, max(1, limit) * 4)
    while (count := tokens.measured(part(size))) <= limit:
        if size == length:
            return length
        fits, low, size = size, count, min(length, size * 2)
    over, high, guesses = size, count, 0
    while over - fits > 1:
        guesses += 1
        # Six guesses from the counts, now above and now below the limit, then halves.
        wanted = limit - low + guesses % 2
        share = wanted / (high - low) if guesses <= 6 else 0.5
        size = min(max(fits + int((over - fits) * share), fits + 1), over - 1)
        count = tokens.measured(part(size))
        if count <= limit:
            fits, low = size, count
        else:
            over, high = size, count
    return fits
