"""Cutting a text to a number of tokens, at a place where something ends."""

from collections.abc import Callable
from typing import TypeAlias

from promptdsl.tokens.boundaries import best_boundary, whole_character
from promptdsl.tokens.counting import Tokens

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
